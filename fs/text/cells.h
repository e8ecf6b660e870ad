/*
 * Cells as text, one a line, for import and export.
 *
 *	row TAB family:qualifier TAB timestamp TAB value [TAB kind [TAB ttl]] LF
 *
 * Names are spelled as in paths (name.h) except that '/' is literal and nothing
 * is cut; in values only control bytes, '%' and bytes that are not UTF-8 are
 * escaped. kind is absent for a put, else delete, delete-column, delete-family,
 * delete-family-version, delete-row, increment (the value is a decimal number)
 * or append. With an empty timestamp the store chooses one. ttl is the cell's
 * own, in milliseconds; with a ttl the kind is written for a put, too. No line
 * of a cell begins with a tab, since no row key is empty.
 */
#ifndef CELLFS_FS_TEXT_CELLS_H
#define CELLFS_FS_TEXT_CELLS_H

#include "store/store.h"

/* Appends a key in this spelling. 0 or -ENOMEM. */
int cells_format_name(struct bytes key, struct buf *out);
/* Appends a value in this spelling. 0 or -ENOMEM. */
int cells_format_value(struct bytes value, struct buf *out);
/* Appends the line of @c with its newline. 0 or -ENOMEM. */
int cells_format(const struct cell *c, struct buf *out);
/*
 * The same in parts, of a part of the value each: *at, 0 at first, says how much
 * of it is done. 1 while there is more, 0, -ENOMEM.
 */
int cells_format_part(const struct cell *c, size_t *at, struct buf *out);

/* Is called for rows of lines, a mutation each, of which the first @done are. */
typedef void cells_batch(void *arg, const struct mutation *rows, size_t n,
			 size_t done);

struct cells_line {
	struct bytes row, family, qualifier, value;
	int64_t ts; /* or TS_AUTO */
	uint8_t op; /* enum change_op */
	int64_t delta;
	uint64_t ttl_ms; /* 0 = no ttl of its own */
};
/*
 * -EINVAL, with a reason, for a line of a file whose lines end in CR LF: the CR would be
 * a byte of the value.
 */
int cells_check_end(struct bytes line);
/*
 * Parses a line without its newline. The fields point into the line or, if they
 * had escapes, into @hold, which is overwritten. 0; -EINVAL with a reason;
 * -ENOMEM.
 */
int cells_parse(struct bytes line, struct buf *hold, struct cells_line *out);

#endif
