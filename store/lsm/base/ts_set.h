/*
 * A set of timestamps, sorted, in chunks.
 *
 *	chunk 0   10 20 30		ascending, each with room for as many
 *	chunk 1   40 50 60 70		again at most; a full one is cut in two
 *
 * A timestamp takes little more than eight bytes. A chunk is found by
 * bisection, and a change moves at most one chunk. For one thread at a time.
 */
#ifndef CELLFS_STORE_LSM_BASE_TS_SET_H
#define CELLFS_STORE_LSM_BASE_TS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ts_chunk {
	int64_t *at;
	uint32_t n, cap;
};

/* Zero-initialised is empty. */
struct ts_set {
	struct ts_chunk *chunks;
	size_t nchunks, chunks_cap;
	uint64_t n;
	size_t bytes; /* of memory */
};

void ts_set_free(struct ts_set *s);
/* Fills an empty set with @n descending timestamps. 0 or -ENOMEM. */
int ts_set_fill(struct ts_set *s, const int64_t *descending, size_t n);
/* 1 if @ts is new in the set, 0 if the set had it, or -ENOMEM. */
int ts_set_add(struct ts_set *s, int64_t ts);
/* True if the set held @ts. */
bool ts_set_remove(struct ts_set *s, int64_t ts);
/* Removes all timestamps <= @ts. */
void ts_set_cut(struct ts_set *s, int64_t ts);
bool ts_set_has(const struct ts_set *s, int64_t ts);
/* The greatest timestamp <= @ts. False if there is none. */
bool ts_set_at_most(const struct ts_set *s, int64_t ts, int64_t *out);
/* The least timestamp. False if the set is empty. */
bool ts_set_least(const struct ts_set *s, int64_t *out);
/* Number of timestamps > @ts. Takes a step for each chunk. */
uint64_t ts_set_above(const struct ts_set *s, int64_t ts);

#endif
