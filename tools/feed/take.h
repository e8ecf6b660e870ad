/*
 * Records of a file into a table: a record is a row, and one mutation.
 *
 * They go through cells_import.h, in its batches; memory is that of a batch and a
 * record. Which line of the file a cell is of is kept until it is applied, for
 * messages: FILE:LINE: what is wrong.
 */
#ifndef CELLFS_TOOLS_FEED_TAKE_H
#define CELLFS_TOOLS_FEED_TAKE_H

#include "fs/text/cells_import.h"
#include "tools/feed/rules.h"
#include "tools/feed/format.h"

struct take {
	const struct format *format; /* NULL: lines of cells, by their number */
	const char *file;
	bool any; /* a head or a record was read, so that it is not empty */
	struct rules rules;
	struct cells_import *import;
	struct mark {
		uint64_t first, line; /* the first cell of a line */
	} * marks;
	size_t done, n, cap; /* marks[done..n) may be of waiting cells */
	/* family:qualifier of each field of a head or a record */
	struct buf *columns;
	size_t ncolumns, columns_cap;
};

/* A cells_where() with a struct take: FILE:LINE. */
void take_where(void *arg, uint64_t cell, char *out, size_t size);
/*
 * How far it is: in bytes of a file, else in cells. take_went() is told how many
 * bytes were read: 0, or -EINTR when it was asked to stop.
 */
void take_begins(FILE *in);
int take_went(const struct cells_import *im, size_t bytes);
/* -EIO and why; is asked before errno is another. */
int take_unread(void);
/* Reads all records. 0, or the error that ended the import. */
int take_all(struct take *t, FILE *in);
void take_free(struct take *t);

#endif
