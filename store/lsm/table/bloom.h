/*
 * Bloom filters: which keys an sstable certainly does not hold.
 *
 * Blocked: all bits of a key lie in one line of 64 bytes, so that a question
 * costs one cache miss. Ten bits a key and six probes: about one wrong "maybe"
 * in a hundred, never a wrong "no".
 *
 *	filter = line*		line = 64 bytes, bit b is byte b / 8, 1 << b % 8
 *
 * The high half of a key's hash picks the line, the low half the bits. Keys are
 * given as hashes; who calls decides what they are of.
 */
#ifndef CELLFS_STORE_LSM_TABLE_BLOOM_H
#define CELLFS_STORE_LSM_TABLE_BLOOM_H

#include "store/lsm/base/arena.h"
#include "store/value/bytes.h"

#define BLOOM_LINE 64
#define BLOOM_BITS_PER_KEY 10

/*
 * Hashes gathered for a filter, eight bytes each. They stay where they are put,
 * or growing would want as much again. Zero-initialised is empty.
 */
struct bloom_keys {
	struct bloom_piece *last;
	size_t n;
};
/* Adds one, in @mem if there is need, which must live as long. 0 or -ENOMEM. */
int bloom_keys_add(struct bloom_keys *k, struct arena *mem, uint64_t hash);

/* Appends to @out a filter over them. 0 or -ENOMEM. */
int bloom_build(const struct bloom_keys *k, struct buf *out);

#define BLOOM_PROBES 6
/* Odd, its bits without a pattern: 2^32 / golden ratio. */
#define BLOOM_STEP 0x9e3779b9u

static inline size_t bloom_line(size_t nlines, uint64_t hash)
{
	return (size_t)(((hash >> 32) * (uint64_t)nlines) >> 32);
}

/* The next bit of the line; the product's high bits are the mixed ones. */
static inline unsigned bloom_probe(uint32_t *h)
{
	unsigned bit = *h >> 23;

	*h *= BLOOM_STEP;
	return bit;
}

/* May the filter hold the key? One of no whole lines answers true. */
static inline bool bloom_may_have(struct bytes filter, uint64_t hash)
{
	size_t nlines = filter.len / BLOOM_LINE;
	const uint8_t *line;
	uint32_t h = (uint32_t)hash * BLOOM_STEP;
	unsigned all = 1;

	if (nlines == 0)
		return true;
	line = filter.data + bloom_line(nlines, hash) * BLOOM_LINE;
	/* Where a no is found would be guessed wrong every other time. */
	for (int k = 0; k < BLOOM_PROBES; k++) {
		unsigned bit = bloom_probe(&h);

		all &= line[bit / 8] >> bit % 8;
	}
	return all;
}

/* Starts to load the line that this looks at. */
static inline void bloom_ahead(struct bytes filter, uint64_t hash)
{
	size_t nlines = filter.len / BLOOM_LINE;

	__builtin_prefetch(filter.data + bloom_line(nlines, hash) * BLOOM_LINE);
}

#endif
