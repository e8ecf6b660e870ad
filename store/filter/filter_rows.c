/*
 * Which rows a filter can let through, known before it sees any row.
 */
#include "store/filter/filter_inside.h"

bool filter_has_row(const struct filter *f)
{
	switch (f->kind) {
	case FILTER_SKIP:
	case FILTER_WHILE:
	case FILTER_PAGE:
	case FILTER_SINGLE_VALUE:
	case FILTER_SINGLE_VALUE_EXCLUDE:
	case FILTER_DEPENDENT:
		return true;
	}
	for (size_t i = 0; i < f->nsubs; i++)
		if (filter_has_row(f->subs[i]))
			return true;
	return false;
}

bool filter_ends_early(const struct filter *f)
{
	if (f->kind == FILTER_WHILE)
		return true;
	for (size_t i = 0; i < f->nsubs; i++)
		if (filter_ends_early(f->subs[i]))
			return true;
	return false;
}

void filter_rows(const struct filter *f, struct bytes *min, struct bytes *max)
{
	struct bytes low = {0}, high = {0};

	if (f->kind == FILTER_PREFIX) {
		low = buf_bytes(&f->texts[0]);
	} else if (f->kind == FILTER_ROW && f->compare.kind == COMPARE_BINARY) {
		if (f->compare.op == OP_EQUAL ||
		    f->compare.op >= OP_GREATER_OR_EQUAL)
			low = buf_bytes(&f->compare.value);
		if (f->compare.op <= OP_EQUAL)
			high = buf_bytes(&f->compare.value);
	}
	if (low.len && bytes_cmp(low, *min) > 0)
		*min = low;
	if (high.len && (!max->len || bytes_cmp(high, *max) < 0))
		*max = high;
	if (f->kind == FILTER_AND && filter_ends_early(f))
		return;
	for (size_t i = 0; f->kind == FILTER_AND && i < f->nsubs; i++)
		filter_rows(f->subs[i], min, max);
}
