/*
 * Cells as text: one a line, for streams in and out.
 *
 *	row TAB family:qualifier TAB timestamp TAB value [TAB kind] LF
 *
 * Names are spelled as in paths (name.h) except that '/' is literal and
 * nothing is cut; in values only control bytes, '%' and bytes that are not
 * UTF-8 are escaped. kind is absent for a put, else delete, delete-column,
 * delete-family, delete-family-version, delete-row, increment (the value is a
 * decimal number) or append. An empty timestamp is the store's.
 *
 * An import takes bytes in any portions. Consecutive lines of one row are one
 * mutation; a bad line names its number, applies nothing of its row and leaves
 * the rows before it applied.
 */
#ifndef CELLFS_FS_CELLS_H
#define CELLFS_FS_CELLS_H

#include "store/store.h"

/* Appends a key as it is spelled here. 0 or -ENOMEM. */
int cells_format_name(struct bytes key, struct buf *out);
/* Appends the line of @c with its newline. 0 or -ENOMEM. */
int cells_format(const struct cell *c, struct buf *out);

struct cells_line {
	struct bytes row, family, qualifier, value;
	int64_t ts; /* or TS_AUTO */
	uint8_t op; /* enum change_op */
	int64_t delta;
};
/*
 * Reads a line without its newline; the fields lie in @hold, which is
 * replaced. 0; -EINVAL with a sentence; -ENOMEM.
 */
int cells_parse(struct bytes line, struct buf *hold, struct cells_line *out);

struct cells_import;

/* @flags as in table_mutate(). References the table. */
int cells_import_new(struct table *t, unsigned flags,
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
/* 0, or the error of a line: then every further call repeats it. */
int cells_import_feed(struct cells_import *im, struct bytes data);
/* The end: the last row is applied; a line without newline is -EINVAL. */
int cells_import_end(struct cells_import *im);
/* Lines read so far; after an error the number of the bad one. */
uint64_t cells_import_lines(const struct cells_import *im);
void cells_import_free(struct cells_import *im); /* NULL is nothing */

#endif
