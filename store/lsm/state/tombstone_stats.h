/*
 * Markers that readers step over: what is deleted costs every scan over it
 * until a merge takes it away. When scans have stepped over so many that one is
 * worth it, a memtable with many of them is flushed, and levels with some are
 * due (compaction.h). Then the tree starts anew.
 *
 * Nobody who only reads does any of that work.
 */
#ifndef CELLFS_STORE_LSM_STATE_TOMBSTONE_STATS_H
#define CELLFS_STORE_LSM_STATE_TOMBSTONE_STATS_H

#include "store/lsm/state/trees.h"

/* A scan of @t has stepped over so many markers. */
void tombstone_stats_add(struct lsm *db, struct tree *t, uint64_t n);
/* Have scans stepped over enough of them for a merge? */
bool tombstone_stats_due(const struct tree *t);
/* Does the active memtable hold many such? */
bool tombstone_stats_in_memory(struct lsm *db);
/* There is nothing left to merge. Under state. */
void tombstone_stats_reset(struct lsm *db);

#endif
