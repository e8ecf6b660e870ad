/*
 * The real operating system behind os.h.
 *
 * All names are relative to an open directory, so that a store that is moved
 * or mounted over stays the store; symbolic links and anything that is not a
 * plain file are refused.
 */
#include "store/os/os.h"
#include "store/os/os_bus.h"
#include "store/os/os_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* One read or write moves at most this much, well below what Linux cuts at. */
#define TRANSFER_MAX ((size_t)1 << 30)

struct posix_dir {
	struct os_dir base;
	int fd;
	uid_t owner;
	struct dir_lock lock;
};

struct posix_file {
	struct os_file base;
	int fd;
	uid_t dir_owner;
	unsigned flags; /* OS_* */
	size_t map_len;
};

static int dir_fd(struct os_dir *d)
{
	return ((struct posix_dir *)d)->fd;
}

static struct posix_file *pfile(struct os_file *f)
{
	return (struct posix_file *)f;
}

/* Makes a new directory's entry in its parent durable. */
static int sync_parent(const char *path)
{
	char *copy = strdup(path);
	char *slash;
	size_t len;
	int fd, rc = 0;

	if (!copy)
		return -ENOMEM;
	for (len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = '\0';
	slash = strrchr(copy, '/');
	if (slash)
		slash[slash == copy] = '\0';
	fd = open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		/* The parent is not readable, so it cannot be synced. */
		rc = errno == EACCES ? 0 : -errno;
	} else {
		if (fsync(fd) && errno != EINVAL)
			rc = -errno;
		close(fd);
	}
	free(copy);
	return rc;
}

/* The directory behind a descriptor, or behind an errno. Takes over @fd. */
static int dir_of(struct os *os, int fd, struct os_dir **out)
{
	int rc = fd < 0 ? -errno : 0;
	struct posix_dir *d = NULL;
	struct stat st;

	if (!rc && fstat(fd, &st))
		rc = -errno;
	if (!rc && !(d = calloc(1, sizeof(*d))))
		rc = -ENOMEM;
	if (rc) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	d->base.os = os;
	d->fd = fd;
	d->owner = st.st_uid;
	*out = &d->base;
	return 0;
}

static int posix_dir_open(struct os *os, const char *path, bool create,
			  struct os_dir **out)
{
	int rc;

	if (create) {
		if (!mkdir(path, 0700)) {
			/* A umask may have taken more. */
			rc = chmod(path, 0700) ? -errno : sync_parent(path);
			if (rc < 0)
				return rc;
		} else if (errno != EEXIST) {
			return -errno;
		}
	}
	return dir_of(os, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out);
}

static int posix_dir_below(struct os_dir *d, const char *name,
			   struct os_dir **out)
{
	uid_t owner = ((struct posix_dir *)d)->owner;
	bool made = !mkdirat(dir_fd(d), name, 0700);
	int rc;

	if (!made && errno != EEXIST)
		return -errno;
	if (made && (fchmodat(dir_fd(d), name, 0700, 0) || fsync(dir_fd(d))))
		return -errno;
	rc = dir_of(d->os,
		    openat(dir_fd(d), name,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
		    out);
	if (rc)
		return rc;
	(*out)->own = d->own;
	/* As a file that is made there: see dir_give(). */
	if (made && owner && !geteuid() && !fchown(dir_fd(*out), owner, -1))
		((struct posix_dir *)*out)->owner = owner;
	return 0;
}

/* Root may use what is another's: it is that one's to begin with. */
static const char *posix_dir_alien(struct os_dir *d)
{
	struct stat st;

	if (fstat(dir_fd(d), &st))
		return "cannot be looked at";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "may be written by others (chmod go-w is the cure)";
	if (geteuid() && st.st_uid != geteuid())
		return "belongs to another user, who could put anything there";
	return NULL;
}

static void posix_dir_close(struct os_dir *d)
{
	dir_lock_end(&((struct posix_dir *)d)->lock);
	close(dir_fd(d));
	free(d);
}

static int posix_dir_lock(struct os_dir *d, const char *path, bool shared,
			  int *pid)
{
	return dir_lock_take(dir_fd(d), path, shared,
			     &((struct posix_dir *)d)->lock, pid);
}

static int posix_dir_sync(struct os_dir *d)
{
	return fsync(dir_fd(d)) ? -errno : 0;
}

static int posix_dir_list(struct os_dir *d,
			  int (*each)(void *arg, const char *name), void *arg)
{
	/* A second descriptor has its own read position. */
	int fd = openat(dir_fd(d), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *e;
	int rc = 0;
	DIR *dir;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		rc = -errno;
		close(fd);
		return rc;
	}
	for (;;) {
		errno = 0;
		e = readdir(dir);
		if (!e) {
			rc = -errno;
			break;
		}
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		rc = each(arg, e->d_name);
		if (rc < 0)
			break;
		rc = 0;
	}
	closedir(dir);
	return rc;
}

static int posix_rename(struct os_dir *d, const char *from, const char *to)
{
	return renameat(dir_fd(d), from, dir_fd(d), to) ? -errno : 0;
}

static int posix_unlink(struct os_dir *d, const char *name)
{
	return unlinkat(dir_fd(d), name, 0) ? -errno : 0;
}

static int posix_dir_space(struct os_dir *d, uint64_t *total, uint64_t *avail,
			   uint64_t *usable)
{
	struct statvfs st;

	if (fstatvfs(dir_fd(d), &st))
		return -errno;
	*total = (uint64_t)st.f_blocks * st.f_frsize;
	*avail = (uint64_t)st.f_bfree * st.f_frsize;
	*usable = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

static int open_retrying(int dir, const char *name, int flags)
{
	int fd;

	do
		fd = openat(dir, name, flags, 0600);
	while (fd < 0 && errno == EINTR);
	return fd;
}

static int open_flags(unsigned flags)
{
	/* Do not wait for the other end of a fifo. */
	int fl = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

	fl |= flags & OS_WRITE ? O_RDWR : O_RDONLY;
	if (flags & OS_CREATE)
		fl |= O_CREAT;
	if (flags & OS_EXCL)
		fl |= O_EXCL;
	if (flags & OS_DIRECT)
		fl |= O_DIRECT;
	return fl;
}

static int posix_open(struct os_dir *d, const char *name, unsigned flags,
		      struct os_file **out)
{
	int fl = open_flags(flags);
	struct posix_file *f;
	struct stat st;
	int rc;

	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->flags = flags;
	f->fd = open_retrying(dir_fd(d), name, fl);
	/* The failed open with O_DIRECT may have made the file. */
	if (f->fd < 0 && errno == EINVAL && flags & OS_DIRECT)
		f->fd = open_retrying(dir_fd(d), name,
				      fl & ~(O_DIRECT | O_EXCL));
	if (f->fd < 0) {
		rc = -errno;
		goto fail;
	}
	if (fstat(f->fd, &st)) {
		rc = -errno;
		goto fail_close;
	}
	if (!S_ISREG(st.st_mode)) {
		rc = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
		goto fail_close;
	}
	/*
	 * A umask may have taken more, or the file may be older. One that has a
	 * second name may be anybody's: posix_alien().
	 */
	if (flags & OS_CREATE && st.st_nlink == 1 &&
	    (st.st_mode & 07777) != 0600 && fchmod(f->fd, 0600)) {
		rc = -errno;
		goto fail_close;
	}
	f->dir_owner = ((struct posix_dir *)d)->owner;
	if (flags & OS_CREATE)
		dir_give(f->fd, &st, f->dir_owner);
	if (flags & OS_RANDOM)
		(void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
	f->base.os = d->os;
	*out = &f->base;
	return 0;

fail_close:
	close(f->fd);
fail:
	free(f);
	return rc;
}

static const char *posix_alien(struct os_file *f)
{
	struct stat st;

	if (fstat(pfile(f)->fd, &st))
		return "cannot be looked at";
	if (st.st_uid && st.st_uid != geteuid() &&
	    st.st_uid != pfile(f)->dir_owner)
		return "belongs to another user";
	if (st.st_nlink > 1 &&
	    !(pfile(f)->flags & OS_LINKED && st.st_uid == pfile(f)->dir_owner))
		return "has a second name (a hard link)";
	return NULL;
}

static int posix_finish(struct os_file *base)
{
	struct posix_file *f = pfile(base);
	int rc = 0;

	if (f->base.map)
		munmap(f->base.map, f->map_len);
	/* Linux closes the descriptor even on EINTR. */
	if (close(f->fd) && errno != EINTR)
		rc = -errno;
	free(f);
	return rc;
}

/*
 * If the filesystem refused a transfer because of O_DIRECT, switches it off for
 * the file. False if O_DIRECT was not the reason of the failure.
 */
static bool direct_refused(struct posix_file *f)
{
	int fl;

	if (errno != EINVAL)
		return false;
	fl = fcntl(f->fd, F_GETFL);
	if (fl < 0 || !(fl & O_DIRECT))
		return false;
	return fcntl(f->fd, F_SETFL, fl & ~O_DIRECT) == 0;
}

static ssize_t posix_pread(struct os_file *base, void *buf, size_t n,
			   uint64_t off)
{
	struct posix_file *f = pfile(base);
	size_t done = 0;

	while (done < n) {
		size_t want = n - done < TRANSFER_MAX ? n - done : TRANSFER_MAX;
		ssize_t got = pread(f->fd, (char *)buf + done, want,
				    (off_t)(off + done));

		if (got < 0) {
			if (errno == EINTR || direct_refused(f))
				continue;
			return -errno;
		}
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

#ifndef RWF_DSYNC
/* Of Linux 4.7; the C library has no name for it. */
#define RWF_DSYNC 2

static ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t off,
			int how)
{
	return syscall(SYS_pwritev2, fd, v, n, (long)off,
		       (long)((uint64_t)off >> 32), how);
}
#endif

/* @how: RWF_* */
static ssize_t write_all(struct os_file *base, const void *buf, size_t n,
			 uint64_t off, int how)
{
	struct posix_file *f = pfile(base);
	size_t done = 0;

	while (done < n) {
		struct iovec v = {.iov_base = (char *)(uintptr_t)buf + done,
				  .iov_len = n - done};
		ssize_t put;

		if (v.iov_len > TRANSFER_MAX)
			v.iov_len = TRANSFER_MAX;
		put = pwritev2(f->fd, &v, 1, (off_t)(off + done), how);
		if (put < 0) {
			if (errno == EINTR || direct_refused(f))
				continue;
			return -errno;
		}
		if (put == 0)
			return -EIO;
		done += (size_t)put;
	}
	return (ssize_t)done;
}

static ssize_t posix_pwrite(struct os_file *f, const void *buf, size_t n,
			    uint64_t off)
{
	return write_all(f, buf, n, off, 0);
}

static int posix_fdatasync(struct os_file *f)
{
	/* No retry, even on EINTR: the kernel reports a failure only once. */
	return fdatasync(pfile(f)->fd) ? -errno : 0;
}

static void posix_write_out(struct os_file *f, uint64_t off, uint64_t n)
{
	(void)sync_file_range(pfile(f)->fd, (off_t)off, (off_t)n,
			      SYNC_FILE_RANGE_WRITE);
}

static ssize_t posix_pwrite_sync(struct os_file *f, const void *buf, size_t n,
				 uint64_t off)
{
	ssize_t put = write_all(f, buf, n, off, RWF_DSYNC);
	int rc = 0;

	/* The kernel or the filesystem lacks RWF_DSYNC. */
	if (put == -EOPNOTSUPP) {
		put = write_all(f, buf, n, off, 0);
		if (put > 0)
			rc = posix_fdatasync(f);
	}
	return rc < 0 ? rc : put;
}

static int posix_truncate(struct os_file *f, uint64_t size)
{
	int rc;

	do
		rc = ftruncate(pfile(f)->fd, (off_t)size);
	while (rc && errno == EINTR);
	return rc ? -errno : 0;
}

/* Writing zeros allocates blocks where fallocate() is not supported. */
static int write_zeros(struct os_file *f, uint64_t len)
{
	size_t piece = 1 << 20;
	ssize_t rc = 0;
	void *zeros;

	if (posix_memalign(&zeros, OS_DIRECT_ALIGN, piece))
		return -ENOMEM;
	memset(zeros, 0, piece);
	for (uint64_t off = 0; off < len && rc >= 0; off += piece)
		rc = posix_pwrite(
			f, zeros,
			len - off < piece ? (size_t)(len - off) : piece, off);
	free(zeros);
	return rc < 0 ? (int)rc : 0;
}

static int posix_allocate(struct os_file *f, uint64_t len)
{
	struct stat st;
	int rc;

	if (fstat(pfile(f)->fd, &st))
		return -errno;
	if (st.st_size > 0) {
		rc = posix_truncate(f, 0);
		if (rc < 0)
			return rc;
	}
	if (len == 0)
		return 0;
	do
		rc = fallocate(pfile(f)->fd, 0, 0, (off_t)len) ? -errno : 0;
	while (rc == -EINTR);
	if (rc == -EOPNOTSUPP || rc == -ENOSYS)
		rc = write_zeros(f, len);
	if (rc < 0)
		(void)posix_truncate(f, 0);
	return rc;
}

static int posix_size(struct os_file *f, uint64_t *out)
{
	struct stat st;

	if (fstat(pfile(f)->fd, &st))
		return -errno;
	*out = (uint64_t)st.st_size;
	return 0;
}

/* A mapping beyond the end of the file raises SIGBUS when touched. */
static int map_checked(struct os_file *f, size_t len, int prot, int flags,
		       void **out)
{
	uint64_t size = 0;
	void *p;
	int rc;

	rc = posix_size(f, &size);
	if (rc < 0)
		return rc;
	if (len == 0 || len > size)
		return -EINVAL;
	p = mmap(NULL, len, prot, flags, pfile(f)->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

static int posix_map(struct os_file *f, size_t len, void **out)
{
	int rc;

	/* Populate the mapping, so that stores cause no page fault. */
	rc = map_checked(f, len, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, out);
	if (rc == 0)
		pfile(f)->map_len = len;
	return rc;
}

static int posix_map_read(struct os_file *f, size_t len, const void **out)
{
	void *p = NULL;
	int rc = bus_watch();

	if (rc < 0)
		return rc;
	rc = map_checked(f, len, PROT_READ, MAP_SHARED, &p);
	if (rc < 0) {
		bus_unwatch();
		return rc;
	}
	if (pfile(f)->flags & OS_RANDOM)
		(void)madvise(p, len, MADV_RANDOM);
	*out = p;
	return 0;
}

static bool posix_map_copy(struct os_file *f, void *to, const void *from,
			   size_t n)
{
	return bus_copy(to, from, n);
}

static void posix_unmap(struct os_file *f, const void *p, size_t len)
{
	munmap((void *)(uintptr_t)p, len);
	bus_unwatch();
}

static int64_t posix_now_ms(struct os *os)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static uint64_t posix_monotonic_ns(struct os *os)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void posix_sleep_ms(struct os *os, unsigned ms)
{
	const struct timespec ts = {.tv_sec = ms / 1000,
				    .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&ts, NULL);
}

static uint64_t posix_random(struct os *os)
{
	uint64_t x = 0;
	ssize_t n;

	do
		n = getrandom(&x, sizeof(x), 0);
	while (n < 0 && errno == EINTR);
	/* No getrandom(): the clock gives different, if guessable, numbers. */
	if (n != (ssize_t)sizeof(x))
		x = posix_monotonic_ns(os) * 0x9e3779b97f4a7c15ull ^
		    (uint64_t)getpid();
	return x;
}

struct os *os_posix(void)
{
	static const struct os_ops ops = {
		.dir_open = posix_dir_open,
		.dir_alien = posix_dir_alien,
		.alien = posix_alien,
		.dir_close = posix_dir_close,
		.dir_lock = posix_dir_lock,
		.dir_sync = posix_dir_sync,
		.dir_below = posix_dir_below,
		.dir_list = posix_dir_list,
		.rename = posix_rename,
		.unlink = posix_unlink,
		.dir_space = posix_dir_space,
		.open = posix_open,
		.close = posix_finish,
		.pread = posix_pread,
		.pwrite = posix_pwrite,
		.pwrite_sync = posix_pwrite_sync,
		.fdatasync = posix_fdatasync,
		.write_out = posix_write_out,
		.truncate = posix_truncate,
		.allocate = posix_allocate,
		.size = posix_size,
		.map = posix_map,
		.map_read = posix_map_read,
		.map_copy = posix_map_copy,
		.unmap = posix_unmap,
		.now_ms = posix_now_ms,
		.monotonic_ns = posix_monotonic_ns,
		.sleep_ms = posix_sleep_ms,
		.random = posix_random,
	};
	static struct os os = {.ops = &ops};

	return &os;
}
