#include "fs/cells_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cells_fold.h"

/* One row: what the store takes as one mutation. */
#define ROW_BYTES_MAX (512ull << 20)
#define ROW_LINES_MAX (1u << 20)

void cells_rows_free(struct cells_rows *rs)
{
	buf_free(&rs->bytes);
	buf_free(&rs->folded);
	free(rs->rows);
	free(rs->changes);
}

/* -- gathering ------------------------------------------------------------ */

size_t cells_rows_lines(const struct cells_rows *rs)
{
	return rs->nrows ? rs->rows[rs->nrows - 1].nchanges : 0;
}

size_t cells_rows_bytes(const struct cells_rows *rs)
{
	return rs->nrows ? rs->bytes.len - rs->row_at : 0;
}

/* May the last row, which is one mutation, have this line too? */
static int check_row(const struct cells_rows *rs, const struct cells_line *l)
{
	size_t more = l->family.len + l->qualifier.len + l->value.len;

	if (rs->rows[rs->nrows - 1].nchanges >= ROW_LINES_MAX)
		return why(-EFBIG,
			   "one row of more than %u lines, which are one act: "
			   "put a line of another row between",
			   ROW_LINES_MAX);
	if (rs->bytes.len - rs->row_at + more > ROW_BYTES_MAX)
		return why(-EFBIG,
			   "one row of more than %llu bytes, which are one "
			   "act: put a line of another row between",
			   ROW_BYTES_MAX);
	return 0;
}

static int grow(void **p, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? 2 * *cap : 64;
	void *q;

	if (n < *cap)
		return 0;
	q = realloc(*p, more * size);
	if (!q)
		return why(-ENOMEM, "out of memory");
	*p = q;
	*cap = more;
	return 0;
}

int cells_rows_begin(struct cells_rows *rs, struct bytes key)
{
	int r = grow((void **)&rs->rows, &rs->rows_cap, rs->nrows,
		     sizeof(*rs->rows));

	if (r < 0)
		return r;
	rs->row_at = rs->bytes.len;
	r = buf_append(&rs->bytes, key.data, key.len);
	if (r < 0)
		return why(r, "out of memory");
	rs->tried = rs->nchanges;
	rs->tried_bytes = rs->bytes.len;
	rs->appends = false;
	rs->rows[rs->nrows++] = (struct mutation){.row = key};
	return 0;
}

bool cells_rows_is_last(const struct cells_rows *rs, struct bytes key)
{
	return rs->nrows &&
	       bytes_eq(key, bytes_of(rs->bytes.data + rs->row_at,
				      rs->rows[rs->nrows - 1].row.len));
}

int cells_rows_add(struct cells_rows *rs, const struct cells_line *l)
{
	const struct bytes parts[] = {l->family, l->qualifier, l->value};
	int r = check_row(rs, l);

	if (r == 0)
		r = grow((void **)&rs->changes, &rs->changes_cap, rs->nchanges,
			 sizeof(*rs->changes));
	if (r < 0)
		return r;
	r = buf_reserve(&rs->bytes,
			l->family.len + l->qualifier.len + l->value.len);
	if (r < 0)
		return why(r, "out of memory");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].len)
			memcpy(rs->bytes.data + rs->bytes.len, parts[i].data,
			       parts[i].len);
		rs->bytes.len += parts[i].len;
	}
	rs->changes[rs->nchanges++] = (struct change){
		.op = l->op,
		.ts = l->ts,
		.delta = l->delta,
		.ttl_ms = l->ttl_ms,
		.family = l->family,
		.qualifier = l->qualifier,
		.value = l->value,
	};
	rs->rows[rs->nrows - 1].nchanges++;
	rs->appends |= l->op == CHANGE_APPEND;
	return 0;
}

/* -- applying ------------------------------------------------------------- */

static struct bytes cut(const uint8_t **p, size_t len)
{
	struct bytes b = bytes_of(*p, len);

	*p += len;
	return b;
}

/* Gives the rows and changes their places in bytes, which is at rest now. */
static void point(struct cells_rows *rs)
{
	const uint8_t *p = rs->bytes.data;
	struct change *c = rs->changes;

	for (size_t i = 0; i < rs->nrows; i++) {
		struct mutation *m = &rs->rows[i];

		m->row = cut(&p, m->row.len);
		m->changes = c;
		for (size_t k = 0; k < m->nchanges; k++, c++) {
			c->family = cut(&p, c->family.len);
			c->qualifier = cut(&p, c->qualifier.len);
			c->value = cut(&p, c->value.len);
		}
	}
}

/* As table_mutate_many(), which may refuse all for the sake of one. */
static int mutate(struct cells_rows *rs, size_t nrows, size_t *done)
{
	int r = table_mutate_many(rs->table, rs->rows, nrows, rs->flags, done);

	if (*done == nrows)
		return r;
	do {
		size_t one = 0;

		r = table_mutate_many(rs->table, rs->rows + *done, 1, rs->flags,
				      &one);
		*done += one;
	} while (r == 0 && *done < nrows);
	return r;
}

int cells_rows_apply(struct cells_rows *rs, size_t nrows)
{
	size_t done = 0;
	int r = 0;

	point(rs);
	if (cells_fold(rs->rows, nrows, &rs->folded) < 0)
		r = why(-ENOMEM, "out of memory");
	else if (nrows)
		r = mutate(rs, nrows, &done);
	for (size_t i = 0; rs->applied && i < done; i++)
		rs->applied(rs->applied_arg, rs->rows[i].row);
	/* A change a line, as they came. */
	rs->bad = done < rs->nrows
			  ? (size_t)(rs->rows[done].changes - rs->changes)
			  : rs->nchanges;
	rs->lines_applied += rs->bad;
	rs->nrows = rs->nchanges = rs->bytes.len = 0;
	return r;
}

/* -- asking ahead ---------------------------------------------------------- */

/* The last row becomes the only one; those before it are applied. */
static int apply_whole_rows(struct cells_rows *rs, size_t *moved)
{
	struct mutation last = rs->rows[rs->nrows - 1];
	size_t changes = rs->nchanges - last.nchanges;
	size_t bytes = rs->bytes.len - rs->row_at, at = rs->row_at;
	int r = cells_rows_apply(rs, rs->nrows - 1);

	if (r < 0)
		return r;
	memmove(rs->bytes.data, rs->bytes.data + at, bytes);
	memmove(rs->changes, rs->changes + changes,
		last.nchanges * sizeof(*rs->changes));
	rs->bytes.len = bytes;
	rs->nchanges = last.nchanges;
	rs->rows[0] = last;
	rs->nrows = 1;
	rs->row_at = rs->tried = 0;
	rs->tried_bytes = last.row.len;
	*moved = changes;
	return 0;
}

/* Would the store take these changes of the row that waits? */
static int try_changes(struct cells_rows *rs, struct change *c, size_t n)
{
	struct mutation m = {
		.row = bytes_of(rs->bytes.data, rs->rows[0].row.len),
		.changes = c,
		.nchanges = n,
	};
	int r = cells_fold(&m, 1, &rs->folded);

	if (r == 0)
		r = table_mutate_try(rs->table, &m);
	return r < 0 ? r : 0;
}

/*
 * Asks of each line that came since the last time, so that the bad one is
 * known. Lines may be too much together only where they append.
 */
static int try_lines(struct cells_rows *rs, struct change *c)
{
	const uint8_t *p = rs->bytes.data + rs->tried_bytes;
	size_t n = 0;

	for (; rs->tried < rs->nchanges; rs->tried++) {
		struct change one = rs->changes[rs->tried];
		int r;

		one.family = cut(&p, one.family.len);
		one.qualifier = cut(&p, one.qualifier.len);
		one.value = cut(&p, one.value.len);
		r = try_changes(rs, &one, 1);
		if (r < 0)
			return r;
	}
	rs->tried_bytes = rs->bytes.len;
	if (!rs->appends)
		return 0;
	p = rs->bytes.data + rs->rows[0].row.len;
	for (size_t i = 0; i < rs->nchanges; i++) {
		struct change one = rs->changes[i];

		one.family = cut(&p, one.family.len);
		one.qualifier = cut(&p, one.qualifier.len);
		one.value = cut(&p, one.value.len);
		if (one.op == CHANGE_APPEND)
			c[n++] = one;
	}
	rs->tried--;
	return try_changes(rs, c, n);
}

int cells_rows_settle(struct cells_rows *rs, size_t *moved)
{
	struct change *c = NULL;
	int r = 0;

	*moved = 0;
	if (rs->nrows > 1)
		r = apply_whole_rows(rs, moved);
	if (r < 0 || rs->tried >= rs->nchanges)
		return r;
	rs->bad = rs->tried;
	if (rs->appends) {
		c = malloc(rs->nchanges * sizeof(*c));
		if (!c)
			return why(-ENOMEM, "out of memory");
	}
	r = try_lines(rs, c);
	free(c);
	if (r < 0)
		rs->bad = rs->tried;
	else
		rs->tried = rs->nchanges;
	return r;
}
