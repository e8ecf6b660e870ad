/*
 * A cursor over literal cells, for tests.
 *
 * Checks that it is called as cursor.h allows, and counts the calls, so that a
 * test can say that something was reached without walking. The qualifier of
 * c->at is copied and spoilt at the next call, as a block that is let go of.
 */
#ifndef CELLFS_TESTS_ARRAY_CURSOR_H
#define CELLFS_TESTS_ARRAY_CURSOR_H

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/cursor.h"

/* Literal cells leave out what they do not need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct array_cell {
	const char *row, *qualifier;
	int64_t ts;
	uint8_t kind;
	uint64_t seq;
	uint64_t ttl_ms;
	const char *value;
};

struct array_cursor {
	struct cursor base;
	const struct array_cell *cells; /* sorted */
	size_t n, at;
	bool placed, in_row;
	char spoilt[64];
	unsigned steps, seeks; /* next; seek_cell */
	unsigned row_seeks;    /* seek_row, seek_exact, seek_back */
	unsigned fails; /* steps and seeks up to one that is -EIO; 0: none */
};

static inline bool array_fails(struct array_cursor *a)
{
	return a->fails && --a->fails == 0;
}

static inline struct entry array_entry(const struct array_cell *a)
{
	return (struct entry){
		.qualifier = bytes_str(a->qualifier ? a->qualifier : ""),
		.ts = a->ts,
		.kind = a->kind,
		.seq = a->seq,
		.ttl_ms = a->ttl_ms,
		.value = bytes_str(a->value ? a->value : ""),
	};
}

static inline int array_cell_cmp(const void *x, const void *y)
{
	const struct array_cell *a = x, *b = y;
	struct entry ea = array_entry(a), eb = array_entry(b);
	int c = strcmp(a->row, b->row);

	return c ? c : entry_cmp(&ea, &eb);
}

static inline void array_sort(struct array_cell *cells, size_t n)
{
	qsort(cells, n, sizeof(*cells), array_cell_cmp);
}

static inline int array_show(struct array_cursor *a)
{
	memset(a->spoilt, '#', sizeof(a->spoilt));
	a->placed = a->in_row = a->at < a->n;
	if (!a->placed)
		return 0;
	a->base.row = bytes_str(a->cells[a->at].row);
	a->base.at = array_entry(&a->cells[a->at]);
	assert(a->base.at.qualifier.len <= sizeof(a->spoilt));
	memcpy(a->spoilt, a->base.at.qualifier.data, a->base.at.qualifier.len);
	a->base.at.qualifier.data = (const uint8_t *)a->spoilt;
	return 1;
}

static inline bool array_same_row(const struct array_cursor *a, size_t i,
				  size_t k)
{
	return strcmp(a->cells[i].row, a->cells[k].row) == 0;
}

static inline int array_seek_row(struct cursor *c, struct bytes row)
{
	struct array_cursor *a = (struct array_cursor *)c;

	a->row_seeks++;
	if (array_fails(a))
		return -EIO;
	a->at = 0;
	while (a->at < a->n &&
	       bytes_cmp(bytes_str(a->cells[a->at].row), row) < 0)
		a->at++;
	return array_show(a);
}

static inline int array_seek_exact(struct cursor *c, struct bytes row)
{
	struct array_cursor *a = (struct array_cursor *)c;
	int r = array_seek_row(c, row);

	if (r == 1 && !bytes_eq(c->row, row)) {
		a->placed = a->in_row = false;
		return 0;
	}
	return r;
}

static inline int array_before(struct array_cursor *a, struct bytes row,
			       bool inclusive)
{
	size_t i = a->n;

	while (i > 0 && row.len) {
		int d = bytes_cmp(bytes_str(a->cells[i - 1].row), row);

		if (d < 0 || (d == 0 && inclusive))
			break;
		i--;
	}
	while (i > 1 && array_same_row(a, i - 2, i - 1))
		i--;
	a->at = i ? i - 1 : a->n;
	return array_show(a);
}

static inline int array_seek_back(struct cursor *c, struct bytes row,
				  bool inclusive)
{
	struct array_cursor *a = (struct array_cursor *)c;

	a->row_seeks++;
	return array_before(a, row, inclusive);
}

static inline int array_next_row(struct cursor *c)
{
	struct array_cursor *a = (struct array_cursor *)c;
	size_t from = a->at;

	assert(a->placed);
	while (a->at < a->n && array_same_row(a, a->at, from))
		a->at++;
	return array_show(a);
}

static inline int array_prev_row(struct cursor *c)
{
	struct array_cursor *a = (struct array_cursor *)c;

	assert(a->placed);
	return array_before(a, c->row, false);
}

/* After the last entry of a row the cursor stays on it, but not in it. */
static inline int array_next(struct cursor *c)
{
	struct array_cursor *a = (struct array_cursor *)c;

	assert(a->placed && a->in_row);
	a->steps++;
	if (array_fails(a))
		return -EIO;
	if (a->at + 1 == a->n || !array_same_row(a, a->at, a->at + 1)) {
		a->in_row = false;
		return 0;
	}
	a->at++;
	return array_show(a);
}

static inline int array_seek_cell(struct cursor *c, struct bytes qualifier,
				  int64_t ts, uint8_t kind)
{
	struct array_cursor *a = (struct array_cursor *)c;

	assert(a->placed && a->in_row);
	a->seeks++;
	if (array_fails(a))
		return -EIO;
	for (;;) {
		const struct entry *e = &c->at;
		int d = bytes_cmp(e->qualifier, qualifier);

		if (!kind_is_family_marker(e->kind) &&
		    (d > 0 || (d == 0 && (e->ts < ts ||
					  (e->ts == ts && e->kind <= kind)))))
			return 1;
		if (a->at + 1 == a->n || !array_same_row(a, a->at, a->at + 1)) {
			a->in_row = false;
			return 0;
		}
		a->at++;
		array_show(a);
	}
}

static inline void array_close(struct cursor *c)
{
}

static inline void array_cursor(struct array_cursor *a,
				const struct array_cell *cells, size_t n)
{
	static const struct cursor_ops ops = {
		.seek_row = array_seek_row,
		.seek_exact = array_seek_exact,
		.seek_back = array_seek_back,
		.next_row = array_next_row,
		.prev_row = array_prev_row,
		.next = array_next,
		.seek_cell = array_seek_cell,
		.close = array_close,
	};

	*a = (struct array_cursor){
		.base = {.ops = &ops},
		.cells = cells,
		.n = n,
	};
}

#endif
