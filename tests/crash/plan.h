/*
 * A workload for the crash test, and what a store may hold after each part.
 *
 * The workload runs on the engine over a simulated disk, whose log gets a mark
 * when a step begins, when it is done, and when all up to it is promised to be
 * on disk. The reference goes through the same steps; its content after each
 * is a state. A crash must leave one of the states between what was promised
 * and what was begun.
 *
 *	step	   0	   1 sync   2	    3 many
 *	states  0 1	   2	    3	    4 5 6   (3: a state for each row)
 *	marks	  B D	   B D S    B D     B ^
 *	a crash of the power at ^ leaves 2, 3, 4, 5 or 6; of the process 3 to 6
 */
#ifndef CELLFS_TESTS_CRASH_PLAN_H
#define CELLFS_TESTS_CRASH_PLAN_H

#include "tests/model/subject.h"

enum plan_mark {
	MARK_BEGUN,
	MARK_DONE,
	MARK_PROMISED,
};

struct plan_state {
	uint64_t hash;
	struct buf text;
	struct buf dump; /* the verdict's: how it reads in all ways */
	size_t step;	 /* after which, MANY: within which */
};

/* Timestamps that the engine gave in a step. */
struct plan_given {
	int64_t ts[STEP_ROWS * STEP_CHANGES];
	size_t n;
};

struct plan {
	uint64_t seed;
	struct step_mode mode;
	size_t nsteps;
	struct step *steps;
	struct plan_given *given;
	size_t nstates;
	struct plan_state *states;
	size_t shown; /* states of steps before it have no content */
	/* By step: the last state before it and the last it leads to. */
	size_t *before, *after;
	/* By step: the length of the disk's log as it began, of a run. */
	size_t *begun;
	/*
	 * By kind of mark, of the last run: one more than the step, 0 = none.
	 */
	size_t marked[3];
	/* Mutations are promised without a sync: a planted fault. */
	bool early;
};

/* Of @n steps that follow from the seed; the first make the tables. */
void plan_make(struct plan *p, uint64_t seed, size_t n);
/* Of these steps, with the sizes of a store that follow from the seed. */
void plan_take(struct plan *p, uint64_t seed, const struct step *steps,
	       size_t n);
void plan_free(struct plan *p);

/*
 * Runs it on @os, the simulated @disk or what wraps it. 0, or the error of a
 * step that must not fail, after which it stops.
 */
int plan_run(struct plan *p, struct os *os, struct os *disk);
/* Fills in the states, after a run: with the timestamps that it gave. */
void plan_states(struct plan *p);
/* Only what the end of the run may leave: from what was promised on. */
void plan_states_left(struct plan *p);
/*
 * A reference store that has gone through the steps up to state @state, for
 * more to come. Its world is in *w.
 */
void plan_replay(const struct plan *p, size_t state, struct world *w);

#endif
