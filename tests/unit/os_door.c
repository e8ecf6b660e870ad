/*
 * The real door, call by call: what it asks of the kernel, and what it does when
 * any one of the calls fails. The linker puts these functions between os_posix.c
 * and the C library (--wrap).
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "store/os/os.h"
#include "store/value/why.h"

#define MIB ((uint64_t)1 << 20)

/* What is to happen, and what did. */
static struct {
	bool armed;
	unsigned n, fail_at; /* the n-th call fails, 0 = none */
	int err;
	const char *name; /* only calls of this name count; NULL = all */
	char failed[32];  /* which it was */
	bool pretend;	  /* a directory is made */
	char opened[32];  /* the first path */
	bool no_fallocate;
	bool no_direct;	   /* an open refuses it */
	bool no_direct_io; /* a transfer refuses it */
	bool no_transfer;  /* a transfer moves nothing, and says it moved all */
	bool put_nothing;  /* a write says it wrote 0 */
	struct stat *st;   /* what fstat() says instead */
	uid_t euid;
	unsigned given; /* calls of fchown(), */
	uid_t to;	/* the last of which names this user */
	struct timespec now, slept;
	int flags, prot, map_flags, advice, advised, sync_flags;
	mode_t mode;
	size_t map_len, unmap_len;
	ino_t synced; /* what fsync() was called for */
	uint64_t at[8], len[8];
	unsigned ntransfers;
} k;

static bool trips(const char *name)
{
	if (!k.armed || (k.name && strcmp(k.name, name)))
		return false;
	if (++k.n != k.fail_at)
		return false;
	snprintf(k.failed, sizeof(k.failed), "%s", name);
	errno = k.err;
	return true;
}

/* What is called in place of @name, which is __real_name. */
#define WRAP(type, name, params)   \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params

/* A call that only may fail. */
#define DOOR(type, name, params, args, bad)                       \
	WRAP(type, name, params)                                  \
	{                                                         \
		return trips(#name) ? (bad) : __real_##name args; \
	}

DOOR(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
DOOR(int, fchmodat, (int fd, const char *name, mode_t mode, int flags),
     (fd, name, mode, flags), -1)
DOOR(DIR *, fdopendir, (int fd), (fd), NULL)
DOOR(struct dirent64 *, readdir64, (DIR * dir), (dir), NULL)
DOOR(int, renameat, (int a, const char *from, int b, const char *to),
     (a, from, b, to), -1)
DOOR(int, unlinkat, (int fd, const char *name, int flags), (fd, name, flags),
     -1)
DOOR(int, fstatvfs64, (int fd, struct statvfs64 *st), (fd, st), -1)
DOOR(int, fdatasync, (int fd), (fd), -1)
DOOR(int, ftruncate64, (int fd, off_t size), (fd, size), -1)
DOOR(void *, calloc, (size_t n, size_t size), (n, size), NULL)
DOOR(char *, strdup, (const char *s), (s), NULL)

WRAP(int, mkdir, (const char *path, mode_t mode))
{
	if (trips("mkdir"))
		return -1;
	assert_int_equal(mode, 0700);
	return k.pretend ? 0 : __real_mkdir(path, mode);
}

WRAP(int, mkdirat, (int fd, const char *name, mode_t mode))
{
	if (trips("mkdirat"))
		return -1;
	assert_int_equal(mode, 0700);
	return __real_mkdirat(fd, name, mode);
}

WRAP(int, chmod, (const char *path, mode_t mode))
{
	if (trips("chmod"))
		return -1;
	return k.pretend ? 0 : __real_chmod(path, mode);
}

WRAP(int, open64, (const char *path, int flags))
{
	if (trips("open64"))
		return -1;
	assert_int_equal(flags & ~O_LARGEFILE,
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!k.pretend)
		return __real_open64(path, flags);
	if (!k.opened[0])
		snprintf(k.opened, sizeof(k.opened), "%s", path);
	return __real_open64("/", flags);
}

WRAP(int, openat64, (int fd, const char *name, int flags, mode_t mode))
{
	int made;

	if (trips("openat64"))
		return -1;
	k.flags = flags;
	k.mode = mode;
	assert_true(flags & O_CLOEXEC);
	if (!strcmp(name, "."))
		assert_true(flags & O_DIRECTORY);
	if (!k.no_direct || !(flags & O_DIRECT))
		return __real_openat64(fd, name, flags, mode);
	/* As Linux does, it makes the file and then says no. */
	made = __real_openat64(fd, name, flags & ~O_DIRECT, mode);
	if (made >= 0)
		close(made);
	errno = EINVAL;
	return -1;
}

WRAP(int, fstat64, (int fd, struct stat *st))
{
	if (trips("fstat64"))
		return -1;
	if (!k.st)
		return __real_fstat64(fd, st);
	*st = *k.st;
	return 0;
}

WRAP(int, fsync, (int fd))
{
	struct stat st;

	if (trips("fsync"))
		return -1;
	if (__real_fstat64(fd, &st) == 0)
		k.synced = st.st_ino;
	return __real_fsync(fd);
}

WRAP(ssize_t, getrandom, (void *p, size_t n, unsigned flags))
{
	assert_int_equal(flags, 0);
	return trips("getrandom") ? -1 : __real_getrandom(p, n, flags);
}

WRAP(int, posix_memalign, (void **p, size_t align, size_t n))
{
	int r = trips("posix_memalign") ? ENOMEM
					: __real_posix_memalign(p, align, n);

	if (r == 0)
		memset(*p, 0xa5, n); /* not what the kernel gave, which is 0 */
	return r;
}

WRAP(int, fallocate64, (int fd, int mode, off_t off, off_t len))
{
	if (trips("fallocate64"))
		return -1;
	errno = EOPNOTSUPP;
	return k.no_fallocate ? -1 : __real_fallocate64(fd, mode, off, len);
}

WRAP(void *, mmap64,
     (void *at, size_t n, int prot, int flags, int fd, off_t off))
{
	if (trips("mmap64"))
		return MAP_FAILED;
	k.prot = prot;
	k.map_flags = flags;
	k.map_len = n;
	return __real_mmap64(at, n, prot, flags, fd, off);
}

WRAP(int, munmap, (void *p, size_t n))
{
	k.unmap_len = n;
	return __real_munmap(p, n);
}

WRAP(int, madvise, (void *p, size_t n, int advice))
{
	k.advice = advice;
	k.advised++;
	return 0;
}

WRAP(int, posix_fadvise64, (int fd, off_t off, off_t n, int advice))
{
	/* All of it, as long as it becomes. */
	assert_int_equal(off, 0);
	assert_int_equal(n, 0);
	k.advice = advice;
	k.advised++;
	return 0;
}

/* The errno of a transfer that the kernel refuses for O_DIRECT, or 0. */
static bool refused(int fd)
{
	errno = EINVAL;
	return k.no_direct_io && fcntl(fd, F_GETFL) & O_DIRECT;
}

static ssize_t noted(size_t n, off_t off)
{
	if (k.ntransfers < 8) {
		k.len[k.ntransfers] = n;
		k.at[k.ntransfers++] = (uint64_t)off;
	}
	return (ssize_t)n;
}

WRAP(ssize_t, pread64, (int fd, void *buf, size_t n, off_t off))
{
	if (trips("pread64") || refused(fd))
		return -1;
	noted(n, off);
	return k.no_transfer ? (ssize_t)n : __real_pread64(fd, buf, n, off);
}

WRAP(ssize_t, pwritev64v2,
     (int fd, const struct iovec *v, int n, off_t off, int how))
{
	if (trips("pwritev64v2") || refused(fd))
		return -1;
	assert_int_equal(how & ~RWF_DSYNC, 0);
	noted(v->iov_len, off);
	errno = 0;
	if (k.put_nothing)
		return 0;
	return k.no_transfer ? (ssize_t)v->iov_len
			     : __real_pwritev64v2(fd, v, n, off, how);
}

WRAP(int, sync_file_range, (int fd, off_t off, off_t n, unsigned flags))
{
	k.sync_flags = (int)flags;
	noted((size_t)n, off);
	return 0;
}

WRAP(int, close, (int fd))
{
	int r = __real_close(fd);

	/* Linux closes it all the same. */
	return k.name && !strcmp(k.name, "close") && trips("close") ? -1 : r;
}

WRAP(int, fchown, (int fd, uid_t owner, gid_t group))
{
	assert_int_equal(group, (gid_t)-1);
	k.given++;
	k.to = owner;
	return 0;
}

WRAP(uid_t, geteuid, (void))
{
	return k.euid;
}

WRAP(int, clock_gettime, (clockid_t id, struct timespec *ts))
{
	if (!k.now.tv_sec)
		return __real_clock_gettime(id, ts);
	*ts = k.now;
	return 0;
}

WRAP(int, nanosleep, (const struct timespec *ts, struct timespec *left))
{
	k.slept = *ts;
	return 0;
}

/* A directory with the file "f" of four bytes. */
static struct {
	char path[64];
	struct os_dir *dir;
	struct os_file *file;
} the;

static void reset(void)
{
	memset(&k, 0, sizeof(k));
	k.euid = __real_geteuid();
}

static int set_up(void **state)
{
	memset(&the, 0, sizeof(the));
	reset();
	snprintf(the.path, sizeof(the.path), "%s", "/tmp/cellfs-door-XXXXXX");
	assert_non_null(mkdtemp(the.path));
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &the.dir), 0);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_CREATE, &the.file),
			 0);
	assert_int_equal(os_pwrite(the.file, "old!", 4, 0), 0);
	return 0;
}

static int tear_down(void **state)
{
	reset();
	os_close(the.file);
	assert_int_equal(os_unlink(the.dir, "f"), 0);
	os_dir_close(the.dir);
	assert_int_equal(rmdir(the.path), 0);
	return 0;
}

EACH_TEST_IN(set_up, tear_down);

static void below(const char *name, char path[96])
{
	snprintf(path, 96, "%s/%s", the.path, name);
}

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

	below("sub//", path);
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
	below("sub", path);
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

	below("g", path);
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
	below("g", path);
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

static int allocate(void)
{
	return os_allocate(the.file, MIB);
}

static int allocate_by_writing(void)
{
	int r;

	k.no_fallocate = true;
	r = os_allocate(the.file, 2 * MIB + 4096);
	k.no_fallocate = false;
	return r;
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
	{"allocate", allocate},
	{"allocate by writing", allocate_by_writing},
	{"size", measure_file},
	{"map", map_it},
	{"map to read", map_to_read},
};

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool handles_bus(void)
{
	struct sigaction now;

	assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
	return now.sa_flags & SA_SIGINFO;
}

/* 0, or what the op says when its @at-th call fails with @err. */
static int with_failure(int (*run)(void), unsigned at, int err,
			const char *name)
{
	int r;

	k.n = 0;
	k.failed[0] = '\0';
	k.fail_at = at;
	k.err = err;
	k.name = name;
	k.armed = true;
	r = run();
	k.armed = false;
	k.name = NULL;
	return r;
}

TEST(each_call_that_fails_is_told_and_leaves_nothing_open)
{
	const int errors[] = {EIO, ENOSPC, EMFILE};
	unsigned total = 0;
	uint64_t size;

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		for (unsigned at = 1;; at++) {
			const int err = errors[at % 3];
			const bool memory = handles_bus();
			unsigned before = open_files();
			int r = with_failure(ops[i].run, at, err, NULL);

			if (!k.failed[0]) {
				if (r != 0 || at == 1 || open_files() != before)
					fail_msg("%s: %d", ops[i].name, r);
				break;
			}
			total++;
			if (!strcmp(k.failed, "calloc") ||
			    !strcmp(k.failed, "strdup") ||
			    !strcmp(k.failed, "posix_memalign"))
				assert_true(r < 0);
			else if (r != -err)
				fail_msg("%s: %s fails with %d: %d",
					 ops[i].name, k.failed, err, r);
			if (open_files() != before || handles_bus() != memory)
				fail_msg("%s: %s fails: something stays",
					 ops[i].name, k.failed);
			/* What was not allocated whole takes no space. */
			if (strstr(ops[i].name, "allocate") &&
			    strcmp(k.failed, "fstat64") &&
			    strcmp(k.failed, "ftruncate64")) {
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
	assert_int_equal(with_failure(open_dir, 1, EIO, "fstat64"), -EIO);
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
		{"openat64", make_file},   {"pread64", read_it},
		{"pwritev64v2", write_it}, {"ftruncate64", cut},
		{"fallocate64", allocate}, {"close", make_file},
	};

	for (size_t i = 0; i < sizeof(again) / sizeof(*again); i++) {
		assert_int_equal(
			with_failure(again[i].run, 1, EINTR, again[i].call), 0);
		assert_string_equal(k.failed, again[i].call);
	}
	/* A sync may have lost what it had to sync; a close that fails lost. */
	assert_int_equal(with_failure(sync_it, 1, EINTR, "fdatasync"), -EIO);
	assert_int_equal(with_failure(make_file, 1, EIO, "close"), -EIO);
}

TEST(a_parent_that_cannot_be_synced_is_no_reason)
{
	const char *const parents[][2] = {
		{"/", "/"},	   {"/a", "/"}, {"/a//", "/"}, {"/a/b", "/a"},
		{"/a/b///", "/a"}, {"a/", "."}, {"a/b", "a"},
	};
	struct os_dir *d;
	struct stat st;

	assert_int_equal(with_failure(make_dir, 1, EACCES, "open64"), 0);
	assert_int_equal(with_failure(make_dir, 1, EINVAL, "fsync"), 0);
	assert_int_equal(with_failure(make_dir, 1, EIO, "fsync"), -EIO);
	assert_int_equal(with_failure(make_dir, 1, ENOENT, "open64"), -ENOENT);
	/* The parent it is, however the name is written. */
	k.synced = 0;
	assert_int_equal(make_dir(), 0);
	assert_int_equal(stat(the.path, &st), 0);
	assert_int_equal(k.synced, st.st_ino);
	assert_int_equal(chdir(the.path), 0);
	k.synced = 0;
	assert_int_equal(os_dir_open(os_posix(), "sub", true, &d), 0);
	assert_int_equal(k.synced, st.st_ino);
	os_dir_close(d);
	assert_int_equal(rmdir("sub"), 0);
	assert_int_equal(chdir("/"), 0);
	k.pretend = true;
	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		k.opened[0] = '\0';
		assert_int_equal(
			os_dir_open(os_posix(), parents[i][0], true, &d), 0);
		assert_string_equal(k.opened, parents[i][1]);
		os_dir_close(d);
	}
}

TEST(a_directory_below_is_made_durably)
{
	struct os_dir *d, *again;
	struct stat st;
	char path[96];

	umask(0777);
	k.synced = 0;
	assert_int_equal(os_dir_below(the.dir, "sub", &d), 0);
	umask(022);
	assert_int_equal(stat(the.path, &st), 0);
	assert_int_equal(k.synced, st.st_ino);
	below("sub", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_false(d->own);
	os_dir_close(d);
	the.dir->own = true;
	assert_int_equal(os_dir_below(the.dir, "sub", &again), 0);
	assert_true(again->own);
	the.dir->own = false;
	os_dir_close(again);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_int_equal(os_dir_below(the.dir, "sub", &d), -ENOTDIR);
	assert_int_equal(unlink(path), 0);
}

static int stop_at(void *arg, const char *name)
{
	unsigned *left = arg;

	assert_string_not_equal(name, ".");
	assert_string_not_equal(name, "..");
	return --*left ? 1 : -ECANCELED;
}

TEST(a_listing_ends_when_it_is_told_to)
{
	struct os_file *g;
	unsigned left = 99;

	assert_int_equal(os_open(the.dir, "g", OS_WRITE | OS_CREATE, &g), 0);
	os_close(g);
	assert_int_equal(os_dir_list(the.dir, stop_at, &left), 0);
	assert_int_equal(left, 97);
	left = 1;
	assert_int_equal(os_dir_list(the.dir, stop_at, &left), -ECANCELED);
	assert_int_equal(left, 0);
	assert_int_equal(os_unlink(the.dir, "g"), 0);
}

TEST(space_is_what_the_system_says)
{
	struct statvfs st;
	uint64_t total, avail, usable;

	assert_int_equal(os_dir_space(the.dir, &total, &avail, &usable), 0);
	assert_int_equal(statvfs(the.path, &st), 0);
	assert_int_equal(total, (uint64_t)st.f_blocks * st.f_frsize);
	assert_int_equal(avail % st.f_frsize, 0);
	assert_true(avail <= total && usable <= avail);
	assert_true(avail > total / 1000 || st.f_bfree < st.f_blocks / 100);
}

TEST(an_open_asks_for_what_its_flags_say)
{
	const int always = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	const struct {
		unsigned flags;
		int asked;
	} cases[] = {
		{OS_READ, O_RDONLY},
		{OS_WRITE, O_RDWR},
		{OS_WRITE | OS_CREATE, O_RDWR | O_CREAT},
		{OS_WRITE | OS_DIRECT, O_RDWR | O_DIRECT},
		{OS_READ | OS_RANDOM, O_RDONLY},
	};
	struct os_file *f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		k.advised = 0;
		assert_int_equal(os_open(the.dir, "f", cases[i].flags, &f), 0);
		assert_int_equal(k.flags & ~O_LARGEFILE,
				 cases[i].asked | always);
		assert_int_equal(k.mode, 0600);
		assert_int_equal(k.advised, cases[i].flags & OS_RANDOM ? 1 : 0);
		if (k.advised)
			assert_int_equal(k.advice, POSIX_FADV_RANDOM);
		os_close(f);
	}
	assert_int_equal(
		os_open(the.dir, "f", OS_WRITE | OS_CREATE | OS_EXCL, &f),
		-EEXIST);
}

static int open_again(void)
{
	struct os_file *f;
	int r = os_open(the.dir, "f", OS_WRITE | OS_CREATE, &f);

	if (r == 0)
		os_close(f);
	return r;
}

TEST(only_a_creating_open_changes_the_mode)
{
	struct os_file *f;
	struct stat st;
	char path[96], other[96];

	below("f", path);
	below("other", other);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE, &f), 0);
	os_close(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* Nor that of a file that has a name elsewhere, which is refused. */
	assert_int_equal(link(path, other), 0);
	the.dir->own = true;
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_CREATE, &f),
			 -EPERM);
	the.dir->own = false;
	assert_int_equal(unlink(other), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_CREATE, &f), 0);
	os_close(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Which is nobody's but the owner's to do: not where it is so already. */
	assert_int_equal(with_failure(open_again, 1, EPERM, "fchmod"), 0);
}

/* How often a file as @st, opened so, is given to the owner of @d. */
static unsigned given(struct os_dir *d, struct stat *st, unsigned flags)
{
	struct os_file *f;

	k.given = 0;
	k.st = st;
	assert_int_equal(os_open(d, "f", flags, &f), 0);
	k.st = NULL;
	os_close(f);
	if (k.given)
		assert_int_equal(k.to, 5);
	return k.given;
}

TEST(only_what_root_makes_is_the_owners_of_the_directory)
{
	const unsigned make = OS_WRITE | OS_CREATE;
	struct stat of_dir = {.st_mode = S_IFDIR | 0700, .st_uid = 5};
	const struct stat made = {.st_mode = S_IFREG | 0600, .st_nlink = 1};
	struct stat st = made;
	struct os_dir *d;

	k.st = &of_dir;
	k.euid = 0;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	assert_int_equal(given(d, &st, make), 1);
	assert_int_equal(given(d, &st, OS_WRITE), 0);
	assert_int_equal(given(d, &st, OS_READ), 0);
	st.st_size = 1;
	assert_int_equal(given(d, &st, make), 0);
	st = made;
	st.st_nlink = 2;
	assert_int_equal(given(d, &st, make), 0);
	st = made;
	st.st_uid = 7;
	assert_int_equal(given(d, &st, make), 0);
	st = made;
	k.euid = 7;
	assert_int_equal(given(d, &st, make), 0);
	os_dir_close(d);
	/* Root's own directory. */
	k.euid = of_dir.st_uid = 0;
	k.st = &of_dir;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	assert_int_equal(given(d, &st, make), 0);
	os_dir_close(d);
}

/* What is given when root, or user 7, asks for the directory below @d. */
static unsigned given_below(struct os_dir *d, uid_t euid, struct os_dir **sub)
{
	k.euid = euid;
	k.given = 0;
	assert_int_equal(os_dir_below(d, "sub", sub), 0);
	return k.given;
}

TEST(a_directory_that_root_makes_is_given_and_what_root_makes_in_it)
{
	struct stat of_dir = {.st_mode = S_IFDIR | 0700, .st_uid = 5};
	struct stat made = {.st_mode = S_IFREG | 0600, .st_nlink = 1};
	struct os_dir *d, *sub;
	char path[96];

	below("sub", path);
	k.st = &of_dir;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	k.st = NULL;
	assert_int_equal(given_below(d, 7, &sub), 0);
	os_dir_close(sub);
	assert_int_equal(given_below(d, 0, &sub), 0); /* it is there */
	os_dir_close(sub);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(given_below(d, 0, &sub), 1);
	assert_int_equal(k.to, 5);
	os_dir_close(d);
	assert_int_equal(given(sub, &made, OS_WRITE | OS_CREATE), 1);
	assert_int_equal(os_unlink(sub, "f"), 0);
	os_dir_close(sub);
	assert_int_equal(rmdir(path), 0);
}

TEST(where_direct_is_refused_the_cache_is_used)
{
	struct os_file *f;
	char b[4];

	/* By the open, which has made the file that must be new. */
	k.no_direct = true;
	assert_int_equal(os_open(the.dir, "g",
				 OS_WRITE | OS_CREATE | OS_EXCL | OS_DIRECT,
				 &f),
			 0);
	assert_false(k.flags & (O_DIRECT | O_EXCL));
	assert_true(k.flags & O_CREAT);
	assert_int_equal(os_finish(f), 0);
	assert_int_equal(os_unlink(the.dir, "g"), 0);
	assert_int_equal(with_failure(make_file, 1, EINVAL, "openat64"),
			 -EINVAL);
	k.no_direct = false;
	/* By the first transfer, and then no more. */
	k.no_direct_io = true;
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_DIRECT, &f), 0);
	assert_int_equal(os_pread(f, b, 4, 0), 4);
	assert_memory_equal(b, "old!", 4);
	os_close(f);
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_DIRECT, &f), 0);
	assert_int_equal(os_pwrite(f, "new!", 4, 0), 0);
	os_close(f);
	/* What O_DIRECT is not to blame for stays a failure. */
	k.no_direct_io = false;
	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_DIRECT, &f), 0);
	k.armed = true;
	k.n = 0;
	k.fail_at = 1;
	k.err = EIO;
	assert_int_equal(os_pread(f, b, 4, 0), -EIO);
	k.n = 0;
	k.err = EINVAL;
	assert_int_equal(os_pread(f, b, 4, 0), 4);
	k.armed = true;
	k.n = 0;
	k.fail_at = 1;
	k.err = EINVAL;
	assert_int_equal(os_pread(f, b, 4, 0), -EIO);
	os_close(f);
	assert_int_equal(with_failure(read_it, 1, EINVAL, "pread64"), -EIO);
	assert_int_equal(with_failure(write_it, 1, EINVAL, "pwritev64v2"),
			 -EIO);
}

TEST(a_huge_transfer_goes_by_parts)
{
	const uint64_t part = (uint64_t)1 << 30, n = 2 * part + 5, at = 7;
	char b[1];

	/* A length of over 2 GiB has no place in 32 bits. */
	if (sizeof(ssize_t) < 8)
		skip();
	k.no_transfer = true;
	for (int i = 0; i < 2; i++) {
		k.ntransfers = 0;
		if (i)
			assert_int_equal(os_pwrite(the.file, b, n, at), 0);
		else
			assert_int_equal(os_pread(the.file, b, n, at), n);
		assert_int_equal(k.ntransfers, 3);
		for (unsigned t = 0; t < 3; t++) {
			assert_int_equal(k.at[t], at + t * part);
			assert_int_equal(k.len[t], t < 2 ? part : 5);
		}
	}
	k.no_transfer = false;
	k.put_nothing = true;
	assert_int_equal(os_pwrite(the.file, "new!", 4, 0), -EIO);
	assert_int_equal(os_pwrite_sync(the.file, "new!", 4, 0), -EIO);
}

TEST(writing_out_names_its_bytes)
{
	k.ntransfers = 0;
	os_write_out(the.file, 4096, 8192);
	assert_int_equal(k.at[0], 4096);
	assert_int_equal(k.len[0], 8192);
	assert_int_equal(k.sync_flags, SYNC_FILE_RANGE_WRITE);
}

TEST(space_that_no_call_allocates_is_written)
{
	const uint64_t n = 2 * MIB + 4096;
	struct stat st;
	uint64_t size;
	char *b = malloc(n), path[96];

	k.ntransfers = 0;
	assert_int_equal(allocate_by_writing(), 0);
	assert_int_equal(k.ntransfers, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(k.at[i], i * MIB);
	assert_int_equal(os_size(the.file, &size), 0);
	assert_int_equal(size, n);
	below("f", path);
	assert_int_equal(stat(path, &st), 0);
	assert_true((uint64_t)st.st_blocks * 512 >= n);
	assert_int_equal(os_pread(the.file, b, n, 0), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(b[i], 0);
	free(b);
	k.ntransfers = 0;
	k.no_fallocate = true;
	assert_int_equal(os_allocate(the.file, MIB), 0);
	assert_int_equal(k.ntransfers, 1);
	assert_int_equal(with_failure(allocate, 1, ENOSYS, "fallocate64"), 0);
	/* None at all. */
	k.no_fallocate = false;
	assert_int_equal(os_allocate(the.file, 0), 0);
	assert_int_equal(os_size(the.file, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(os_pwrite(the.file, "x", 1, 0), 0);
	assert_int_equal(os_allocate(the.file, 1), 0);
	assert_int_equal(os_size(the.file, &size), 0);
	assert_int_equal(size, 1);
	assert_int_equal(os_pread(the.file, path, 1, 0), 1);
	assert_int_equal(path[0], 0);
}

TEST(a_mapping_asks_for_what_it_is_for)
{
	struct os_file *f;
	const void *r;
	void *m;

	assert_int_equal(os_open(the.dir, "f", OS_WRITE | OS_RANDOM, &f), 0);
	assert_int_equal(os_map(f, 0, &m), -EINVAL);
	assert_int_equal(os_map(f, 4, &m), 0);
	assert_int_equal(k.prot, PROT_READ | PROT_WRITE);
	assert_int_equal(k.map_flags, MAP_SHARED | MAP_POPULATE);
	k.advised = 0;
	assert_int_equal(os_map_read(f, 3, &r), 0);
	assert_int_equal(k.prot, PROT_READ);
	assert_int_equal(k.map_flags, MAP_SHARED);
	assert_int_equal(k.map_len, 3);
	assert_int_equal(k.advised, 1);
	assert_int_equal(k.advice, MADV_RANDOM);
	assert_true(handles_bus());
	k.unmap_len = 0;
	os_unmap(f, r, 3);
	assert_int_equal(k.unmap_len, 3);
	k.unmap_len = 0;
	os_close(f);
	assert_int_equal(k.unmap_len, 4);
	k.advised = 0;
	assert_int_equal(os_map_read(the.file, 4, &r), 0);
	assert_int_equal(k.advised, 0);
	os_unmap(the.file, r, 4);
}

static bool says(const char *part)
{
	return strstr(store_why(), part) != NULL;
}

TEST(what_others_may_write_is_refused_by_its_reason)
{
	struct stat st = {.st_mode = S_IFDIR | 0700, .st_nlink = 2};

	k.st = &st;
	k.euid = 0;
	st.st_uid = 5; /* root may use what is another's */
	assert_int_equal(os_dir_own(the.dir, the.path), 0);
	k.euid = st.st_uid = 7;
	assert_int_equal(os_dir_own(the.dir, the.path), 0);
	st.st_uid = 8;
	assert_int_equal(os_dir_own(the.dir, the.path), -EPERM);
	assert_true(says("belongs to another user"));
	for (int i = 0; i < 2; i++) {
		st.st_uid = 7;
		st.st_mode = S_IFDIR | 0700 | (i ? S_IWGRP : S_IWOTH);
		assert_int_equal(os_dir_own(the.dir, the.path), -EPERM);
		assert_true(says("may be written by others"));
	}
	st.st_mode = S_IFDIR | 0755;
	assert_int_equal(os_dir_own(the.dir, the.path), 0);
	k.armed = true;
	k.n = 0;
	k.fail_at = 1;
	k.err = EIO;
	assert_int_equal(os_dir_own(the.dir, the.path), -EPERM);
	assert_true(says("cannot be looked at"));
	k.armed = false;
}

/* What an open says of a file of this user that has so many names. */
static int open_of(struct os_dir *d, uid_t owner, unsigned names)
{
	struct stat st = {
		.st_mode = S_IFREG | 0600, .st_nlink = names, .st_uid = owner};
	struct os_file *f;
	unsigned before = open_files();
	int r;

	k.st = &st;
	r = os_open(d, "f", OS_READ, &f);
	if (r == 0)
		os_close(f);
	k.st = NULL;
	assert_int_equal(open_files(), before);
	return r;
}

TEST(a_file_of_somebody_else_or_of_two_names_is_refused)
{
	struct stat st = {.st_mode = S_IFDIR | 0700, .st_uid = 5};
	struct os_dir *d;

	k.st = &st;
	k.euid = 7;
	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	k.st = NULL;
	assert_int_equal(open_of(d, 6, 2), 0); /* nobody asked for it yet */
	d->own = true;
	assert_int_equal(open_of(d, 0, 1), 0);
	assert_int_equal(open_of(d, 7, 1), 0);
	assert_int_equal(open_of(d, 5, 1), 0); /* the directory's owner's */
	assert_int_equal(open_of(d, 6, 1), -EPERM);
	assert_true(says("belongs to another user"));
	assert_int_equal(open_of(d, 7, 2), -EPERM);
	assert_true(says("second name"));
	os_dir_close(d);
}

TEST(times_are_in_the_units_they_say)
{
	const struct timespec at[] = {{12, 345000000}, {12, 999999999}};
	const int64_t ms[] = {12345, 12999};
	const unsigned waits[] = {0, 1, 999, 1000, 2000, 61234};

	for (int i = 0; i < 2; i++) {
		k.now = at[i];
		assert_int_equal(os_now_ms(os_posix()), ms[i]);
		assert_int_equal(os_monotonic_ns(os_posix()),
				 12000000000 + at[i].tv_nsec);
	}
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		os_sleep_ms(os_posix(), waits[i]);
		assert_int_equal(k.slept.tv_sec, waits[i] / 1000);
		assert_int_equal(k.slept.tv_nsec, waits[i] % 1000 * 1000000);
	}
}

static int chance(void)
{
	return os_random(os_posix()) == 0;
}

TEST(chance_needs_no_call)
{
	uint64_t a, b;

	assert_int_equal(with_failure(chance, 1, EINTR, "getrandom"), 0);
	assert_int_equal(k.n, 2);
	k.armed = true;
	k.err = ENOSYS;
	k.n = 0;
	k.fail_at = 1;
	k.now = (struct timespec){.tv_sec = 12, .tv_nsec = 1};
	a = os_random(os_posix());
	k.n = 0;
	k.now.tv_nsec = 2;
	b = os_random(os_posix());
	assert_int_not_equal(a, b);
	assert_int_not_equal(a >> 32, 0);
}
