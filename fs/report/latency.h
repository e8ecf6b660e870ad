/*
 * How long requests take.
 *
 * A request's time is from its arrival in the daemon to the end of its
 * function, the reply included. The buckets of a histogram grow by half a
 * decade, from 10 microseconds.
 */
#ifndef CELLFS_FS_REPORT_LATENCY_H
#define CELLFS_FS_REPORT_LATENCY_H

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

#endif
