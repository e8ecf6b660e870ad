/*
 * How long calls take: a histogram.
 *
 * The buckets grow by half a decade, from 10 microseconds. Any thread may add;
 * threads that add to one histogram share its cache lines.
 */
#ifndef CELLFS_STORE_FRONT_LATENCY_H
#define CELLFS_STORE_FRONT_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#define LATENCY_BUCKETS 13

struct latency {
	_Atomic uint64_t buckets[LATENCY_BUCKETS]; /* the last: all slower */
	_Atomic uint64_t ns;			   /* sum of all times */
};

/* Upper bounds of all buckets but the last; seconds is the printed form. */
struct latency_bound {
	uint64_t ns;
	const char *seconds;
};
extern const struct latency_bound latency_bounds[LATENCY_BUCKETS - 1];

void latency_add(struct latency *l, uint64_t ns);
/* Adds what @from has to @to. */
void latency_sum(struct latency *to, const struct latency *from);

#endif
