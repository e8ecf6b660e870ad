/*
 * A filter's course over a scan. Every kind answers as HBase's class of that
 * name does (for one cell: filter_kinds.c); a list asks its parts in order and
 * takes the farthest jump of an AND, the nearest of an OR. Parts may count:
 * those of an AND behind one that does not take the cell are not asked, and a
 * part of an OR that has asked to jump is not asked again before the scan is
 * there.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter_inside.h"

struct filter_run {
	const struct filter *filter;
	bool reversed;
	struct bytes row;
	struct filter_state states[];
};

static struct filter_state *state_of(struct filter_run *run,
				     const struct filter *f)
{
	return &run->states[f->id];
}

int filter_run_new(const struct filter *f, bool reversed,
		   struct filter_run **out)
{
	struct filter_run *run = calloc(
		1, sizeof(*run) + f->nodes * sizeof(struct filter_state));

	if (!run)
		return -ENOMEM;
	run->filter = f;
	run->reversed = reversed;
	*out = run;
	return 0;
}

void filter_run_free(struct filter_run *run)
{
	if (!run)
		return;
	for (uint32_t i = 0; i < run->filter->nodes; i++) {
		free(run->states[i].stamps);
		buf_free(&run->states[i].last_family);
		buf_free(&run->states[i].last_qualifier);
		regex_search_free(&run->states[i].search);
	}
	free(run);
}

static bool is_over(struct filter_run *run, const struct filter *f)
{
	struct filter_state *s = state_of(run, f);

	switch (f->kind) {
	case FILTER_AND:
		for (size_t i = 0; i < f->nsubs; i++)
			if (is_over(run, f->subs[i]))
				return true;
		return false;
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			if (!is_over(run, f->subs[i]))
				return false;
		return true;
	case FILTER_WHILE:
		return s->over || is_over(run, f->subs[0]);
	case FILTER_COLUMN_COUNT:
		return s->count > (uint64_t)f->numbers[0];
	case FILTER_PAGE:
		return s->count >= (uint64_t)f->numbers[0];
	}
	return s->over;
}

bool filter_done(const struct filter_run *run)
{
	return is_over((struct filter_run *)run, run->filter);
}

static void reset(struct filter_run *run, const struct filter *f)
{
	struct filter_state *s = state_of(run, f);

	for (size_t i = 0; i < f->nsubs; i++)
		reset(run, f->subs[i]);
	s->found = s->matched = s->has_last = s->took = false;
	s->nstamps = 0;
	s->dropped = f->kind == FILTER_PREFIX;
	if (f->kind != FILTER_PAGE)
		s->count = 0;
}

/* 1: the filter rejects the row; 0; or as comparator_holds(). */
static int drops_key(struct filter_run *run, const struct filter *f)
{
	struct filter_state *s = state_of(run, f);
	int c, drops;

	switch (f->kind) {
	case FILTER_AND:
	case FILTER_OR:
		/* Ask every part: some store the row's result here. */
		drops = f->kind == FILTER_OR;
		for (size_t i = 0; i < f->nsubs; i++) {
			int d = is_over(run, f->subs[i])
					? 1
					: drops_key(run, f->subs[i]);

			if (d < 0)
				return d;
			drops = f->kind == FILTER_OR ? drops && d : drops || d;
		}
		return drops;
	case FILTER_SKIP:
		return false; /* SKIP judges cells only */
	case FILTER_WHILE:
		if (is_over(run, f))
			return true;
		drops = drops_key(run, f->subs[0]);
		s->over |= drops > 0;
		return drops;
	case FILTER_PREFIX:
		if (s->over)
			return true;
		s->dropped = !bytes_has_prefix(run->row, text_of(f, 0));
		c = bytes_cmp(run->row, text_of(f, 0));
		s->over = s->dropped && (run->reversed ? c < 0 : c > 0);
		return s->dropped;
	case FILTER_INCLUSIVE_STOP:
		if (s->over)
			return true;
		c = bytes_cmp(run->row, text_of(f, 0));
		s->over = run->reversed ? c < 0 : c > 0;
		return s->over;
	case FILTER_ROW:
		c = comparator_holds(&f->compare, &s->search, run->row);
		s->dropped = c == 0;
		return c < 0 ? c : s->dropped;
	}
	return is_over(run, f);
}

int filter_row_begin(struct filter_run *run, struct bytes row)
{
	int r;

	run->row = row;
	reset(run, run->filter);
	r = drops_key(run, run->filter);
	return r < 0 ? r : !r;
}

static bool drops_row(struct filter_run *run, const struct filter *f)
{
	struct filter_state *s = state_of(run, f);
	bool drops;

	switch (f->kind) {
	case FILTER_AND:
		for (size_t i = 0; i < f->nsubs; i++)
			if (drops_row(run, f->subs[i]))
				return true;
		return false;
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			if (!drops_row(run, f->subs[i]))
				return false;
		return true;
	case FILTER_WHILE:
		drops = drops_row(run, f->subs[0]);
		s->over |= drops;
		return drops;
	case FILTER_PAGE:
		return ++s->count > (uint64_t)f->numbers[0];
	case FILTER_SINGLE_VALUE:
	case FILTER_SINGLE_VALUE_EXCLUDE:
		return s->found ? !s->matched : f->flags[0];
	case FILTER_SKIP:
	case FILTER_PREFIX:
	case FILTER_ROW:
		return s->dropped;
	}
	return false;
}

bool filter_row_end(struct filter_run *run)
{
	return !drops_row(run, run->filter);
}

static int ask(struct filter_run *run, const struct filter *f,
	       const struct cell *c, struct filter_answer *a);

/* The farther of two jumps that lead out of the column. */
static void join_and(struct filter_answer *all, const struct filter_answer *one)
{
	all->take = all->take && one->take;
	if (one->jump == JUMP_SEEK && all->jump == JUMP_SEEK) {
		if (bytes_cmp(one->hint, all->hint) > 0)
			all->hint = one->hint;
	} else if (one->jump == JUMP_SEEK) {
		if (all->jump != JUMP_FAMILY)
			*all = *one;
	} else if (one->jump > all->jump || one->jump == JUMP_FAMILY) {
		if (all->jump != JUMP_SEEK || one->jump == JUMP_FAMILY)
			all->jump = one->jump;
	}
}

static int ask_and(struct filter_run *run, const struct filter *f,
		   const struct cell *c, struct filter_answer *a)
{
	answer_take(a);
	for (size_t i = 0; i < f->nsubs; i++) {
		struct filter_answer one = {0};
		int r;

		if (is_over(run, f->subs[i])) {
			*a = (struct filter_answer){.jump = JUMP_FAMILY};
			return 0;
		}
		r = ask(run, f->subs[i], c, &one);
		if (r < 0)
			return r;
		join_and(a, &one);
		if (!a->take)
			break;
	}
	return 0;
}

/* Has the scan reached the place that this part of an OR jumps to? */
static bool has_arrived(const struct filter_state *s, const struct cell *c)
{
	if (!s->has_last || s->last_jump == JUMP_CELL ||
	    s->last_jump == JUMP_SEEK)
		return true;
	if (!bytes_eq(buf_bytes(&s->last_family), c->family))
		return true;
	return s->last_jump == JUMP_COLUMN &&
	       !bytes_eq(buf_bytes(&s->last_qualifier), c->qualifier);
}

static int note_answer(struct filter_state *s, const struct cell *c,
		       const struct filter_answer *a)
{
	s->has_last = true;
	s->last_jump = a->jump;
	if (a->jump == JUMP_CELL || a->jump == JUMP_SEEK)
		return 0;
	if (buf_set(&s->last_family, c->family) < 0)
		return -ENOMEM;
	return buf_set(&s->last_qualifier, c->qualifier);
}

static int ask_or(struct filter_run *run, const struct filter *f,
		  const struct cell *c, struct filter_answer *a)
{
	bool all_seek = true, any = false;
	uint8_t nearest = JUMP_FAMILY;

	for (size_t i = 0; i < f->nsubs; i++) {
		struct filter_state *s = state_of(run, f->subs[i]);
		struct filter_answer one = {0};
		int r;

		s->took = false;
		if (is_over(run, f->subs[i])) {
			all_seek = false;
			continue;
		}
		/* It is on its way, and says so: nobody jumps beyond it. */
		if (!has_arrived(s, c)) {
			all_seek = false;
			any = true;
			if (s->last_jump < nearest)
				nearest = s->last_jump;
			continue;
		}
		r = ask(run, f->subs[i], c, &one);
		if (r == 0)
			r = note_answer(s, c, &one);
		if (r < 0)
			return r;
		any = true;
		a->take |= one.take;
		if (one.jump != JUMP_SEEK) {
			all_seek = false;
			if (one.jump < nearest)
				nearest = one.jump;
		} else {
			if (!a->hint.data || bytes_cmp(one.hint, a->hint) < 0)
				a->hint = one.hint;
		}
	}
	if (all_seek)
		a->jump = JUMP_SEEK;
	else if (!any || a->hint.data)
		a->jump = JUMP_CELL;
	else
		a->jump = nearest;
	return 0;
}

static int ask(struct filter_run *run, const struct filter *f,
	       const struct cell *c, struct filter_answer *a)
{
	struct filter_state *s = state_of(run, f);
	int r;

	switch (f->kind) {
	case FILTER_AND:
		r = ask_and(run, f, c, a);
		break;
	case FILTER_OR:
		r = ask_or(run, f, c, a);
		break;
	case FILTER_SKIP:
	case FILTER_WHILE:
		r = ask(run, f->subs[0], c, a);
		if (f->kind == FILTER_SKIP)
			s->dropped |= !a->take || a->jump != JUMP_CELL;
		else
			s->over |= !a->take || a->jump != JUMP_CELL;
		break;
	default:
		r = filter_ask_one(f, s, c, a);
		break;
	}
	s->took = a->take;
	return r;
}

int filter_cell(struct filter_run *run, const struct cell *cell,
		struct filter_answer *out)
{
	*out = (struct filter_answer){0};
	return ask(run, run->filter, cell, out);
}

static void show(struct filter_run *run, const struct filter *f,
		 struct cell *cell, uint8_t length[4])
{
	uint32_t n;

	for (size_t i = 0; i < f->nsubs; i++)
		if (state_of(run, f->subs[i])->took)
			show(run, f->subs[i], cell, length);
	if (f->kind != FILTER_KEY_ONLY)
		return;
	n = htobe32((uint32_t)cell->value.len);
	memcpy(length, &n, sizeof(n));
	cell->value = bytes_of(length, f->flags[0] ? sizeof(n) : 0);
}

void filter_show(struct filter_run *run, struct cell *cell, uint8_t length[4])
{
	show(run, run->filter, cell, length);
}

static bool keeps(struct filter_run *run, const struct filter *f,
		  const struct cell *c)
{
	struct filter_state *s = state_of(run, f);

	/* As in HBase, filters under SKIP and WHILE are not asked. */
	if (f->kind == FILTER_AND || f->kind == FILTER_OR)
		for (size_t i = 0; i < f->nsubs; i++)
			if (!keeps(run, f->subs[i], c))
				return false;
	if (f->kind == FILTER_SINGLE_VALUE_EXCLUDE)
		return !is_column(f, c);
	if (f->kind != FILTER_DEPENDENT)
		return true;
	for (size_t i = 0; i < s->nstamps; i++)
		if (s->stamps[i] == c->ts)
			return true;
	return false;
}

bool filter_keep(const struct filter_run *run, const struct cell *cell)
{
	return keeps((struct filter_run *)run, run->filter, cell);
}
