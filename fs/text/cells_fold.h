/*
 * Joins increments, or appends, of one column in several lines of a row.
 *
 * In one mutation each would start from the value before the mutation, and only
 * the last one would count, as in HBase. Lines are meant to apply one after the
 * other, so those of one column with one timestamp become one change, with the
 * sum or the joined value.
 */
#ifndef CELLFS_FS_TEXT_CELLS_FOLD_H
#define CELLFS_FS_TEXT_CELLS_FOLD_H

#include "store/store.h"

/*
 * Folds each of the @n mutations. Joined values are in @hold, which is
 * overwritten; the changes after a removed one move up. 0 or -ENOMEM.
 */
int cells_fold(struct mutation *m, size_t n, struct buf *hold);

#endif
