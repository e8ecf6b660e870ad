#include <errno.h>
#include <stdlib.h>

#include "tests/model/ref_filter_inside.h"

int ref_filter_new(const struct scan_spec *spec, struct ref_filter **out)
{
	struct ref_filter *rf = calloc(1, sizeof(*rf));

	if (!rf)
		return -ENOMEM;
	rf->spec = *spec;
	rf->tree = spec->filter;
	rf->parts = calloc(rf->tree ? rf->tree->nodes : 1, sizeof(*rf->parts));
	if (!rf->parts) {
		free(rf);
		return -ENOMEM;
	}
	*out = rf;
	return 0;
}

void ref_filter_free(struct ref_filter *rf)
{
	if (!rf)
		return;
	for (uint32_t i = 0; rf->tree && i < rf->tree->nodes; i++)
		free(rf->parts[i].times);
	free(rf->parts);
	free(rf->lengths);
	free(rf);
}

void ref_filter_plant(struct ref_filter *rf, enum ref_plant plant)
{
	rf->plant = plant;
}

static int row_begin(struct ref_filter *rf, const struct filter *f)
{
	struct part *p = part_of(rf, f);
	bool keep_count = rf->plant == PLANT_FILTER_KEEPS_COUNT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->nsubs; i++)
		r = row_begin(rf, f->subs[i]);
	if (r < 0)
		return r;
	free(p->times);
	*p = (struct part){
		.ended = p->ended,
		.rows = p->rows,
		.n = keep_count ? p->n : 0,
		.bad_row = f->kind == FILTER_PREFIX,
		.times = malloc((rf->n + 1) * sizeof(*p->times)),
	};
	return p->times ? 0 : -ENOMEM;
}

/* Is the row, by its key, not wanted? All parts of a list are asked. */
static bool bad_key(struct ref_filter *rf, const struct filter *f,
		    struct bytes row)
{
	struct part *p = part_of(rf, f);
	size_t bad = 0;
	int c;

	switch (f->kind) {
	case FILTER_AND:
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			bad += ref_filter_ended(rf, f->subs[i]) ||
			       bad_key(rf, f->subs[i], row);
		return f->kind == FILTER_AND ? bad > 0 : bad == f->nsubs;
	case FILTER_SKIP:
		return false;
	case FILTER_WHILE:
		if (!ref_filter_ended(rf, f))
			p->ended = bad_key(rf, f->subs[0], row);
		return ref_filter_ended(rf, f);
	case FILTER_ROW:
		p->bad_row = !ref_filter_holds(&f->compare, row);
		return p->bad_row;
	case FILTER_PREFIX:
	case FILTER_INCLUSIVE_STOP:
		if (p->ended)
			return true;
		c = bytes_cmp(row, text(f, 0));
		p->ended = rf->spec.reversed ? c < 0 : c > 0;
		if (f->kind == FILTER_INCLUSIVE_STOP)
			return p->ended;
		p->bad_row = !bytes_has_prefix(row, text(f, 0));
		p->ended &= p->bad_row;
		return p->bad_row;
	}
	return ref_filter_ended(rf, f);
}

/* Is a row with cells, at its end, not wanted? */
static bool bad_row(struct ref_filter *rf, const struct filter *f)
{
	struct part *p = part_of(rf, f);

	switch (f->kind) {
	case FILTER_AND:
		for (size_t i = 0; i < f->nsubs; i++)
			if (bad_row(rf, f->subs[i]))
				return true;
		return false;
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			if (!bad_row(rf, f->subs[i]))
				return false;
		return true;
	case FILTER_WHILE:
		if (bad_row(rf, f->subs[0])) {
			p->ended = true;
			return true;
		}
		return false;
	case FILTER_PAGE:
		return p->rows++ >= f->numbers[0];
	case FILTER_SINGLE_VALUE:
	case FILTER_SINGLE_VALUE_EXCLUDE:
		return p->found ? !p->matched : f->flags[0];
	case FILTER_SKIP:
		return p->bad_row && rf->plant != PLANT_FILTER_SKIPS_NONE;
	case FILTER_PREFIX:
	case FILTER_ROW:
		return p->bad_row;
	}
	return false;
}

/* Is a cell that was taken, at the end of its row, not wanted? */
static bool bad_cell(struct ref_filter *rf, const struct filter *f,
		     const struct cell *c)
{
	struct part *p = part_of(rf, f);

	switch (f->kind) {
	case FILTER_AND:
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			if (bad_cell(rf, f->subs[i], c))
				return true;
		return false;
	case FILTER_SINGLE_VALUE_EXCLUDE:
		return ref_filter_named(f, c);
	case FILTER_DEPENDENT:
		for (size_t i = 0; i < p->ntimes; i++)
			if (p->times[i] == c->ts)
				return false;
		return true;
	}
	return false;
}

/* Its value as the parts that took it show it. */
static void show(struct ref_filter *rf, const struct filter *f, struct cell *c,
		 uint8_t length[4])
{
	for (size_t i = 0; i < f->nsubs; i++)
		if (part_of(rf, f->subs[i])->took)
			show(rf, f->subs[i], c, length);
	if (f->kind != FILTER_KEY_ONLY)
		return;
	for (int i = 0; i < 4; i++)
		length[i] = (uint8_t)(c->value.len >> (24 - 8 * i));
	c->value = bytes_of(length, f->flags[0] ? 4 : 0);
}

bool ref_filter_over(const struct ref_filter *rf)
{
	return rf->tree && ref_filter_ended((struct ref_filter *)rf, rf->tree);
}

struct counts {
	uint64_t family, column;
	uint64_t versions; /* 0 = all */
};

/* What the spec counts among the cells that the filter takes. */
static bool counted_in(struct ref_filter *rf, struct counts *k, size_t at,
		       struct answer *a)
{
	const struct scan_spec *s = &rf->spec;

	if (k->versions && k->column == k->versions) {
		if (!a->jumps)
			*a = jump(ref_filter_next_column(rf, at));
		return false;
	}
	k->column += !kind_is_marker(rf->cells[at].kind);
	k->family++;
	if (s->family_limit && k->family > s->family_offset + s->family_limit) {
		*a = jump(ref_filter_next_family(rf, at));
		return false;
	}
	return k->family > s->family_offset ||
	       rf->plant == PLANT_LIMIT_NO_OFFSET;
}

/* Puts what is taken to the front of @out; returns how many. */
static size_t pick(struct ref_filter *rf, struct cell *out)
{
	bool columns = rf->spec.granularity == SCAN_COLUMNS;
	struct counts k = {.versions = columns ? 1 : rf->spec.versions};
	size_t n = 0, last = SIZE_MAX;

	for (size_t at = 0; at < rf->n && !ref_filter_over(rf);) {
		struct answer a =
			rf->tree ? ref_filter_ask(rf, rf->tree, at) : take(at);
		struct cell shown = rf->cells[at];

		if (a.take && rf->tree)
			show(rf, rf->tree, &shown, rf->lengths[at]);
		if (a.take) {
			const struct cell *before =
				last == SIZE_MAX ? NULL : &rf->cells[last];

			if (!before || !same_family(before, &rf->cells[at]))
				k.family = 0;
			if (!before || !same_column(before, &rf->cells[at]))
				k.column = 0;
			last = at;
			if (columns && !a.jumps)
				a.next = ref_filter_next_column(rf, at);
			if (counted_in(rf, &k, at, &a))
				out[n++] = shown;
		}
		at = a.next;
	}
	return n;
}

int ref_filter_row(struct ref_filter *rf, struct cell *cells, size_t *n)
{
	struct cell *copy;
	size_t left = 0;
	int r = 0;

	rf->n = *n;
	*n = 0;
	free(rf->lengths);
	rf->lengths = calloc(rf->n + 1, sizeof(*rf->lengths));
	copy = calloc(rf->n + 1, sizeof(*copy));
	if (!copy || !rf->lengths) {
		free(copy);
		return -ENOMEM;
	}
	if (rf->n)
		memcpy(copy, cells, rf->n * sizeof(*copy));
	rf->cells = copy;
	if (rf->tree)
		r = row_begin(rf, rf->tree);
	if (r == 0 && rf->n &&
	    !(rf->tree && bad_key(rf, rf->tree, cells[0].row)))
		*n = pick(rf, cells);
	for (size_t i = 0; i < *n; i++)
		if (!rf->tree || !bad_cell(rf, rf->tree, &cells[i]))
			cells[left++] = cells[i];
	if (left && rf->tree && bad_row(rf, rf->tree))
		left = 0;
	*n = left;
	rf->cells = NULL;
	free(copy);
	return r;
}
