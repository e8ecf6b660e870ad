/*
 * What is done with memory and files behind the back of readers and writers:
 * memory frozen, flushed, files merged, by threads of their own.
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
 * Makes room for @m, @flags as in table_mutate(). Under commit, which it gives
 * back while it waits. -ENOSPC: see wal_low().
 */
int make_room(struct lsm *db, const struct mutation *m, unsigned flags);
/* Does it put nothing? */
bool only_deletes(const struct mutation *m);
/* Would it be made now? NULL: for a put. Waits for nothing. */
int backpressure_admit(struct lsm *db, const struct mutation *m);

/* The active memtable, if tombstone_stats_in_memory(). Does not wait. */
void freeze_markers(struct lsm *db);
/* Freezes what memory holds if that gives space back and nobody writes. */
void freeze_full(struct lsm *db);
/*
 * @m found no room in the log. If it frees space: waits until what memory holds
 * is flushed, for which there is the reserve; true if so, and segments are
 * free. Under commit.
 */
bool freeze_for(struct lsm *db, const struct mutation *m);

/* Flushes the oldest frozen generation. 1 done, 0 none, negative. */
int flush_one(struct lsm *db);
/*
 * All that was written before the call is in files when it returns. @trim: the
 * table that is flushed as HBase does it, or NULL.
 */
int flush_all(struct lsm *db, const struct table *trim);
int lsm_flush(struct store *s, struct table *t);

/* The most urgent compaction. 1 done, 0 none, negative. */
int compact_one(struct lsm *db);
/* Files that readers are to get: while somebody reads, with their blocks. */
void warm_files(struct lsm *db, struct sstable **files, uint32_t n);
/* One that is for readers only (compaction_pick_rest()); as compact_one(). */
int compact_at_rest(struct lsm *db);
/* What gives space back and fits into what there is: full.h. */
int compact_when_full(struct lsm *db);
int lsm_compact(struct store *s, struct table *t);
/*
 * Merges the @newest files of each family of the table (0 = all of them) and
 * leaves memory alone, for tests that say which files are merged. All of them
 * are a compaction that is asked for.
 */
int lsm_compact_files(struct table *t, unsigned newest);

int background_start(struct lsm *db);
void background_stop(struct lsm *db);

#endif
