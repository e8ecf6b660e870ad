/*
 * A filter's course over a row: for ref_filter.c, which has rows and counts,
 * and ref_filter_cell.c, which asks of cells.
 */
#ifndef CELLFS_TESTS_MODEL_REF_FILTER_INSIDE_H
#define CELLFS_TESTS_MODEL_REF_FILTER_INSIDE_H

#include "store/filter/filter_inside.h"
#include "tests/model/ref_filter.h"

/* What a part of a filter remembers. */
struct part {
	bool ended;   /* for all rows to come */
	int64_t rows; /* that a page has let through */
	/* Of the present row: */
	bool bad_row;
	bool found, matched;
	bool took; /* the present cell */
	int64_t n; /* columns that were counted */
	int64_t *times;
	size_t ntimes;
	size_t wait; /* under an OR: not asked before this place */
};

struct ref_filter {
	const struct filter *tree; /* NULL: limits only */
	struct scan_spec spec;
	enum ref_plant plant;
	struct part *parts;
	struct cell *cells; /* of the present row */
	size_t n;
	uint8_t (*lengths)[4];
};

/* Where to go on, as a place in the row, and how it was said. */
struct answer {
	bool take;
	bool jumps; /* it did not just say "the next one" */
	bool seeks; /* it named a column to go to */
	size_t next;
};

static inline struct part *part_of(struct ref_filter *rf,
				   const struct filter *f)
{
	return &rf->parts[f->id];
}

static inline struct bytes text(const struct filter *f, size_t i)
{
	return buf_bytes(&f->texts[i]);
}

/* Of the cell at a place. */
struct answer ref_filter_ask(struct ref_filter *rf, const struct filter *f,
			     size_t at);
/* Does nothing that is to come pass this part? */
bool ref_filter_ended(struct ref_filter *rf, const struct filter *f);
/* value op the comparator's */
bool ref_filter_holds(const struct comparator *c, struct bytes value);
/* Of a part that names a column: is it the cell's? */
bool ref_filter_named(const struct filter *f, const struct cell *c);
size_t ref_filter_next_family(const struct ref_filter *rf, size_t at);
size_t ref_filter_next_column(const struct ref_filter *rf, size_t at);

static inline bool same_family(const struct cell *a, const struct cell *b)
{
	return bytes_eq(a->family, b->family);
}

static inline bool same_column(const struct cell *a, const struct cell *b)
{
	return same_family(a, b) && bytes_eq(a->qualifier, b->qualifier);
}

static inline struct answer take(size_t at)
{
	return (struct answer){.take = true, .next = at + 1};
}

static inline struct answer jump(size_t next)
{
	return (struct answer){.jumps = true, .next = next};
}

#endif
