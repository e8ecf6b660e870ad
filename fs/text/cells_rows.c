#include "fs/text/cells_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fs/text/cells_fold.h"
#include "store/value/array.h"

/* The limits of one row, which is one mutation. */
#define ROW_BYTES_MAX (512ull << 20)
#define ROW_LINES_MAX (1u << 20)

static int out_of_memory(void)
{
	return why(-ENOMEM, "out of memory");
}

/*
 * Appends of one column and timestamp make one value. The first of them
 * determines how long that value may become, so that each line costs only its
 * own length.
 */
struct joined {
	struct sorted_node by_column; /* first: the struct is cast to it */
	uint32_t max_value;
	uint64_t len;
};

static void joined_free(struct joined *j)
{
	sorted_node_release(&j->by_column);
	free(j);
}

static void forget_joined(struct cells_rows *rs)
{
	struct sorted_node *n;

	while ((n = sorted_any(&rs->joined))) {
		sorted_remove(&rs->joined, n);
		joined_free((struct joined *)n);
	}
}

void cells_rows_free(struct cells_rows *rs)
{
	buf_free(&rs->bytes);
	buf_free(&rs->folded);
	forget_joined(rs);
	free(rs->rows);
	free(rs->changes);
}

size_t cells_rows_lines(const struct cells_rows *rs)
{
	return rs->nrows ? rs->rows[rs->nrows - 1].nchanges : 0;
}

size_t cells_rows_bytes(const struct cells_rows *rs)
{
	return rs->nrows ? rs->bytes.len - rs->row_at : 0;
}

/* May the line be added to the last row, which is one mutation? */
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

int cells_rows_begin(struct cells_rows *rs, struct bytes key)
{
	rs->row_at = rs->bytes.len;
	if (ARRAY_RESERVE(rs->rows, rs->rows_cap, rs->nrows + 1) < 0 ||
	    buf_append(&rs->bytes, key.data, key.len) < 0)
		return out_of_memory();
	rs->tried = rs->nchanges;
	rs->tried_bytes = rs->bytes.len;
	forget_joined(rs);
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

	if (r < 0)
		return r;
	if (ARRAY_RESERVE(rs->changes, rs->changes_cap, rs->nchanges + 1) < 0 ||
	    buf_reserve(&rs->bytes,
			l->family.len + l->qualifier.len + l->value.len) < 0)
		return out_of_memory();
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
	return 0;
}

static struct bytes cut(const uint8_t **p, size_t len)
{
	struct bytes b = bytes_of(*p, len);

	*p += len;
	return b;
}

/* Points rows and changes into bytes, which does not grow any more. */
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

/*
 * Applies at most @n rows behind *done. What the store keeps back of a disk or
 * a quota is for the first one alone, if its writer was told that it is taken.
 */
static int mutate_some(struct cells_rows *rs, size_t n, size_t *done)
{
	bool told = rs->admitted && *done == 0;
	size_t some = 0;
	int r = table_mutate_many(rs->table, rs->rows + *done, told ? 1 : n,
				  rs->flags | (told ? MUTATE_ADMITTED : 0),
				  &some);

	*done += some;
	return r;
}

/*
 * As table_mutate_many(), but a row that is refused does not stop those before
 * it.
 */
static int mutate(struct cells_rows *rs, size_t nrows, size_t *done)
{
	int r = 0;

	if (rs->before)
		rs->before(rs->arg, rs->rows, nrows, 0);
	*done = 0;
	if (rs->admitted)
		r = mutate_some(rs, 1, done);
	if (r == 0 && *done < nrows)
		r = mutate_some(rs, nrows - *done, done);
	if (*done == nrows)
		return r;
	do
		r = mutate_some(rs, 1, done);
	while (r == 0 && *done < nrows);
	return r;
}

int cells_rows_apply(struct cells_rows *rs, size_t nrows)
{
	size_t done = 0, begun = nrows, bad = 0;
	int r, folded;

	point(rs);
	folded = cells_fold(rs->rows, nrows, &rs->folded, &bad);
	if (folded < 0)
		begun = bad;
	r = begun ? mutate(rs, begun, &done) : 0;
	if (r == 0 && folded < 0)
		r = folded == -EINVAL
			    ? why(folded, "an increment of the row adds to a "
					  "value that the row puts and that is "
					  "no counter: one has 8 bytes")
			    : out_of_memory();
	if (rs->after && begun)
		rs->after(rs->arg, rs->rows, begun, done);
	/* Each change is a line, in the order of reading. */
	rs->bad = done < rs->nrows
			  ? (size_t)(rs->rows[done].changes - rs->changes)
			  : rs->nchanges;
	rs->lines_applied += rs->bad;
	rs->nrows = rs->nchanges = rs->bytes.len = 0;
	rs->admitted = false;
	return r;
}

/* Applies all rows but the last, which then is the first. */
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

/* Finds the length of the present value, and the longest allowed. */
static int look_at_value(struct cells_rows *rs, const struct change *c,
			 struct joined *j)
{
	struct bytes row = bytes_of(rs->bytes.data, rs->rows[0].row.len);
	struct schema schema = {0};
	struct cell cell;
	int r = table_schema(rs->table, &schema), at;

	if (r < 0)
		return r;
	at = schema_find(&schema, c->family);
	j->max_value = at < 0 ? 0 : schema.families[at].attrs.max_value;
	schema_free(&schema);
	r = table_get(rs->table, row, c->family, c->qualifier, TS_MAX, NULL,
		      &cell, NULL);
	j->len = r > 0 ? cell.value.len : 0;
	return r < 0 ? r : 0;
}

/* Makes an entry for @name without appends; NULL without memory. */
static struct joined *joined_new(struct bytes family, struct bytes name)
{
	struct joined *j = calloc(1, sizeof(*j));

	if (j && sorted_node_init(&j->by_column, family, name) < 0) {
		free(j);
		j = NULL;
	}
	return j;
}

/* Finds the entry for the change's column: 1 found, 0 made, -ENOMEM. */
static int find_joined(struct cells_rows *rs, const struct change *c,
		       struct joined **out)
{
	struct buf name = {0};
	struct joined *j = NULL;
	bool found = false;

	if (buf_append(&name, &c->ts, sizeof(c->ts)) == 0 &&
	    buf_append(&name, c->qualifier.data, c->qualifier.len) == 0) {
		j = (struct joined *)sorted_find(&rs->joined, c->family,
						 buf_bytes(&name));
		found = j;
		if (!found)
			j = joined_new(c->family, buf_bytes(&name));
	}
	buf_free(&name);
	if (!j)
		return out_of_memory();
	if (!found)
		sorted_insert(&rs->joined, &j->by_column);
	*out = j;
	return found;
}

/* Would the store accept the append together with those before it? */
static int try_append(struct cells_rows *rs, struct mutation *m)
{
	const struct change *c = m->changes;
	struct joined *j;
	int r = find_joined(rs, c, &j);

	if (r == 0) {
		r = table_mutate_try(rs->table, m);
		if (r >= 0)
			r = look_at_value(rs, c, j);
	}
	if (r < 0)
		return r;
	j->len += c->value.len;
	if (j->len <= j->max_value)
		return 0;
	return why(-EFBIG,
		   "a value of %" PRIu64 " bytes is over max_value %" PRIu32
		   " of family %.*s",
		   j->len, j->max_value, (int)c->family.len,
		   (const char *)c->family.data);
}

/* Would the store accept the lines since the last call? */
static bool are_taken(struct cells_rows *rs)
{
	struct mutation m = {.changes = rs->changes + rs->tried,
			     .nchanges = rs->nchanges - rs->tried};

	for (size_t i = 0; i < m.nchanges; i++)
		if (m.changes[i].op == CHANGE_APPEND)
			return false;
	point(rs);
	m.row = rs->rows[0].row;
	return table_mutate_try(rs->table, &m) >= 0;
}

/*
 * Asks the store about the lines since the last call: together, then about each, so
 * that the bad one is known. Only appends can be too much together.
 */
static int try_lines(struct cells_rows *rs)
{
	const uint8_t *p = rs->bytes.data + rs->tried_bytes;
	int r = 0;

	if (are_taken(rs))
		rs->tried = rs->nchanges;
	for (; rs->tried < rs->nchanges; rs->tried++) {
		struct change one = rs->changes[rs->tried];
		struct mutation m = {
			.row = bytes_of(rs->bytes.data, rs->rows[0].row.len),
			.changes = &one,
			.nchanges = 1,
		};

		one.family = cut(&p, one.family.len);
		one.qualifier = cut(&p, one.qualifier.len);
		one.value = cut(&p, one.value.len);
		r = one.op == CHANGE_APPEND ? try_append(rs, &m)
					    : table_mutate_try(rs->table, &m);
		if (r < 0)
			return r;
	}
	rs->tried_bytes = rs->bytes.len;
	return 0;
}

int cells_rows_settle(struct cells_rows *rs, size_t *moved)
{
	int r = 0;

	*moved = 0;
	if (rs->nrows > 1)
		r = apply_whole_rows(rs, moved);
	if (r < 0 || rs->tried >= rs->nchanges)
		return r;
	rs->bad = rs->tried;
	r = try_lines(rs);
	rs->admitted = r == 0;
	if (r < 0)
		rs->bad = rs->tried;
	return r;
}
