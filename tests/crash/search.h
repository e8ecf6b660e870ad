/*
 * All disks that a crash may leave of one plan that has run, each judged.
 */
#ifndef CELLFS_TESTS_CRASH_SEARCH_H
#define CELLFS_TESTS_CRASH_SEARCH_H

#include "tests/crash/run.h"
#include "tests/crash/verdict.h"

/* Hashes, to leave out what was judged before. */
struct seen {
	uint64_t *slots; /* open addressing, 0 = free */
	size_t n, cap;
};

struct search {
	const struct options *o;
	const struct plan *plan;
	struct totals *totals;
	struct seen *seen;  /* disks with the states that they may show */
	size_t from, to;    /* log entries, 0 = all */
	size_t step;	    /* each step-th of them */
	uint64_t limit;	    /* disks; 0 = until run_is_over() */
	const char *again;  /* arguments that repeat the plan */
	struct buf *reason; /* of the first bad one */
};

/* 1 if one of them is bad. */
int search(const struct search *s, struct os *os);
void seen_free(struct seen *seen);
/* Says on stderr where the process is when it dies of a signal. */
void search_guard(void);

#endif
