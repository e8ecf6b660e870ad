/*
 * Rows made of lines of cells, waiting to be applied.
 *
 * More lines may be added to the last row; the rows before it are complete. The
 * data is in bytes, one piece after the other: a row's key, then family,
 * qualifier and value of each of its lines. As bytes may be moved when it
 * grows, rows and changes have only lengths until they are applied.
 */
#ifndef CELLFS_FS_TEXT_CELLS_ROWS_H
#define CELLFS_FS_TEXT_CELLS_ROWS_H

#include "fs/text/cells.h"
#include "fs/text/sorted.h"

struct cells_rows {
	struct table *table;	     /* borrowed */
	unsigned flags;		     /* of table_mutate() */
	cells_batch *before, *after; /* cells_import_notify(); may be NULL */
	void *arg;
	uint64_t lines_applied;
	size_t bad; /* after a failure: index of the waiting line */

	struct buf bytes, folded;
	struct mutation *rows;
	size_t nrows, rows_cap;
	struct change *changes; /* one for each waiting line */
	size_t nchanges, changes_cap;
	size_t row_at;	      /* offset of the last row in bytes */
	size_t tried;	      /* changes that the store was asked about */
	size_t tried_bytes;   /* offset after these in bytes */
	struct sorted joined; /* the last row's appends, by column */
	/* The store would take the first row, and its writer was told so. */
	bool admitted;
};

void cells_rows_free(struct cells_rows *rs);
/* Is @key that of the last row? */
bool cells_rows_is_last(const struct cells_rows *rs, struct bytes key);
/* Lines and bytes of the last row. */
size_t cells_rows_lines(const struct cells_rows *rs);
size_t cells_rows_bytes(const struct cells_rows *rs);
/* Begins a row, which is the last one then. */
int cells_rows_begin(struct cells_rows *rs, struct bytes key);
/* Adds the line to the last row. -EFBIG if it is too much for one mutation. */
int cells_rows_add(struct cells_rows *rs, const struct cells_line *l);
/*
 * Applies the first @n rows and drops all others. In each, every increment and
 * append counts (cells_fold.h).
 */
int cells_rows_apply(struct cells_rows *rs, size_t n);
/*
 * Applies all rows but the last, and asks the store whether it would accept the
 * last one so far. *moved is the number of lines applied.
 */
int cells_rows_settle(struct cells_rows *rs, size_t *moved);

#endif
