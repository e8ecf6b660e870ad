/*
 * The merge: several cursors of one tree read as one.
 *
 * Rows are merged first, cells only inside rows that more than one source
 * holds: after a compaction nearly every row has one source, and then a step
 * costs no comparison of cells.
 *
 *	source 0   a . c . . f		the row "c" is active in 0 and 2,
 *	source 1   . b . d . .		waits in 1 (at "d"), which is the
 *	source 2   a . c . e .		top of the heap
 *
 * Sources that wait are a heap by the rows on which they stand. A row is chosen
 * by its head, the first sixteen bytes as two numbers, and only equal heads
 * compare bytes. While only one source is active and its next head is below
 * that of the top, no other source is looked at. Backwards, heads are kept
 * inverted, so that the smallest one is next in both directions.
 *
 * Inside a row the current source goes on alone while its entry comes before
 * that of the runner-up. Only then are the sources that have the row compared
 * again.
 *
 * Sources come newest first (memtable, frozen memtables, level 0, level 1 ...).
 * The merge is itself a cursor; entries of equal coordinates come by sequence
 * descending. It steps rows the way they were sought, forwards by next_row or
 * backwards by prev_row, and has no next row of one that seek_exact found; on the
 * way back that may begin the present row anew. It drops entries with a sequence
 * above @seq_max, so that it shows the tree as of that moment, and rows in which
 * nothing is left.
 */
#ifndef CELLFS_STORE_LSM_MERGE_MERGE_H
#define CELLFS_STORE_LSM_MERGE_MERGE_H

#include "store/lsm/base/cursor.h"

struct merge_source {
	struct cursor *cursor; /* owned and closed by the caller */
	/* private */
	uint64_t head[2]; /* first 16 bytes of its row, big-endian */
	bool at_row;	  /* stands on a row */
	bool in_row;	  /* ... the merge's, with entries left in it */
	/* Not of this one: the merge's lists, a place in each source. */
	uint32_t waiting; /* [i]: place i of the heap of those that wait */
	uint32_t active;  /* [i]: number i of those that have its row */
};

struct merge {
	struct cursor base;
	struct merge_source *sources;
	uint32_t nsources;
	uint64_t seq_max;
	/* private */
	uint32_t current;  /* source of base.at */
	uint32_t runner;   /* next after it in the row, or nsources */
	uint32_t nactive;  /* sources in the row, ascending */
	uint32_t nwaiting; /* sources that stand on rows behind it */
	bool backwards;
	bool exact;	/* came by seek_exact: others stand nowhere */
	bool entered;	/* came by merge_enter(): others are not the merge's */
	struct buf row; /* which prev_row leaves */
};

/* @sources lives as long as the merge; each .cursor is set and fresh. */
void merge_init(struct merge *m, struct merge_source *sources,
		uint32_t nsources, uint64_t seq_max);
/*
 * The caller has moved the sources, and those whose in_row is set stand on the
 * first entry of one row: stands there. As cursor_ops.next; other rows are the
 * caller's affair, and only this one may be sought again, by seek_exact.
 */
int merge_enter(struct merge *m);
/* base.ops->close frees what the merge owns, not the sources. */

#endif
