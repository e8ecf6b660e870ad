/* The calls of os.h: dispatch to os_ops, and one sentence for each failure. */
#include "store/os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/value/why.h"

/* A result, with a sentence if it is an error's. */
static int checked(int rc, const char *name, const char *what)
{
	if (rc >= 0)
		return rc;
	/* %m rather than strerror(), which is not thread-safe. */
	errno = -rc;
	return why(rc, "cannot %s %s: %m", what, name);
}

/*
 * checked() for a file that is open already. An errno of the system that has its
 * own meaning in store.h (absent, refused, try again) must not pass as that.
 */
static int checked_open(int rc, const char *name, const char *what)
{
	int r = checked(rc, name, what);

	if (r >= 0)
		return r;
	switch (-r) {
	case ENOSPC:
	case EDQUOT:
	case EROFS:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EFBIG:
	case EBADF:
	case EUCLEAN:
		return r;
	}
	return -EIO;
}

bool os_is_full(int err)
{
	return err == -ENOSPC || err == -EDQUOT;
}

bool os_is_want(int err)
{
	return os_is_full(err) || err == -ENOMEM || err == -EMFILE ||
	       err == -ENFILE;
}

int os_dir_open(struct os *os, const char *path, bool create,
		struct os_dir **out)
{
	return checked(os->ops->dir_open(os, path, create, out), path,
		       "open the directory");
}

int os_dir_below(struct os_dir *d, const char *name, struct os_dir **out)
{
	return checked(d->os->ops->dir_below
			       ? d->os->ops->dir_below(d, name, out)
			       : -EOPNOTSUPP,
		       name, "open the directory");
}

int os_dir_own(struct os_dir *d, const char *path)
{
	const char *said =
		d->os->ops->dir_alien ? d->os->ops->dir_alien(d) : NULL;

	if (said)
		return why(-EPERM,
			   "the store %s %s; to use it all the same: cellfs -o "
			   "insecure_store, cellctl --insecure",
			   path, said);
	d->own = true;
	return 0;
}

void os_dir_close(struct os_dir *d)
{
	if (d)
		d->os->ops->dir_close(d);
}

int os_dir_lock(struct os_dir *d, const char *path, bool shared, int *pid)
{
	return checked(d->os->ops->dir_lock(d, path, shared, pid), path,
		       "lock the directory");
}

int os_dir_sync(struct os_dir *d)
{
	return checked_open(d->os->ops->dir_sync(d), "the store's directory",
			    "sync");
}

struct listing {
	int (*each)(void *arg, const char *name);
	void *arg;
	int rc; /* the callback's error, or 0 */
};

static int list_one(void *arg, const char *name)
{
	struct listing *l = arg;
	int rc = l->each(l->arg, name);

	if (rc < 0)
		l->rc = rc;
	return rc;
}

int os_dir_list(struct os_dir *d, int (*each)(void *arg, const char *name),
		void *arg)
{
	struct listing l = {each, arg, 0};
	int rc = d->os->ops->dir_list(d, list_one, &l);

	/* A callback that fails records its own sentence. */
	return rc < 0 && !l.rc
		       ? checked_open(rc, "the store's directory", "list")
		       : rc;
}

int os_dir_space(struct os_dir *d, uint64_t *total, uint64_t *free,
		 uint64_t *avail)
{
	return checked_open(d->os->ops->dir_space(d, total, free, avail),
			    "the store's disk", "measure");
}

int os_rename(struct os_dir *d, const char *from, const char *to)
{
	return checked(d->os->ops->rename(d, from, to), from, "rename");
}

int os_unlink(struct os_dir *d, const char *name)
{
	return checked(d->os->ops->unlink(d, name), name, "remove");
}

int os_remove(struct os_dir *d, const char *name)
{
	int rc = d->os->ops->unlink(d, name);

	return rc < 0 && rc != -ENOENT ? checked(rc, name, "remove") : 0;
}

void os_discard(struct os_dir *d, const char *name)
{
	struct why_kept kept;

	why_keep(&kept);
	(void)d->os->ops->unlink(d, name);
	why_restore(&kept);
}

int os_open(struct os_dir *d, const char *name, unsigned flags,
	    struct os_file **out)
{
	struct os_file *f = NULL;
	int rc = d->os->ops->open(d, name, flags, &f);
	const char *said;

	if (rc < 0)
		return checked(rc, name, flags & OS_CREATE ? "create" : "open");
	said = d->own && d->os->ops->alien ? d->os->ops->alien(f) : NULL;
	if (said) {
		(void)d->os->ops->close(f);
		return why(-EPERM,
			   "the file %s of the store %s: it was not the store "
			   "that made it so",
			   name, said);
	}
	f->os = d->os;
	snprintf(f->name, sizeof(f->name), "%s", name);
	*out = f;
	return 0;
}

int os_finish(struct os_file *f)
{
	char name[sizeof(f->name)];
	int rc;

	memcpy(name, f->name, sizeof(name));
	rc = f->os->ops->close(f);
	return rc < 0 ? checked_open(rc, name, "close") : 0;
}

void os_close(struct os_file *f)
{
	struct why_kept kept;

	if (!f)
		return;
	why_keep(&kept);
	(void)f->os->ops->close(f);
	why_restore(&kept);
}

ssize_t os_pread(struct os_file *f, void *buf, size_t n, uint64_t off)
{
	ssize_t got = f->os->ops->pread(f, buf, n, off);

	return got < 0 ? checked_open((int)got, f->name, "read") : got;
}

int os_pwrite(struct os_file *f, const void *buf, size_t n, uint64_t off)
{
	ssize_t put = f->os->ops->pwrite(f, buf, n, off);

	return put < 0 ? checked_open((int)put, f->name, "write") : 0;
}

int os_pwrite_sync(struct os_file *f, const void *buf, size_t n, uint64_t off)
{
	ssize_t put = f->os->ops->pwrite_sync(f, buf, n, off);

	return put < 0 ? checked_open((int)put, f->name, "write and sync") : 0;
}

int os_fdatasync(struct os_file *f)
{
	return checked_open(f->os->ops->fdatasync(f), f->name, "sync");
}

void os_write_out(struct os_file *f, uint64_t off, uint64_t n)
{
	if (f->os->ops->write_out)
		f->os->ops->write_out(f, off, n);
}

int os_truncate(struct os_file *f, uint64_t size)
{
	return checked_open(f->os->ops->truncate(f, size), f->name,
			    "set the size of");
}

int os_allocate(struct os_file *f, uint64_t len)
{
	return checked_open(f->os->ops->allocate(f, len), f->name,
			    "allocate space for");
}

int os_size(struct os_file *f, uint64_t *out)
{
	return checked_open(f->os->ops->size(f, out), f->name,
			    "get the size of");
}

static int read_all(struct os_file *f, const char *name, uint64_t max,
		    struct buf *out)
{
	uint64_t size = 0;
	ssize_t n;
	int r = os_size(f, &size);

	if (r < 0)
		return r;
	if (size > max)
		return why(-EUCLEAN, "%s is damaged: it has %" PRIu64 " bytes",
			   name, size);
	r = buf_reserve(out, (size_t)size + 1);
	if (r < 0)
		return r;
	n = os_pread(f, out->data + out->len, (size_t)size, 0);
	if (n < 0)
		return (int)n;
	if ((uint64_t)n != size)
		return why(-EUCLEAN, "%s ends at byte %zd of %" PRIu64, name, n,
			   size);
	out->len += (size_t)size;
	return 0;
}

int os_read_file(struct os_dir *d, const char *name, uint64_t max,
		 struct buf *out)
{
	struct os_file *f = NULL;
	int r = os_open(d, name, OS_READ, &f);

	if (r == 0)
		r = read_all(f, name, max, out);
	os_close(f);
	return r;
}

/* What a disk gives or refuses as one. */
#define PIECE 4096u

/* Fills @to; what cannot be read stays zero. */
static int read_pieces(struct os_file *f, uint8_t *to, uint64_t size,
		       uint64_t *unread)
{
	uint64_t step = (uint64_t)1 << 20, at = 0;

	memset(to, 0, (size_t)size);
	while (at < size) {
		size_t n =
			size - at < step ? (size_t)(size - at) : (size_t)step;
		ssize_t r = os_pread(f, to + at, n, at);

		if (r < 0 && r != -EIO)
			return (int)r;
		if (r < 0 && n > PIECE) {
			step = PIECE;
			continue;
		}
		if (r != (ssize_t)n)
			*unread += n - (size_t)(r < 0 ? 0 : r);
		at += n;
	}
	return 0;
}

int os_read_damaged(struct os_dir *d, const char *name, uint64_t max,
		    struct buf *out, uint64_t *unread)
{
	struct os_file *f = NULL;
	uint64_t size = 0;
	int r = os_open(d, name, OS_READ, &f);

	*unread = 0;
	if (r == 0)
		r = os_size(f, &size);
	if (r == 0 && size > max)
		r = why(-EFBIG, "%s has %" PRIu64 " bytes", name, size);
	if (r == 0)
		r = buf_reserve(out, (size_t)size + 1);
	if (r == 0)
		r = read_pieces(f, out->data + out->len, size, unread);
	if (r == 0)
		out->len += (size_t)size;
	os_close(f);
	return r;
}

int os_map(struct os_file *f, size_t len, void **out)
{
	int rc = f->map ? -EBUSY : f->os->ops->map(f, len, out);

	if (rc < 0)
		return checked(rc, f->name, "map");
	f->map = *out;
	return 0;
}

void os_map_store(struct os_file *f, size_t off, const void *src, size_t n)
{
	memcpy((char *)f->map + off, src, n);
	os_map_stored(f, off, n);
}

void os_map_stored(struct os_file *f, size_t off, size_t n)
{
	if (f->os->ops->map_stored)
		f->os->ops->map_stored(f, off, (char *)f->map + off, n);
}

int os_map_read(struct os_file *f, size_t len, const void **out)
{
	return checked(f->os->ops->map_read(f, len, out), f->name, "map");
}

bool os_map_copy(struct os_file *f, void *to, const void *from, size_t n)
{
	if (f->os->ops->map_copy)
		return f->os->ops->map_copy(f, to, from, n);
	memcpy(to, from, n);
	return true;
}

void os_unmap(struct os_file *f, const void *p, size_t len)
{
	f->os->ops->unmap(f, p, len);
}

int64_t os_now_ms(struct os *os)
{
	return os->ops->now_ms(os);
}

uint64_t os_monotonic_ns(struct os *os)
{
	return os->ops->monotonic_ns(os);
}

void os_sleep_ms(struct os *os, unsigned ms)
{
	os->ops->sleep_ms(os, ms);
}

uint64_t os_random(struct os *os)
{
	return os->ops->random(os);
}
