/*
 * The bytes of the write-ahead log.
 *
 * The log is one stream of records; a position counts its bytes from the
 * beginning of time, over all segments. All numbers are little-endian.
 *
 *	segment = block record* rest
 *	block	= magic[8] version:u32 zero:u32 number:u64 id:u64 start:u64
 *		  capacity:u64 sum:u64 zero* | at 512: durable:u64 sum:u64 |
 *		  zero* up to 4096
 *	record	= sum:u64 len:u30 kind:u2 pos:u32 behind:u32 payload[len]
 *		  zero* up to a multiple of 4
 *
 * id is a random number, new for each segment, that seeds every sum; pos is the
 * low half of the record's position in the stream. So old bytes of a recycled
 * file or ring cannot pass for a record. start is the position of the first
 * record. behind is the distance from pos back to where the stream was durable;
 * all ones if the distance is too great for it.
 *
 * How damage is told from a tail that was being written when the power went:
 *   - A segment is made only when the stream before its start is durable.
 *   - pos - behind of a record, and the mark at 512, give the position up to
 *     which the stream was durable when they were written.
 *   - A file shorter than its capacity was cut at the end of its records, after
 *     the mark had been set to that end.
 * A bad sum below a durable position is damage; above it, it is a torn tail.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_FORMAT_H
#define CELLFS_STORE_LSM_WAL_WAL_FORMAT_H

#include "store/value/bytes.h"

#define WAL_BLOCK_BYTES 4096
#define WAL_MARK_AT 512
#define WAL_MARK_BYTES 16
#define WAL_RECORD_HEAD 20
#define WAL_RECORD_MAX (((size_t)1 << 30) - 1) /* payload */
/* Records begin at multiples of this and are padded to one. */
#define WAL_ALIGN 4

struct wal_head {
	uint64_t number, id, start;
	uint64_t capacity; /* of the file, this block included */
};

void wal_head_encode(uint8_t block[WAL_BLOCK_BYTES], const struct wal_head *h);
/* False if it is not a valid block of segment @number. */
bool wal_head_decode(const uint8_t block[WAL_BLOCK_BYTES], uint64_t number,
		     struct wal_head *out);
void wal_mark_encode(uint8_t mark[WAL_MARK_BYTES], uint64_t id,
		     uint64_t durable);
/* False if the mark is absent or torn. */
bool wal_mark_decode(const uint8_t mark[WAL_MARK_BYTES], uint64_t id,
		     uint64_t *durable);

/* The size in the stream of a record with @len bytes of payload. */
static inline uint64_t wal_record_size(uint64_t len)
{
	return (WAL_RECORD_HEAD + len + WAL_ALIGN - 1) &
	       ~(uint64_t)(WAL_ALIGN - 1);
}

/* Where in the segment's file position @pos of the stream is. */
static inline uint64_t wal_file_offset(const struct wal_head *h, uint64_t pos)
{
	return pos - h->start + WAL_BLOCK_BYTES;
}

/* What a ring has of the stream from @pos to @end, up to where it wraps around. */
static inline struct bytes wal_ring_part(struct bytes ring, uint64_t pos,
					 uint64_t end)
{
	size_t at = (size_t)(pos % ring.len);
	size_t left = ring.len - at;

	return bytes_of(ring.data + at,
			end - pos < left ? (size_t)(end - pos) : left);
}

/* Copies @n bytes at @pos of the stream, which the ring has or has not. */
static inline void wal_ring_copy(struct bytes ring, uint64_t pos, size_t n,
				 uint8_t *out)
{
	struct bytes first = wal_ring_part(ring, pos, pos + n);

	memcpy(out, first.data, first.len);
	memcpy(out + first.len, ring.data, n - first.len);
}

struct wal_record {
	uint64_t pos, synced;
	uint64_t size; /* in the stream */
	struct bytes payload;
};

/*
 * Encodes a record of wal_record_size(@len) bytes; @parts have @len together.
 */
void wal_record_encode(uint8_t *out, uint64_t id, uint64_t pos, uint64_t synced,
		       const struct bytes *parts, size_t nparts, size_t len);
/* Encodes only the head, for a payload that is written separately. */
void wal_record_head(uint8_t out[WAL_RECORD_HEAD], uint64_t id, uint64_t pos,
		     uint64_t synced, const struct bytes *parts, size_t nparts,
		     size_t len);
/*
 * The size that the head at @p gives for a record at @pos, or 0 if this is no
 * head of such a record. Nothing is verified: the caller uses the size to read
 * the rest.
 */
uint64_t wal_record_peek(const uint8_t head[WAL_RECORD_HEAD], uint64_t pos);
/*
 * The least offset in the @n >= WAL_RECORD_HEAD bytes at @p that looks like the
 * head of a record at its position; @n if there is none. @p is at @pos in the
 * stream.
 */
size_t wal_record_scan(const uint8_t *p, size_t n, uint64_t pos);
/* The first position from @least on for which these bytes would be a head. */
uint64_t wal_record_claim(const uint8_t head[WAL_RECORD_HEAD], uint64_t least);
/* True if the first @avail bytes at @p hold a valid record of @pos. */
bool wal_record_decode(const uint8_t *p, size_t avail, uint64_t id,
		       uint64_t pos, struct wal_record *out);

#endif
