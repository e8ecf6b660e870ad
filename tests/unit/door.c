#include "tests/unit/door.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "store/value/why.h"
#include "tests/unit/unit.h"

struct door door;
struct door_dir the;

static bool trips(const char *name)
{
	if (!door.armed || (door.name && strcmp(door.name, name)))
		return false;
	if (++door.n != door.fail_at)
		return false;
	snprintf(door.failed, sizeof(door.failed), "%s", name);
	errno = door.err;
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
	return door.pretend ? 0 : __real_mkdir(path, mode);
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
	return door.pretend ? 0 : __real_chmod(path, mode);
}

WRAP(int, open64, (const char *path, int flags))
{
	if (trips("open64"))
		return -1;
	assert_int_equal(flags & ~O_LARGEFILE,
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!door.pretend)
		return __real_open64(path, flags);
	if (!door.opened[0])
		snprintf(door.opened, sizeof(door.opened), "%s", path);
	return __real_open64("/", flags);
}

WRAP(int, openat64, (int fd, const char *name, int flags, mode_t mode))
{
	int made;

	if (trips("openat64"))
		return -1;
	door.flags = flags;
	door.mode = mode;
	assert_true(flags & O_CLOEXEC);
	if (!strcmp(name, "."))
		assert_true(flags & O_DIRECTORY);
	if (!door.no_direct || !(flags & O_DIRECT))
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
	if (!door.st)
		return __real_fstat64(fd, st);
	*st = *door.st;
	return 0;
}

WRAP(int, fsync, (int fd))
{
	struct stat st;

	if (trips("fsync"))
		return -1;
	if (__real_fstat64(fd, &st) == 0)
		door.synced = st.st_ino;
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
	return door.no_fallocate ? -1 : __real_fallocate64(fd, mode, off, len);
}

WRAP(void *, mmap64,
     (void *at, size_t n, int prot, int flags, int fd, off_t off))
{
	if (trips("mmap64"))
		return MAP_FAILED;
	door.prot = prot;
	door.map_flags = flags;
	door.map_len = n;
	return __real_mmap64(at, n, prot, flags, fd, off);
}

WRAP(int, munmap, (void *p, size_t n))
{
	door.unmap_len = n;
	return __real_munmap(p, n);
}

WRAP(int, madvise, (void *p, size_t n, int advice))
{
	door.advice = advice;
	door.advised++;
	return 0;
}

WRAP(int, posix_fadvise64, (int fd, off_t off, off_t n, int advice))
{
	/* All of it, as long as it becomes. */
	assert_int_equal(off, 0);
	assert_int_equal(n, 0);
	door.advice = advice;
	door.advised++;
	return 0;
}

/* The errno of a transfer that the kernel refuses for O_DIRECT, or 0. */
static bool refused(int fd)
{
	errno = EINVAL;
	return door.no_direct_io && fcntl(fd, F_GETFL) & O_DIRECT;
}

static ssize_t noted(size_t n, off_t off)
{
	if (door.ntransfers < 8) {
		door.len[door.ntransfers] = n;
		door.at[door.ntransfers++] = (uint64_t)off;
	}
	return (ssize_t)n;
}

WRAP(ssize_t, pread64, (int fd, void *buf, size_t n, off_t off))
{
	if (trips("pread64") || refused(fd))
		return -1;
	noted(n, off);
	return door.no_transfer ? (ssize_t)n : __real_pread64(fd, buf, n, off);
}

WRAP(ssize_t, pwritev64v2,
     (int fd, const struct iovec *v, int n, off_t off, int how))
{
	if (trips("pwritev64v2") || refused(fd))
		return -1;
	assert_int_equal(how & ~RWF_DSYNC, 0);
	noted(v->iov_len, off);
	errno = 0;
	if (door.put_nothing)
		return 0;
	return door.no_transfer ? (ssize_t)v->iov_len
				: __real_pwritev64v2(fd, v, n, off, how);
}

WRAP(int, sync_file_range, (int fd, off_t off, off_t n, unsigned flags))
{
	door.sync_flags = (int)flags;
	noted((size_t)n, off);
	return 0;
}

WRAP(int, close, (int fd))
{
	int r = __real_close(fd);

	/* Linux closes it all the same. */
	return door.name && !strcmp(door.name, "close") && trips("close") ? -1
									  : r;
}

WRAP(int, fchown, (int fd, uid_t owner, gid_t group))
{
	assert_int_equal(group, (gid_t)-1);
	door.given++;
	door.to = owner;
	return 0;
}

WRAP(uid_t, geteuid, (void))
{
	return door.euid;
}

WRAP(int, clock_gettime, (clockid_t id, struct timespec *ts))
{
	if (!door.now.tv_sec)
		return __real_clock_gettime(id, ts);
	*ts = door.now;
	return 0;
}

WRAP(int, nanosleep, (const struct timespec *ts, struct timespec *left))
{
	door.slept = *ts;
	return 0;
}

static void reset(void)
{
	memset(&door, 0, sizeof(door));
	door.euid = __real_geteuid();
}

int door_set_up(void **state)
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

int door_tear_down(void **state)
{
	reset();
	os_close(the.file);
	assert_int_equal(os_unlink(the.dir, "f"), 0);
	os_dir_close(the.dir);
	assert_int_equal(rmdir(the.path), 0);
	return 0;
}

void door_below(const char *name, char path[96])
{
	snprintf(path, 96, "%s/%s", the.path, name);
}

unsigned door_open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

bool door_handles_bus(void)
{
	struct sigaction now;

	assert_int_equal(sigaction(SIGBUS, NULL, &now), 0);
	return now.sa_flags & SA_SIGINFO;
}

int door_with_failure(int (*run)(void), unsigned at, int err, const char *name)
{
	int r;

	door.n = 0;
	door.failed[0] = '\0';
	door.fail_at = at;
	door.err = err;
	door.name = name;
	door.armed = true;
	r = run();
	door.armed = false;
	door.name = NULL;
	return r;
}

bool door_says(const char *part)
{
	return strstr(store_why(), part) != NULL;
}

int door_allocate(void)
{
	return os_allocate(the.file, MIB);
}

int door_allocate_by_writing(void)
{
	int r;

	door.no_fallocate = true;
	r = os_allocate(the.file, 2 * MIB + 4096);
	door.no_fallocate = false;
	return r;
}
