/*
 * Changes of rows.
 *
 * store.h writes what became of a change into the change itself. Here a caller's
 * mutation is const: its changes are converted into memory of the call, on the
 * stack while they are few. No value is copied.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/front/args.h"
#include "store/library/convert.h"

#define SAME_KIND(kind, op) _Static_assert((int)(kind) == (int)(op), #kind)

SAME_KIND(CELLFS_PUT, CHANGE_PUT);
SAME_KIND(CELLFS_DELETE_VERSION, CHANGE_DELETE);
SAME_KIND(CELLFS_DELETE_FAMILY_VERSION, CHANGE_DELETE_FAMILY_VERSION);
SAME_KIND(CELLFS_DELETE_COLUMN, CHANGE_DELETE_COLUMN);
SAME_KIND(CELLFS_DELETE_FAMILY, CHANGE_DELETE_FAMILY);
SAME_KIND(CELLFS_DELETE_ROW, CHANGE_DELETE_ROW);
SAME_KIND(CELLFS_INCREMENT, CHANGE_INCREMENT);
SAME_KIND(CELLFS_APPEND, CHANGE_APPEND);

SAME_KIND(CELLFS_CHECK_ABSENT, CHECK_ABSENT);
SAME_KIND(CELLFS_CHECK_PRESENT, CHECK_PRESENT);
SAME_KIND(CELLFS_CHECK_NEWEST, CHECK_NEWEST_TS);
SAME_KIND(CELLFS_CHECK_VERSION_ABSENT, CHECK_VERSION_ABSENT);
SAME_KIND(CELLFS_CHECK_VERSION_PRESENT, CHECK_VERSION_PRESENT);
SAME_KIND(CELLFS_CHECK_EQUAL, CHECK_EQUAL);
SAME_KIND(CELLFS_CHECK_NOT_EQUAL, CHECK_NOT_EQUAL);
SAME_KIND(CELLFS_CHECK_LESS, CHECK_LESS);
SAME_KIND(CELLFS_CHECK_LESS_OR_EQUAL, CHECK_LESS_OR_EQUAL);
SAME_KIND(CELLFS_CHECK_GREATER, CHECK_GREATER);
SAME_KIND(CELLFS_CHECK_GREATER_OR_EQUAL, CHECK_GREATER_OR_EQUAL);
SAME_KIND(CELLFS_CHECK_VERSION_EQUAL, CHECK_VERSION_EQUAL);

SAME_KIND(CELLFS_SYNC, MUTATE_SYNC);

/* Mutations as store.h takes them; what they need is in one of two places. */
struct rows {
	struct mutation *row;
	struct change *changes;
	struct check *checks;
	void *memory; /* NULL: the fields below are enough */
	struct mutation one;
	struct change few[4];
	struct check one_check;
};

static int rows_alloc(struct rows *r, const struct cellfs_mutation *m, size_t n)
{
	size_t nchanges = 0, nchecks = 0;

	r->memory = NULL;
	for (size_t i = 0; i < n; i++) {
		nchanges += m[i].nchanges;
		nchecks += m[i].nchecks;
	}
	if (n == 1 && nchanges <= sizeof(r->few) / sizeof(*r->few) &&
	    nchecks <= 1) {
		r->row = &r->one;
		r->changes = r->few;
		r->checks = &r->one_check;
		return 0;
	}
	r->memory =
		malloc(n * sizeof(*r->row) + nchanges * sizeof(*r->changes) +
		       nchecks * sizeof(*r->checks));
	if (!r->memory) {
		r->changes = NULL;
		r->checks = NULL;
		return why(-ENOMEM, "out of memory for %zu changes", nchanges);
	}
	r->row = (struct mutation *)r->memory;
	r->changes = (struct change *)(r->row + n);
	r->checks = (struct check *)(r->changes + nchanges);
	return 0;
}

static int change_in(const struct cellfs_change *c, struct change *out)
{
	*out = (struct change){
		/* 0 is no operation: no kind may become another. */
		.op = (unsigned)c->kind <= UINT8_MAX ? (uint8_t)c->kind : 0,
		.family = bytes_in(c->family),
		.qualifier = bytes_in(c->qualifier),
		.ts = c->ts.set ? c->ts.ms : TS_AUTO,
		.ttl_ms = c->ttl_ms,
		.delta = c->delta,
		.value = bytes_in(c->value),
	};
	return c->ts.set ? args_ts(c->ts.ms) : 0;
}

static void check_in(const struct cellfs_check *k, struct check *out)
{
	*out = (struct check){
		.op = (unsigned)k->kind < CHECKS ? (uint8_t)k->kind : CHECKS,
		.family = bytes_in(k->family),
		.qualifier = bytes_in(k->qualifier),
		.ts = k->ts_ms,
		.value = bytes_in(k->value),
	};
}

static int rows_in(struct rows *r, const struct cellfs_mutation *m, size_t n,
		   unsigned flags)
{
	struct change *change;
	struct check *check;
	int e;

	why_clear();
	e = rows_alloc(r, m, n);
	if (e == 0 && flags & ~(unsigned)CELLFS_SYNC)
		e = why(-EINVAL, "the flags are CELLFS_SYNC or 0, not 0x%x",
			flags);
	change = r->changes;
	check = r->checks;
	for (size_t i = 0; e == 0 && i < n; i++) {
		r->row[i] = (struct mutation){
			.row = bytes_in(m[i].row),
			.changes = change,
			.nchanges = m[i].nchanges,
			.checks = check,
			.nchecks = m[i].nchecks,
		};
		for (size_t j = 0; e == 0 && j < m[i].nchanges; j++)
			e = change_in(&m[i].changes[j], change++);
		for (size_t j = 0; j < m[i].nchecks; j++)
			check_in(&m[i].checks[j], check++);
	}
	return e;
}

int cellfs_mutate(struct cellfs_table *t, const struct cellfs_mutation *m,
		  struct cellfs_result *results, unsigned flags)
{
	struct rows rows;
	int r = rows_in(&rows, m, 1, flags);

	if (r == 0)
		r = table_mutate(table_in(t), rows.row, flags & CELLFS_SYNC);
	for (size_t i = 0; r > 0 && results && i < m->nchanges; i++) {
		results[i].ts_ms = rows.changes[i].ts_given;
		results[i].number = rows.changes[i].result_int;
	}
	free(rows.memory);
	return r;
}

int cellfs_mutate_many(struct cellfs_table *t, const struct cellfs_mutation *m,
		       size_t n, unsigned flags, size_t *done)
{
	struct rows rows;
	size_t applied = 0;
	int r = rows_in(&rows, m, n, flags);

	if (r == 0)
		r = table_mutate_many(table_in(t), rows.row, n,
				      flags & CELLFS_SYNC, &applied);
	if (done)
		*done = applied;
	free(rows.memory);
	return r;
}

/* Applies one change of a row. 0 or an error. */
static int change_row(struct cellfs_table *t, struct cellfs_bytes row,
		      struct change *c)
{
	struct mutation m = {
		.row = bytes_in(row),
		.changes = c,
		.nchanges = 1,
	};
	int r = table_mutate(table_in(t), &m, 0);

	return r < 0 ? r : 0;
}

/* The same of one column, at the time that the store gives it. */
static int change_column(struct cellfs_table *t, struct cellfs_bytes row,
			 struct cellfs_bytes family,
			 struct cellfs_bytes qualifier, struct change *c)
{
	c->family = bytes_in(family);
	c->qualifier = bytes_in(qualifier);
	c->ts = TS_AUTO;
	return change_row(t, row, c);
}

int cellfs_put(struct cellfs_table *t, struct cellfs_bytes row,
	       struct cellfs_bytes family, struct cellfs_bytes qualifier,
	       struct cellfs_bytes value)
{
	struct change c = {.op = CHANGE_PUT, .value = bytes_in(value)};

	return change_column(t, row, family, qualifier, &c);
}

int cellfs_delete(struct cellfs_table *t, struct cellfs_bytes row,
		  struct cellfs_bytes family, struct cellfs_bytes qualifier)
{
	struct change c = {.op = CHANGE_DELETE_COLUMN};

	return change_column(t, row, family, qualifier, &c);
}

int cellfs_delete_row(struct cellfs_table *t, struct cellfs_bytes row)
{
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};

	return change_row(t, row, &c);
}

int cellfs_increment(struct cellfs_table *t, struct cellfs_bytes row,
		     struct cellfs_bytes family, struct cellfs_bytes qualifier,
		     int64_t delta, int64_t *result)
{
	struct change c = {.op = CHANGE_INCREMENT, .delta = delta};
	int r = change_column(t, row, family, qualifier, &c);

	if (r == 0 && result)
		*result = c.result_int;
	return r;
}

int cellfs_append(struct cellfs_table *t, struct cellfs_bytes row,
		  struct cellfs_bytes family, struct cellfs_bytes qualifier,
		  struct cellfs_bytes value)
{
	struct change c = {.op = CHANGE_APPEND, .value = bytes_in(value)};

	return change_column(t, row, family, qualifier, &c);
}
