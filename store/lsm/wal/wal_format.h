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
 * id is drawn anew for each segment and seeds every sum, and pos is the place
 * of the record in the stream, its low half: nothing that a recycled file or an
 * old ring still holds can pass for a record. start is the position of the
 * first one. behind says how far before pos the stream was durable; all ones:
 * further than it can say.
 *
 * How damage is told from a tail that was being written when the power went:
 *   - A segment is made only when all before its start is durable.
 *   - pos - behind of a record, and the mark at 512, say up to where the stream
 *     was durable when they were written.
 *   - A file shorter than its capacity was cut at the end of its records, and
 *     before that the mark said so.
 * What fails its sum below such a point is damage; above it, a torn tail.
 */
#ifndef CELLFS_STORE_LSM_WAL_WAL_FORMAT_H
#define CELLFS_STORE_LSM_WAL_WAL_FORMAT_H

#include "store/value/bytes.h"

#define WAL_BLOCK_BYTES 4096
#define WAL_MARK_AT 512
#define WAL_MARK_BYTES 16
#define WAL_RECORD_HEAD 20
#define WAL_RECORD_MAX (((size_t)1 << 30) - 1) /* payload */
/* What a record begins at and is filled up to a multiple of. */
#define WAL_ALIGN 4

struct wal_head {
	uint64_t number, id, start;
	uint64_t capacity; /* of the file, this block included */
};

void wal_head_encode(uint8_t block[WAL_BLOCK_BYTES], const struct wal_head *h);
/* False unless it is a sound block of segment @number. */
bool wal_head_decode(const uint8_t block[WAL_BLOCK_BYTES], uint64_t number,
		     struct wal_head *out);
void wal_mark_encode(uint8_t mark[WAL_MARK_BYTES], uint64_t id,
		     uint64_t durable);
/* False if it is absent or torn. */
bool wal_mark_decode(const uint8_t mark[WAL_MARK_BYTES], uint64_t id,
		     uint64_t *durable);

/* Bytes in the stream of a record with @len of payload. */
static inline uint64_t wal_record_size(uint64_t len)
{
	return (WAL_RECORD_HEAD + len + WAL_ALIGN - 1) &
	       ~(uint64_t)(WAL_ALIGN - 1);
}

struct wal_record {
	uint64_t pos, synced;
	uint64_t size; /* in the stream */
	struct bytes payload;
};

/* The whole record, wal_record_size(@len) bytes; @parts add up to @len. */
void wal_record_encode(uint8_t *out, uint64_t id, uint64_t pos, uint64_t synced,
		       const struct bytes *parts, size_t nparts, size_t len);
/* Only the head of it, for a payload that is written from where it lies. */
void wal_record_head(uint8_t out[WAL_RECORD_HEAD], uint64_t id, uint64_t pos,
		     uint64_t synced, const struct bytes *parts, size_t nparts,
		     size_t len);
/*
 * How many bytes a record of @pos would take whose head is at @p, or 0 if that
 * is no head: for a reader that has to fetch the rest. Nothing is proven yet.
 */
uint64_t wal_record_peek(const uint8_t head[WAL_RECORD_HEAD], uint64_t pos);
/*
 * The least offset in the @n >= WAL_RECORD_HEAD bytes at @p, which lie at @pos,
 * where a head claims to be that of a record there; @n if there is none.
 */
size_t wal_record_scan(const uint8_t *p, size_t n, uint64_t pos);
/* The first position from @least on that these bytes can claim as a head. */
uint64_t wal_record_claim(const uint8_t head[WAL_RECORD_HEAD], uint64_t least);
/* Is there a sound record of @pos in the first @avail bytes at @p? */
bool wal_record_decode(const uint8_t *p, size_t avail, uint64_t id,
		       uint64_t pos, struct wal_record *out);

#endif
