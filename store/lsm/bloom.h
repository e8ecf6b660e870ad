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

#define BLOOM_LINE 64
#define BLOOM_BITS_PER_KEY 10

/* Appends to @out a filter over @n hashes. 0 or -ENOMEM. */
int bloom_build(const uint64_t *hashes, size_t n, struct buf *out);

/* May the filter hold the key? One of no whole lines answers true. */
bool bloom_may_have(struct bytes filter, uint64_t hash);

#endif
