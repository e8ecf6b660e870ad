/*
 * Cells that come as text (cells.h) become rows of a table.
 *
 * An import takes bytes in any portions. Consecutive lines of one row are one
 * mutation, applied when the row is whole: a line of another row or the end
 * has come. In it each increment and append counts (cells_fold.h). Rows go
 * to the store in batches. A bad line names its number, applies nothing of its
 * row and leaves the rows before it applied; so does a row that the store
 * refuses, which names its first line.
 *
 * A stream in the frame of an export (cells_frame.h) is verified: what is
 * cut or damaged is refused, with the rows that were whole applied. A family
 * that an open table lacks comes with the export's attributes; a table that
 * keeps less than the export did is refused. As an export restores, and a row
 * may be more than one act can be, its rows are applied in parts of
 * PART_BYTES.
 */
#ifndef CELLFS_FS_TEXT_CELLS_IMPORT_H
#define CELLFS_FS_TEXT_CELLS_IMPORT_H

#include "fs/text/cells.h"

struct cells_import;

/* @flags as in table_mutate(). References the table. */
int cells_import_new(struct table *t, unsigned flags,
		     struct cells_import **out);
/*
 * Asks @target for the table, a reference, when the first cell or the end of an
 * export has come, with the schema that the export has (NULL without a frame).
 * It is the one to judge what the table keeps.
 */
typedef int cells_target(void *arg, const struct schema *from,
			 struct table **out);
int cells_import_new_late(cells_target *target, void *arg, unsigned flags,
			  struct cells_import **out);
/*
 * Lines must be of that row, and of that family, unless these are empty; the
 * others are -EINVAL. 0 or -ENOMEM.
 */
int cells_import_within(struct cells_import *im, struct bytes row,
			struct bytes family);
/* Calls @applied for each row that was applied. */
void cells_import_notify(struct cells_import *im,
			 void (*applied)(void *arg, struct bytes row),
			 void *arg);
/* The next line cannot be read, as store_why() says; @err. */
int cells_import_refuse(struct cells_import *im, int err);
/* What comes is cells_import_put(), of a table of this schema. 0, -ENOMEM. */
int cells_import_schema(struct cells_import *im, const struct schema *from);
int cells_import_put(struct cells_import *im, const struct cells_line *l);
/* 0, or the error of a line: then every further call repeats it. */
int cells_import_feed(struct cells_import *im, struct bytes data);
/*
 * When a write is over: applies the rows that are whole and asks the store
 * whether it would take what has come of the one that is not, so that an
 * error is known with the write that brought it and not at the end.
 */
int cells_import_settle(struct cells_import *im);
/*
 * The end: the last row is applied; a line without newline and an export that
 * has not ended are -EINVAL, and may still go on.
 */
int cells_import_end(struct cells_import *im);
/* Lines read so far; after an error the number of the bad one. */
uint64_t cells_import_lines(const struct cells_import *im);
/* Lines of cells that were applied. */
uint64_t cells_import_applied(const struct cells_import *im);
/* Has nothing come? */
bool cells_import_is_empty(const struct cells_import *im);
void cells_import_free(struct cells_import *im); /* NULL is nothing */

#endif
