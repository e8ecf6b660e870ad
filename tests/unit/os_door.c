/*
 * The real door, call by call: what it does when any one of the calls fails.
 */
#include <unistd.h>

#include "tests/unit/door.h"
#include "tests/unit/unit.h"

EACH_TEST_IN(door_set_up, door_tear_down);

/* The operations. Each undoes what it did, but for what failed on the way. */

static int open_dir(void)
{
	struct os_dir *d;
	int r = os_dir_open(os_posix(), the.path, false, &d);

	if (r == 0)
		os_dir_close(d);
	return r;
}

static int make_dir(void)
{
	struct os_dir *d;
	char path[96];
	int r;

	door_below("sub//", path);
	r = os_dir_open(os_posix(), path, true, &d);
	if (r == 0)
		os_dir_close(d);
	rmdir(path);
	return r;
}

static int make_below(void)
{
	struct os_dir *d;
	char path[96];
	int r = os_dir_below(the.dir, "sub", &d);

	if (r == 0)
		os_dir_close(d);
	door_below("sub", path);
	rmdir(path);
	return r;
}

static int ignore(void *arg, const char *name)
{
	return 0;
}

static int list(void)
{
	return os_dir_list(the.dir, ignore, NULL);
}

static int rename_it(void)
{
	return os_rename(the.dir, "f", "f");
}

static int unlink_it(void)
{
	char path[96];
	int fd;

	door_below("g", path);
	fd = creat(path, 0600);
	assert_true(fd >= 0);
	__real_close(fd);
	return os_unlink(the.dir, "g");
}

static int measure(void)
{
	uint64_t a, b, c;

	return os_dir_space(the.dir, &a, &b, &c);
}

static int sync_dir(void)
{
	return os_dir_sync(the.dir);
}

static int make_file(void)
{
	mode_t mask = umask(0777);
	struct os_file *f;
	char path[96];
	int r = os_open(the.dir, "g", OS_WRITE | OS_CREATE | OS_EXCL, &f);

	umask(mask);
	if (r == 0)
		r = os_finish(f);
	door_below("g", path);
	unlink(path);
	return r;
}

static int read_it(void)
{
	char b[4];
	ssize_t r = os_pread(the.file, b, sizeof(b), 0);

	return r < 0 ? (int)r : 0;
}

static int write_it(void)
{
	return os_pwrite(the.file, "new!", 4, 0);
}

static int write_and_sync(void)
{
	return os_pwrite_sync(the.file, "new!", 4, 0);
}

static int sync_it(void)
{
	return os_fdatasync(the.file);
}

static int cut(void)
{
	return os_truncate(the.file, 4);
}

static int measure_file(void)
{
	uint64_t n;

	return os_size(the.file, &n);
}

static int map_it(void)
{
	struct os_file *f;
	void *m;
	int r = os_open(the.dir, "f", OS_WRITE, &f);

	if (r < 0)
		return r;
	r = os_map(f, 4, &m);
	os_close(f);
	return r;
}

static int map_to_read(void)
{
	const void *m;
	int r = os_map_read(the.file, 4, &m);

	if (r == 0)
		os_unmap(the.file, m, 4);
	return r;
}

static const struct {
	const char *name;
	int (*run)(void);
} ops[] = {
	{"open a directory", open_dir},
	{"make a directory", make_dir},
	{"make a directory below", make_below},
	{"list", list},
	{"rename", rename_it},
	{"unlink", unlink_it},
	{"space", measure},
	{"sync a directory", sync_dir},
	{"make a file", make_file},
	{"read", read_it},
	{"write", write_it},
	{"write and sync", write_and_sync},
	{"sync", sync_it},
	{"truncate", cut},
	{"allocate", door_allocate},
	{"allocate by writing", door_allocate_by_writing},
	{"size", measure_file},
	{"map", map_it},
	{"map to read", map_to_read},
};

TEST(each_call_that_fails_is_told_and_leaves_nothing_open)
{
	const int errors[] = {EIO, ENOSPC, EMFILE};
	unsigned total = 0;
	uint64_t size;

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		for (unsigned at = 1;; at++) {
			const int err = errors[at % 3];
			const bool memory = door_handles_bus();
			unsigned before = door_open_files();
			int r = door_with_failure(ops[i].run, at, err, NULL);

			if (!door.failed[0]) {
				if (r != 0 || at == 1 ||
				    door_open_files() != before)
					fail_msg("%s: %d", ops[i].name, r);
				break;
			}
			total++;
			if (!strcmp(door.failed, "calloc") ||
			    !strcmp(door.failed, "strdup") ||
			    !strcmp(door.failed, "posix_memalign"))
				assert_true(r < 0);
			else if (r != -err)
				fail_msg("%s: %s fails with %d: %d",
					 ops[i].name, door.failed, err, r);
			if (door_open_files() != before ||
			    door_handles_bus() != memory)
				fail_msg("%s: %s fails: something stays",
					 ops[i].name, door.failed);
			/* What was not allocated whole takes no space. */
			if (strstr(ops[i].name, "allocate") &&
			    strcmp(door.failed, "fstat64") &&
			    strcmp(door.failed, "ftruncate64")) {
				assert_int_equal(os_size(the.file, &size), 0);
				assert_int_equal(size, 0);
			}
			assert_int_equal(os_truncate(the.file, 0), 0);
			assert_int_equal(os_pwrite(the.file, "old!", 4, 0), 0);
		}
	}
	assert_true(total > 45);
}

TEST(descriptor_0_is_one_like_others)
{
	int kept = dup(0);

	assert_true(kept > 0);
	__real_close(0);
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		/* What was before says nothing of a call that succeeds. */
		errno = EINTR;
		if (ops[i].run() || fcntl(0, F_GETFD) >= 0)
			fail_msg("%s", ops[i].name);
	}
	assert_int_equal(door_with_failure(open_dir, 1, EIO, "fstat64"), -EIO);
	assert_true(fcntl(0, F_GETFD) < 0);
	assert_int_equal(dup2(kept, 0), 0);
	__real_close(kept);
}

TEST(an_interrupted_call_is_made_again)
{
	const struct {
		const char *call;
		int (*run)(void);
	} again[] = {
		{"openat64", make_file},	{"pread64", read_it},
		{"pwritev64v2", write_it},	{"ftruncate64", cut},
		{"fallocate64", door_allocate}, {"close", make_file},
	};

	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++) {
		assert_int_equal(door_with_failure(again[i].run, 1, EINTR,
						   again[i].call),
				 0);
		assert_string_equal(door.failed, again[i].call);
	}
	/* A sync may have lost what it had to sync; a close that fails lost. */
	assert_int_equal(door_with_failure(sync_it, 1, EINTR, "fdatasync"),
			 -EIO);
	assert_int_equal(door_with_failure(make_file, 1, EIO, "close"), -EIO);
}

TEST(a_parent_that_cannot_be_synced_is_no_reason)
{
	const char *const parents[][2] = {
		{"/", "/"},	   {"/a", "/"}, {"/a//", "/"}, {"/a/b", "/a"},
		{"/a/b///", "/a"}, {"a/", "."}, {"a/b", "a"},
	};
	struct os_dir *d;
	struct stat st;

	assert_int_equal(door_with_failure(make_dir, 1, EACCES, "open64"), 0);
	assert_int_equal(door_with_failure(make_dir, 1, EINVAL, "fsync"), 0);
	assert_int_equal(door_with_failure(make_dir, 1, EIO, "fsync"), -EIO);
	assert_int_equal(door_with_failure(make_dir, 1, ENOENT, "open64"),
			 -ENOENT);
	/* The parent it is, however the name is written. */
	door.synced = 0;
	assert_int_equal(make_dir(), 0);
	assert_int_equal(stat(the.path, &st), 0);
	assert_int_equal(door.synced, st.st_ino);
	assert_int_equal(chdir(the.path), 0);
	door.synced = 0;
	assert_int_equal(os_dir_open(os_posix(), "sub", true, &d), 0);
	assert_int_equal(door.synced, st.st_ino);
	os_dir_close(d);
	assert_int_equal(rmdir("sub"), 0);
	assert_int_equal(chdir("/"), 0);
	door.pretend = true;
	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		door.opened[0] = '\0';
		assert_int_equal(
			os_dir_open(os_posix(), parents[i][0], true, &d), 0);
		assert_string_equal(door.opened, parents[i][1]);
		os_dir_close(d);
	}
}

TEST(where_direct_is_refused_the_cache_is_used)
{
	struct os_file *f;
	char b[4];

	/* By the open, which has made the file that must be new. */
	door.no_direct = true;
	assert_int_equal(os_open(the.dir, "g",
				 OS_WRITE | OS_CREATE | OS_EXCL | OS_DIRECT,
				 &f),
			 0);
	assert_false(door.flags & (O_DIRECT | O_EXCL));
	assert_true(door.flags & O_CREAT);
	assert_int_equal(os_finish(f), 0);
	assert_int_equal(os_unlink(the.dir, "g"), 0);
	assert_int_equal(door_with_failure(make_file, 1, EINVAL, "openat64"),
			 -EINVAL);
	door.no_direct = false;
	/* By the first transfer, and then no more. */
	door.no_direct_io = true;
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_DIRECT, &f), 0);
	assert_int_equal(os_pread(f, b, 4, 0), 4);
	assert_memory_equal(b, "old!", 4);
	os_close(f);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_DIRECT, &f), 0);
	assert_int_equal(os_pwrite(f, "new!", 4, 0), 0);
	os_close(f);
	/* What O_DIRECT is not to blame for stays a failure. */
	door.no_direct_io = false;
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_DIRECT, &f), 0);
	door.armed = true;
	door.n = 0;
	door.fail_at = 1;
	door.err = EIO;
	assert_int_equal(os_pread(f, b, 4, 0), -EIO);
	door.n = 0;
	door.err = EINVAL;
	assert_int_equal(os_pread(f, b, 4, 0), 4);
	door.armed = true;
	door.n = 0;
	door.fail_at = 1;
	door.err = EINVAL;
	assert_int_equal(os_pread(f, b, 4, 0), -EIO);
	os_close(f);
	assert_int_equal(door_with_failure(read_it, 1, EINVAL, "pread64"),
			 -EIO);
	assert_int_equal(door_with_failure(write_it, 1, EINVAL, "pwritev64v2"),
			 -EIO);
}
