/*
 * A scan's state, for scan_open.c, which makes and keeps it, scan.c, which
 * walks, and scan_pick.c, which walks where a filter or limits in the families
 * decide on rows.
 */
#ifndef CELLFS_STORE_LSM_SCAN_H
#define CELLFS_STORE_LSM_SCAN_H

#include <stddef.h>

#include "store/lsm/reader.h"
#include "store/pick.h"

struct run {
	const struct block *block; /* NULL: none */
	uint32_t row, end;
	uint32_t cell, cell_end; /* of the row */
};

struct family_scan {
	struct reader reader;
	const char *name;
	struct bytes name_bytes;
	struct reader_columns columns;
	bool restricted;
	struct bytes *names; /* of columns */
	bool at_row;	     /* stands on a row with something to show */
	bool fresh;	     /* not yet positioned */
	bool ended;
	bool lost; /* scan as of a moment: nothing of its row is certain */
};

struct lsm_scan {
	struct scan base;
	struct lsm *db;
	struct view *view; /* with the names and attributes */
	uint8_t granularity;
	bool reversed, keys_only, as_of;
	struct buf row_start, row_stop;
	bool start_exclusive, stop_inclusive, one_row;
	struct buf qual_start, qual_stop; /* owned copies of the bounds */
	uint64_t limit_rows, rows;
	struct family_scan *families;
	uint32_t nfamilies;
	uint32_t current; /* family that gave the last cell; or nfamilies */
	bool in_row;
	bool may_run; /* rows or cells of all of one family, forwards */
	struct run run;
	struct buf row;		/* the present row */
	struct family_scan one; /* families, if there is only one */
	bool picking;
	struct pick pick;
	_Alignas(max_align_t) uint8_t
		memory[READER_MEMORY]; /* of the first family's cursors */
};

/* Leaves the present row, goes to the next one that shows something. */
int scan_next_row(struct lsm_scan *sc);
/* Does the family stand on the present row? */
bool scan_on_row(const struct lsm_scan *sc, struct family_scan *f);
/* The entry that the family stands on. */
void scan_fill(struct lsm_scan *sc, const struct family_scan *f,
	       struct cell *out);
/* lsm_scan_next() of a scan that picks. */
int scan_next_picked(struct lsm_scan *sc, struct cell *out);

#endif
