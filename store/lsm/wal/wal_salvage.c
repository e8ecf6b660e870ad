#include "store/lsm/wal/wal_salvage.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/wal/wal_replay.h"
#include "store/value/why.h"

/* No segment is larger: a record and its block. */
#define SEGMENT_MAX ((uint64_t)2 << 30)
#define RING_MAX ((uint64_t)1 << 30)
/* What a segment's block has before the zeros. */
#define HEAD_BYTES 56

struct salvage {
	const struct wal_salvage *s;
	uint64_t *numbers; /* of the segments, ascending */
	size_t n;
	struct buf file, ring, hold;
	char name[WAL_NAME_BYTES];
	struct wal_head head;
	uint64_t durable; /* the stream was on disk up to here */
	uint64_t unread;  /* bytes of the segment that the disk did not give */
	bool last;	  /* the ring may go on where this segment ends */
};

static void lose(const struct salvage *k, const char *file, uint64_t offset,
		 uint64_t bytes, const char *reason)
{
	const struct wal_loss loss = {file, offset, bytes, reason};

	k->s->lost(k->s->arg, &loss);
}

/* Decodes a segment's block, of which one bit may be wrong, or any zero. */
static bool decode_head(uint8_t block[WAL_BLOCK_BYTES], uint64_t number,
			struct wal_head *out)
{
	if (wal_head_decode(block, number, out))
		return true;
	memset(block + HEAD_BYTES, 0, WAL_MARK_AT - HEAD_BYTES);
	memset(block + WAL_MARK_AT + WAL_MARK_BYTES, 0,
	       WAL_BLOCK_BYTES - WAL_MARK_AT - WAL_MARK_BYTES);
	if (wal_head_decode(block, number, out))
		return true;
	for (unsigned bit = 0; bit < HEAD_BYTES * 8; bit++) {
		block[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (wal_head_decode(block, number, out))
			return true;
		block[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	return false;
}

static bool record_in_ring(struct salvage *k, uint64_t pos,
			   struct wal_record *rec)
{
	uint8_t head[WAL_RECORD_HEAD];
	uint64_t size;

	if (!k->last || !k->ring.len ||
	    wal_file_offset(&k->head, pos) >= k->head.capacity)
		return false;
	wal_ring_copy(buf_bytes(&k->ring), pos, sizeof(head), head);
	size = wal_record_peek(head, pos);
	if (size == 0 || size > k->ring.len)
		return false;
	wal_ring_copy(buf_bytes(&k->ring), pos, (size_t)size, k->hold.data);
	return wal_record_decode(k->hold.data, (size_t)size, k->head.id, pos,
				 rec);
}

/* The record at @pos, in the segment or in the ring. */
static bool record_at(struct salvage *k, uint64_t pos, struct wal_record *rec)
{
	uint64_t off = wal_file_offset(&k->head, pos);

	return (off < k->file.len &&
		wal_record_decode(k->file.data + off, k->file.len - (size_t)off,
				  k->head.id, pos, rec)) ||
	       record_in_ring(k, pos, rec);
}

/* The least position > @pos of a sound record in the segment, or UINT64_MAX. */
static uint64_t next_in_segment(const struct salvage *k, uint64_t pos)
{
	struct wal_record rec;

	for (uint64_t at = pos + WAL_ALIGN;; at += WAL_ALIGN) {
		uint64_t off = wal_file_offset(&k->head, at);
		size_t n, i;

		if (off + WAL_RECORD_HEAD > k->file.len)
			return UINT64_MAX;
		n = k->file.len - (size_t)off;
		i = wal_record_scan(k->file.data + off, n, at);
		if (i == n)
			return UINT64_MAX;
		at += i;
		if (wal_record_decode(k->file.data + off + i, n - i, k->head.id,
				      at, &rec))
			return at;
	}
}

/* The same in the ring. */
static uint64_t next_in_ring(struct salvage *k, uint64_t pos)
{
	uint64_t best = UINT64_MAX;
	uint8_t head[WAL_RECORD_HEAD];
	struct wal_record rec;

	for (uint64_t at = 0; k->last && at < k->ring.len; at += WAL_ALIGN) {
		uint64_t claim;

		wal_ring_copy(buf_bytes(&k->ring), at, sizeof(head), head);
		claim = wal_record_claim(head, pos + WAL_ALIGN);
		if (claim < best && claim % k->ring.len == at &&
		    wal_file_offset(&k->head, claim) < k->head.capacity &&
		    record_in_ring(k, claim, &rec))
			best = claim;
	}
	return best;
}

/* Does something at @pos look like a record that is not whole? */
static bool is_begun(const struct salvage *k, uint64_t pos)
{
	uint64_t off = wal_file_offset(&k->head, pos);
	uint8_t head[WAL_RECORD_HEAD];

	if (off + WAL_RECORD_HEAD <= k->file.len &&
	    wal_record_peek(k->file.data + off, pos))
		return true;
	if (!k->last || !k->ring.len)
		return false;
	wal_ring_copy(buf_bytes(&k->ring), pos, sizeof(head), head);
	return wal_record_peek(head, pos);
}

/* The records of the segment end at @pos: was there more? */
static void lose_behind(struct salvage *k, uint64_t pos, uint64_t stop)
{
	uint64_t off = wal_file_offset(&k->head, pos);

	if (stop != UINT64_MAX && k->durable < stop)
		k->durable = stop;
	if (pos < k->durable)
		lose(k, k->name, off, k->durable - pos,
		     "records that were on disk end here");
	else if (stop == UINT64_MAX && is_begun(k, pos))
		lose(k, k->name, off, 0,
		     "a record here is not whole: it was being written at a "
		     "crash, or is damaged");
	else if (stop == UINT64_MAX && k->unread)
		lose(k, k->name, off, 0,
		     "the disk does not give all of the file: it may have had "
		     "more records");
}

/* Hands out all records of the segment. @stop: where the next one begins. */
static int take_records(struct salvage *k, uint64_t stop)
{
	uint64_t pos = k->head.start;
	struct wal_record rec;

	while (pos < stop) {
		uint64_t next, other;
		int r;

		if (record_at(k, pos, &rec)) {
			r = k->s->each(k->s->arg, rec.payload);
			if (r < 0)
				return r;
			pos += rec.size;
			continue;
		}
		next = next_in_segment(k, pos);
		other = next_in_ring(k, pos);
		if (other < next)
			next = other;
		if (next == UINT64_MAX || next >= stop)
			break;
		lose(k, k->name, wal_file_offset(&k->head, pos), next - pos,
		     "what is there is no whole record");
		pos = next;
	}
	lose_behind(k, pos, stop);
	return 0;
}

/* Reads the segment and its block: 1, 0 if it cannot be told apart. */
static int open_segment(struct salvage *k, uint64_t number)
{
	int r;

	wal_segment_name(k->name, number);
	k->file.len = 0;
	r = os_read_damaged(k->s->dir, k->name, SEGMENT_MAX, &k->file,
			    &k->unread);
	if (r == -EIO || r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (k->file.len < WAL_BLOCK_BYTES ||
	    !decode_head(k->file.data, number, &k->head))
		return 0;
	k->durable = k->head.start;
	if (!wal_mark_decode(k->file.data + WAL_MARK_AT, k->head.id,
			     &k->durable) ||
	    k->durable < k->head.start ||
	    k->durable - k->head.start > k->head.capacity)
		k->durable = k->head.start;
	return 1;
}

/* Where the segment behind number @i begins; UINT64_MAX if that is not known. */
static int start_behind(struct salvage *k, size_t i, uint64_t *start)
{
	int r = 0;

	*start = UINT64_MAX;
	if (i + 1 < k->n && k->numbers[i + 1] == k->numbers[i] + 1)
		r = open_segment(k, k->numbers[i + 1]);
	if (r > 0)
		*start = k->head.start;
	return r < 0 ? r : 0;
}

static int take_segment(struct salvage *k, size_t i)
{
	uint64_t stop;
	int r = start_behind(k, i, &stop);

	if (r < 0)
		return r;
	r = open_segment(k, k->numbers[i]);
	if (r == 0)
		lose(k, k->name, 0, k->file.len,
		     k->file.len ? "its first block is damaged, without which "
				   "nothing of it can be told from chance"
				 : "it is empty, or cannot be read");
	if (r <= 0)
		return r;
	k->last = i + 1 == k->n;
	return take_records(k, stop);
}

/* Tells of the segments in [@from, @to) that are not there. */
static void lose_missing(struct salvage *k, uint64_t from, uint64_t to)
{
	for (uint64_t number = from; number < to; number++) {
		/* Numbers that were never given out are not worth a line. */
		if (number == from + 16)
			number = to - 1;
		wal_segment_name(k->name, number);
		lose(k, k->name, 0, 0, "it is missing");
	}
}

static int read_ring(struct salvage *k, const struct wal_made *made)
{
	uint64_t unread;
	int r = os_read_damaged(k->s->dir, WAL_RING_NAME, RING_MAX, &k->ring,
				&unread);

	if (r == -ENOENT && made->ring)
		lose(k, WAL_RING_NAME, 0, 0, "it is missing");
	else if (r == -EIO || unread)
		lose(k, WAL_RING_NAME, 0, unread,
		     "the disk does not give all of it: it may have had the "
		     "last records");
	return r == -ENOENT || r == -EIO || r == -EFBIG ? 0 : r;
}

static int take_all(struct salvage *k)
{
	struct wal_made made = wal_made_read(k->s->dir);
	uint64_t next = k->s->first;
	int r = read_ring(k, &made);

	if (r < 0)
		return r;
	if (k->ring.len % WAL_BLOCK_BYTES)
		k->ring.len = 0;
	/* Any record of the ring: for want of memory none is taken for damaged. */
	r = buf_reserve(&k->hold, k->ring.len);
	if (r < 0)
		return r;
	if (!k->s->first_known)
		next = k->n ? k->numbers[0] : UINT64_MAX;
	for (size_t i = 0; i < k->n; i++) {
		lose_missing(k, next, k->numbers[i]);
		next = k->numbers[i] + 1;
		r = take_segment(k, i);
		if (r < 0)
			return r;
	}
	lose_missing(k, next, made.next);
	return 0;
}

int wal_salvage(const struct wal_salvage *s)
{
	struct salvage k = {.s = s};
	int r = wal_segments(s->dir, s->first, &k.numbers, &k.n);

	if (r == 0)
		r = take_all(&k);
	free(k.numbers);
	buf_free(&k.file);
	buf_free(&k.ring);
	buf_free(&k.hold);
	return r == -ENOMEM ? why(r, "out of memory") : r;
}
