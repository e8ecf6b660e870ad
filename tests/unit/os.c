/* The real operating system behind the door, in a directory of its own. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/os/clock.h"
#include "store/os/os.h"
#include "store/value/why.h"

static struct {
	char path[64];
	struct os_dir *dir;
} the;

static int set_up(void **state)
{
	memset(&the, 0, sizeof(the));
	snprintf(the.path, sizeof(the.path), "%s", "/tmp/cellfs-os-XXXXXX");
	assert_non_null(mkdtemp(the.path));
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &the.dir), 0);
	return 0;
}

static int remove_one(void *dir, const char *name)
{
	return os_unlink(dir, name);
}

static int tear_down(void **state)
{
	os_dir_list(the.dir, remove_one, the.dir);
	os_dir_close(the.dir);
	assert_int_equal(rmdir(the.path), 0);
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static struct os_file *make(const char *name)
{
	struct os_file *f;

	assert_int_equal(os_open(the.dir, name, OS_WRITE | OS_CREATE, &f), 0);
	return f;
}

TEST(a_directory_is_made_private)
{
	struct os_dir *d;
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/sub/", the.path);
	assert_int_equal(os_dir_open(os_posix(), path, false, &d), -ENOENT);
	assert_int_equal(os_dir_open(os_posix(), path, true, &d), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	os_dir_close(d);
	assert_int_equal(rmdir(path), 0);
	umask(0777);
	assert_int_equal(os_dir_open(os_posix(), path, true, &d), 0);
	umask(022);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(os_dir_sync(d), 0);
	os_dir_close(d);
	assert_int_equal(rmdir(path), 0);
}

TEST(what_was_written_is_read_and_ends_at_the_end)
{
	struct os_file *f = make("a");
	uint64_t size;
	char buf[16];

	assert_int_equal(os_pwrite(f, "hello", 5, 3), 0);
	assert_int_equal(os_fdatasync(f), 0);
	assert_int_equal(os_pread(f, buf, sizeof(buf), 0), 8);
	assert_memory_equal(buf, "\0\0\0hello", 8);
	assert_int_equal(os_pread(f, buf, sizeof(buf), 8), 0);
	assert_int_equal(os_size(f, &size), 0);
	assert_int_equal(size, 8);
	assert_int_equal(os_truncate(f, 4), 0);
	assert_int_equal(os_pread(f, buf, sizeof(buf), 3), 1);
	assert_int_equal(os_finish(f), 0);
}

TEST(writing_out_changes_nothing)
{
	struct os_file *f = make("a");
	char back[5];

	assert_int_equal(os_pwrite(f, "hello", 5, 0), 0);
	os_write_out(f, 0, 5);
	/* Not of a file's length, nor of any use: a hint cannot fail. */
	os_write_out(f, 1 << 20, 1 << 20);
	assert_int_equal(os_pread(f, back, 5, 0), 5);
	assert_memory_equal(back, "hello", 5);
	assert_int_equal(os_fdatasync(f), 0);
	assert_int_equal(os_finish(f), 0);
}

TEST(files_are_private_and_exclusive_when_asked)
{
	struct os_file *f = make("a"), *g;
	char path[96];
	struct stat st;

	os_close(f);
	snprintf(path, sizeof(path), "%s/a", the.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(unlink(path), 0);
	umask(0777);
	f = make("a");
	umask(022);
	os_close(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(
		os_open(the.dir, "a", OS_WRITE | OS_CREATE | OS_EXCL, &g),
		-EEXIST);
	assert_non_null(strstr(store_why(), "a"));
	assert_int_equal(os_open(the.dir, "b", OS_READ, &g), -ENOENT);
	assert_non_null(strstr(store_why(), "cannot open b"));
}

TEST(links_fifos_and_directories_are_refused)
{
	char path[96];
	struct os_file *f;

	snprintf(path, sizeof(path), "%s/link", the.path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(os_open(the.dir, "link", OS_READ, &f), -ELOOP);
	snprintf(path, sizeof(path), "%s/fifo", the.path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(os_open(the.dir, "fifo", OS_READ, &f), -EINVAL);
	snprintf(path, sizeof(path), "%s/d", the.path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(os_open(the.dir, "d", OS_READ, &f), -EISDIR);
	assert_int_equal(rmdir(path), 0);
}

TEST(direct_is_only_a_hint)
{
	struct os_file *f;
	char *block, back[3];

	assert_int_equal(os_open(the.dir, "direct",
				 OS_WRITE | OS_CREATE | OS_EXCL | OS_DIRECT,
				 &f),
			 0);
	block = aligned_alloc(OS_DIRECT_ALIGN, OS_DIRECT_ALIGN);
	memset(block, 'x', OS_DIRECT_ALIGN);
	assert_int_equal(os_pwrite(f, block, OS_DIRECT_ALIGN, 0), 0);
	/* Not aligned: goes through the page cache instead of failing. */
	assert_int_equal(os_pwrite(f, "end", 3, OS_DIRECT_ALIGN), 0);
	assert_int_equal(os_pread(f, back, 3, OS_DIRECT_ALIGN - 1), 3);
	assert_memory_equal(back, "xen", 3);
	assert_int_equal(os_fdatasync(f), 0);
	free(block);
	os_close(f);
}

TEST(a_synced_write_works_on_every_file)
{
	struct os_file *f = make("a"), *direct, *read_only;
	char *block, back[8] = "";

	assert_int_equal(os_open(the.dir, "a", OS_WRITE | OS_DIRECT, &direct),
			 0);
	assert_int_equal(os_open(the.dir, "a", OS_READ, &read_only), 0);
	block = aligned_alloc(OS_DIRECT_ALIGN, OS_DIRECT_ALIGN);
	memset(block, 'x', OS_DIRECT_ALIGN);
	/* Over a page that is dirty, and seen through every handle. */
	assert_int_equal(os_pwrite(f, "old", 3, 0), 0);
	assert_int_equal(os_pwrite_sync(direct, block, OS_DIRECT_ALIGN, 0), 0);
	assert_int_equal(os_pread(f, back, 3, 0), 3);
	assert_string_equal(back, "xxx");
	assert_int_equal(os_pwrite_sync(f, "yy", 2, 1), 0);
	assert_int_equal(os_pread(read_only, back, 4, 0), 4);
	assert_string_equal(back, "xyyx");
	/* Not aligned in memory, length, offset: all the same. */
	assert_int_equal(os_pwrite_sync(direct, block + 1, 3, 4093), 0);
	assert_int_equal(os_pwrite_sync(direct, "end", 3, 4096), 0);
	assert_int_equal(os_pread(read_only, back, 8, 4093), 6);
	assert_string_equal(back, "xxxend");
	assert_int_equal(os_pwrite_sync(read_only, "z", 1, 0), -EBADF);
	assert_non_null(strstr(store_why(), "cannot write and sync a"));
	free(block);
	os_close(read_only);
	os_close(direct);
	os_close(f);
}

TEST(allocated_space_is_zero_and_has_its_size)
{
	struct os_file *f = make("a");
	char path[96], buf[8];
	struct stat st;
	uint64_t size;

	assert_int_equal(os_pwrite(f, "old stuff", 9, 0), 0);
	assert_int_equal(os_allocate(f, 1 << 16), 0);
	assert_int_equal(os_size(f, &size), 0);
	assert_int_equal(size, 1 << 16);
	assert_int_equal(os_pread(f, buf, 8, 0), 8);
	assert_memory_equal(buf, "\0\0\0\0\0\0\0\0", 8);
	snprintf(path, sizeof(path), "%s/a", the.path);
	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 >= 1 << 16);
	os_close(f);
}

TEST(stores_to_a_mapping_are_in_the_file)
{
	struct os_file *f = make("ring");
	const void *r;
	char buf[4];
	void *m;

	assert_int_equal(os_map(f, 8192, &m), -EINVAL);
	assert_int_equal(os_allocate(f, 8192), 0);
	assert_int_equal(os_map(f, 8192, &m), 0);
	assert_int_equal(os_map(f, 8192, &m), -EBUSY);
	os_map_store(f, 5000, "abcd", 4);
	assert_int_equal(os_pread(f, buf, 4, 5000), 4);
	assert_memory_equal(buf, "abcd", 4);
	assert_int_equal(os_map_read(f, 8193, &r), -EINVAL);
	assert_int_equal(os_map_read(f, 8192, &r), 0);
	assert_memory_equal((const char *)r + 5000, "abcd", 4);
	os_unmap(f, r, 8192);
	assert_int_equal(os_finish(f), 0);
}

static volatile sig_atomic_t others;

static void other_handler(int sig)
{
	others++;
}

static bool other_handles(void)
{
	struct sigaction now;

	assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
	return now.sa_handler == other_handler;
}

/* Two pages of 'a'. */
static struct os_file *make_pages(const void **map)
{
	struct os_file *f = make("pages");
	char page[4096];

	memset(page, 'a', sizeof(page));
	assert_int_equal(os_pwrite(f, page, sizeof(page), 0), 0);
	assert_int_equal(os_pwrite(f, page, sizeof(page), sizeof(page)), 0);
	assert_int_equal(os_map_read(f, 2 * sizeof(page), map), 0);
	return f;
}

TEST(a_copy_of_what_was_cut_off_fails)
{
	char buf[16] = "";
	const void *map;
	struct os_file *f = make_pages(&map);
	const char *at = map;

	assert_true(os_map_copy(f, buf, at + 5000, 3));
	assert_string_equal(buf, "aaa");
	assert_int_equal(os_truncate(f, 4096), 0);
	/* Not only once, and not for what is still there. */
	for (int i = 0; i < 3; i++) {
		assert_false(os_map_copy(f, buf, at + 5000, 3));
		assert_false(os_map_copy(f, buf, at + 4090, 10));
		assert_true(os_map_copy(f, buf, at + 4090, 6));
	}
	os_unmap(f, map, 8192);
	os_close(f);
}

static void *copy_cut_off(void *arg)
{
	struct os_file *f = ((void **)arg)[0];
	const char *map = ((void **)arg)[1];
	char buf[8];
	bool good = true;

	for (int i = 0; i < 1000; i++)
		good &= !os_map_copy(f, buf, map + 5000, 3) &&
			os_map_copy(f, buf, map, 3);
	return good ? arg : NULL;
}

TEST(threads_copy_what_was_cut_off)
{
	const void *map;
	struct os_file *f = make_pages(&map);
	void *arg[2] = {f, (void *)(uintptr_t)map}, *good;
	pthread_t t[4];

	assert_int_equal(os_truncate(f, 4096), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, copy_cut_off, arg),
				 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &good);
		assert_non_null(good);
	}
	os_unmap(f, map, 8192);
	os_close(f);
}

TEST(a_handler_of_before_is_asked_and_comes_back)
{
	const struct sigaction other = {.sa_handler = other_handler};
	struct sigaction was;
	const void *map, *again;
	struct os_file *f;

	assert_int_equal(sigaction(SIGBUS, &other, &was), 0);
	f = make_pages(&map);
	assert_int_equal(os_map_read(f, 8192, &again), 0);
	assert_false(other_handles());
	raise(SIGBUS);
	assert_int_equal(others, 1);
	os_unmap(f, again, 8192);
	assert_false(other_handles());
	os_unmap(f, map, 8192);
	assert_true(other_handles());
	os_close(f);
	assert_int_equal(sigaction(SIGBUS, &was, NULL), 0);
}

/* Dies of the signal, in a child. */
static void touch_cut_off(struct os_file *f, const char *map)
{
	const struct sigaction none = {.sa_handler = SIG_DFL};
	const struct rlimit no_core = {0};
	const void *again;

	os_unmap(f, map, 8192);
	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(SIGBUS, &none, NULL);
	if (os_map_read(f, 8192, &again) < 0 || os_truncate(f, 4096) < 0)
		_exit(1);
	_exit(*((const volatile char *)again + 5000));
}

TEST(a_touch_that_is_no_copy_is_fatal)
{
	const void *map;
	struct os_file *f = make_pages(&map);
	int status;
	pid_t pid = fork();

	if (pid == 0)
		touch_cut_off(f, map);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
	os_unmap(f, map, 8192);
	os_close(f);
}

static int count(void *n, const char *name)
{
	++*(int *)n;
	return 0;
}

static int refuse(void *arg, const char *name)
{
	return -EXDEV;
}

TEST(entries_are_listed_renamed_and_removed)
{
	int n = 0;

	os_close(make("a"));
	os_close(make("b"));
	assert_int_equal(os_dir_list(the.dir, count, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(os_dir_list(the.dir, refuse, NULL), -EXDEV);
	assert_int_equal(os_rename(the.dir, "a", "b"), 0);
	assert_int_equal(os_rename(the.dir, "a", "b"), -ENOENT);
	assert_int_equal(os_unlink(the.dir, "b"), 0);
	assert_int_equal(os_unlink(the.dir, "b"), -ENOENT);
	n = 0;
	assert_int_equal(os_dir_list(the.dir, count, &n), 0);
	assert_int_equal(n, 0);
}

static struct os_dir *again(const char *path)
{
	struct os_dir *d = NULL;

	assert_int_equal(os_dir_open(os_posix(), path, false, &d), 0);
	return d;
}

/* May another have the directory, and who has it? */
static bool may_lock(const char *path, bool shared, int *pid)
{
	struct os_dir *d = again(path);
	int r = os_dir_lock(d, path, shared, pid);

	assert_true(r == 0 || r == 1);
	os_dir_close(d);
	return r;
}

static void lock(void)
{
	int pid;

	assert_int_equal(os_dir_lock(the.dir, the.path, false, &pid), 1);
}

static void unlock(void)
{
	os_dir_close(the.dir);
	the.dir = again(the.path);
}

/* What LOCK holds, NULL = there is none. */
static const char *lock_text(void)
{
	static char text[32];
	struct os_file *f;
	ssize_t n;

	if (os_open(the.dir, "LOCK", OS_READ, &f) < 0)
		return NULL;
	n = os_pread(f, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	os_close(f);
	return text;
}

TEST(a_lock_names_its_holder_and_ends_empty)
{
	char mine[16];
	int pid = -1;

	snprintf(mine, sizeof(mine), "%d\n", (int)getpid());
	lock();
	assert_string_equal(lock_text(), mine);
	assert_false(may_lock(the.path, false, &pid));
	assert_int_equal(pid, getpid());
	assert_false(may_lock(the.path, true, &pid));
	assert_int_equal(pid, getpid());
	unlock();
	assert_string_equal(lock_text(), "");
	assert_true(may_lock(the.path, false, &pid));
	assert_string_equal(lock_text(), "");
}

TEST(readers_share_a_lock_and_write_nothing)
{
	int pid = -1;

	assert_int_equal(os_dir_lock(the.dir, the.path, true, &pid), 1);
	assert_null(lock_text());
	assert_true(may_lock(the.path, true, &pid));
	assert_false(may_lock(the.path, false, &pid));
	assert_int_equal(pid, 0);
	unlock();
	assert_true(may_lock(the.path, false, &pid));
}

TEST(a_lock_outlives_its_file)
{
	int pid;

	lock();
	assert_int_equal(os_unlink(the.dir, "LOCK"), 0);
	assert_false(may_lock(the.path, false, &pid));
	assert_int_equal(pid, 0);
	/* Another one in its place is nobody's either. */
	os_close(make("other"));
	assert_int_equal(os_rename(the.dir, "other", "LOCK"), 0);
	assert_false(may_lock(the.path, false, &pid));
	assert_false(may_lock(the.path, true, &pid));
	unlock();
	assert_true(may_lock(the.path, false, &pid));
}

TEST(a_lock_goes_with_its_directory)
{
	struct os_dir *late = again(the.path);
	char moved[80];
	int pid;

	lock();
	snprintf(moved, sizeof(moved), "%s.moved", the.path);
	assert_int_equal(rename(the.path, moved), 0);
	assert_int_equal(mkdir(the.path, 0700), 0);
	assert_false(may_lock(moved, false, &pid));
	assert_true(may_lock(the.path, false, &pid));
	os_dir_close(the.dir);
	/* Opened before it was moved: what the path names now is another. */
	assert_int_equal(os_dir_lock(late, the.path, false, &pid), -ESTALE);
	assert_true(may_lock(moved, false, &pid));
	os_dir_close(late);
	the.dir = again(moved);
	assert_int_equal(os_unlink(the.dir, "LOCK"), 0);
	assert_int_equal(rmdir(moved), 0);
	unlock();
}

TEST(a_lock_of_the_file_alone_is_respected)
{
	char path[96];
	int fd, pid;

	snprintf(path, sizeof(path), "%s/LOCK", the.path);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(dprintf(fd, "%d\n", (int)getppid()) > 0, 1);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_false(may_lock(the.path, false, &pid));
	assert_int_equal(pid, getppid());
	close(fd);
	assert_true(may_lock(the.path, false, &pid));
}

TEST(the_dead_hold_no_lock)
{
	struct os_file *f;
	pid_t child = fork();
	char text[16];
	int pid;

	if (child == 0) {
		lock();
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	snprintf(text, sizeof(text), "%d\n", (int)child);
	assert_string_equal(lock_text(), text);
	/* A reader has it now, whom nothing names. */
	assert_int_equal(os_dir_lock(the.dir, the.path, true, &pid), 1);
	assert_false(may_lock(the.path, false, &pid));
	assert_int_equal(pid, 0);
	unlock();
	assert_int_equal(os_open(the.dir, "LOCK", OS_READ, &f), 0);
	os_close(f);
	assert_true(may_lock(the.path, false, &pid));
}

TEST(what_is_no_file_is_no_lock)
{
	char path[96];
	int pid;

	snprintf(path, sizeof(path), "%s/LOCK", the.path);
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_int_equal(os_dir_lock(the.dir, the.path, false, &pid), -ELOOP);
	assert_non_null(strstr(store_why(), "cannot lock the directory"));
	assert_int_equal(os_unlink(the.dir, "LOCK"), 0);
	assert_int_equal(os_dir_lock(the.dir, the.path, false, &pid), 1);
}

TEST(clocks_go_on_and_chance_differs)
{
	struct os *os = os_posix();
	uint64_t t = os_monotonic_ns(os);

	assert_true(os_monotonic_ns(os) >= t);
	assert_true(os_now_ms(os) > 1500000000000);
	assert_true(os_random(os) != os_random(os));
}

/* With a condition of the time of day it would be over at once. */
TEST(a_wait_ends_by_the_clock_that_nobody_sets)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint64_t until = monotonic_ns() + 5 * NS_PER_MS;
	pthread_cond_t cond;

	clock_cond_init(&cond);
	pthread_mutex_lock(&lock);
	while (clock_cond_wait(&cond, &lock, until))
		;
	assert_true(monotonic_ns() >= until);
	assert_false(clock_cond_wait(&cond, &lock, until));
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&cond);
}

TEST(space_adds_up)
{
	uint64_t total, left, usable;

	assert_int_equal(os_dir_space(the.dir, &total, &left, &usable), 0);
	assert_true(usable <= left && left <= total && total > 0);
}

/* Else some thousands of them are all the addresses that 32 bits have. */
TEST(less_than_a_huge_page_takes_no_address_of_others)
{
	enum {
		PIECES = 32
	};
	const size_t size = 256 << 10;
	void *piece[PIECES];
	size_t aligned = 0;

	for (size_t i = 0; i < PIECES; i++) {
		piece[i] = os_pages(size);
		assert_non_null(piece[i]);
		aligned += (uintptr_t)piece[i] % OS_PAGES_ALIGN == 0;
	}
	assert_true(aligned < PIECES);
	for (size_t i = 0; i < PIECES; i++)
		os_pages_free(piece[i], size);
}
