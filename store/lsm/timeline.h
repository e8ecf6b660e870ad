/*
 * Timeline: how many versions of a column were alive at each moment.
 *
 * A moment is a sequence number. A version lives from its put until it is
 * deleted or replaced; a column keeps `versions` at a time, so one is pushed
 * out at the first moment when that many with greater timestamps live:
 *
 *	ts 50 s3 ──────┤ deleted s5		alive  s2 s3 s4 s5 s6 s7
 *	ts 40 s2 ────────────────────		ts>=40	1  2  2	 1  1  1
 *	ts 30 s7		 ────		ts 30 with versions 2: lives
 *	ts 20 s1 ──┤ pushed out at s3, although one of the two is gone now
 *
 * The timeline is fed with versions in cell order, so that it holds those
 * above the one that is asked for. While none of them has ended it can be a
 * plain list, to which a version costs an append: then nothing below is pushed
 * out before the n-th is there, and everything after. The first one that
 * ended turns the list into steps.
 */
#ifndef CELLFS_STORE_LSM_TIMELINE_H
#define CELLFS_STORE_LSM_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define SEQ_NEVER UINT64_MAX

struct timeline_step {
	uint64_t from;	/* holds until the step before it begins */
	uint64_t alive; /* versions */
};

/* Zero-initialised is empty. */
struct timeline {
	uint64_t *open; /* births of those that never ended */
	size_t nopen, open_cap;
	bool stepped; /* whether what is open lies in the steps */
	/* Latest first: versions mostly come that way, and then append. */
	struct timeline_step *steps;
	size_t nsteps, steps_cap;
};

void timeline_free(struct timeline *t);
/* Empties it; @stepped: answers are wanted although none has ended. */
static inline void timeline_clear(struct timeline *t, bool stepped)
{
	t->nopen = 0;
	t->nsteps = 0;
	t->stepped = stepped;
}

int timeline_add_slow(struct timeline *t, uint64_t from, uint64_t to);
/* A version alive in [@from, @to). 0 or -ENOMEM. */
static inline int timeline_add(struct timeline *t, uint64_t from, uint64_t to)
{
	/* Nearly every version of nearly every column: it is kept short. */
	if (to == SEQ_NEVER && !t->stepped && t->nopen < t->open_cap) {
		t->open[t->nopen++] = from;
		return 0;
	}
	return timeline_add_slow(t, from, to);
}
/*
 * The first moment in [@from, @to) at which at least @n > 0 versions are
 * alive, or @to; always @to while it is a plain list.
 */
uint64_t timeline_first(const struct timeline *t, uint64_t n, uint64_t from,
			uint64_t to);

#endif
