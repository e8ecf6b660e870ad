/*
 * The merge: several cursors of one tree read as one.
 *
 * Rows are merged first, cells only inside rows that more than one source
 * holds: after a compaction nearly every row has one source, and then a step
 * costs no comparison of cells.
 *
 * Sources come newest first (memtable, frozen memtables, level 0, level 1 ...).
 * The merge is itself a cursor; entries of equal coordinates come by sequence
 * descending. It drops entries with a sequence above @seq_max, so that it shows
 * the tree as of that moment, and rows in which nothing is left.
 */
#ifndef CELLFS_STORE_LSM_MERGE_H
#define CELLFS_STORE_LSM_MERGE_H

#include "store/lsm/cursor.h"

struct merge_source {
	struct cursor *cursor; /* owned by the caller, closed by him */
	uint64_t head;	       /* first 8 bytes of its row, big-endian */
	bool at_row;	       /* stands on a row */
	bool in_row;	       /* stands on an entry of the merge's row */
};

struct merge {
	struct cursor base;
	struct merge_source *sources;
	uint32_t nsources;
	uint64_t seq_max;
	/* private */
	uint32_t current; /* source of base.at */
	uint32_t nactive; /* sources in the row */
	bool backwards;
	struct buf row;
};

/* @sources lives as long as the merge; each .cursor is set and fresh. */
void merge_init(struct merge *m, struct merge_source *sources,
		uint32_t nsources, uint64_t seq_max);
/* base.ops->close frees what the merge owns, not the sources. */

#endif
