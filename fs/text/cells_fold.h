/*
 * Makes increments and appends in lines of a row apply one after the other.
 *
 * In one mutation each would start from the value before the mutation, and only
 * the last one would count, as in HBase. So those of one column with one timestamp
 * become one change, with the sum or the joined value. Behind a put of the column, by
 * a line without timestamp as well, they become part of that:
 *
 *	put f:q one, append f:q two		put f:q onetwo
 *	delete-column f:q, append f:q two	delete-column f:q, put f:q two
 */
#ifndef CELLFS_FS_TEXT_CELLS_FOLD_H
#define CELLFS_FS_TEXT_CELLS_FOLD_H

#include "store/store.h"

/*
 * Folds each of the @n mutations. New values are in @hold, which is overwritten; the
 * changes after a removed one move up. 0, -ENOMEM, or -EINVAL: what m[*at] counts on
 * is no counter.
 */
int cells_fold(struct mutation *m, size_t n, struct buf *hold, size_t *at);

#endif
