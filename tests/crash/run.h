/*
 * A campaign: what the crash test looks at in many runs, in one process or in
 * several, until its end, a number of disks or a time is reached.
 *
 * Once a minute it prints how far it is, so that who ends it has its figures.
 */
#ifndef CELLFS_TESTS_CRASH_RUN_H
#define CELLFS_TESTS_CRASH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "store/value/bytes.h"

#define RUN_JOBS_MAX 64

struct options {
	uint64_t seed, states;
	unsigned workloads, steps, seconds, thorough, nested, random, corners;
	unsigned step, all, sample, jobs;
	long at; /* -1 = all */
	long fault, sequence;
	bool plant, leave_out, say, faults, sequences;
};

struct totals {
	uint64_t images, repeats, nested, thorough;
	uint64_t runs; /* workloads or sequences */
};

/* One process of it: takes each jobs-th run, beginning with the @nth. */
typedef int (*run_job)(const struct options *o, unsigned nth, struct totals *t);

/*
 * 0; 1 if a job found a bad disk; 2 if one died, or nothing was looked at. With
 * o->plant 0 if one was found, else 1. @what it is that is counted as runs.
 */
int run_all(const struct options *o, const char *what, run_job job);
/* Has it to end now? Looked at before each disk; prints the progress. */
bool run_is_over(const struct options *o);
void run_print(const struct buf *text);

#endif
