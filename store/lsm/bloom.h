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
#ifndef CELLFS_STORE_LSM_BLOOM_H
#define CELLFS_STORE_LSM_BLOOM_H

#include "store/bytes.h"
#include "store/lsm/arena.h"

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

/* May the filter hold the key? One of no whole lines answers true. */
bool bloom_may_have(struct bytes filter, uint64_t hash);
/* Starts to load the line that this will look at. */
void bloom_ahead(struct bytes filter, uint64_t hash);

#endif
