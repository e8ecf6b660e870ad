#include <errno.h>
#include <stdlib.h>

#include "tests/hbase/case.h"

/* HBase's limit on a cell as it is sent, with its lengths and type. */
#define CELL_BYTES_MAX 10485760
#define CELL_OVERHEAD (8 + 12)

struct building {
	struct run *r;
	struct bytes row;
	struct change *changes;
	size_t n;
	struct check check;
	bool checked;
};

static int begin(struct building *b, struct run *r, json_t *step)
{
	*b = (struct building){.r = r};
	b->row = text_bytes(r, json_object_get(step, "row"));
	return check_row(r, b->row);
}

static struct change *add(struct building *b)
{
	struct change *more =
		step_alloc(b->r, (b->n + 1) * sizeof(struct change));

	if (b->n)
		memcpy(more, b->changes, b->n * sizeof(*more));
	b->changes = more;
	return &b->changes[b->n++];
}

static int add_put(struct building *b, json_t *cells, json_t *ttl)
{
	json_t *at;
	size_t i;

	if (!json_array_size(cells))
		return refuse(b->r, E_ILLEGAL);
	json_array_foreach(cells, i, at)
	{
		struct column_name c = text_column(b->r, json_array_get(at, 0));
		struct change *ch = add(b);

		*ch = (struct change){
			.op = CHANGE_PUT,
			.family = c.family,
			.qualifier = c.qualifier,
			.value = text_bytes(b->r, json_array_get(at, 2)),
			.ttl_ms = (uint64_t)json_integer_value(ttl),
		};
		if (text_ts(b->r, json_array_get(at, 1), &ch->ts) < 0)
			return -1;
		if (CELL_OVERHEAD + b->row.len + c.family.len +
			    c.qualifier.len + ch->value.len >
		    CELL_BYTES_MAX)
			return refuse(b->r, E_ILLEGAL);
	}
	return 0;
}

static int delete_op(const char *type)
{
	static const struct {
		const char *name;
		int op;
	} ops[] = {
		{"Delete", CHANGE_DELETE},
		{"DeleteColumn", CHANGE_DELETE_COLUMN},
		{"DeleteFamily", CHANGE_DELETE_FAMILY},
		{"DeleteFamilyVersion", CHANGE_DELETE_FAMILY_VERSION},
	};

	for (size_t i = 0; type && i < 4; i++)
		if (!strcmp(ops[i].name, type))
			return ops[i].op;
	return -1;
}

/* The client forgets what a delete said of a family that it deletes whole. */
static void forget_family(struct building *b, size_t from, struct bytes family)
{
	size_t n = from;

	for (size_t i = from; i < b->n; i++)
		if (!bytes_eq(b->changes[i].family, family))
			b->changes[n++] = b->changes[i];
	b->n = n;
}

static int add_delete(struct building *b, json_t *items, json_t *ts)
{
	size_t i, from = b->n;
	struct change *ch;
	json_t *at;

	if (!json_array_size(items)) {
		ch = add(b);
		*ch = (struct change){.op = CHANGE_DELETE_ROW};
		return text_ts(b->r, ts, &ch->ts);
	}
	json_array_foreach(items, i, at)
	{
		struct column_name c = text_column(b->r, json_array_get(at, 1));
		int op = delete_op(json_string_value(json_array_get(at, 0)));
		int64_t when;

		if (op < 0 || text_ts(b->r, json_array_get(at, 2), &when) < 0)
			return refuse(b->r, E_ILLEGAL);
		if (op == CHANGE_DELETE_FAMILY_VERSION && when == TS_CLOCK)
			return refuse(b->r, E_ILLEGAL);
		if (op == CHANGE_DELETE_FAMILY)
			forget_family(b, from, c.family);
		ch = add(b);
		*ch = (struct change){
			.op = (uint8_t)op,
			.family = c.family,
			.qualifier = kind_is_family_marker((uint8_t)op)
					     ? (struct bytes){0}
					     : c.qualifier,
			.ts = when,
		};
	}
	return 0;
}

static int add_all(struct building *b, json_t *muts)
{
	json_t *at;
	size_t i;
	int r = 0;

	json_array_foreach(muts, i, at)
	{
		json_t *row = json_object_get(at, "row");

		if (row && !bytes_eq(text_bytes(b->r, row), b->row))
			return refuse(b->r, E_NO_RETRY);
		if (json_object_get(at, "put"))
			r = add_put(b, json_object_get(at, "put"),
				    json_object_get(at, "ttl"));
		else
			r = add_delete(b, json_object_get(at, "delete"),
				       json_object_get(at, "ts"));
		if (r < 0)
			return r;
	}
	return b->n ? 0 : refuse(b->r, E_ILLEGAL);
}

/* 1 applied, 0 a check did not hold, -1 refused. */
static int apply(struct building *b, json_t *step)
{
	struct mutation m = {
		.row = b->row,
		.changes = b->changes,
		.nchanges = b->n,
		.checks = &b->check,
		.nchecks = b->checked,
	};
	struct table *t;
	int r;

	if (step_table(b->r, step, &t) < 0)
		return -1;
	r = table_mutate(t, &m, 0);
	table_unref(t);
	return r < 0 ? refuse_errno(b->r, r) : r;
}

int step_put(struct run *r, json_t *step)
{
	struct building b;

	if (begin(&b, r, step) < 0 ||
	    add_put(&b, json_object_get(step, "cells"),
		    json_object_get(step, "ttl")) < 0)
		return -1;
	return apply(&b, step) < 0 ? -1 : 0;
}

int step_delete(struct run *r, json_t *step)
{
	struct building b;

	if (begin(&b, r, step) < 0 ||
	    add_delete(&b, json_object_get(step, "items"),
		       json_object_get(step, "ts")) < 0)
		return -1;
	return apply(&b, step) < 0 ? -1 : 0;
}

int step_mutate_row(struct run *r, json_t *step)
{
	struct building b;

	if (begin(&b, r, step) < 0 ||
	    add_all(&b, json_object_get(step, "muts")) < 0)
		return -1;
	return apply(&b, step) < 0 ? -1 : 0;
}

int step_check_and_mutate(struct run *r, json_t *step)
{
	static const char *const names[] = {"EQUAL",   "NOT_EQUAL",
					    "LESS",    "LESS_OR_EQUAL",
					    "GREATER", "GREATER_OR_EQUAL"};
	const char *cmp = json_string_value(json_object_get(step, "cmp"));
	struct column_name c = text_column(r, json_object_get(step, "col"));
	struct building b;
	int held;

	if (begin(&b, r, step) < 0 ||
	    add_all(&b, json_object_get(step, "muts")) < 0)
		return -1;
	b.checked = true;
	b.check = (struct check){
		.op = CHECK_EQUAL,
		.family = c.family,
		.qualifier = c.qualifier,
		.value = text_bytes(r, json_object_get(step, "value")),
	};
	for (uint8_t i = 0; cmp && i < 6; i++)
		if (!strcmp(cmp, names[i]))
			b.check.op = CHECK_EQUAL + i;
	held = apply(&b, step);
	if (held < 0)
		return -1;
	r->answer = json_boolean(held);
	return 0;
}

static int by_column(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int c = bytes_cmp(x->family, y->family);

	return c ? c : bytes_cmp(x->qualifier, y->qualifier);
}

static int add_counters(struct building *b, json_t *step, uint8_t op)
{
	json_t *tr = json_object_get(step, "tr");
	json_t *at;
	size_t i;

	json_array_foreach(json_object_get(step, "cols"), i, at)
	{
		struct column_name c = text_column(b->r, json_array_get(at, 0));
		json_t *arg = json_array_get(at, 1);
		struct change *ch = add(b);

		*ch = (struct change){
			.op = op,
			.family = c.family,
			.qualifier = c.qualifier,
			.ts = TS_CLOCK,
			.ttl_ms = (uint64_t)json_integer_value(
				json_object_get(step, "ttl")),
		};
		if (op == CHANGE_INCREMENT)
			ch->delta = json_integer_value(arg);
		else
			ch->value = text_bytes(b->r, arg);
		if (tr &&
		    (text_ts(b->r, json_array_get(tr, 0), &ch->ts_min) < 0 ||
		     text_ts(b->r, json_array_get(tr, 1), &ch->ts_max) < 0))
			return -1;
	}
	return b->n ? 0 : refuse(b->r, E_ILLEGAL);
}

int step_increment(struct run *r, json_t *step)
{
	struct building b;

	if (begin(&b, r, step) < 0 ||
	    add_counters(&b, step, CHANGE_INCREMENT) < 0 || apply(&b, step) < 0)
		return -1;
	qsort(b.changes, b.n, sizeof(*b.changes), by_column);
	r->answer = json_array();
	for (size_t i = 0; i < b.n; i++) {
		struct cell c = {.family = b.changes[i].family,
				 .qualifier = b.changes[i].qualifier};

		json_array_append_new(
			r->answer,
			json_pack("[oI]", text_render_column(&c),
				  (json_int_t)b.changes[i].result_int));
	}
	return 0;
}

int step_append(struct run *r, json_t *step)
{
	struct building b;
	struct table *t;
	int err = 0;

	if (begin(&b, r, step) < 0 ||
	    add_counters(&b, step, CHANGE_APPEND) < 0 || apply(&b, step) < 0 ||
	    step_table(r, step, &t) < 0)
		return -1;
	qsort(b.changes, b.n, sizeof(*b.changes), by_column);
	r->answer = json_array();
	for (size_t i = 0; i < b.n && err >= 0; i++) {
		struct change *ch = &b.changes[i];
		struct buf hold = {0};
		struct cell c = {0};

		err = table_get_version(t, b.row, ch->family, ch->qualifier,
					ch->ts_given, NULL, &c, &hold);
		if (err > 0)
			json_array_append_new(r->answer,
					      json_pack("[oo]",
							text_render_column(&c),
							text_render(c.value)));
		buf_free(&hold);
	}
	table_unref(t);
	return err < 0 ? refuse_errno(r, err) : 0;
}
