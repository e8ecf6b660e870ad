#include "store/lsm/wal/wal_live.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/os/clock.h"
#include "store/value/why.h"

#define SEGMENT_BYTES ((size_t)64 << 20)
#define SEGMENT_BYTES_MIN ((size_t)256 << 10)
#define RING_BYTES ((size_t)1 << 20)
/*
 * Large enough that the cost of a copy to the segment is small per byte, small
 * enough that the copy stays in the processor's cache and delays nobody by
 * much.
 */
#define DRAIN_BYTES ((uint64_t)256 << 10)

int wal_fail_locked(struct wal *w, int err)
{
	if (!atomic_load(&w->failed)) {
		snprintf(w->sentence, sizeof(w->sentence),
			 "the log takes no more writes until the store is "
			 "opened again: %s",
			 store_why());
		atomic_store(&w->failed, -err);
	}
	assert(err < 0);
	pthread_cond_broadcast(&w->synced_cond);
	return why(-EROFS, "%s", w->sentence);
}

int wal_fail(struct wal *w, int err)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = wal_fail_locked(w, err);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int wal_refused(struct wal *w)
{
	if (w->read_only)
		return why(-EROFS, "the log was opened to be read only");
	return why(-EROFS, "%s", w->sentence);
}

uint64_t wal_end(struct wal *w)
{
	return atomic_load_explicit(&w->end, memory_order_acquire);
}

/* Encodes the record in the ring, or beside it if it wraps around the end. */
static void ring_store(struct wal *w, uint64_t pos, const struct bytes *parts,
		       size_t nparts, size_t len, size_t size)
{
	uint64_t synced =
		atomic_load_explicit(&w->synced, memory_order_acquire);
	size_t at = (size_t)(pos % w->ring_bytes);
	size_t first = w->ring_bytes - at;

	assert(size <= w->ring_bytes && size <= WAL_SMALL_BYTES);
	assert(synced <= pos);
	/* The record overwrites nothing that only the ring has. */
	assert(pos + size - atomic_load(&w->drained) <= w->ring_bytes);

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

/* The largest record that is written by way of the ring. */
static uint64_t ring_record_max(const struct wal *w)
{
	return w->ring_bytes / 2 < WAL_SMALL_BYTES ? w->ring_bytes / 2
						   : WAL_SMALL_BYTES;
}

/*
 * Copies the ring to the segment. While a leader writes past the page cache, it
 * does so only if the ring has no space for @size more bytes.
 */
static int make_ring_room(struct wal *w, uint64_t size)
{
	uint64_t pending;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	pending = wal_end(w) - atomic_load(&w->drained);
	if (!w->direct.busy || pending + size > w->ring_bytes) {
		rc = wal_await_cache(w);
		if (rc == 0)
			rc = wal_drain(w);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static int append_to_ring(struct wal *w, const struct bytes *parts,
			  size_t nparts, size_t len, uint64_t size)
{
	uint64_t pos = atomic_load_explicit(&w->end, memory_order_relaxed);
	uint64_t drained =
		atomic_load_explicit(&w->drained, memory_order_acquire);
	int rc;

	/* First, so that a failure leaves nothing of the record behind. */
	if (pos - drained + size > w->ring_bytes) {
		rc = make_ring_room(w, size);
		if (rc < 0)
			return rc;
	}
	ring_store(w, pos, parts, nparts, len, (size_t)size);
	atomic_store_explicit(&w->end, pos + size, memory_order_release);
	/*
	 * Drain ahead for the next record. The present one is stored already,
	 * whether or not this fails.
	 */
	if (pos + size - drained > w->drain_bytes)
		(void)make_ring_room(w, ring_record_max(w));
	return 0;
}

/* Writes head, parts and padding one after the other. */
static int write_parts(struct wal *w, uint64_t pos, const struct bytes *parts,
		       size_t nparts, size_t len, uint64_t size)
{
	static const uint8_t zeros[WAL_ALIGN];
	uint64_t off = wal_offset(w, pos);
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
	/* A recycled segment holds old bytes where the padding belongs. */
	if (rc == 0 && size - WAL_RECORD_HEAD - len)
		rc = os_pwrite(w->file, zeros,
			       (size_t)(size - WAL_RECORD_HEAD - len), off);
	return rc;
}

/* Writes a record that is large compared with the ring to the segment. */
static int append_to_segment(struct wal *w, const struct bytes *parts,
			     size_t nparts, size_t len, uint64_t size)
{
	uint64_t pos = wal_end(w);
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = wal_await_cache(w);
	if (rc == 0)
		rc = wal_drain(w);
	if (rc < 0)
		goto out;
	assert(atomic_load(&w->drained) == pos);
	if (size <= WAL_SMALL_BYTES) {
		wal_record_encode(w->small, w->head.id, pos,
				  atomic_load(&w->synced), parts, nparts, len);
		rc = os_pwrite(w->file, w->small, (size_t)size,
			       wal_offset(w, pos));
	} else {
		rc = write_parts(w, pos, parts, nparts, len, size);
	}
	if (rc < 0) {
		rc = wal_fail_locked(w, rc);
		goto out;
	}
	atomic_store(&w->end, pos + size);
	wal_drained_to(w, pos + size);
out:
	pthread_mutex_unlock(&w->lock);
	return rc;
}

/* Only the appender writes the counter: no locked instruction is needed. */
static void count(_Atomic uint64_t *n, uint64_t more)
{
	uint64_t was = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, was + more, memory_order_relaxed);
}

/*
 * Makes space for the next small record ahead of time: some callers cannot
 * report a lack of it. A failure marks the log, not the caller's call. By the
 * appender.
 */
static void make_ready(struct wal *w)
{
	uint64_t next = ring_record_max(w);

	/*
	 * In very small segments this would waste much of each segment's end.
	 */
	if (next <= w->segment_bytes / 8 && !atomic_load(&w->failed))
		(void)wal_make_room(w, next);
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
	assert(wal_offset(w, wal_end(w)) + size <= w->head.capacity);
	if (size <= ring_record_max(w))
		rc = append_to_ring(w, parts, nparts, len, size);
	else
		rc = append_to_segment(w, parts, nparts, len, size);
	if (rc < 0)
		return rc;
	count(&w->records, 1);
	count(&w->bytes, size);
	*lsn = wal_end(w);
	make_ready(w);
	return 0;
}

size_t wal_fit(struct os_dir *dir, size_t bytes, size_t least)
{
	uint64_t total, left, usable;

	if (os_dir_space(dir, &total, &left, &usable) < 0)
		return bytes;
	while (bytes > least && bytes > total / 32)
		bytes /= 2;
	return bytes;
}

/* Four segments of a small disk, or 80 MiB: more than a table file. */
static size_t reserve_fit(struct os_dir *dir)
{
	size_t bytes = wal_fit(dir, SEGMENT_BYTES, SEGMENT_BYTES_MIN);

	return bytes < SEGMENT_BYTES / 4 ? 4 * bytes
					 : SEGMENT_BYTES + SEGMENT_BYTES / 4;
}

static void set_sizes(struct wal *w, const struct wal_options *o)
{
	size_t segment = o->segment_bytes;
	size_t ring = o->ring_bytes;

	if (!segment)
		segment = wal_fit(w->dir, SEGMENT_BYTES, SEGMENT_BYTES_MIN);
	if (!ring)
		ring = segment < RING_BYTES ? segment / 4 : RING_BYTES;
	if (segment < 2 * WAL_BLOCK_BYTES)
		segment = 2 * WAL_BLOCK_BYTES;
	w->segment_bytes = (segment + 4095) & ~(size_t)4095;
	w->ring_bytes = (ring + 4095) & ~(size_t)4095;
	w->drain_bytes = w->ring_bytes / 2 < DRAIN_BYTES ? w->ring_bytes / 2
							 : DRAIN_BYTES;
	assert(w->drain_bytes < w->ring_bytes);
}

/*
 * Allocates the ring's space. A ring of the right size is overwritten, which
 * works on a full disk and fills the holes of a copied file: touching a hole
 * when the disk is full would kill the process.
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
	/*
	 * Without space, or on a filesystem without mmap, the log works without
	 * a ring, slower.
	 */
	if (rc != -ENOSPC && rc != -EDQUOT && rc != -ENODEV &&
	    rc != -EOPNOTSUPP)
		return rc;
	w->ring_bytes = 0;
	w->drain_bytes = 0;
	return 0;
}

static bool keep_one(void *arg, uint64_t number)
{
	return wal_kept_take(arg, number);
}

static int recover(struct wal *w, uint64_t first_segment, wal_replay_fn replay,
		   void *arg)
{
	struct wal_found found;
	int rc;

	rc = wal_replay(w->dir, first_segment, replay, arg, &found);
	if (rc < 0)
		goto out;
	assert(found.durable <= found.end && found.in_segment <= found.end);
	if (!found.n)
		found.end = wal_kept_end(w, first_segment);
	w->first = w->next = first_segment;
	w->replayed = found.n;
	if (found.n) {
		w->next = found.head.number;
		/*
		 * The next segment replaces an empty one and takes its number.
		 */
		if (found.end > found.head.start)
			w->next++;
	}
	atomic_store(&w->end, found.end);
	atomic_store(&w->drained, found.end);
	w->begun = found.end;
	atomic_store(&w->synced, found.end);
	if (w->read_only)
		goto out;
	rc = wal_recover(w->dir, &found);
	if (rc == 0)
		rc = wal_sweep(w->dir, first_segment, keep_one, w);
	if (rc == 0)
		rc = open_ring(w);
out:
	wal_found_free(&found);
	return rc;
}

void wal_abandon(struct wal *w)
{
	os_close(w->file);
	os_close(w->ring);
	os_close(w->spare);
	os_close(w->reserve);
	wal_direct_free(&w->direct);
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
	int rc;

	if (!w)
		return -ENOMEM;
	w->dir = dir;
	w->read_only = read_only;
	w->keeps_reserve = o->reserve;
	if (w->keeps_reserve)
		w->reserve_bytes = reserve_fit(dir);
	pthread_mutex_init(&w->lock, NULL);
	pthread_mutex_init(&w->spare_lock, NULL);
	clock_cond_init(&w->synced_cond);
	set_sizes(w, o);
	w->small = malloc(WAL_SMALL_BYTES);
	if (o->keep_id)
		wal_keep(w, o->keep, o->keep_id);
	rc = w->small ? wal_direct_init(&w->direct) : -ENOMEM;
	if (rc < 0)
		goto fail;
	rc = recover(w, first_segment, replay, arg);
	if (rc < 0)
		goto fail;
	*out = w;
	return 0;

fail:
	wal_abandon(w);
	return rc;
}

/* Marks the segment's end in its block and cuts the file off there. */
static int close_segment(struct wal *w)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = wal_write_mark(w);
	pthread_mutex_unlock(&w->lock);
	if (rc == 0)
		rc = os_fdatasync(w->file);
	if (rc == 0)
		rc = os_truncate(w->file, wal_offset(w, w->marked));
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
		os_discard(w->dir, WAL_SPARE_NAME);
	if (rc == 0 && w->reserve)
		os_discard(w->dir, WAL_RESERVE_NAME);
out:
	wal_abandon(w);
	return rc;
}

int wal_health(struct wal *w)
{
	return atomic_load_explicit(&w->failed, memory_order_relaxed)
		       ? wal_refused(w)
		       : 0;
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
	out->replayed = w->replayed;
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_lock(&w->spare_lock);
	out->kept_bytes = w->kept_bytes;
	pthread_mutex_unlock(&w->spare_lock);
}
