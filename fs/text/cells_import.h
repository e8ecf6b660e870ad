/*
 * Imports cells as text (cells.h) into a table.
 *
 * The text may come in portions of any size. Consecutive lines of one row are
 * one mutation, applied when a line of another row or the end has been read. In
 * it each increment and append counts (cells_fold.h). Rows are applied in
 * batches. The error of a bad line names its number; nothing of its row is
 * applied, and the rows before it are. The same holds for a row that the store
 * refuses; the error names its first line.
 *
 * A stream in the frame of an export (cells_frame.h) is verified: if it is cut
 * or damaged, it is refused, and the complete rows before are applied. A family
 * that a table of open schema lacks is added with the export's attributes; a
 * table that keeps less than the exported one is refused. Rows of an export may
 * be larger than a mutation, so they are applied in parts of PART_BYTES.
 */
#ifndef CELLFS_FS_TEXT_CELLS_IMPORT_H
#define CELLFS_FS_TEXT_CELLS_IMPORT_H

#include "fs/text/cells.h"

struct cells_import;

/* @flags as in table_mutate(). Takes a reference to the table. */
int cells_import_new(struct table *t, unsigned flags,
		     struct cells_import **out);
/*
 * Asks @target for the table, a reference, when the first cell or the end of an
 * export has been read, and passes the export's schema (NULL without a frame).
 * @target decides whether the table keeps enough.
 */
typedef int cells_target(void *arg, const struct schema *from,
			 struct table **out);
int cells_import_new_late(cells_target *target, void *arg, unsigned flags,
			  struct cells_import **out);
/*
 * Limits lines to that row and that family, unless these are empty; any other
 * line is -EINVAL. 0 or -ENOMEM.
 */
int cells_import_within(struct cells_import *im, struct bytes row,
			struct bytes family);
/* Lines that delete are -EPERM: who writes them may not. */
void cells_import_puts_only(struct cells_import *im);
/*
 * Sets functions that are called for some rows: @before they are applied, and
 * @after they were applied or refused.
 */
void cells_import_notify(struct cells_import *im, cells_batch *before,
			 cells_batch *after, void *arg);
/*
 * Writes where line @line is, as the beginning of a sentence about it; without,
 * it is "line N: ".
 */
typedef void cells_where(void *arg, uint64_t line, char *out, size_t size);
void cells_import_where(struct cells_import *im, cells_where *where, void *arg);
/*
 * Ends the import with @err, as if the next line were bad; store_why() is why.
 */
int cells_import_refuse(struct cells_import *im, int err);
/* For cells from cells_import_put(), of a table of this schema. 0, -ENOMEM. */
int cells_import_schema(struct cells_import *im, const struct schema *from);
int cells_import_put(struct cells_import *im, const struct cells_line *l);
/* The next cell begins a mutation of its own, even of the same row. */
void cells_import_row_ends(struct cells_import *im);
/* 0, or the error of a line, which every later call repeats. */
int cells_import_feed(struct cells_import *im, struct bytes data);
/*
 * To be called when a write is over: applies the complete rows, and asks the
 * store whether it would accept the lines of the unfinished row, so that the
 * write that brought an error fails, and not the close.
 */
int cells_import_settle(struct cells_import *im);
/*
 * At the end: applies the last row. A line without newline and an incomplete
 * export are -EINVAL, and the import may continue.
 */
int cells_import_end(struct cells_import *im);
/* Lines read so far; after an error the number of the bad one. */
uint64_t cells_import_lines(const struct cells_import *im);
/* Lines of cells that were applied. */
uint64_t cells_import_applied(const struct cells_import *im);
/* The memory that waits for the end of a line, row or batch. */
uint64_t cells_import_bytes(const struct cells_import *im);
/* Has no input been read? */
bool cells_import_is_empty(const struct cells_import *im);
void cells_import_free(struct cells_import *im); /* @im may be NULL */

#endif
