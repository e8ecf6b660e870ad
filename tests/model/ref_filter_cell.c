#include "tests/model/ref_filter_inside.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>

static bool contains(struct bytes s, struct bytes lower)
{
	for (size_t i = 0; i + lower.len <= s.len; i++) {
		size_t same = 0;

		for (size_t k = 0; k < lower.len; k++)
			same += tolower(s.data[i + k]) == lower.data[k];
		if (same == lower.len)
			return true;
	}
	return false;
}

static char *string_of(struct bytes s)
{
	char *out = malloc(s.len + 1);

	if (!out)
		abort();
	bytes_copy((uint8_t *)out, s.data, s.len);
	out[s.len] = '\0';
	return out;
}

/* Not every C library matches texts with a NUL. */
#ifndef REG_STARTEND
#define REG_STARTEND 0
#endif

/* The patterns of steps mean the same to POSIX. */
static bool matches(const struct comparator *c, struct bytes s)
{
	regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)s.len};
	char *pattern = string_of(buf_bytes(&c->value)), *text = string_of(s);
	regex_t re;
	bool found;

	if (regcomp(&re, pattern, REG_EXTENDED | (c->nocase ? REG_ICASE : 0)))
		abort();
	found = !regexec(&re, text, 1, &all, REG_STARTEND);
	regfree(&re);
	free(pattern);
	free(text);
	return found;
}

/* value op the comparator's */
bool ref_filter_holds(const struct comparator *c, struct bytes value)
{
	struct bytes other = buf_bytes(&c->value);
	int sign;

	if (c->kind == COMPARE_SUBSTRING)
		return contains(value, other) == (c->op == OP_EQUAL);
	if (c->kind == COMPARE_REGEX)
		return matches(c, value) == (c->op == OP_EQUAL);
	if (c->kind == COMPARE_PREFIX && value.len > other.len)
		value.len = other.len;
	sign = bytes_cmp(value, other);
	return (c->op == OP_LESS && sign < 0) ||
	       (c->op == OP_LESS_OR_EQUAL && sign <= 0) ||
	       (c->op == OP_EQUAL && sign == 0) ||
	       (c->op == OP_NOT_EQUAL && sign != 0) ||
	       (c->op == OP_GREATER_OR_EQUAL && sign >= 0) ||
	       (c->op == OP_GREATER && sign > 0);
}

size_t ref_filter_next_family(const struct ref_filter *rf, size_t at)
{
	size_t i = at;

	while (i < rf->n && same_family(&rf->cells[i], &rf->cells[at]))
		i++;
	return i;
}

size_t ref_filter_next_column(const struct ref_filter *rf, size_t at)
{
	size_t i = at;

	while (i < rf->n && same_column(&rf->cells[i], &rf->cells[at]))
		i++;
	return i;
}

static struct answer leave(size_t at)
{
	return (struct answer){.next = at + 1};
}

static struct answer leave_family(const struct ref_filter *rf, size_t at)
{
	return jump(ref_filter_next_family(rf, at));
}

/* To the first column of the family that is not before @name. */
static struct answer seek(const struct ref_filter *rf, size_t at,
			  struct bytes name)
{
	size_t end = ref_filter_next_family(rf, at), i = at + 1;

	while (i < end && bytes_cmp(rf->cells[i].qualifier, name) < 0)
		i++;
	return (struct answer){.jumps = true, .seeks = true, .next = i};
}

bool ref_filter_ended(struct ref_filter *rf, const struct filter *f)
{
	const struct part *p = part_of(rf, f);

	switch (f->kind) {
	case FILTER_AND:
		for (size_t i = 0; i < f->nsubs; i++)
			if (ref_filter_ended(rf, f->subs[i]))
				return true;
		return false;
	case FILTER_OR:
		for (size_t i = 0; i < f->nsubs; i++)
			if (!ref_filter_ended(rf, f->subs[i]))
				return false;
		return true;
	case FILTER_WHILE:
		return p->ended || ref_filter_ended(rf, f->subs[0]);
	case FILTER_COLUMN_COUNT:
		return p->n > f->numbers[0];
	case FILTER_PAGE:
		return p->rows >= f->numbers[0];
	}
	return p->ended;
}

bool ref_filter_named(const struct filter *f, const struct cell *c)
{
	return bytes_eq(c->family, text(f, 0)) &&
	       bytes_eq(c->qualifier, text(f, 1));
}

/* The greatest prefix that is not behind the qualifier decides alone. */
static struct answer prefixes(const struct ref_filter *rf,
			      const struct filter *f, size_t at)
{
	struct bytes q = rf->cells[at].qualifier;
	const struct buf *before = NULL, *behind = NULL;

	for (size_t i = 0; i < f->ntexts; i++) {
		const struct buf *b = &f->texts[i];

		if (bytes_cmp(buf_bytes(b), q) <= 0 &&
		    (!before || bytes_cmp(buf_bytes(b), buf_bytes(before)) > 0))
			before = b;
		if (bytes_cmp(buf_bytes(b), q) > 0 &&
		    (!behind || bytes_cmp(buf_bytes(b), buf_bytes(behind)) < 0))
			behind = b;
	}
	if (before && bytes_has_prefix(q, buf_bytes(before)))
		return take(at);
	return behind ? seek(rf, at, buf_bytes(behind)) : leave_family(rf, at);
}

static struct answer range(const struct ref_filter *rf, const struct filter *f,
			   size_t at)
{
	struct bytes q = rf->cells[at].qualifier;
	struct bytes min = text(f, 0), max = text(f, 1);

	if (min.len && bytes_cmp(q, min) < 0)
		return seek(rf, at, min);
	if (min.len && !f->flags[0] && bytes_eq(q, min))
		return jump(ref_filter_next_column(rf, at));
	if (!max.len || bytes_cmp(q, max) < 0 ||
	    (f->flags[1] && bytes_eq(q, max)))
		return take(at);
	return leave_family(rf, at);
}

static struct answer times(const struct ref_filter *rf, const struct filter *f,
			   size_t at)
{
	bool older = true; /* than all that are wanted */

	for (size_t i = 0; i < f->nnumbers; i++) {
		if (f->numbers[i] == rf->cells[at].ts)
			return take(at);
		older &= rf->cells[at].ts < f->numbers[i];
	}
	return older ? jump(ref_filter_next_column(rf, at)) : leave(at);
}

static struct answer single_value(struct ref_filter *rf, const struct filter *f,
				  size_t at)
{
	struct part *p = part_of(rf, f);
	bool newest_only = f->flags[1];

	if (p->matched)
		return take(at);
	if (newest_only && p->found)
		return leave_family(rf, at);
	if (!ref_filter_named(f, &rf->cells[at]))
		return take(at);
	p->found = true;
	p->matched = ref_filter_holds(&f->compare, rf->cells[at].value);
	if (!p->matched && newest_only)
		return leave_family(rf, at);
	return take(at);
}

static struct answer dependent(struct ref_filter *rf, const struct filter *f,
			       size_t at)
{
	struct part *p = part_of(rf, f);
	const struct cell *c = &rf->cells[at];

	if (!ref_filter_named(f, c))
		return take(at);
	if (f->compare.kind != COMPARE_NONE &&
	    !ref_filter_holds(&f->compare, c->value))
		return leave(at);
	p->times[p->ntimes++] = c->ts;
	return f->flags[0] ? leave(at) : take(at);
}

static struct answer counted(struct ref_filter *rf, const struct filter *f,
			     size_t at)
{
	struct part *p = part_of(rf, f);
	struct answer a = jump(ref_filter_next_column(rf, at));

	if (f->kind == FILTER_COLUMN_COUNT) {
		a.take = ++p->n <= f->numbers[0];
		return a;
	}
	if (p->n >= f->numbers[0] + f->numbers[1])
		return leave_family(rf, at);
	a.take = p->n++ >= f->numbers[1];
	return a;
}

static struct answer ask_leaf(struct ref_filter *rf, const struct filter *f,
			      size_t at)
{
	struct part *p = part_of(rf, f);
	const struct cell *c = &rf->cells[at];
	bool first = !p->found;

	switch (f->kind) {
	case FILTER_FIRST_KEY_ONLY:
		p->found = true;
		return first ? take(at) : leave_family(rf, at);
	case FILTER_PREFIX:
	case FILTER_ROW:
		return p->bad_row ? leave_family(rf, at) : take(at);
	case FILTER_INCLUSIVE_STOP:
		return p->ended ? leave_family(rf, at) : take(at);
	case FILTER_FAMILY:
		return ref_filter_holds(&f->compare, c->family)
			       ? take(at)
			       : leave_family(rf, at);
	case FILTER_QUALIFIER:
		return ref_filter_holds(&f->compare, c->qualifier) ? take(at)
								   : leave(at);
	case FILTER_VALUE:
		return ref_filter_holds(&f->compare, c->value) ? take(at)
							       : leave(at);
	case FILTER_COLUMN_PREFIX:
	case FILTER_MULTIPLE_COLUMN_PREFIX:
		return prefixes(rf, f, at);
	case FILTER_COLUMN_RANGE:
		return range(rf, f, at);
	case FILTER_TIMESTAMPS:
		return times(rf, f, at);
	case FILTER_COLUMN_COUNT:
	case FILTER_PAGINATION:
		return counted(rf, f, at);
	case FILTER_SINGLE_VALUE:
	case FILTER_SINGLE_VALUE_EXCLUDE:
		return single_value(rf, f, at);
	case FILTER_DEPENDENT:
		return dependent(rf, f, at);
	case FILTER_COLUMN_VALUE:
		if (!ref_filter_named(f, c))
			return jump(p->found ? ref_filter_next_family(rf, at)
					     : ref_filter_next_column(rf, at));
		p->found = true;
		return ref_filter_holds(&f->compare, c->value) ? take(at)
							       : leave(at);
	}
	return take(at); /* KeyOnly, Page */
}

/*
 * All must take it; those behind one that does not are not asked. The farthest
 * place counts.
 */
static struct answer ask_all(struct ref_filter *rf, const struct filter *f,
			     size_t at)
{
	struct answer all = take(at);

	for (size_t i = 0; all.take && i < f->nsubs; i++) {
		struct answer one;

		if (ref_filter_ended(rf, f->subs[i]))
			return leave_family(rf, at);
		one = ref_filter_ask(rf, f->subs[i], at);
		all.take = one.take;
		all.jumps |= one.jumps;
		if (one.next >= all.next) {
			all.seeks = one.seeks;
			all.next = one.next;
		}
	}
	return all;
}

/*
 * One must take it; the nearest place counts. A filter that has jumped is not
 * asked before its place is reached, which counts until then. One that seeks is
 * asked at each cell, and the list goes on cell by cell unless all seek.
 */
static struct answer ask_any(struct ref_filter *rf, const struct filter *f,
			     size_t at)
{
	size_t nearest = SIZE_MAX, asked = 0, seeking = 0;
	struct answer any = {.jumps = true};

	for (size_t i = 0; i < f->nsubs; i++) {
		struct part *p = part_of(rf, f->subs[i]);
		struct answer one;

		p->took = false;
		if (ref_filter_ended(rf, f->subs[i]))
			continue;
		if (at < p->wait) {
			asked++;
			if (p->wait < nearest)
				nearest = p->wait;
			continue;
		}
		one = ref_filter_ask(rf, f->subs[i], at);
		p->wait = one.jumps && !one.seeks ? one.next : 0;
		asked++;
		seeking += one.seeks;
		any.take |= one.take;
		any.jumps &= one.jumps;
		if (one.next < nearest)
			nearest = one.next;
	}
	any.seeks = seeking == f->nsubs;
	any.jumps &= asked && (!seeking || any.seeks);
	any.next = any.jumps ? nearest : at + 1;
	return any;
}

struct answer ref_filter_ask(struct ref_filter *rf, const struct filter *f,
			     size_t at)
{
	struct part *p = part_of(rf, f);
	struct answer a;

	if (f->kind == FILTER_AND)
		a = ask_all(rf, f, at);
	else if (f->kind == FILTER_OR)
		a = ask_any(rf, f, at);
	else if (f->kind == FILTER_SKIP || f->kind == FILTER_WHILE)
		a = ref_filter_ask(rf, f->subs[0], at);
	else
		a = ask_leaf(rf, f, at);
	if (f->kind == FILTER_SKIP)
		p->bad_row |= !a.take || a.jumps;
	if (f->kind == FILTER_WHILE)
		p->ended |= !a.take || a.jumps;
	p->took = a.take;
	return a;
}
