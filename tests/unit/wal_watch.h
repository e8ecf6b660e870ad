/*
 * A simulated disk whose calls are watched: how the log writes its segments,
 * and whether that keeps the rule of wal_live.h. One at a time.
 */
#ifndef CELLFS_TESTS_UNIT_WAL_WATCH_H
#define CELLFS_TESTS_UNIT_WAL_WATCH_H

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "store/lsm/wal/wal_live.h"
#include "tests/sim/os_sim.h"

static struct watch {
	const struct os_ops *real;
	struct os_ops ops;
	struct wal *w;
	_Atomic unsigned cached; /* writes of records through the page cache */
	_Atomic unsigned direct; /* and past it */
	_Atomic unsigned syncs, reads;
	unsigned farther; /* direct writes beyond all others */
	uint64_t farthest;
	atomic_bool dirty; /* records are in the page cache alone */
	atomic_bool busy;  /* a direct write is under way */
	const char *_Atomic wrong;
	bool refuse; /* handles past the page cache */
	int fails;   /* errno of the next direct write */
	/* Called while a direct write is under way, without lock. */
	void (*during)(void);
} watch;

static bool is_segment(const struct os_file *f)
{
	return !strncmp(f->name, "wal-", 4);
}

static int watched_open(struct os_dir *d, const char *name, unsigned flags,
			struct os_file **out)
{
	if (watch.refuse && flags & OS_DIRECT)
		return -EMFILE;
	return watch.real->open(d, name, flags, out);
}

static ssize_t watched_pread(struct os_file *f, void *buf, size_t n,
			     uint64_t off)
{
	watch.reads += is_segment(f);
	return watch.real->pread(f, buf, n, off);
}

static ssize_t watched_pwrite(struct os_file *f, const void *buf, size_t n,
			      uint64_t off)
{
	if (is_segment(f)) {
		if (watch.busy)
			watch.wrong = "a write beside a direct one";
		if (off >= WAL_BLOCK_BYTES) {
			watch.dirty = true;
			watch.cached++;
		}
	}
	return watch.real->pwrite(f, buf, n, off);
}

static ssize_t watched_pwrite_sync(struct os_file *f, const void *buf, size_t n,
				   uint64_t off)
{
	uint64_t size = 0;
	ssize_t put;

	if (((uintptr_t)buf | n | off) % OS_DIRECT_ALIGN)
		watch.wrong = "a direct write that is not aligned";
	if (off + n > watch.farthest) {
		watch.farthest = off + n;
		watch.farther++;
	}
	if (watch.real->size(f, &size) || off + n > size)
		watch.wrong = "a direct write behind the end";
	if (off < WAL_BLOCK_BYTES)
		watch.wrong = "a direct write of the mark's block";
	if (watch.dirty)
		watch.wrong = "a direct write beside dirty pages";
	if (atomic_exchange(&watch.busy, true))
		watch.wrong = "two direct writes";
	if (watch.during)
		watch.during();
	put = watch.fails ? -watch.fails
			  : watch.real->pwrite_sync(f, buf, n, off);
	watch.busy = false;
	watch.direct++;
	return put;
}

static int watched_fdatasync(struct os_file *f)
{
	watch.syncs += is_segment(f);
	/* What is written from now on may not be covered. */
	watch.dirty = false;
	return watch.real->fdatasync(f);
}

static struct os *watched_new(uint64_t seed)
{
	struct os *os = sim_new(seed);

	watch = (struct watch){.real = os->ops, .ops = *os->ops};
	watch.ops.open = watched_open;
	watch.ops.pread = watched_pread;
	watch.ops.pwrite = watched_pwrite;
	watch.ops.pwrite_sync = watched_pwrite_sync;
	watch.ops.fdatasync = watched_fdatasync;
	os->ops = &watch.ops;
	return os;
}

#endif
