/*
 * Heads: the first eight bytes of a string as one number.
 *
 * Heads compare as their strings do; shorter strings are padded with NUL. If
 * two heads are equal and one of the strings ends inside its head, the lengths
 * decide. An array of heads is searched without looking at the strings, each of
 * which would be a miss of the processor's cache.
 */
#ifndef CELLFS_STORE_LSM_BASE_HEADS_H
#define CELLFS_STORE_LSM_BASE_HEADS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "store/value/bytes.h"

#define HEAD_LEN 8

static inline uint64_t head_of(struct bytes s)
{
	const uint8_t *p = s.data;
	uint32_t first, last;
	uint64_t v;

	if (s.len >= HEAD_LEN) {
		memcpy(&v, p, sizeof(v));
		return be64toh(v);
	}
	if (s.len >= 4) {
		/* The two parts may overlap, with equal bytes there. */
		memcpy(&first, p, 4);
		memcpy(&last, p + s.len - 4, 4);
		return (uint64_t)be32toh(first) << 32 |
		       (uint64_t)be32toh(last) << 8 * (HEAD_LEN - s.len);
	}
	if (s.len == 0)
		return 0;
	return (uint64_t)p[0] << 56 |
	       (uint64_t)p[s.len / 2] << (56 - 8 * (s.len / 2)) |
	       (uint64_t)p[s.len - 1] << (64 - 8 * s.len);
}

/* Compares strings whose heads are equal. */
static inline int head_tie(struct bytes a, struct bytes b)
{
	if (a.len <= HEAD_LEN || b.len <= HEAD_LEN)
		return (a.len > b.len) - (a.len < b.len);
	return bytes_cmp(a, b);
}

/*
 * The first of @n ascending heads >= @head. Without branches on the
 * comparisons, which would be mispredicted every other time.
 */
static inline uint32_t heads_find(const uint64_t *heads, uint32_t n,
				  uint64_t head)
{
	uint32_t at = 0;

	if (n == 0)
		return 0;
	while (n > 1) {
		uint32_t half = n / 2;

		at += half & -(uint32_t)(heads[at + half - 1] < head);
		n -= half;
	}
	return at + (heads[at] < head);
}

/* Heads in one line of the processor's cache. */
#define HEADS_LINE 8u

/* Number of heads in @line that are < @head. */
static inline uint32_t heads_below(const uint64_t *line, uint64_t head)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < HEADS_LINE; i++)
		n += line[i] < head;
	return n;
}

#endif
