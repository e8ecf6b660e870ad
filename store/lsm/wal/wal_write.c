/*
 * How records are copied from the ring to the segment: through the page cache,
 * or past it in whole blocks that are durable at once. The rule for which way
 * is allowed when is in wal_live.h.
 */
#include "store/lsm/wal/wal_live.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

/*
 * Drained data of this size is sent to the disk early, so that a thread that
 * ends a segment, under the commit lock, does not wait for tens of mebibytes.
 */
#define WRITE_OUT_BYTES ((uint64_t)2 << 20)
#define BLOCK_MASK ((uint64_t)WAL_BLOCK_BYTES - 1)

int wal_await_cache(struct wal *w)
{
	w->direct.awaited++;
	while (w->direct.busy)
		pthread_cond_wait(&w->synced_cond, &w->lock);
	assert(w->direct.awaited > 0);
	w->direct.awaited--;
	return atomic_load(&w->failed) ? wal_refused(w) : 0;
}

void wal_drained_to(struct wal *w, uint64_t pos)
{
	uint64_t more = pos - w->begun;

	assert(w->begun <= atomic_load(&w->drained));
	assert(atomic_load(&w->drained) <= pos && pos <= wal_end(w));
	atomic_store_explicit(&w->drained, pos, memory_order_release);
	if (more < WRITE_OUT_BYTES)
		return;
	os_write_out(w->file, wal_offset(w, w->begun), more);
	w->begun = pos;
}

int wal_drain(struct wal *w)
{
	uint64_t end = wal_end(w);
	uint64_t pos = atomic_load(&w->drained);
	int rc;

	assert(!w->direct.busy);
	assert(pos <= end && end - pos <= w->ring_bytes);
	while (pos < end) {
		struct bytes part = wal_ring_part(wal_ring(w), pos, end);

		rc = os_pwrite(w->file, part.data, part.len,
			       wal_offset(w, pos));
		if (rc < 0)
			return wal_fail_locked(w, rc);
		pos += part.len;
	}
	wal_drained_to(w, pos);
	return 0;
}

int wal_write_mark(struct wal *w)
{
	uint8_t mark[WAL_MARK_BYTES];
	uint64_t durable = atomic_load(&w->synced);
	int rc;

	assert(w->head.start <= durable && w->marked <= durable);
	wal_mark_encode(mark, w->head.id, durable);
	rc = os_pwrite(w->file, mark, sizeof(mark), WAL_MARK_AT);
	if (rc < 0)
		return wal_fail_locked(w, rc);
	w->marked = durable;
	return 0;
}

int wal_direct_init(struct wal_direct *d)
{
	/* Including the partly filled blocks at both ends. */
	d->image = aligned_alloc(OS_DIRECT_ALIGN,
				 WAL_DIRECT_BYTES + WAL_BLOCK_BYTES);
	return d->image ? 0 : -ENOMEM;
}

void wal_direct_free(struct wal_direct *d)
{
	os_close(d->file);
	free(d->image);
}

bool wal_direct_fits(const struct wal *w, uint64_t target)
{
	uint64_t synced = atomic_load(&w->synced);

	assert(synced <= atomic_load(&w->drained) && synced <= target);
	/* With a ring, segments consist of whole blocks. */
	return w->direct.file && w->direct.awaited == 0 &&
	       atomic_load(&w->drained) == synced &&
	       target - synced <= WAL_DIRECT_BYTES;
}

/* Puts the block that contains @pos, up to @pos, at the image's start. */
static int take_tail(struct wal *w, uint64_t pos)
{
	uint64_t off = wal_offset(w, pos);
	size_t n = (size_t)(off & BLOCK_MASK);
	ssize_t got;

	if (n == 0 || w->direct.tail == pos)
		return 0;
	got = os_pread(w->file, w->direct.image, n, off - n);
	if (got < 0)
		return (int)got;
	if ((size_t)got != n)
		return why(-EIO, "%s became shorter", w->file->name);
	return 0;
}

/*
 * Moves the last, partly filled block to the image's start. The image ends at
 * @pos and has @n bytes.
 */
static void keep_tail(struct wal *w, uint64_t pos, size_t n)
{
	size_t whole = n & ~(size_t)BLOCK_MASK;

	assert(n - whole <= BLOCK_MASK);
	assert((wal_offset(w, pos) & BLOCK_MASK) == n - whole);
	if (whole)
		memcpy(w->direct.image, w->direct.image + whole, n - whole);
	w->direct.tail = pos;
}

/*
 * How many bytes to write of an image of @n bytes for offset @off. The first
 * write to blocks that were only allocated also costs a write of the
 * filesystem's journal, so a small write adds zeros for the next ones.
 */
static size_t whole_blocks(struct wal *w, uint64_t off, size_t n)
{
	size_t len = (n + BLOCK_MASK) & ~(size_t)BLOCK_MASK;
	uint64_t left = w->head.capacity - off - len;

	assert((off & BLOCK_MASK) == 0 && off + len <= w->head.capacity);
	if (off + len <= w->direct.written || len > WAL_AHEAD_BYTES / 4)
		return len;
	len += left < WAL_AHEAD_BYTES ? (size_t)left : WAL_AHEAD_BYTES;
	w->direct.written = off + len;
	return len;
}

int wal_direct_write(struct wal *w, uint64_t target)
{
	uint64_t pos = atomic_load(&w->synced);
	uint64_t off = wal_offset(w, pos);
	size_t n = (size_t)(off & BLOCK_MASK), len;
	uint8_t *image = w->direct.image;
	int rc = take_tail(w, pos);

	assert(pos < target && target - pos <= WAL_DIRECT_BYTES);
	assert(target - pos <= w->ring_bytes);
	if (rc < 0)
		return rc;
	off -= n;
	wal_ring_copy(wal_ring(w), pos, (size_t)(target - pos), image + n);
	n += (size_t)(target - pos);
	len = whole_blocks(w, off, n);
	assert(n <= len && len <= WAL_DIRECT_BYTES + WAL_BLOCK_BYTES);
	assert(off + len <= w->head.capacity);
	memset(image + n, 0, len - n);
	rc = os_pwrite_sync(w->direct.file, image, len, off);
	if (rc == 0)
		keep_tail(w, target, n);
	return rc;
}
