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
	struct filter_run *run; /* NULL: only counting */
	bool columns;		/* one result a column */
	bool raw, keys_only;
	uint32_t versions; /* of a column; 0 = all */
	uint64_t limit, offset;
	/* Of the present row: */
	struct bytes family; /* the last cell's; borrowed */
	struct buf qualifier;
	uint64_t in_family, in_column;
	struct cell *cells;
	size_t ncells, cap, next;
	struct buf memory; /* of the cells: data are offsets until the end */
};

static inline bool pick_needed(const struct scan_spec *spec)
{
	return spec->filter || spec->family_limit || spec->family_offset;
}
/* How many versions of a column the backend has to show. */
static inline uint32_t pick_versions(const struct scan_spec *spec)
{
	return spec->filter ? 0 : spec->versions;
}
/* 0 or -ENOMEM. */
int pick_init(struct pick *p, const struct scan_spec *spec);
void pick_free(struct pick *p); /* safe on a zeroed one */

/* Nothing more comes, of any row. */
bool pick_done(const struct pick *p);
/* A new row: false = go to the next one. @row is borrowed until pick_end(). */
bool pick_begin(struct pick *p, struct bytes row);
/*
 * The next result; its names but for the qualifier last as long as the row. 0
 * and how to go on, or -ENOMEM.
 */
int pick_cell(struct pick *p, const struct cell *c, struct filter_answer *out);
/* The row is over: 1 if anything of it is handed out. */
int pick_end(struct pick *p);
/* The next one of what is. 1, 0. */
int pick_next(struct pick *p, struct cell *out);

#endif
