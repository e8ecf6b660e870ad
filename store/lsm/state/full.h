/*
 * A full disk: the space that is reserved for it, and how it is used.
 *
 * Space is freed only after something has been written: the delete's record, a
 * table file of the markers, and the output of a merge of these and the files
 * with hidden cells. So the log keeps a segment in reserve beside its spare
 * (wal_lend()). A segment is 64 MiB, or a 32nd of a smaller disk, and no flush
 * and no table file is larger:
 *
 *	free	| anybody's
 *	reserve | lent to the flush, which gives segments of the log back
 *	spare	| the log's, for deletes; lent where the reserve is too little
 *
 * While the log is low, puts are refused. Then, and while there is space for a
 * few files only, memory that holds deletes is flushed as soon as nobody
 * writes, and each tree is merged as far as the free space and the reserve
 * allow: all of level 0 with the files below, or else one file of a level is
 * rewritten without the cells that files above it hide, which takes no more
 * space than the file itself. When the spare and the reserve have been made
 * again, puts are accepted.
 */
#ifndef CELLFS_STORE_LSM_STATE_FULL_H
#define CELLFS_STORE_LSM_STATE_FULL_H

#include "store/lsm/state/lsm.h"

/* Sets sizes that suit the disk; called before any file is read. */
void full_fit(struct lsm *db);
/*
 * After a job failed with @r: true if that was for lack of space and some was
 * lent, so that the job should be tried again. Increments *loans.
 */
bool full_lend(struct lsm *db, int r, unsigned *loans);
/* Ends the job's loans: makes the reserve again, if there is space for it. */
void full_repay(struct lsm *db, unsigned *loans);
/* The bytes that a merge may write, including the reserve. */
uint64_t full_space(struct lsm *db);
/* Is the log low, or is there space for a few files only? */
bool full_nearly(struct lsm *db);
/* Reports when the disk becomes full, and when it is not full any more. */
void full_tell(struct lsm *db);

#endif
