/*
 * What each kind of filter says of one cell: whether it is taken and how far
 * the scan may jump. Every kind answers as HBase's class of that name does.
 */
#include <errno.h>

#include "store/filter/filter_inside.h"
#include "store/value/array.h"

static void seek(struct filter_answer *a, struct bytes hint)
{
	a->jump = JUMP_SEEK;
	a->hint = hint;
}

/*
 * Only the greatest prefix that sorts at or before the qualifier is compared; a
 * shorter prefix that would match as well is not, as in HBase.
 */
static void ask_prefixes(const struct filter *f, const struct cell *c,
			 struct filter_answer *a)
{
	struct bytes last = {0}, next = {0};
	bool has_last = false, has_next = false;

	for (size_t i = 0; i < f->ntexts; i++) {
		struct bytes p = text_of(f, i);

		if (bytes_cmp(p, c->qualifier) > 0) {
			if (!has_next || bytes_cmp(p, next) < 0)
				next = p;
			has_next = true;
		} else {
			if (!has_last || bytes_cmp(p, last) > 0)
				last = p;
			has_last = true;
		}
	}
	if (has_last && bytes_has_prefix(c->qualifier, last))
		answer_take(a);
	else if (has_next)
		seek(a, next);
	else
		a->jump = JUMP_FAMILY;
}

static void ask_range(const struct filter *f, const struct cell *c,
		      struct filter_answer *a)
{
	struct bytes min = text_of(f, 0), max = text_of(f, 1);
	int low = min.len ? bytes_cmp(c->qualifier, min) : 1;
	int high = max.len ? bytes_cmp(c->qualifier, max) : -1;

	if (low < 0)
		seek(a, min);
	else if (low == 0 && !f->flags[0])
		a->jump = JUMP_COLUMN;
	else if (high < 0 || (high == 0 && f->flags[1]))
		answer_take(a);
	else
		a->jump = JUMP_FAMILY;
}

static void ask_times(const struct filter *f, const struct cell *c,
		      struct filter_answer *a)
{
	for (size_t i = 0; i < f->nnumbers; i++)
		if (f->numbers[i] == c->ts) {
			answer_take(a);
			return;
		}
	if (!f->nnumbers || c->ts < f->numbers[0])
		a->jump = JUMP_COLUMN;
}

static void ask_pagination(const struct filter *f, struct filter_state *s,
			   struct filter_answer *a)
{
	uint64_t limit = (uint64_t)f->numbers[0];
	uint64_t offset = (uint64_t)f->numbers[1];

	/* Both terms are below 2^63, so the sum does not overflow. */
	if (s->count >= offset + limit) {
		a->jump = JUMP_FAMILY;
		return;
	}
	a->take = s->count++ >= offset;
	a->jump = JUMP_COLUMN;
}

/* The comparator decides whether the cell is taken. */
static int ask_compare(const struct filter *f, struct filter_state *s,
		       struct bytes value, struct filter_answer *a)
{
	int r = comparator_holds(&f->compare, &s->search, value);

	a->take = r > 0;
	return r < 0 ? r : 0;
}

static int ask_single(const struct filter *f, struct filter_state *s,
		      const struct cell *c, struct filter_answer *a)
{
	bool newest_only = f->flags[1];
	int r;

	if (s->matched) {
		answer_take(a);
		return 0;
	}
	if (newest_only && s->found) {
		a->jump = JUMP_FAMILY;
		return 0;
	}
	if (!is_column(f, c)) {
		answer_take(a);
		return 0;
	}
	s->found = true;
	r = ask_compare(f, s, c->value, a);
	s->matched = a->take;
	if (s->matched || !newest_only)
		answer_take(a);
	else
		a->jump = JUMP_FAMILY;
	return r;
}

static int ask_dependent(const struct filter *f, struct filter_state *s,
			 const struct cell *c, struct filter_answer *a)
{
	if (!is_column(f, c)) {
		answer_take(a);
		return 0;
	}
	if (f->compare.kind != COMPARE_NONE) {
		int r = ask_compare(f, s, c->value, a);

		if (r < 0 || !a->take)
			return r;
	}
	if (ARRAY_RESERVE(s->stamps, s->stamps_cap, s->nstamps + 1) < 0)
		return -ENOMEM;
	s->stamps[s->nstamps++] = c->ts;
	a->take = !f->flags[0];
	return 0;
}

static int ask_column_value(const struct filter *f, struct filter_state *s,
			    const struct cell *c, struct filter_answer *a)
{
	if (!is_column(f, c)) {
		a->jump = s->found ? JUMP_FAMILY : JUMP_COLUMN;
		return 0;
	}
	s->found = true;
	return ask_compare(f, s, c->value, a);
}

int filter_ask_one(const struct filter *f, struct filter_state *s,
		   const struct cell *c, struct filter_answer *a)
{
	int r;

	switch (f->kind) {
	case FILTER_KEY_ONLY:
	case FILTER_PAGE:
		answer_take(a);
		return 0;
	case FILTER_FIRST_KEY_ONLY:
		a->take = !s->found;
		a->jump = s->found ? JUMP_FAMILY : JUMP_CELL;
		s->found = true;
		return 0;
	case FILTER_PREFIX:
	case FILTER_ROW:
		a->take = !s->dropped;
		a->jump = s->dropped ? JUMP_FAMILY : JUMP_CELL;
		return 0;
	case FILTER_INCLUSIVE_STOP:
		a->take = !s->over;
		a->jump = s->over ? JUMP_FAMILY : JUMP_CELL;
		return 0;
	case FILTER_COLUMN_COUNT:
		a->take = ++s->count <= (uint64_t)f->numbers[0];
		a->jump = JUMP_COLUMN;
		return 0;
	case FILTER_FAMILY:
		r = ask_compare(f, s, c->family, a);
		a->jump = a->take ? JUMP_CELL : JUMP_FAMILY;
		return r;
	case FILTER_QUALIFIER:
		return ask_compare(f, s, c->qualifier, a);
	case FILTER_VALUE:
		return ask_compare(f, s, c->value, a);
	case FILTER_COLUMN_PREFIX:
	case FILTER_MULTIPLE_COLUMN_PREFIX:
		ask_prefixes(f, c, a);
		return 0;
	case FILTER_COLUMN_RANGE:
		ask_range(f, c, a);
		return 0;
	case FILTER_TIMESTAMPS:
		ask_times(f, c, a);
		return 0;
	case FILTER_PAGINATION:
		ask_pagination(f, s, a);
		return 0;
	case FILTER_COLUMN_VALUE:
		return ask_column_value(f, s, c, a);
	case FILTER_DEPENDENT:
		return ask_dependent(f, s, c, a);
	}
	return ask_single(f, s, c, a);
}
