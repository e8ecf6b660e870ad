/*
 * Background work: memory is frozen and flushed, and files are merged, by
 * threads of their own.
 */
#ifndef CELLFS_STORE_LSM_BACKGROUND_BACKGROUND_H
#define CELLFS_STORE_LSM_BACKGROUND_BACKGROUND_H

#include "store/lsm/state/trees.h"

/* Makes the first memtable. 0 or -ENOMEM. */
int backpressure_init(struct lsm *db);
/*
 * Freezes the active memtable unless it is empty; @trim as in struct
 * generation. Under commit.
 */
int commit_freeze(struct lsm *db, uint64_t trim);
/*
 * Makes space for @m, @flags as in table_mutate(). Under commit, which it
 * releases while it waits. -ENOSPC: see wal_low().
 */
int make_room(struct lsm *db, const struct mutation *m, unsigned flags);
/* Does the mutation only delete? */
bool only_deletes(const struct mutation *m);
/* Would the mutation be accepted now? NULL: a put. Does not wait. */
int backpressure_admit(struct lsm *db, const struct mutation *m);

/* Freezes the active memtable if tombstone_stats_in_memory(). Does not wait. */
void freeze_markers(struct lsm *db);
/*
 * On a full disk, freezes the memtable if its flush frees space and nobody
 * writes.
 */
void freeze_full(struct lsm *db);
/*
 * For @m that found no space in the log. If it frees space: waits for a flush
 * of all memory, which the reserve allows; true if that succeeded and segments
 * are free. Under commit.
 */
bool freeze_for(struct lsm *db, const struct mutation *m);

/* Flushes the oldest frozen generation. 1 done, 0 none, negative. */
int flush_one(struct lsm *db);
/*
 * When it returns, all cells written before the call are in files. @trim: the
 * table to flush with HBase's rule for versions, or NULL.
 */
int flush_all(struct lsm *db, const struct table *trim);
int lsm_flush(struct store *s, struct table *t);

/* The most urgent compaction. 1 done, 0 none, negative. */
int compact_one(struct lsm *db);
/*
 * Is the tree merged, or due to be? Where damaged files are in the way it may not
 * be, however many files it has. Under state.
 */
bool compact_helps(struct lsm *db, const struct tree *t);
/* Bytes of files that compactions are due for. */
uint64_t compact_pending(struct lsm *db);
/* While somebody reads, caches the blocks of files that readers will use. */
void warm_files(struct lsm *db, struct sstable **files, uint32_t n);
/*
 * A compaction that only makes reads faster (compaction_pick_rest()); results
 * as compact_one().
 */
int compact_at_rest(struct lsm *db);
/* A compaction that frees space and fits on a full disk: full.h. */
int compact_when_full(struct lsm *db);
int lsm_compact(struct store *s, struct table *t);
/*
 * Merges the @newest files of each family of the table (0 = all of them)
 * without flushing, for tests that determine which files are merged. Merging
 * all is a major compaction.
 */
int lsm_compact_files(struct table *t, unsigned newest);

int background_start(struct lsm *db);
void background_stop(struct lsm *db);

#endif
