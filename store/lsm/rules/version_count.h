/*
 * How many versions of a column were alive at each moment.
 *
 * A moment is a sequence number. A version is alive from its put until it is
 * deleted or replaced. A column keeps `versions` at a time, so a version is
 * pushed out at the first moment when that many with greater timestamps are
 * alive:
 *
 *	ts 50 s3 ──────┤ deleted s5		alive  s2 s3 s4 s5 s6 s7
 *	ts 40 s2 ────────────────────		ts>=40	1  2  2	 1  1  1
 *	ts 30 s7		 ────		ts 30 with versions 2: lives
 *	ts 20 s1 ──┤ pushed out at s3, although one of the two is gone now
 *
 * Versions are added in cell order, so it holds those with greater
 * timestamps than the one in question. While none of them has ended, or there
 * are fewer than a column keeps, it is a plain list and adding a version is an
 * append: no later version is pushed out before the list has `versions`
 * entries, and each one after that. From then on it is a search tree of the
 * moments at which versions are born (+1) and die (-1). Each node has the sum
 * of its subtree and the greatest partial sum in it, so that adding and looking
 * up are O(log n) in any order:
 *
 *	s2 +1	s3 +1	s5 -1	s7 +1		sums 1 2 1 2
 */
#ifndef CELLFS_STORE_LSM_RULES_VERSION_COUNT_H
#define CELLFS_STORE_LSM_RULES_VERSION_COUNT_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define SEQ_NEVER UINT64_MAX

struct version_life {
	uint64_t from, to;
};

struct version_moment {
	uint64_t at;
	int32_t change;
	int32_t sum, best;    /* of the subtree: total, greatest partial */
	uint32_t left, right; /* index in moments; 0 = none */
};

/* A zero-initialised one is empty. */
struct version_count {
	uint64_t limit; /* the number of versions that a column keeps */
	/* Versions that are not in the tree: births, or births and deaths. */
	uint64_t *open;
	size_t nopen, open_cap;
	struct version_life *lives;
	size_t nlives, lives_cap;
	bool stepped; /* some have ended: see lives, not open */
	bool grown;   /* there is a tree */
	struct version_moment *moments; /* [0] is unused */
	size_t nmoments, moments_cap;
	uint32_t root;
};

void version_count_free(struct version_count *t);
/*
 * Empties it, for a column that keeps @limit > 0 versions. @stepped: use the
 * tree also if no version has ended.
 */
static inline void version_count_clear(struct version_count *t, uint64_t limit,
				       bool stepped)
{
	t->limit = limit;
	t->nopen = 0;
	t->nlives = 0;
	t->stepped = stepped;
	t->grown = false;
}

int version_count_add_slow(struct version_count *t, uint64_t from, uint64_t to);
/* Adds a version alive in [@from, @to). 0 or -ENOMEM. */
static inline int version_count_add(struct version_count *t, uint64_t from,
				    uint64_t to)
{
	/* Nearly every version takes this branch, so it is inline. */
	if (to == SEQ_NEVER && !t->stepped && t->nopen < t->open_cap) {
		t->open[t->nopen++] = from;
		return 0;
	}
	return version_count_add_slow(t, from, to);
}

uint64_t version_count_first_slow(const struct version_count *t, uint64_t from,
				  uint64_t to);
/*
 * The first moment in [@from, @to) at which at least as many versions are alive
 * as the column keeps, or @to; always @to while it is a plain list.
 */
static inline uint64_t version_count_first(const struct version_count *t,
					   uint64_t from, uint64_t to)
{
	return t->grown ? version_count_first_slow(t, from, to) : to;
}

#endif
