/*
 * Bloom filters: which keys an sstable certainly does not hold.
 *
 * Blocked: all bits of a key lie in one line of 64 bytes, so that a lookup
 * costs one cache miss. Ten bits a key and six probes: about one wrong "maybe"
 * in a hundred, never a wrong "no".
 *
 *	filter = line*		line = 64 bytes, bit b is byte b / 8, 1 << b % 8
 *
 * The high half of a key's hash picks the line, the low half the bits. Keys are
 * given as hashes; the caller decides what it hashes.
 */
#ifndef CELLFS_STORE_LSM_BLOCK_BLOOM_H
#define CELLFS_STORE_LSM_BLOCK_BLOOM_H

#include "store/lsm/base/arena.h"
#include "store/value/bytes.h"

#define BLOOM_LINE 64
#define BLOOM_BITS_PER_KEY 10

/*
 * Hashes gathered for a filter, eight bytes each. They are never moved: an
 * array that grows would need twice the memory. Zero-initialised is empty.
 */
struct bloom_keys {
	struct bloom_piece *last;
	size_t n;
};
/* Adds a hash. @mem gives the memory and must outlive @k. 0 or -ENOMEM. */
int bloom_keys_add(struct bloom_keys *k, struct arena *mem, uint64_t hash);

/* Appends a filter over the keys to @out. 0 or -ENOMEM. */
int bloom_build(const struct bloom_keys *k, struct buf *out);

#define BLOOM_PROBES 6
/* Odd, with irregular bits: 2^32 / golden ratio. */
#define BLOOM_STEP 0x9e3779b9u

static inline size_t bloom_line(size_t nlines, uint64_t hash)
{
	return (size_t)(((hash >> 32) * (uint64_t)nlines) >> 32);
}

/* The number of the next bit to test, from the well mixed high bits. */
static inline unsigned bloom_probe(uint32_t *h)
{
	unsigned bit = *h >> 23;

	*h *= BLOOM_STEP;
	return bit;
}

/* May the filter hold the key? True for a filter shorter than a line. */
static inline bool bloom_may_have(struct bytes filter, uint64_t hash)
{
	size_t nlines = filter.len / BLOOM_LINE;
	const uint8_t *line;
	uint32_t h = (uint32_t)hash * BLOOM_STEP;
	unsigned all = 1;

	if (nlines == 0)
		return true;
	line = filter.data + bloom_line(nlines, hash) * BLOOM_LINE;
	/* No early exit: the branch would be mispredicted half of the time. */
	for (int k = 0; k < BLOOM_PROBES; k++) {
		unsigned bit = bloom_probe(&h);

		all &= line[bit / 8] >> bit % 8;
	}
	return all;
}

/* Prefetches the line that bloom_may_have() looks at. */
static inline void bloom_ahead(struct bytes filter, uint64_t hash)
{
	size_t nlines = filter.len / BLOOM_LINE;

	__builtin_prefetch(filter.data + bloom_line(nlines, hash) * BLOOM_LINE);
}

#endif
