/*
 * Markers that readers step over: what is deleted costs every scan over it
 * until a merge takes it away. When scans have stepped over so many that one is
 * worth it, a memtable with many of them is flushed, and levels with some are
 * due (compaction.h). Then the tree starts anew.
 *
 * Nobody who only reads does any of that work.
 */
#ifndef CELLFS_STORE_LSM_STATE_PASSED_H
#define CELLFS_STORE_LSM_STATE_PASSED_H

#include "store/lsm/state/trees.h"

/* A scan of @t has stepped over so many markers. */
void markers_passed(struct lsm *db, struct tree *t, uint64_t n);
/* Have scans stepped over enough of them for a merge? */
bool markers_due(const struct tree *t);
/* Does the active memtable hold many such? */
bool markers_in_memory(struct lsm *db);
/* There is nothing left to merge. Under state. */
void markers_forget(struct lsm *db);

#endif
