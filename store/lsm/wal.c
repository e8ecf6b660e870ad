#include "store/lsm/wal_live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/why.h"

#define SEGMENT_BYTES ((size_t)64 << 20)
#define SEGMENT_BYTES_MIN ((size_t)256 << 10)
#define RING_BYTES ((size_t)1 << 20)
/*
 * Large enough that a copy to the segment costs little a byte, small enough
 * that it stays in the processor's cache and delays nobody by much.
 */
#define DRAIN_BYTES ((uint64_t)256 << 10)
/*
 * The disk begins with what was drained when it is this much, so that whoever
 * ends a segment, under the commit lock, does not wait for tens of mebibytes.
 */
#define AHEAD_BYTES ((uint64_t)2 << 20)

/* For the crowd: this part of a sync's time, but no more than this. */
#define CROWD_WAIT_PART 3
#define CROWD_WAIT_NS 1000000
#define CROWD_IMPATIENCE 16

/* -- failure ------------------------------------------------------------ */

static int fail_locked(struct wal *w, int err)
{
	if (!atomic_load(&w->failed)) {
		snprintf(w->sentence, sizeof(w->sentence),
			 "the log takes no more writes until the store is "
			 "opened again: %s",
			 store_why());
		atomic_store(&w->failed, -err);
	}
	pthread_cond_broadcast(&w->synced_cond);
	return why(-EROFS, "%s", w->sentence);
}

int wal_fail(struct wal *w, int err)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = fail_locked(w, err);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int wal_refused(struct wal *w)
{
	if (w->read_only)
		return why(-EROFS, "the log was opened to be read only");
	return why(-EROFS, "%s", w->sentence);
}

/* -- ring to segment to disk -------------------------------------------- */

static uint64_t file_offset(const struct wal *w, uint64_t pos)
{
	return pos - w->head.start + WAL_BLOCK_BYTES;
}

/* Lets the disk begin with what the segment has got. Under lock. */
static void write_ahead(struct wal *w)
{
	uint64_t drained = atomic_load(&w->drained);

	if (drained - w->begun < AHEAD_BYTES)
		return;
	os_write_out(w->file, file_offset(w, w->begun), drained - w->begun);
	w->begun = drained;
}

/* Copies what only the ring has to the segment. Under lock. */
static int drain(struct wal *w)
{
	uint64_t end = atomic_load_explicit(&w->end, memory_order_acquire);
	uint64_t pos = atomic_load(&w->drained);
	int rc;

	while (pos < end) {
		size_t at = (size_t)(pos % w->ring_bytes);
		uint64_t n = w->ring_bytes - at;

		if (n > end - pos)
			n = end - pos;
		rc = os_pwrite(w->file, (const uint8_t *)w->ring->map + at,
			       (size_t)n, file_offset(w, pos));
		if (rc < 0)
			return fail_locked(w, rc);
		pos += n;
	}
	atomic_store_explicit(&w->drained, pos, memory_order_release);
	write_ahead(w);
	return 0;
}

/* Has as many come as will want a sync soon? */
static bool crowd_is_there(const struct wal_crowd *c)
{
	return c->waiting - c->leaving >= c->size;
}

/*
 * Sleeps until another leads who came later, or until nobody comes any more:
 * then the caller has to. Under lock, by the first of the crowd.
 */
static void gather_crowd(struct wal *w)
{
	struct wal_crowd *c = &w->crowd;
	uint64_t own = ++c->clocks, ns;
	struct timespec until;

	ns = c->sync_ns / CROWD_WAIT_PART;
	if (ns > CROWD_WAIT_NS)
		ns = CROWD_WAIT_NS;
	ns += os_monotonic_ns(w->dir->os);
	until = (struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000)};
	c->clock = own;
	while (c->clock == own && !atomic_load(&w->failed))
		if (pthread_cond_timedwait(&w->synced_cond, &w->lock, &until))
			break;
	/* Else another has led, and it may be the next crowd's by now. */
	if (c->clock == own) {
		c->clock = 0;
		c->impatient = CROWD_IMPATIENCE;
	}
}

/* Lets the lock go while the disk works. Only by the leader. */
static int sync_file(struct wal *w)
{
	struct os_file *file = w->file;
	uint64_t begin = os_monotonic_ns(w->dir->os);
	int rc;

	pthread_mutex_unlock(&w->lock);
	rc = os_fdatasync(file);
	pthread_mutex_lock(&w->lock);
	w->crowd.sync_ns = os_monotonic_ns(w->dir->os) - begin;
	return rc;
}

/*
 * Syncs for all who wait: takes along what has gathered up to now. Enters and
 * leaves under lock; the caller wakes the others when he has given it back.
 * One who is not @of_crowd does not come again for long.
 */
static int lead(struct wal *w, bool of_crowd)
{
	struct wal_crowd *c = &w->crowd;
	unsigned served;
	uint64_t target;
	int rc;

	w->syncing = true;
	c->clock = 0;
	if (of_crowd && c->impatient)
		c->impatient--;
	rc = drain(w);
	/* Whoever waits now has appended before. */
	served = c->waiting - c->leaving;
	target = atomic_load(&w->drained);
	if (rc == 0 && target != atomic_load(&w->synced)) {
		rc = sync_file(w);
		if (rc < 0) {
			rc = fail_locked(w, rc);
		} else {
			atomic_store_explicit(&w->synced, target,
					      memory_order_release);
			w->syncs++;
			if (of_crowd)
				c->size = c->waiting - c->leaving;
			c->leaving += served;
		}
	}
	w->syncing = false;
	return rc;
}

int wal_sync(struct wal *w, uint64_t lsn)
{
	struct wal_crowd *c = &w->crowd;
	bool led = false;
	uint64_t end;
	int rc = 0;

	if (atomic_load_explicit(&w->synced, memory_order_acquire) >= lsn)
		return 0;
	end = wal_end(w);
	if (lsn > end)
		lsn = end;
	pthread_mutex_lock(&w->lock);
	if (atomic_load(&w->synced) >= lsn)
		goto out;
	c->waiting++;
	while (atomic_load(&w->synced) < lsn && rc == 0) {
		if (atomic_load(&w->failed) || w->read_only) {
			rc = wal_refused(w);
		} else if (w->syncing) {
			pthread_cond_wait(&w->synced_cond, &w->lock);
		} else if (crowd_is_there(c) || c->impatient) {
			rc = lead(w, true);
			led = true;
		} else if (c->clock) {
			pthread_cond_wait(&w->synced_cond, &w->lock);
		} else {
			gather_crowd(w);
		}
	}
	c->waiting--;
	if (c->leaving)
		c->leaving--;
out:
	pthread_mutex_unlock(&w->lock);
	/* Now, so that those who wake find the lock free. */
	if (led)
		pthread_cond_broadcast(&w->synced_cond);
	return rc;
}

uint64_t wal_end(struct wal *w)
{
	return atomic_load_explicit(&w->end, memory_order_acquire);
}

/* Notes in the segment's first block up to where it is durable. Under lock. */
static int write_mark(struct wal *w)
{
	uint8_t mark[WAL_MARK_BYTES];
	uint64_t durable = atomic_load(&w->synced);
	int rc;

	wal_mark_encode(mark, w->head.id, durable);
	rc = os_pwrite(w->file, mark, sizeof(mark), WAL_MARK_AT);
	if (rc < 0)
		return fail_locked(w, rc);
	w->marked = durable;
	return 0;
}

/* As wal_sync() of all, by one for whom no crowd is to wait. */
static int sync_aside(struct wal *w)
{
	uint64_t lsn = wal_end(w);
	bool led = false;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	while (atomic_load(&w->synced) < lsn && rc == 0) {
		if (atomic_load(&w->failed)) {
			rc = wal_refused(w);
		} else if (w->syncing) {
			pthread_cond_wait(&w->synced_cond, &w->lock);
		} else {
			rc = lead(w, false);
			led = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	if (led)
		pthread_cond_broadcast(&w->synced_cond);
	return rc;
}

int wal_tick(struct wal *w)
{
	bool active;
	int rc;

	if (w->read_only)
		return 0;
	if (atomic_load(&w->failed))
		return wal_refused(w);
	rc = sync_aside(w);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&w->lock);
	active = w->file != NULL;
	if (active && w->marked < atomic_load(&w->synced))
		rc = write_mark(w);
	pthread_mutex_unlock(&w->lock);
	if (rc < 0 || !active)
		return rc;
	rc = wal_prepare_spare(w);
	return rc < 0 ? wal_fail(w, rc) : 0;
}

/* -- appending ---------------------------------------------------------- */

/* Makes the record where it is to lie, or elsewhere if it goes round. */
static void ring_store(struct wal *w, uint64_t pos, const struct bytes *parts,
		       size_t nparts, size_t len, size_t size)
{
	uint64_t synced =
		atomic_load_explicit(&w->synced, memory_order_acquire);
	size_t at = (size_t)(pos % w->ring_bytes);
	size_t first = w->ring_bytes - at;

	if (first >= size) {
		wal_record_encode((uint8_t *)w->ring->map + at, w->head.id, pos,
				  synced, parts, nparts, len);
		os_map_stored(w->ring, at, size);
		return;
	}
	wal_record_encode(w->small, w->head.id, pos, synced, parts, nparts,
			  len);
	os_map_store(w->ring, at, w->small, first);
	os_map_store(w->ring, 0, w->small + first, size - first);
}

static int append_to_ring(struct wal *w, const struct bytes *parts,
			  size_t nparts, size_t len, uint64_t size)
{
	uint64_t pos = atomic_load_explicit(&w->end, memory_order_relaxed);
	uint64_t drained =
		atomic_load_explicit(&w->drained, memory_order_acquire);
	int rc;

	/* Before the record is anywhere: if this fails it never was. */
	if (pos - drained + size > w->drain_bytes && pos > drained) {
		pthread_mutex_lock(&w->lock);
		rc = drain(w);
		pthread_mutex_unlock(&w->lock);
		if (rc < 0)
			return rc;
	}
	ring_store(w, pos, parts, nparts, len, (size_t)size);
	atomic_store_explicit(&w->end, pos + size, memory_order_release);
	return 0;
}

/* Writes head, parts and padding one after the other. */
static int write_parts(struct wal *w, uint64_t pos, const struct bytes *parts,
		       size_t nparts, size_t len, uint64_t size)
{
	static const uint8_t zeros[WAL_ALIGN];
	uint64_t off = file_offset(w, pos);
	uint8_t head[WAL_RECORD_HEAD];
	int rc;

	wal_record_head(head, w->head.id, pos, atomic_load(&w->synced), parts,
			nparts, len);
	rc = os_pwrite(w->file, head, sizeof(head), off);
	off += sizeof(head);
	for (size_t i = 0; i < nparts && rc == 0; i++) {
		if (parts[i].len)
			rc = os_pwrite(w->file, parts[i].data, parts[i].len,
				       off);
		off += parts[i].len;
	}
	/* A recycled segment is not zero. */
	if (rc == 0 && size - WAL_RECORD_HEAD - len)
		rc = os_pwrite(w->file, zeros,
			       (size_t)(size - WAL_RECORD_HEAD - len), off);
	return rc;
}

/* Past the ring, for what is big against it. */
static int append_to_segment(struct wal *w, const struct bytes *parts,
			     size_t nparts, size_t len, uint64_t size)
{
	uint64_t pos = wal_end(w);
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = drain(w);
	if (rc < 0)
		goto out;
	if (size <= WAL_SMALL_BYTES) {
		wal_record_encode(w->small, w->head.id, pos,
				  atomic_load(&w->synced), parts, nparts, len);
		rc = os_pwrite(w->file, w->small, (size_t)size,
			       file_offset(w, pos));
	} else {
		rc = write_parts(w, pos, parts, nparts, len, size);
	}
	if (rc < 0) {
		rc = fail_locked(w, rc);
		goto out;
	}
	atomic_store(&w->end, pos + size);
	atomic_store(&w->drained, pos + size);
	write_ahead(w);
out:
	pthread_mutex_unlock(&w->lock);
	return rc;
}

/* By the appender alone, which spares a locked instruction. */
static void count(_Atomic uint64_t *n, uint64_t more)
{
	uint64_t was = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, was + more, memory_order_relaxed);
}

int wal_append(struct wal *w, const struct bytes *parts, size_t nparts,
	       uint64_t *lsn)
{
	uint64_t size;
	size_t len = 0;
	int rc;

	if (atomic_load_explicit(&w->failed, memory_order_relaxed) ||
	    w->read_only)
		return wal_refused(w);
	for (size_t i = 0; i < nparts; i++) {
		if (parts[i].len > WAL_RECORD_MAX - len)
			return why(-EFBIG,
				   "a mutation of more than %zu bytes does "
				   "not fit into the log",
				   WAL_RECORD_MAX);
		len += parts[i].len;
	}
	size = wal_record_size(len);
	rc = wal_make_room(w, size);
	if (rc < 0)
		return rc;
	if (size <= w->ring_bytes / 2 && size <= WAL_SMALL_BYTES)
		rc = append_to_ring(w, parts, nparts, len, size);
	else
		rc = append_to_segment(w, parts, nparts, len, size);
	if (rc < 0)
		return rc;
	count(&w->records, 1);
	count(&w->bytes, size);
	*lsn = wal_end(w);
	return 0;
}

/* -- opening and closing ------------------------------------------------ */

/* On a small disk the log takes small pieces of it. */
static size_t fit(struct os_dir *dir, size_t bytes, size_t least)
{
	uint64_t total, left, usable;

	if (os_dir_space(dir, &total, &left, &usable) < 0)
		return bytes;
	while (bytes > least && bytes > total / 32)
		bytes /= 2;
	return bytes;
}

static void set_sizes(struct wal *w, const struct wal_options *o)
{
	size_t segment = o && o->segment_bytes ? o->segment_bytes : 0;
	size_t ring = o && o->ring_bytes ? o->ring_bytes : 0;

	if (!segment)
		segment = fit(w->dir, SEGMENT_BYTES, SEGMENT_BYTES_MIN);
	if (!ring)
		ring = segment < RING_BYTES ? segment / 4 : RING_BYTES;
	if (segment < 2 * WAL_BLOCK_BYTES)
		segment = 2 * WAL_BLOCK_BYTES;
	w->segment_bytes = (segment + 4095) & ~(size_t)4095;
	w->ring_bytes = (ring + 4095) & ~(size_t)4095;
	w->drain_bytes = w->ring_bytes / 2 < DRAIN_BYTES ? w->ring_bytes / 2
							 : DRAIN_BYTES;
}

/*
 * Gives the ring its space: blocks that exist are written over, so that this
 * works on a full disk, and holes of a ring that was copied are filled, whose
 * first touch could find no space and kill the process.
 */
static int size_ring(struct os_file *f, size_t bytes)
{
	uint64_t size;
	void *zeros;
	int rc;

	rc = os_size(f, &size);
	if (rc < 0)
		return rc;
	if (size != bytes)
		return os_allocate(f, bytes);
	zeros = calloc(1, bytes);
	if (!zeros)
		return -ENOMEM;
	rc = os_pwrite(f, zeros, bytes, 0);
	free(zeros);
	return rc;
}

static int open_ring(struct wal *w)
{
	struct os_file *f = NULL;
	void *map;
	int rc;

	rc = os_open(w->dir, WAL_RING_NAME, OS_WRITE | OS_CREATE, &f);
	if (rc == 0)
		rc = size_ring(f, w->ring_bytes);
	if (rc == 0)
		rc = os_map(f, w->ring_bytes, &map);
	if (rc == 0) {
		w->ring = f;
		return 0;
	}
	os_close(f);
	/* No space, or a filesystem that maps nothing: slower without. */
	if (rc != -ENOSPC && rc != -EDQUOT && rc != -ENODEV &&
	    rc != -EOPNOTSUPP)
		return rc;
	w->ring_bytes = 0;
	w->drain_bytes = 0;
	return 0;
}

static int recover(struct wal *w, uint64_t first_segment, wal_replay_fn replay,
		   void *arg)
{
	struct wal_found found;
	int rc;

	rc = wal_replay(w->dir, first_segment, replay, arg, &found);
	if (rc < 0)
		goto out;
	w->first = w->next = first_segment;
	if (found.n) {
		w->next = found.head.number;
		/* An empty one is replaced by the next, of the same number. */
		if (found.end > found.head.start)
			w->next++;
	}
	atomic_store(&w->end, found.end);
	atomic_store(&w->drained, found.end);
	w->begun = found.end;
	atomic_store(&w->synced, found.end);
	if (w->read_only)
		goto out;
	rc = wal_settle(w->dir, &found);
	if (rc == 0)
		rc = wal_sweep(w->dir, first_segment);
	if (rc == 0)
		rc = open_ring(w);
out:
	wal_found_free(&found);
	return rc;
}

static void wal_free(struct wal *w)
{
	os_close(w->file);
	os_close(w->ring);
	os_close(w->spare);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->spare_lock);
	pthread_cond_destroy(&w->synced_cond);
	free(w->small);
	free(w);
}

int wal_open(struct os_dir *dir, const struct wal_options *o,
	     uint64_t first_segment, bool read_only,
	     int (*replay)(void *arg, uint64_t segment, struct bytes record),
	     void *arg, struct wal **out)
{
	struct wal *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;
	int rc;

	if (!w)
		return -ENOMEM;
	w->dir = dir;
	w->read_only = read_only;
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->spare_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->synced_cond, &attr);
	pthread_condattr_destroy(&attr);
	set_sizes(w, o);
	w->small = malloc(WAL_SMALL_BYTES);
	if (!w->small) {
		rc = -ENOMEM;
		goto fail;
	}
	rc = recover(w, first_segment, replay, arg);
	if (rc < 0)
		goto fail;
	*out = w;
	return 0;

fail:
	wal_free(w);
	return rc;
}

/* Leaves a segment that says itself where it ends. */
static int close_segment(struct wal *w)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = write_mark(w);
	pthread_mutex_unlock(&w->lock);
	if (rc == 0)
		rc = os_fdatasync(w->file);
	if (rc == 0)
		rc = os_truncate(w->file, file_offset(w, w->marked));
	return rc;
}

int wal_close(struct wal *w)
{
	int rc = 0;

	if (w->read_only)
		goto out;
	rc = atomic_load(&w->failed) ? wal_refused(w) : 0;
	if (rc == 0)
		rc = wal_sync(w, wal_end(w));
	if (rc == 0 && w->file)
		rc = close_segment(w);
	if (rc == 0 && w->spare)
		(void)os_unlink(w->dir, WAL_SPARE_NAME);
out:
	wal_free(w);
	return rc;
}

void wal_abandon(struct wal *w)
{
	wal_free(w);
}

bool wal_low(struct wal *w)
{
	return atomic_load_explicit(&w->spare_failed, memory_order_relaxed);
}

void wal_stat(struct wal *w, struct wal_stat *out)
{
	*out = (struct wal_stat){
		.records = atomic_load(&w->records),
		.bytes = atomic_load(&w->bytes),
		.failed = atomic_load(&w->failed),
	};
	pthread_mutex_lock(&w->lock);
	out->syncs = w->syncs;
	out->segments = w->next - w->first;
	out->recycled = w->recycled;
	pthread_mutex_unlock(&w->lock);
}
