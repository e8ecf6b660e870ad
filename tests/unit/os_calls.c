/*
 * What the real door asks of the kernel: the linker puts these calls between
 * os_posix.c and the C library (--wrap).
 */
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/os/os.h"

/* What is to happen, and what did. */
static struct {
	size_t transfer_max; /* of one write or read; 0 = all of it */
	int refuse;	     /* this errno to a write that is to be synced */
	unsigned interrupt;  /* so many writes are EINTR first */
	int sync_error;	     /* of the next sync */
	unsigned writes, synced_writes, fdatasyncs, fsyncs, reads;
} calls;

ssize_t __real_pwritev64v2(int fd, const struct iovec *v, int n, off_t off,
			   int how);
ssize_t __wrap_pwritev64v2(int fd, const struct iovec *v, int n, off_t off,
			   int how);
ssize_t __real_pread64(int fd, void *buf, size_t n, off_t off);
ssize_t __wrap_pread64(int fd, void *buf, size_t n, off_t off);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

static size_t cut(size_t n)
{
	return calls.transfer_max && n > calls.transfer_max ? calls.transfer_max
							    : n;
}

ssize_t __wrap_pwritev64v2(int fd, const struct iovec *v, int n, off_t off,
			   int how)
{
	struct iovec part = *v;

	assert_int_equal(n, 1);
	assert_int_equal(how & ~RWF_DSYNC, 0);
	calls.writes++;
	if (calls.interrupt) {
		calls.interrupt--;
		errno = EINTR;
		return -1;
	}
	if (how & RWF_DSYNC) {
		calls.synced_writes++;
		if (calls.refuse) {
			errno = calls.refuse;
			return -1;
		}
	}
	part.iov_len = cut(part.iov_len);
	return __real_pwritev64v2(fd, &part, 1, off, how);
}

ssize_t __wrap_pread64(int fd, void *buf, size_t n, off_t off)
{
	calls.reads++;
	return __real_pread64(fd, buf, cut(n), off);
}

static int sync_call(void)
{
	int err = calls.sync_error;

	calls.sync_error = 0;
	errno = err;
	return err ? -1 : 0;
}

int __wrap_fdatasync(int fd)
{
	calls.fdatasyncs++;
	return sync_call();
}

int __wrap_fsync(int fd)
{
	calls.fsyncs++;
	return sync_call();
}

static struct {
	char path[64];
	struct os_dir *dir;
	struct os_file *file;
} the;

static int set_up(void **state)
{
	memset(&the, 0, sizeof(the));
	memset(&calls, 0, sizeof(calls));
	snprintf(the.path, sizeof(the.path), "%s", "/tmp/cellfs-os-XXXXXX");
	assert_non_null(mkdtemp(the.path));
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &the.dir), 0);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_CREATE, &the.file),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	os_close(the.file);
	assert_int_equal(os_unlink(the.dir, "f"), 0);
	os_dir_close(the.dir);
	assert_int_equal(rmdir(the.path), 0);
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static void holds(const char *text)
{
	char back[64] = "";

	assert_int_equal(os_pread(the.file, back, sizeof(back), 0),
			 strlen(text));
	assert_string_equal(back, text);
}

TEST(a_synced_write_asks_for_it_in_the_call)
{
	assert_int_equal(os_pwrite_sync(the.file, "hello", 5, 0), 0);
	assert_int_equal(calls.writes, 1);
	assert_int_equal(calls.synced_writes, 1);
	assert_int_equal(calls.fdatasyncs, 0);
	holds("hello");
}

TEST(a_plain_write_syncs_nothing)
{
	assert_int_equal(os_pwrite(the.file, "hello", 5, 0), 0);
	assert_int_equal(calls.synced_writes, 0);
	assert_int_equal(calls.fdatasyncs, 0);
	holds("hello");
}

TEST(a_short_write_goes_on_each_part_synced)
{
	calls.transfer_max = 2;
	assert_int_equal(os_pwrite_sync(the.file, "hello world", 11, 0), 0);
	assert_int_equal(calls.writes, 6);
	assert_int_equal(calls.synced_writes, 6);
	holds("hello world");
	calls.writes = 0;
	assert_int_equal(os_pwrite(the.file, "HELLO", 5, 0), 0);
	assert_int_equal(calls.writes, 3);
	holds("HELLO world");
}

TEST(a_short_read_goes_on)
{
	char back[16] = "";

	assert_int_equal(os_pwrite(the.file, "hello world", 11, 0), 0);
	calls.transfer_max = 3;
	assert_int_equal(os_pread(the.file, back, 11, 0), 11);
	assert_string_equal(back, "hello world");
	assert_true(calls.reads >= 4);
}

TEST(an_interrupted_write_is_made_again)
{
	calls.interrupt = 2;
	assert_int_equal(os_pwrite_sync(the.file, "hello", 5, 0), 0);
	assert_int_equal(calls.synced_writes, 1);
	holds("hello");
}

TEST(where_no_write_can_be_synced_a_sync_follows)
{
	calls.refuse = EOPNOTSUPP;
	assert_int_equal(os_pwrite_sync(the.file, "hello", 5, 0), 0);
	assert_int_equal(calls.fdatasyncs, 1);
	holds("hello");
	assert_int_equal(os_pwrite_sync(the.file, "j", 1, 0), 0);
	assert_int_equal(calls.fdatasyncs, 2);
	calls.sync_error = EIO;
	assert_int_equal(os_pwrite_sync(the.file, "hello", 5, 0), -EIO);
}

TEST(a_synced_write_that_fails_fails)
{
	calls.refuse = EIO;
	assert_int_equal(os_pwrite_sync(the.file, "hello", 5, 0), -EIO);
	assert_int_equal(calls.fdatasyncs, 0);
}

TEST(a_sync_is_one_call_and_its_failure_is_told_once)
{
	assert_int_equal(os_fdatasync(the.file), 0);
	assert_int_equal(calls.fdatasyncs, 1);
	/* One that was interrupted may have lost what it had to sync. */
	calls.sync_error = EINTR;
	assert_int_equal(os_fdatasync(the.file), -EIO);
	calls.sync_error = EIO;
	assert_int_equal(os_fdatasync(the.file), -EIO);
	assert_int_equal(calls.fdatasyncs, 3);
}

TEST(a_directory_is_synced_and_fails_as_a_file_does)
{
	assert_int_equal(os_dir_sync(the.dir), 0);
	assert_int_equal(calls.fsyncs, 1);
	calls.sync_error = EIO;
	assert_int_equal(os_dir_sync(the.dir), -EIO);
}
