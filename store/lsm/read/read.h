/*
 * Reading, as the rest of the engine calls it: scans, gets, and what a writer
 * must know of a column.
 */
#ifndef CELLFS_STORE_LSM_READ_READ_H
#define CELLFS_STORE_LSM_READ_READ_H

#include "store/lsm/state/trees.h"

int lsm_scan_open(struct table *t, const struct scan_spec *spec,
		  struct scan **out);
int lsm_scan_next(struct scan *sc, struct cell *out, size_t n);
int lsm_scan_pass(struct scan *sc);
void lsm_scan_close(struct scan *sc);
void scan_free_spares(struct lsm *db);
int lsm_get(struct table *t, struct bytes row, struct bytes family,
	    struct bytes qualifier, int64_t ts, bool exact,
	    const struct snapshot *snap, struct cell *cell, struct buf *hold);
/* Which version of a column: within a range, behind so many newer ones. */
struct column_look {
	int64_t ts_min, ts_max;
	bool whole; /* as in struct visible_spec */
	uint32_t older;
	const struct snapshot *snap;
};
/* As lsm_get(). */
int column_read(struct table *t, struct bytes row, struct bytes family,
		struct bytes qualifier, const struct column_look *look,
		struct cell *cell, struct buf *hold);
/*
 * The greatest timestamp stored for the column, markers included (for a
 * @family_wide question: for the whole row of the family). 0 = none.
 */
int column_newest(struct lsm_table *t, struct bytes row, struct bytes family,
		  struct bytes qualifier, bool family_wide, int64_t *ts);

#endif
