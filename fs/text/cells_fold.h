/*
 * Several increments, or appends, of one column in one row of lines.
 *
 * In one mutation each would begin from the value before it, and the last one
 * alone would stay, as in HBase. Lines are meant one after the other: those of
 * one column with one timestamp become one, the sum or the joined value.
 */
#ifndef CELLFS_FS_TEXT_CELLS_FOLD_H
#define CELLFS_FS_TEXT_CELLS_FOLD_H

#include "store/store.h"

/*
 * Folds each of the @n mutations. Joined values lie in @hold, which is
 * replaced; changes are taken out by moving up those behind them. 0 or -ENOMEM.
 */
int cells_fold(struct mutation *m, size_t n, struct buf *hold);

#endif
