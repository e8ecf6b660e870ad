/* Numbers at random that a seed repeats: Marsaglia's xorshift64. */
#ifndef CELLFS_TESTS_UNIT_XORSHIFT_H
#define CELLFS_TESTS_UNIT_XORSHIFT_H

#include <stdint.h>

/* The next one; @x, which it goes on from, is never 0. */
static inline uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

#endif
