/*
 * A full disk: what is kept for it from the start, and who gets it.
 *
 * Space comes back only when something is written first: the delete's record,
 * the markers as a table file, and what a merge leaves of the files that they
 * hide. So the log keeps a segment in reserve beside its spare (wal_lend()).
 * A segment is 64 MiB, or a 32nd of a smaller disk, and no flush and no table
 * file is larger:
 *
 *	free	| anybody's
 *	reserve | lent to the flush, which gives segments of the log back
 *	spare	| the log's, for deletes; lent where the reserve is too little
 *
 * While the log is low puts are refused. Then, and while there is space for a
 * few files only, memory that holds deletes is flushed as soon as nobody
 * writes, and each tree is merged as far as the free space and the reserve go:
 * all of level 0 with what lies below, or else one file of a level is written
 * anew without what the files above it hide, which takes no more than the file
 * itself. When the spare and the reserve have been made again puts go on.
 */
#ifndef CELLFS_STORE_LSM_STATE_FULL_H
#define CELLFS_STORE_LSM_STATE_FULL_H

#include "store/lsm/state/lsm.h"

/* Sizes for the disk, before anything is read: see above. */
void full_fit(struct lsm *db);
/*
 * The job failed with @r: true if it was for lack of space and some was lent,
 * so that another attempt is worth it. *loans is counted up.
 */
bool full_lend(struct lsm *db, int r, unsigned *loans);
/* The job is over. The reserve is made again, if there is space for it. */
void full_repay(struct lsm *db, unsigned *loans);
/* What a merge may write, with the reserve. */
uint64_t full_space(struct lsm *db);
/* Is the log low, or is there space for a few files only? */
bool full_nearly(struct lsm *db);
/* Says when the disk becomes full, and when it is not any more. */
void full_tell(struct lsm *db);

#endif
