/*
 * Filters: which results of a scan are handed out, in HBase's filter language.
 *
 *	expr	 a OR b OR ...	 of	 a AND b AND ...   of	unary
 *	unary	 SKIP unary | WHILE unary | (expr) | Name(arg, ...)
 *	arg	 'quoted', '' is a quote | 123 | true | >= (< <= = != >= >)
 *	compare	 op, 'binary:v' | 'binaryprefix:v' | 'substring:v' |
 *		 'regexstring:v' | 'regexstringnocase:v'
 *
 *	PrefixFilter(p)			     RowFilter(compare)
 *	InclusiveStopFilter(row)	     PageFilter(rows)
 *	FamilyFilter(compare)		     QualifierFilter(compare)
 *	ValueFilter(compare)		     TimestampsFilter(t, ...)
 *	ColumnPrefixFilter(p)		     MultipleColumnPrefixFilter(p, ...)
 *	ColumnRangeFilter(min, incl, max, incl)
 *	ColumnPaginationFilter(limit, offset)
 *	ColumnCountGetFilter(n)		     FirstKeyOnlyFilter()
 *	KeyOnlyFilter([length as value])
 *	ColumnValueFilter(family, qualifier, compare)
 *	SingleColumnValueFilter(family, qualifier, compare[, if missing,
 *		newest only])		     SingleColumnValueExcludeFilter(...)
 *	DependentColumnFilter(family, qualifier[, drop[, compare]])
 *
 * An op means "cell op value". Keywords are upper case; AND and OR stand
 * between blanks or parentheses. White space is blank and tab; it parts
 * arguments as a comma does.
 *
 * A struct filter is what was parsed, immutable, for any number of scans. A
 * struct filter_run is its state in one of them. Of each cell it says whether
 * it is taken and how far the scan may jump; of each row, when all its cells
 * have been shown, whether it stays.
 */
#ifndef CELLFS_STORE_FILTER_FILTER_H
#define CELLFS_STORE_FILTER_FILTER_H

#include "store/value/cell.h"

struct filter;

#define FILTER_TEXT_MAX (1u << 20)
#define FILTER_DEPTH_MAX 64

/* 0, or -EINVAL with a sentence that names the place; -ENOMEM. */
int filter_parse(struct bytes text, struct filter **out);
void filter_free(struct filter *f); /* @f may be NULL */
/* The @i-th name of a filter in the language; NULL after the last. */
const char *filter_name(unsigned i);
/* The text that @f was parsed from; borrowed from @f. */
struct bytes filter_text(const struct filter *f);
/*
 * Does @f judge whole rows? Such a filter cannot be used where a result may
 * hold a part of a row.
 */
bool filter_has_row(const struct filter *f);
/*
 * Does a part of @f end the scan (WHILE)? It may do so at a row that another part
 * rejects anyway.
 */
bool filter_ends_early(const struct filter *f);
/*
 * Rows outside of [*min, *max] (empty = open) never pass and change no count of
 * the filter, so a scan may leave them out. Borrowed from @f.
 */
void filter_rows(const struct filter *f, struct bytes *min, struct bytes *max);

struct filter_run;

/* @reversed: the scan's rows descend. 0 or -ENOMEM. */
int filter_run_new(const struct filter *f, bool reversed,
		   struct filter_run **out);
void filter_run_free(struct filter_run *run); /* @run may be NULL */

/* True if no further cell can pass, in this row or a later one. */
bool filter_done(const struct filter_run *run);
/*
 * Begins a row: 1, or 0 if the filter rejects it. -ETIME with a sentence if a
 * pattern needs too many steps, -ENOMEM.
 */
int filter_row_begin(struct filter_run *run, struct bytes row);

enum filter_jump {
	JUMP_CELL,   /* to the next cell */
	JUMP_COLUMN, /* past the rest of the column */
	JUMP_FAMILY, /* past the rest of the family in this row */
	JUMP_SEEK,   /* to the first column at or after *hint */
};
struct filter_answer {
	bool take;
	uint8_t jump; /* enum filter_jump */
	struct bytes hint;
};
/* Judges the next cell of the row. 0, -ETIME or -ENOMEM as for a row. */
int filter_cell(struct filter_run *run, const struct cell *cell,
		struct filter_answer *out);
/*
 * Changes a cell that was just taken to the form to show. @length is memory for
 * a value that is replaced by its length.
 */
void filter_show(struct filter_run *run, struct cell *cell, uint8_t length[4]);
/* At the end of a row: does this taken cell stay in the result? */
bool filter_keep(const struct filter_run *run, const struct cell *cell);
/* Then, if cells are left: does the row stay in the result? */
bool filter_row_end(struct filter_run *run);

#endif
