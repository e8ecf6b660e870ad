#include "store/lsm/wal/wal_format.h"

/* Inlined, since a call costs more than the checksum of a small record. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define WAL_VERSION 2
#define WAL_KIND_SHIFT 30
#define WAL_KIND_RECORD 1
/* The durable position is further back than a record can say. */
#define BEHIND_MAX UINT32_MAX
/* No log grows to this position; sums with it do not overflow. */
#define WAL_POS_MAX ((uint64_t)1 << 62)

static const char magic[8] = "cellwal";

enum { /* in a segment's block */
	AT_VERSION = 8,
	AT_ZERO = 12,
	AT_NUMBER = 16,
	AT_ID = 24,
	AT_START = 32,
	AT_CAPACITY = 40,
	AT_SUM = 48,
	AT_REST = 56,
};

enum {		    /* in a record */
	AT_LEN = 8, /* and kind */
	AT_POS = 12,
	AT_BEHIND = 16,
};

/* So much at once is looked at for a byte that is not 0. */
#define SCAN_BYTES ((size_t)4096)

static bool all_zero(const uint8_t *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

void wal_head_encode(uint8_t block[WAL_BLOCK_BYTES], const struct wal_head *h)
{
	memset(block, 0, WAL_BLOCK_BYTES);
	memcpy(block, magic, sizeof(magic));
	bytes_put_le32(block + AT_VERSION, WAL_VERSION);
	bytes_put_le64(block + AT_NUMBER, h->number);
	bytes_put_le64(block + AT_ID, h->id);
	bytes_put_le64(block + AT_START, h->start);
	bytes_put_le64(block + AT_CAPACITY, h->capacity);
	bytes_put_le64(block + AT_SUM, XXH3_64bits(block, AT_SUM));
}

bool wal_head_decode(const uint8_t block[WAL_BLOCK_BYTES], uint64_t number,
		     struct wal_head *out)
{
	struct wal_head h;

	if (memcmp(block, magic, sizeof(magic)) ||
	    bytes_le32(block + AT_VERSION) != WAL_VERSION ||
	    bytes_le32(block + AT_ZERO) != 0 ||
	    bytes_le64(block + AT_SUM) != XXH3_64bits(block, AT_SUM))
		return false;
	if (!all_zero(block + AT_REST, WAL_MARK_AT - AT_REST) ||
	    !all_zero(block + WAL_MARK_AT + WAL_MARK_BYTES,
		      WAL_BLOCK_BYTES - WAL_MARK_AT - WAL_MARK_BYTES))
		return false;
	h.number = bytes_le64(block + AT_NUMBER);
	h.id = bytes_le64(block + AT_ID);
	h.start = bytes_le64(block + AT_START);
	h.capacity = bytes_le64(block + AT_CAPACITY);
	if (h.number != number || h.start % WAL_ALIGN ||
	    h.start > WAL_POS_MAX || h.capacity < WAL_BLOCK_BYTES ||
	    h.capacity > WAL_POS_MAX)
		return false;
	*out = h;
	return true;
}

void wal_mark_encode(uint8_t mark[WAL_MARK_BYTES], uint64_t id,
		     uint64_t durable)
{
	bytes_put_le64(mark, durable);
	bytes_put_le64(mark + 8, XXH3_64bits_withSeed(mark, 8, id));
}

bool wal_mark_decode(const uint8_t mark[WAL_MARK_BYTES], uint64_t id,
		     uint64_t *durable)
{
	if (bytes_le64(mark + 8) != XXH3_64bits_withSeed(mark, 8, id))
		return false;
	*durable = bytes_le64(mark);
	return *durable <= WAL_POS_MAX;
}

static void head_fields(uint8_t *out, uint64_t pos, uint64_t synced, size_t len)
{
	uint64_t behind = pos - synced;

	bytes_put_le32(out + AT_LEN, (uint32_t)len | (uint32_t)WAL_KIND_RECORD
							     << WAL_KIND_SHIFT);
	bytes_put_le32(out + AT_POS, (uint32_t)pos);
	bytes_put_le32(out + AT_BEHIND,
		       behind < BEHIND_MAX ? (uint32_t)behind : BEHIND_MAX);
}

void wal_record_encode(uint8_t *out, uint64_t id, uint64_t pos, uint64_t synced,
		       const struct bytes *parts, size_t nparts, size_t len)
{
	uint8_t *p = out + WAL_RECORD_HEAD;

	head_fields(out, pos, synced, len);
	for (size_t i = 0; i < nparts; i++) {
		if (parts[i].len)
			memcpy(p, parts[i].data, parts[i].len);
		p += parts[i].len;
	}
	bytes_put_le64(out, XXH3_64bits_withSeed(out + AT_LEN,
						 WAL_RECORD_HEAD - AT_LEN + len,
						 id));
	while ((p - out) % WAL_ALIGN)
		*p++ = 0;
}

void wal_record_head(uint8_t out[WAL_RECORD_HEAD], uint64_t id, uint64_t pos,
		     uint64_t synced, const struct bytes *parts, size_t nparts,
		     size_t len)
{
	XXH3_state_t st = {0};

	head_fields(out, pos, synced, len);
	XXH3_64bits_reset_withSeed(&st, id);
	XXH3_64bits_update(&st, out + AT_LEN, WAL_RECORD_HEAD - AT_LEN);
	for (size_t i = 0; i < nparts; i++)
		if (parts[i].len)
			XXH3_64bits_update(&st, parts[i].data, parts[i].len);
	bytes_put_le64(out, XXH3_64bits_digest(&st));
}

static uint64_t synced_of(const uint8_t *head, uint64_t pos)
{
	uint32_t behind = bytes_le32(head + AT_BEHIND);

	return behind < BEHIND_MAX ? pos - behind : 0;
}

uint64_t wal_record_peek(const uint8_t head[WAL_RECORD_HEAD], uint64_t pos)
{
	uint32_t len = bytes_le32(head + AT_LEN);

	if (bytes_le32(head + AT_POS) != (uint32_t)pos ||
	    len >> WAL_KIND_SHIFT != WAL_KIND_RECORD ||
	    synced_of(head, pos) > pos)
		return 0;
	return wal_record_size(len & WAL_RECORD_MAX);
}

size_t wal_record_scan(const uint8_t *p, size_t n, uint64_t pos)
{
	size_t i = 0;

	while (n - i >= WAL_RECORD_HEAD) {
		/* No head begins in zeros: its kind is not 0. */
		if (n - i >= SCAN_BYTES && all_zero(p + i, SCAN_BYTES)) {
			i += SCAN_BYTES - WAL_RECORD_HEAD;
			continue;
		}
		for (size_t end = i + SCAN_BYTES;
		     i < end && n - i >= WAL_RECORD_HEAD; i += WAL_ALIGN)
			if (wal_record_peek(p + i, pos + i))
				return i;
	}
	return n;
}

uint64_t wal_record_claim(const uint8_t head[WAL_RECORD_HEAD], uint64_t least)
{
	return least + (uint32_t)(bytes_le32(head + AT_POS) - (uint32_t)least);
}

bool wal_record_decode(const uint8_t *p, size_t avail, uint64_t id,
		       uint64_t pos, struct wal_record *out)
{
	uint64_t size;
	uint32_t len;

	if (avail < WAL_RECORD_HEAD)
		return false;
	size = wal_record_peek(p, pos);
	if (size == 0 || size > avail)
		return false;
	len = bytes_le32(p + AT_LEN) & WAL_RECORD_MAX;
	if (bytes_le64(p) !=
	    XXH3_64bits_withSeed(p + AT_LEN,
				 WAL_RECORD_HEAD - AT_LEN + (size_t)len, id))
		return false;
	if (!all_zero(p + WAL_RECORD_HEAD + len,
		      (size_t)size - WAL_RECORD_HEAD - len))
		return false;
	out->pos = pos;
	out->synced = synced_of(p, pos);
	out->size = size;
	out->payload = bytes_of(p + WAL_RECORD_HEAD, len);
	return true;
}
