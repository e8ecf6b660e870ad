/*
 * Picking: what a scan hands out of one row, when that is decided with a
 * filter, or by counting in each family.
 *
 * A backend shows it the results of a row in order, and moves as it is told;
 * what is picked is copied, for a filter may drop it again when the row ends.
 * It is of one row at a time, so it holds one row's cells at most.
 */
#ifndef CELLFS_STORE_FILTER_PICK_H
#define CELLFS_STORE_FILTER_PICK_H

#include "store/filter/filter.h"
#include "store/store.h"

struct pick {
	struct filter_run *run; /* NULL: no filter, only limits */
	bool columns;		/* one result for each column */
	bool raw, keys_only;
	uint32_t versions; /* limit for each column; 0 = all */
	uint64_t limit, offset;
	/* State of the current row: */
	struct bytes family; /* the last cell's; borrowed */
	struct buf qualifier;
	uint64_t in_family, in_column;
	struct cell *cells;
	size_t ncells, cap, next;
	struct buf memory; /* cells' bytes; as offsets until pick_end() */
};

static inline bool pick_needed(const struct scan_spec *spec)
{
	return spec->filter || spec->family_limit || spec->family_offset;
}
/* How many versions of a column the backend must give; 0 = all. */
static inline uint32_t pick_versions(const struct scan_spec *spec)
{
	return spec->filter ? 0 : spec->versions;
}
/* Leaves out of the spec the rows that its filter never lets through. */
void pick_rows(struct scan_spec *spec);
/* 0 or -ENOMEM. */
int pick_init(struct pick *p, const struct scan_spec *spec);
void pick_free(struct pick *p); /* safe on a zeroed one */

/* Is the scan over, because no later row can pass? */
bool pick_done(const struct pick *p);
/*
 * Begins a row: 1, 0 = skip it, or an error of filter_row_begin(). @row must stay
 * valid until pick_end().
 */
int pick_begin(struct pick *p, struct bytes row);
/*
 * Offers the next cell, whose row and family stay valid during the row. 0 and
 * how the scan continues in *out, or an error of filter_cell().
 */
int pick_cell(struct pick *p, const struct cell *c, struct filter_answer *out);
/* Ends the row: 1 if pick_next() has results of it. */
int pick_end(struct pick *p);
/* The row's next result: 1, or 0 after the last one. */
int pick_next(struct pick *p, struct cell *out);

#endif
