#include "tests/sim/os_fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/sim/os_sim.h"

struct fault {
	struct os base;
	struct os *inner;
	pthread_mutex_t lock;
	struct fault_plan plan; /* kinds 0 = disarmed */
	uint64_t calls, fired;
};

struct fault_dir {
	struct os_dir base;
	struct os_dir *inner;
};

struct fault_file {
	struct os_file base;
	struct os_file *inner;
};

static struct fault *fault_of(const struct os *os)
{
	return (struct fault *)(uintptr_t)os;
}

static struct os_dir *idir(struct os_dir *d)
{
	return ((struct fault_dir *)d)->inner;
}

static struct os_file *ifile(struct os_file *f)
{
	return ((struct fault_file *)f)->inner;
}

/* The errno that this call fails with, or 0. */
static int hit(struct os *os, unsigned kind, struct fault_plan *plan)
{
	struct fault *t = fault_of(os);
	int rc = 0;

	pthread_mutex_lock(&t->lock);
	if (t->plan.kinds & kind) {
		t->calls++;
		if (t->calls == t->plan.nth ||
		    (t->plan.forever && t->calls > t->plan.nth)) {
			t->fired++;
			rc = -t->plan.err;
			if (plan)
				*plan = t->plan;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

static int fault_dir_open(struct os *os, const char *path, bool create,
			  struct os_dir **out)
{
	struct fault_dir *d;
	int rc = hit(os, FAULT_DIR_OPEN, NULL);

	if (rc)
		return rc;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	rc = os_dir_open(fault_of(os)->inner, path, create, &d->inner);
	if (rc < 0) {
		free(d);
		return rc;
	}
	d->base.os = os;
	*out = &d->base;
	return 0;
}

static void fault_dir_close(struct os_dir *d)
{
	os_dir_close(idir(d));
	free(d);
}

static int fault_dir_lock(struct os_dir *d, const char *path, bool shared,
			  int *pid)
{
	int rc = hit(d->os, FAULT_LOCK, NULL);

	*pid = 0;
	return rc ? rc : os_dir_lock(idir(d), path, shared, pid);
}

static int fault_dir_sync(struct os_dir *d)
{
	int rc = hit(d->os, FAULT_DIR_SYNC, NULL);

	return rc ? rc : os_dir_sync(idir(d));
}

static int fault_dir_list(struct os_dir *d,
			  int (*each)(void *arg, const char *name), void *arg)
{
	int rc = hit(d->os, FAULT_DIR_LIST, NULL);

	return rc ? rc : os_dir_list(idir(d), each, arg);
}

static int fault_rename(struct os_dir *d, const char *from, const char *to)
{
	int rc = hit(d->os, FAULT_RENAME, NULL);

	return rc ? rc : os_rename(idir(d), from, to);
}

static int fault_unlink(struct os_dir *d, const char *name)
{
	int rc = hit(d->os, FAULT_UNLINK, NULL);

	return rc ? rc : os_unlink(idir(d), name);
}

static int fault_dir_space(struct os_dir *d, uint64_t *total, uint64_t *avail,
			   uint64_t *usable)
{
	int rc = hit(d->os, FAULT_SPACE, NULL);

	return rc ? rc : os_dir_space(idir(d), total, avail, usable);
}

static int fault_open(struct os_dir *d, const char *name, unsigned flags,
		      struct os_file **out)
{
	struct fault_file *f;
	int rc = hit(d->os, FAULT_OPEN, NULL);

	if (rc)
		return rc;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	rc = os_open(idir(d), name, flags, &f->inner);
	if (rc < 0) {
		free(f);
		return rc;
	}
	*out = &f->base;
	return 0;
}

static int fault_close(struct os_file *f)
{
	int fails = hit(f->os, FAULT_CLOSE, NULL);
	int rc = os_finish(ifile(f));

	free(f);
	return fails ? fails : rc;
}

static ssize_t fault_pread(struct os_file *f, void *buf, size_t n, uint64_t off)
{
	int rc = hit(f->os, FAULT_PREAD, NULL);

	return rc ? rc : os_pread(ifile(f), buf, n, off);
}

/* A write by @put that fails may have written its first half. */
static int hit_write(struct os_file *f, const void *buf, size_t n, uint64_t off,
		     int (*put)(struct os_file *, const void *, size_t,
				uint64_t))
{
	struct fault_plan plan;
	int rc = hit(f->os, FAULT_PWRITE, &plan);

	if (rc && plan.partial)
		(void)!put(ifile(f), buf, n / 2, off);
	return rc;
}

static ssize_t fault_pwrite(struct os_file *f, const void *buf, size_t n,
			    uint64_t off)
{
	int rc = hit_write(f, buf, n, off, os_pwrite);

	if (rc)
		return rc;
	rc = os_pwrite(ifile(f), buf, n, off);
	return rc < 0 ? rc : (ssize_t)n;
}

/* Fails as a write, or as the sync of what it wrote. */
static ssize_t fault_pwrite_sync(struct os_file *f, const void *buf, size_t n,
				 uint64_t off)
{
	struct fault_plan plan;
	int rc = hit_write(f, buf, n, off, os_pwrite_sync);

	if (rc)
		return rc;
	rc = hit(f->os, FAULT_FDATASYNC, &plan);
	if (rc) {
		(void)!os_pwrite(ifile(f), buf, n, off);
		if (plan.lose && sim_is_sim(fault_of(f->os)->inner))
			sim_fail_fdatasync(ifile(f));
		return rc;
	}
	rc = os_pwrite_sync(ifile(f), buf, n, off);
	return rc < 0 ? rc : (ssize_t)n;
}

static int fault_fdatasync(struct os_file *f)
{
	struct fault_plan plan;
	int rc = hit(f->os, FAULT_FDATASYNC, &plan);

	if (rc && plan.lose && sim_is_sim(fault_of(f->os)->inner))
		sim_fail_fdatasync(ifile(f));
	return rc ? rc : os_fdatasync(ifile(f));
}

static int fault_truncate(struct os_file *f, uint64_t size)
{
	int rc = hit(f->os, FAULT_TRUNCATE, NULL);

	return rc ? rc : os_truncate(ifile(f), size);
}

static int fault_allocate(struct os_file *f, uint64_t len)
{
	int rc = hit(f->os, FAULT_ALLOCATE, NULL);

	return rc ? rc : os_allocate(ifile(f), len);
}

static int fault_size(struct os_file *f, uint64_t *out)
{
	int rc = hit(f->os, FAULT_SIZE, NULL);

	return rc ? rc : os_size(ifile(f), out);
}

static int fault_map(struct os_file *f, size_t len, void **out)
{
	int rc = hit(f->os, FAULT_MAP, NULL);

	return rc ? rc : os_map(ifile(f), len, out);
}

static int fault_map_read(struct os_file *f, size_t len, const void **out)
{
	int rc = hit(f->os, FAULT_MAP, NULL);

	return rc ? rc : os_map_read(ifile(f), len, out);
}

static bool fault_map_copy(struct os_file *f, void *to, const void *from,
			   size_t n)
{
	return !hit(f->os, FAULT_PREAD, NULL) &&
	       os_map_copy(ifile(f), to, from, n);
}

static void fault_unmap(struct os_file *f, const void *p, size_t len)
{
	os_unmap(ifile(f), p, len);
}

static void fault_map_stored(struct os_file *f, size_t off, const void *src,
			     size_t n)
{
	struct os_file *in = ifile(f);

	if (in->os->ops->map_stored)
		in->os->ops->map_stored(in, off, src, n);
}

static int64_t fault_now_ms(struct os *os)
{
	return os_now_ms(fault_of(os)->inner);
}

static uint64_t fault_monotonic_ns(struct os *os)
{
	return os_monotonic_ns(fault_of(os)->inner);
}

static void fault_sleep_ms(struct os *os, unsigned ms)
{
	os_sleep_ms(fault_of(os)->inner, ms);
}

static uint64_t fault_random(struct os *os)
{
	return os_random(fault_of(os)->inner);
}

static const struct os_ops fault_ops = {
	.dir_open = fault_dir_open,
	.dir_close = fault_dir_close,
	.dir_lock = fault_dir_lock,
	.dir_sync = fault_dir_sync,
	.dir_list = fault_dir_list,
	.rename = fault_rename,
	.unlink = fault_unlink,
	.dir_space = fault_dir_space,
	.open = fault_open,
	.close = fault_close,
	.pread = fault_pread,
	.pwrite = fault_pwrite,
	.pwrite_sync = fault_pwrite_sync,
	.fdatasync = fault_fdatasync,
	.truncate = fault_truncate,
	.allocate = fault_allocate,
	.size = fault_size,
	.map = fault_map,
	.map_read = fault_map_read,
	.map_copy = fault_map_copy,
	.unmap = fault_unmap,
	.map_stored = fault_map_stored,
	.now_ms = fault_now_ms,
	.monotonic_ns = fault_monotonic_ns,
	.sleep_ms = fault_sleep_ms,
	.random = fault_random,
};

struct os *fault_new(struct os *inner)
{
	struct fault *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	t->base.ops = &fault_ops;
	t->inner = inner;
	pthread_mutex_init(&t->lock, NULL);
	return &t->base;
}

void fault_free(struct os *os)
{
	struct fault *t = fault_of(os);

	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void fault_arm(struct os *os, const struct fault_plan *plan)
{
	struct fault *t = fault_of(os);

	pthread_mutex_lock(&t->lock);
	t->plan = *plan;
	t->calls = t->fired = 0;
	pthread_mutex_unlock(&t->lock);
}

void fault_disarm(struct os *os)
{
	struct fault *t = fault_of(os);

	pthread_mutex_lock(&t->lock);
	t->plan.kinds = 0;
	pthread_mutex_unlock(&t->lock);
}

uint64_t fault_calls(const struct os *os)
{
	return fault_of(os)->calls;
}

uint64_t fault_fired(const struct os *os)
{
	return fault_of(os)->fired;
}
