#include "tools/feed/give.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/text/cells.h"
#include "store/value/array.h"
#include "tools/feed/format.h"
#include "tools/line/args.h"
#include "tools/line/fail.h"
#include "tools/line/print.h"
#include "tools/progress/progress.h"

struct column {
	struct buf family, qualifier, name; /* as the head has it */
	size_t value, len;		    /* in give.values */
	bool has, bare;
};

struct give {
	struct request *rq;
	const struct format *format;
	const char *key;
	struct column *columns; /* of the head, or of the row so far */
	size_t n, cap;
	size_t next; /* where the next cell's column probably is */
	struct buf row, values, out;
	struct record rec;
};

static int no_memory(void)
{
	return why(-ENOMEM, "out of memory");
}

static bool is(const struct column *c, struct bytes family,
	       struct bytes qualifier)
{
	return bytes_eq(buf_bytes(&c->family), family) &&
	       bytes_eq(buf_bytes(&c->qualifier), qualifier);
}

static struct column *find(struct give *g, struct bytes family,
			   struct bytes qualifier)
{
	for (size_t i = 0; i < g->n; i++) {
		struct column *c = &g->columns[(g->next + i) % g->n];

		if (is(c, family, qualifier)) {
			g->next = (size_t)(c - g->columns) + 1;
			return c;
		}
	}
	return NULL;
}

/* Adds a column at @at. */
static int add(struct give *g, size_t at, struct bytes family,
	       struct bytes qualifier)
{
	struct column c = {.has = false};
	int r = ARRAY_RESERVE(g->columns, g->cap, g->n + 1);

	if (r == 0)
		r = buf_set(&c.family, family);
	if (r == 0)
		r = buf_set(&c.qualifier, qualifier);
	if (r == 0)
		r = cells_format_name(family, &c.name);
	if (r == 0)
		r = buf_append(&c.name, ":", 1);
	if (r == 0)
		r = cells_format_name(qualifier, &c.name);
	if (r < 0) {
		buf_free(&c.family);
		buf_free(&c.qualifier);
		buf_free(&c.name);
		return no_memory();
	}
	memmove(&g->columns[at + 1], &g->columns[at],
		(g->n - at) * sizeof(*g->columns));
	g->columns[at] = c;
	g->n++;
	return 0;
}

static void drop_columns(struct give *g)
{
	for (size_t i = 0; i < g->n; i++) {
		buf_free(&g->columns[i].family);
		buf_free(&g->columns[i].qualifier);
		buf_free(&g->columns[i].name);
	}
	g->n = 0;
}

/* Adds the column in its order, unless it is there. */
static int add_found(struct give *g, const struct cell *c)
{
	size_t low = 0, high = g->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct column *at = &g->columns[mid];
		int order = bytes_cmp(buf_bytes(&at->family), c->family);

		if (!order)
			order = bytes_cmp(buf_bytes(&at->qualifier),
					  c->qualifier);
		if (!order)
			return 0;
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (g->n == FEED_COLUMNS_MAX)
		return why(-EFBIG,
			   "it has more than %d columns: --columns says which "
			   "are wanted, and --jsonl takes any number",
			   FEED_COLUMNS_MAX);
	return add(g, low, c->family, c->qualifier);
}

/* The columns of the head. */
static int find_columns(struct give *g, uint64_t cells)
{
	struct request *rq = g->rq;
	struct scan_spec spec = rq->spec;
	bool named = rq->columns.n > 0;
	struct scan *sc;
	struct cell c;
	int r = 0;

	for (size_t i = 0; i < rq->columns.n; i++)
		named &= !rq->columns.names[i].whole_family;
	for (size_t i = 0; r == 0 && named && i < rq->columns.n; i++) {
		const struct column_name *name = &rq->columns.names[i];

		if (!find(g, name->family, name->qualifier))
			r = add(g, g->n, name->family, name->qualifier);
	}
	if (named)
		return r;
	spec.granularity = SCAN_COLUMNS;
	spec.keys_only = !spec.filter;
	r = scan_open(rq->table, &spec, &sc);
	if (r < 0)
		return r;
	progress_begin_output("columns", cells);
	while (r == 0 && (r = scan_next(sc, &c)) > 0)
		r = progress_add(1) ? add_found(g, &c)
				    : why(-ECANCELED, "stopped");
	progress_clear();
	scan_close(sc);
	return r;
}

static int start_record(struct give *g)
{
	record_begin(&g->rec, 0);
	return record_add(&g->rec, bytes_str(g->key), buf_bytes(&g->row), 0);
}

static int write_head(struct give *g)
{
	int r = start_record(g);

	for (size_t i = 0; r == 0 && i < g->n; i++)
		r = record_add(&g->rec, buf_bytes(&g->columns[i].name),
			       bytes_str(""), FIELD_ABSENT);
	if (r < 0)
		return r;
	record_end(&g->rec);
	return g->format->write_head(g->format, &g->rec, &g->out) < 0
		       ? no_memory()
		       : 0;
}

/* Writes the row, and forgets its values. */
static int end_row(struct give *g)
{
	int r;

	if (!g->row.len)
		return 0;
	r = start_record(g);
	for (size_t i = 0; r == 0 && i < g->n; i++) {
		struct column *c = &g->columns[i];
		bool filled = c->has && c->len;

		r = record_add(
			&g->rec, buf_bytes(&c->name),
			filled ? bytes_of(g->values.data + c->value, c->len)
			       : bytes_str(""),
			(c->has ? 0 : FIELD_ABSENT) |
				(c->bare ? FIELD_BARE : 0));
		c->has = c->bare = false;
	}
	if (r < 0)
		return r;
	record_end(&g->rec);
	g->values.len = g->next = 0;
	if (!g->format->write_head)
		drop_columns(g);
	return g->format->write(g->format, &g->rec, &g->out) < 0 ? no_memory()
								 : 0;
}

/* Is the text a number or a truth value in JSON? Not "nan" and "inf". */
static bool is_bare(const uint8_t *p, size_t len)
{
	return len &&
	       (p[0] == 't' || p[0] == 'f' || (p[0] >= '0' && p[0] <= '9') ||
		(len > 1 && p[0] == '-' && p[1] >= '0' && p[1] <= '9'));
}

static int add_value(struct give *g, struct column *to, const struct cell *c)
{
	const struct typed *type = columns_type(&g->rq->columns, c);
	int r;

	to->has = true;
	to->value = g->values.len;
	if (type)
		r = typed_show(type, c->value, &g->values);
	else if (buf_append(&g->values, c->value.data, c->value.len) < 0)
		r = no_memory();
	else
		r = 0;
	to->len = g->values.len - to->value;
	to->bare = type && type->bare && to->len &&
		   is_bare(g->values.data + to->value, to->len);
	return r;
}

static int add_cell(struct give *g, const struct cell *c)
{
	struct column *to = NULL;
	int r = 0;

	if (!bytes_eq(c->row, buf_bytes(&g->row))) {
		r = end_row(g);
		if (r == 0 && buf_set(&g->row, c->row) < 0)
			r = no_memory();
	}
	if (r < 0)
		return r;
	/* Without a head a row's columns come once each, in their order. */
	if (g->format->write_head)
		to = find(g, c->family, c->qualifier);
	if (!to && g->format->write_head)
		return why(-EBUSY,
			   "column %.*s:%.*s came while the table was read: "
			   "do it again, or name the columns by --columns",
			   (int)c->family.len, c->family.data,
			   (int)c->qualifier.len, c->qualifier.data);
	if (!to) {
		r = add(g, g->n, c->family, c->qualifier);
		to = &g->columns[g->n - 1];
	}
	return r < 0 ? r : add_value(g, to, c);
}

static int print(struct give *g)
{
	int code = print_raw(buf_bytes(&g->out));

	g->out.len = 0;
	return code;
}

/* A row of which there is no record yet is the one to go on with. */
static void say_stopped(const struct give *g)
{
	unsigned long long n = progress_done();
	struct buf row = {0};

	/* What was interrupted in a write may have cut a record. */
	if (!g->row.len || ferror(stdout) ||
	    key_spell(buf_bytes(&g->row), &row) < 0)
		progress_say_stopped("%llu cells were read: do it again", n);
	else
		progress_say_stopped("%llu cells were read, and each record is "
				     "whole\n  to go on: the same with "
				     "--startrow %.*s",
				     n, (int)row.len, (const char *)row.data);
	buf_free(&row);
}

static int give_rows(struct give *g, uint64_t cells)
{
	struct request *rq = g->rq;
	struct scan *sc;
	struct cell c;
	int r, code = EXIT_DONE;

	if (scan_open(rq->table, &rq->spec, &sc) < 0)
		return fail_store(rq->words[1]);
	progress_begin_output("export", cells);
	while (code == EXIT_DONE && (r = scan_next(sc, &c)) != 0) {
		if (r > 0)
			r = add_cell(g, &c);
		code = r < 0 ? fail_store(rq->words[1]) : print(g);
		if (!progress_add(1))
			code = EXIT_STORE;
	}
	scan_close(sc);
	if (code == EXIT_DONE)
		code = end_row(g) < 0 ? fail_store(rq->words[1]) : print(g);
	return code;
}

static int give_head(struct give *g, uint64_t cells)
{
	int r = find_columns(g, cells);

	if (r == 0)
		r = write_head(g);
	if (r == -ECANCELED)
		return EXIT_STORE;
	return r < 0 ? fail_store(g->rq->words[1]) : EXIT_DONE;
}

int give_all(struct request *rq, uint64_t cells)
{
	struct give g = {.rq = rq,
			 .format = format_find(rq->format),
			 .key = rq->key ? rq->key : "row"};
	int code = EXIT_DONE;

	if (g.format->write_head)
		code = give_head(&g, cells);
	if (code == EXIT_DONE)
		code = give_rows(&g, cells);
	progress_clear();
	if (code && progress_stopped())
		say_stopped(&g);
	drop_columns(&g);
	free(g.columns);
	buf_free(&g.row);
	buf_free(&g.values);
	buf_free(&g.out);
	record_free(&g.rec);
	return code;
}
