#include "store/hbase/filters/filter_part.h"

#include <errno.h>

#include "store/filter/filter_tree.h"

/* Does it judge each cell by that cell, and by nothing before it? */
static bool is_of_cell(const struct filter *f)
{
	switch (f->kind) {
	case FILTER_AND:
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			if (!is_of_cell(f->subs[i]))
				return false;
		return true;
	case FILTER_KEY_ONLY:
	case FILTER_PREFIX:
	case FILTER_COLUMN_PREFIX:
	case FILTER_MULTIPLE_COLUMN_PREFIX:
	case FILTER_INCLUSIVE_STOP:
	case FILTER_TIMESTAMPS:
	case FILTER_ROW:
	case FILTER_FAMILY:
	case FILTER_QUALIFIER:
	case FILTER_VALUE:
	case FILTER_COLUMN_RANGE:
	case FILTER_COLUMN_VALUE:
		return true;
	}
	return false;
}

static bool is_ascii(struct bytes s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] & 0x80 || !s.data[i])
			return false;
	return s.len > 0;
}

/* What HBase calls the comparison. 1, or 0 for what it may judge otherwise. */
static int compare_of(const struct comparator *c, struct filter_compare *out)
{
	static const uint8_t ops[] = {
		[OP_LESS] = COMPARE_LESS,
		[OP_LESS_OR_EQUAL] = COMPARE_LESS_OR_EQUAL,
		[OP_EQUAL] = COMPARE_EQUAL,
		[OP_NOT_EQUAL] = COMPARE_NOT_EQUAL,
		[OP_GREATER_OR_EQUAL] = COMPARE_GREATER_OR_EQUAL,
		[OP_GREATER] = COMPARE_GREATER,
	};

	*out = (struct filter_compare){.op = ops[c->op],
				       .value = buf_bytes(&c->value)};
	switch (c->kind) {
	case COMPARE_BINARY:
		out->with = WITH_BYTES;
		return 1;
	case COMPARE_PREFIX:
		out->with = WITH_PREFIX;
		return 1;
	case COMPARE_SUBSTRING:
		out->with = WITH_SUBSTRING;
		return c->op == OP_EQUAL && is_ascii(out->value);
	}
	return 0;
}

/*
 * Appends a filter that takes each cell that @f takes, which is of cells: 1; 0
 * if that is all of them; or -ENOMEM. Clears *exact if it may take more.
 */
static int put_part(struct buf *out, const struct filter *f, bool *exact);

/* Puts the comparison, unless HBase may judge it otherwise than cellfs does. */
static int put_compare(struct buf *out, enum filter_subject subject,
		       const struct filter *f, bool *exact)
{
	struct filter_compare c;
	int r = compare_of(&f->compare, &c);

	*exact = *exact && r && c.with != WITH_SUBSTRING;
	if (!r)
		return 0;
	r = f->kind == FILTER_COLUMN_VALUE
		    ? filter_put_column(out, text_of(f, 0), text_of(f, 1), &c)
		    : filter_put_compare(out, subject, &c);
	return r < 0 ? r : 1;
}

static int put_prefix(struct buf *out, enum filter_subject subject,
		      struct bytes prefix)
{
	const struct filter_compare c = {
		.op = COMPARE_EQUAL, .with = WITH_PREFIX, .value = prefix};
	int r = filter_put_compare(out, subject, &c);

	return r < 0 ? r : 1;
}

/* One of its prefixes is that of the qualifier, if not always the one asked. */
static int put_prefixes(struct buf *out, const struct filter *f, bool *exact)
{
	struct buf items = {0}, one = {0};
	int r = 0;

	*exact = false;
	for (size_t i = 0; r == 0 && i < f->ntexts; i++) {
		r = put_prefix(&one, SUBJECT_QUALIFIER, text_of(f, i));
		r = filter_put_item(&items, r < 0 ? r : 0, &one);
	}
	if (r == 0)
		r = filter_put_list(out, true, &items);
	buf_free(&items);
	return r < 0 ? r : 1;
}

/* One bound of a ColumnRangeFilter as an item; none if @bound is empty. */
static int put_bound(struct buf *items, struct bytes bound, uint8_t op)
{
	const struct filter_compare c = {.op = op, .value = bound};
	struct buf one = {0};

	if (!bound.len)
		return 0;
	return filter_put_item(
		items, filter_put_compare(&one, SUBJECT_QUALIFIER, &c), &one);
}

static int put_range(struct buf *out, const struct filter *f)
{
	struct buf items = {0};
	int r = put_bound(&items, text_of(f, 0),
			  f->flags[0] ? COMPARE_GREATER_OR_EQUAL
				      : COMPARE_GREATER);

	if (r == 0)
		r = put_bound(&items, text_of(f, 1),
			      f->flags[1] ? COMPARE_LESS_OR_EQUAL
					  : COMPARE_LESS);
	if (r == 0 && items.len)
		r = filter_put_list(out, false, &items) < 0 ? -ENOMEM : 1;
	buf_free(&items);
	return r;
}

/* Of an AND the parts that say something; of an OR all, or none. */
static int put_parts(struct buf *out, const struct filter *f, bool *exact)
{
	bool any = f->kind == FILTER_OR;
	struct buf items = {0}, one = {0};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < f->nsubs; i++) {
		r = put_part(&one, f->subs[i], exact);
		if (r > 0) {
			r = filter_put_item(&items, 0, &one);
		} else if (r == 0 && any) {
			items.len = 0;
			break;
		}
	}
	if (r == 0 && items.len)
		r = filter_put_list(out, any, &items) < 0 ? -ENOMEM : 1;
	buf_free(&one);
	buf_free(&items);
	return r;
}

static int put_part(struct buf *out, const struct filter *f, bool *exact)
{
	int r;

	switch (f->kind) {
	case FILTER_AND:
	case FILTER_OR:
		return put_parts(out, f, exact);
	case FILTER_ROW:
		return put_compare(out, SUBJECT_ROW, f, exact);
	case FILTER_FAMILY:
		return put_compare(out, SUBJECT_FAMILY, f, exact);
	case FILTER_QUALIFIER:
		return put_compare(out, SUBJECT_QUALIFIER, f, exact);
	case FILTER_VALUE:
	case FILTER_COLUMN_VALUE:
		return put_compare(out, SUBJECT_VALUE, f, exact);
	case FILTER_PREFIX:
		return put_prefix(out, SUBJECT_ROW, text_of(f, 0));
	case FILTER_COLUMN_PREFIX:
		return put_prefix(out, SUBJECT_QUALIFIER, text_of(f, 0));
	case FILTER_MULTIPLE_COLUMN_PREFIX:
		return put_prefixes(out, f, exact);
	case FILTER_COLUMN_RANGE:
		return put_range(out, f);
	case FILTER_TIMESTAMPS:
		r = filter_put_ts(out, f->numbers, f->nnumbers);
		return r < 0 ? r : 1;
	}
	/* KeyOnlyFilter takes all; InclusiveStopFilter has a direction. */
	*exact = *exact && f->kind == FILTER_KEY_ONLY;
	return 0;
}

/* Behind exact parts: what may be asked twice. 1, 0 or -ENOMEM. */
static int put_last(struct buf *out, const struct filter *f)
{
	struct filter_compare c;
	int r;

	switch (f->kind) {
	case FILTER_FIRST_KEY_ONLY:
		r = filter_put_first(out);
		return r < 0 ? r : 1;
	case FILTER_SINGLE_VALUE:
	case FILTER_SINGLE_VALUE_EXCLUDE:
		/* What is not exact may reject too little here, too. */
		if (!compare_of(&f->compare, &c) || c.with == WITH_SUBSTRING)
			return 0;
		r = filter_put_rows(out, text_of(f, 0), text_of(f, 1), &c,
				    f->flags[0], f->flags[1]);
		return r < 0 ? r : 1;
	}
	return 0;
}

static int add_parts(struct filter_list *l, const struct filter *f, bool *exact)
{
	struct buf one = {0};
	bool of_cell = is_of_cell(f);
	int r = 0;

	if (!of_cell && f->kind == FILTER_AND) {
		for (size_t i = 0; i < f->nsubs; i++) {
			r = add_parts(l, f->subs[i], exact);
			if (r < 0 || !is_of_cell(f->subs[i]))
				break;
		}
		return r;
	}
	if (of_cell)
		r = put_part(&one, f, exact);
	else if (*exact)
		r = put_last(&one, f);
	if (r > 0)
		filter_add(l, 0, &one);
	buf_free(&one);
	return r < 0 ? r : 0;
}

int filter_add_part(struct filter_list *l, const struct filter *f)
{
	bool exact = true;

	return filter_ends_early(f) ? 0 : add_parts(l, f, &exact);
}
