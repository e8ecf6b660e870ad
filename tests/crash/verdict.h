/*
 * The verdict on one disk that a crash may have left.
 *
 * It is opened as a user would: the content must be a state of the plan between
 * what was promised and what was begun, the same when read in other ways and
 * when opened a second time, nothing may be damaged or lie about unused, and
 * the store must go on as the reference does.
 */
#ifndef CELLFS_TESTS_CRASH_VERDICT_H
#define CELLFS_TESTS_CRASH_VERDICT_H

#include "tests/crash/plan.h"
#include "tests/sim/os_sim.h"

struct verdict_options {
	const struct plan *plan;
	size_t lowest, highest; /* states that are allowed */
	bool thorough;		/* go on with more steps, read in other ways */
	uint64_t seed;		/* of these steps */
};

/* 0 = good; 1 = bad, and *say has the reason. */
int verdict(const struct verdict_options *o, struct os *os, struct buf *say);
/* The states that an image allows. */
void verdict_bounds(const struct plan *p, const struct sim_image *image,
		    size_t *lowest, size_t *highest);

#endif
