/*
 * Counts the markers that scans walk over. Every scan over deleted cells walks
 * over their markers until a merge removes them. When scans have walked over
 * enough of them, a memtable with many markers is flushed, and levels with some
 * are due for a merge (compaction.h). Then the tree's count begins anew.
 *
 * Readers do none of that work, nor do they wake who does: the thread that merges
 * looks at the counts each second.
 */
#ifndef CELLFS_STORE_LSM_STATE_TOMBSTONE_STATS_H
#define CELLFS_STORE_LSM_STATE_TOMBSTONE_STATS_H

#include "store/lsm/state/trees.h"

/* Notes that a scan of @t has walked over @n markers. */
void tombstone_stats_add(struct tree *t, uint64_t n);
/* Have scans walked over enough of them for a merge? */
bool tombstone_stats_due(const struct tree *t);
/* Does the active memtable hold many markers of such a tree? */
bool tombstone_stats_in_memory(struct lsm *db);
/* Resets the counts when there is nothing left to merge. Under state. */
void tombstone_stats_reset(struct lsm *db);

#endif
