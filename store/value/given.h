/*
 * Timestamps that a mutation has given to a column so far.
 *
 * What the store picks a timestamp for comes behind all that is there, and what the
 * same mutation has written before it is there too:
 *
 *	put f:q		max(clock, newest of f:q + 1) = 70
 *	put f:q		71
 *	delete f:q	71, so that it hides both
 *	put f:q		72, so that it is not hidden
 *
 * Otherwise the second put would replace the first without a word, and the delete hide
 * the third where the family goes by timestamps alone. Most mutations write each column
 * once, in the order of the columns: then nothing is searched. A mutation whose changes
 * all have timestamps costs one look at each.
 */
#ifndef CELLFS_STORE_VALUE_GIVEN_H
#define CELLFS_STORE_VALUE_GIVEN_H

#include <stdbool.h>

#include "store/value/cell.h"

/* The greatest timestamps that were given in a family, or -1. */
struct given_family {
	struct bytes name; /* borrowed of the mutation, or of the schema */
	int64_t ts, mark;  /* of all, and of markers of the family */
};

/* Of one mutation, whose changes come in their order. Zeroed before the first one. */
struct given {
	bool picks;	 /* the store picks a timestamp behind a change */
	bool unsorted;	 /* a column did not come behind the one before it */
	size_t seen;	 /* so many changes are known to ascend, or in slots */
	uint32_t *slots; /* 1 + index of the change, by hash; 0: free */
	size_t nslots;
	struct given_family *families;
	size_t nfamilies, families_cap;
};

/* Forgets the mutation before. */
void given_begin(struct given *g, const struct mutation *m);
/*
 * Raises @c->ts_given, if the store picks it, behind what the changes before @at
 * have made of what @c concerns, markers included: a put or a sum comes after it, a
 * wide marker covers it. @c is m->changes[@at], or its part in one family.
 * 0, -ENOMEM or -EOVERFLOW, with the reason.
 */
int given_raise(struct given *g, const struct mutation *m, size_t at,
		struct change *c);
void given_release(struct given *g);
/* -EOVERFLOW, and the reason: the column has something at @newest, the end of time. */
int no_ts_left(int64_t newest);

#endif
