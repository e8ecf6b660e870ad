/*
 * Rows made of lines of cells, waiting to be applied.
 *
 * The last one may still grow; those before it are whole. What waits lies in
 * bytes, one behind the other: a row's key, then family, qualifier and value
 * of each of its lines. As bytes may move, rows and changes have only their
 * lengths until they are applied.
 */
#ifndef CELLFS_FS_TEXT_CELLS_ROWS_H
#define CELLFS_FS_TEXT_CELLS_ROWS_H

#include "fs/text/cells.h"
#include "fs/text/sorted.h"

struct cells_rows {
	struct table *table;			      /* borrowed */
	unsigned flags;				      /* of table_mutate() */
	void (*applied)(void *arg, struct bytes row); /* or NULL */
	void *applied_arg;
	uint64_t lines_applied;
	size_t bad; /* after a failure: which of the lines that waited */

	struct buf bytes, folded;
	struct mutation *rows;
	size_t nrows, rows_cap;
	struct change *changes; /* one for each line that waits */
	size_t nchanges, changes_cap;
	size_t row_at;	      /* where the last row begins in bytes */
	size_t tried;	      /* changes of which the store was asked */
	size_t tried_bytes;   /* up to where these lie in bytes */
	struct sorted joined; /* what the last row's appends come to */
};

void cells_rows_free(struct cells_rows *rs);
/* Is @key that of the last row? */
bool cells_rows_is_last(const struct cells_rows *rs, struct bytes key);
/* Lines and bytes of the last row. */
size_t cells_rows_lines(const struct cells_rows *rs);
size_t cells_rows_bytes(const struct cells_rows *rs);
/* A row begins, which is then the last. */
int cells_rows_begin(struct cells_rows *rs, struct bytes key);
/* The last row has the line, too. -EFBIG when it is too much for one act. */
int cells_rows_add(struct cells_rows *rs, const struct cells_line *l);
/*
 * Applies the first @n rows and forgets all. In each, every increment and
 * append counts (cells_fold.h).
 */
int cells_rows_apply(struct cells_rows *rs, size_t n);
/*
 * Applies all but the last, and asks the store whether it would take what has
 * come of that one. *moved: so many lines have gone.
 */
int cells_rows_settle(struct cells_rows *rs, size_t *moved);

#endif
