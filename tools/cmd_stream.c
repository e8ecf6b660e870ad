/*
 * Commands that move tables: to text, from text, to another table.
 *
 * The text's format is in cells_frame.h. The target store is opened when the
 * first cell has been read: input that is empty or not in the format makes
 * neither store nor table, and the program that writes the input may have the
 * same store open until then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fs/text/cells.h"
#include "fs/text/cells_import.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/feed/give.h"
#include "tools/feed/take.h"
#include "tools/line/json_cells.h"
#include "tools/line/print.h"
#include "tools/progress/progress.h"
#include "store/value/array.h"

/*
 * Cells of one row in the order of their writing, on which the effect of
 * markers depends. Names and values are in bytes.
 */
struct row {
	struct buf key, bytes;
	struct row_cell {
		struct cell cell;
		size_t at; /* in the order of the scan */
	} * cells;
	size_t n, cap;
};

static void row_free(struct row *row)
{
	buf_free(&row->key);
	buf_free(&row->bytes);
	free(row->cells);
}

/*
 * Order by sequence, then by place: a compaction may give many cells the same
 * sequence.
 */
static int by_sequence(const void *a, const void *b)
{
	const struct row_cell *x = a, *y = b;

	if (x->cell.seq != y->cell.seq)
		return x->cell.seq < y->cell.seq ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int row_add(struct row *row, const struct cell *c)
{
	if (ARRAY_RESERVE(row->cells, row->cap, row->n + 1) < 0)
		return fail_memory();
	row->cells[row->n] = (struct row_cell){*c, row->n};
	row->n++;
	if (buf_append(&row->bytes, c->family.data, c->family.len) < 0 ||
	    buf_append(&row->bytes, c->qualifier.data, c->qualifier.len) < 0 ||
	    buf_append(&row->bytes, c->value.data, c->value.len) < 0)
		return fail_memory();
	return EXIT_DONE;
}

typedef int cell_taker(void *arg, const struct cell *c); /* an exit code */

static int row_give(struct row *row, cell_taker *take, void *arg)
{
	const uint8_t *p = row->bytes.data;
	int code = EXIT_DONE;

	for (size_t i = 0; i < row->n; i++) {
		struct cell *c = &row->cells[i].cell;

		c->row = buf_bytes(&row->key);
		c->family.data = p;
		c->qualifier.data = p + c->family.len;
		c->value.data = c->qualifier.data + c->qualifier.len;
		p = c->value.data + c->value.len;
	}
	if (row->n > 1)
		qsort(row->cells, row->n, sizeof(*row->cells), by_sequence);
	for (size_t i = 0; code == EXIT_DONE && i < row->n; i++)
		code = take(arg, &row->cells[i].cell);
	row->n = row->bytes.len = 0;
	return code;
}

/* The cells that the request will read, about; 0 = nobody knows. */
static uint64_t expected(struct request *rq)
{
	const struct scan_spec *s = &rq->spec;
	struct table_info info;

	if (s->row_start.len || s->row_stop.len || s->ncolumns || s->filter ||
	    s->limit_rows || s->has_as_of || s->ts_min || s->raw)
		return 0;
	return table_info(rq->table, &info) == 0 ? info.cells : 0;
}

static void say_copy_stopped(const struct request *rq)
{
	progress_say_stopped(
		"%llu cells of %s were read; that table is as it "
		"was\n  do it again: what is copied twice is there "
		"once",
		(unsigned long long)progress_done(), rq->words[1]);
}

/*
 * @at: the row of the last cell that was printed. Of an export that is cut the last
 * row is not imported, as more of it may have been to come.
 */
static void say_export_stopped(const struct request *rq, struct bytes at)
{
	unsigned long long n = progress_done();
	struct buf row = {0};

	/* What was interrupted in a write is lost. */
	if (!at.len || ferror(stdout) || key_spell(at, &row) < 0)
		progress_say_stopped("%llu cells of %s were read: do it again",
				     n, rq->words[1]);
	else
		progress_say_stopped(
			"%llu cells of %s were read, and the export is cut\n"
			"  do it again, or the same with --startrow %.*s; "
			"import takes both, and says of\n  this part that it "
			"is cut",
			n, rq->words[1], (int)row.len, (const char *)row.data);
	buf_free(&row);
}

static int walk_raw(struct scan *sc, struct request *rq, cell_taker *take,
		    void *arg)
{
	struct row row = {0};
	int code = EXIT_DONE, damage = EXIT_DONE;
	struct cell c;

	while (code == EXIT_DONE &&
	       next_past_damage(sc, rq->words[1], &c, &damage) > 0) {
		if (!progress_add(1))
			code = EXIT_STORE;
		else if (!bytes_eq(c.row, buf_bytes(&row.key))) {
			code = row_give(&row, take, arg);
			if (code == EXIT_DONE && buf_set(&row.key, c.row) < 0)
				code = fail_memory();
		}
		if (code == EXIT_DONE)
			code = row_add(&row, &c);
	}
	if (code == EXIT_DONE)
		code = row_give(&row, take, arg);
	row_free(&row);
	return code ? code : damage;
}

/* Passes all cells that the request reads to @take. */
static int walk(struct request *rq, cell_taker *take, void *arg)
{
	int code = EXIT_DONE, damage = EXIT_DONE;
	struct scan *sc;
	struct cell c;

	/* What was put again later may have pushed out others before. */
	rq->spec.replaced = rq->spec.raw;
	if (scan_open(rq->table, &rq->spec, &sc) < 0)
		return fail_store(rq->words[1]);
	if (!strcmp(rq->command->name, "export"))
		progress_begin_output("export", expected(rq));
	if (rq->spec.raw)
		code = walk_raw(sc, rq, take, arg);
	while (!rq->spec.raw && code == EXIT_DONE &&
	       next_past_damage(sc, rq->words[1], &c, &damage) > 0)
		code = progress_add(1) ? take(arg, &c) : EXIT_STORE;
	scan_close(sc);
	progress_clear();
	return code ? code : damage;
}

/* Checks the families of named columns, and copies the schema. */
static int look_at_source(struct request *rq, struct schema *schema)
{
	int code = need_families(rq);

	if (code == EXIT_DONE && table_schema(rq->table, schema) < 0)
		code = fail_store(rq->words[1]);
	return code;
}

/*
 * Is each family still there? A store whose scans show no one moment gives nothing of
 * one that was dropped meanwhile, and that were an end like any. Where columns are
 * named the scan itself fails.
 */
static int look_again(struct request *rq, const struct schema *was)
{
	struct schema is = {0};
	struct table *t = NULL;
	int r;

	if (store_can(rq->store, CAN_VIEW_NOW) || rq->columns.n ||
	    rq->spec.snapshot)
		return EXIT_DONE;
	/* What is opened anew knows of now. */
	r = table_open(rq->store, bytes_str(rq->words[1]), &t);
	if (r == 0)
		r = table_schema(t, &is);
	for (uint32_t i = 0; r == 0 && i < was->nfamilies; i++)
		if (schema_find(&is, bytes_str(was->families[i].name)) < 0)
			r = why(-EBUSY,
				"family %s was dropped while the table was "
				"read: do it again",
				was->families[i].name);
	table_unref(t);
	schema_free(&is);
	return r < 0 ? fail_store(rq->words[1]) : EXIT_DONE;
}

struct exporting {
	struct cells_frame frame;
	struct buf row; /* of the last cell */
};

static int export_cell(void *arg, const struct cell *c)
{
	struct exporting *e = arg;

	if (!bytes_eq(c->row, buf_bytes(&e->row)) &&
	    buf_set(&e->row, c->row) < 0)
		return fail_memory();
	return print_framed(&e->frame, c);
}

int cmd_export(struct request *rq)
{
	struct exporting e = {.row = {0}};
	struct schema schema = {0};
	int code = look_at_source(rq, &schema);

	if (code == EXIT_DONE && !rq->format)
		code = print_head(&e.frame, &schema);
	if (code == EXIT_DONE)
		code = rq->format ? give_all(rq, expected(rq))
				  : walk(rq, export_cell, &e);
	if (code && !rq->format && progress_stopped())
		say_export_stopped(rq, buf_bytes(&e.row));
	if (code == EXIT_DONE)
		code = look_again(rq, &schema);
	/* An export that failed gets no end mark. */
	if (code == EXIT_DONE && !rq->format)
		code = print_tail(&e.frame);
	cells_frame_free(&e.frame);
	buf_free(&e.row);
	schema_free(&schema);
	return code;
}

struct target {
	const char *path, *name;
	bool create;
	struct store *store;
	struct table *table;
	bool made; /* the command made the table */
	int code;  /* of a reported failure; 0 = none */
};

/* Warns if the target's schema keeps fewer versions than the source's. */
static int warn_of_less(struct target *t, const struct schema *from)
{
	struct schema schema = {0};
	char say[400];

	if (table_schema(t->table, &schema) < 0)
		return fail_store(t->name);
	if (schema_keeps_less(from, &schema, say, sizeof(say)))
		fprintf(stderr,
			"cellctl: %s: warning: %s: the rest is not kept\n"
			"  to keep all, alter the table first and do this "
			"again\n",
			t->name, say);
	schema_free(&schema);
	return EXIT_DONE;
}

static int open_target(struct target *t, const struct schema *from)
{
	struct bytes name = bytes_str(t->name);
	struct request rq = {.words = &t->path};
	int r, code = EXIT_DONE;

	if (!t->store)
		code = open_store(t->path, t->create, false, &t->store);
	if (code)
		return code;
	table_unref(t->table);
	t->table = NULL;
	r = table_open(t->store, name, &t->table);
	if (r == 0)
		return from ? warn_of_less(t, from) : EXIT_DONE;
	if (r == -ENOENT && t->create) {
		r = store_table_create(t->store, name, from);
		t->made = r == 0;
		if (r == 0)
			r = table_open(t->store, name, &t->table);
	}
	if (r == 0)
		return EXIT_DONE;
	rq.store = t->store;
	return fail_table(&rq, t->name, r);
}

/* Closes the target. If the command failed, a table made for it is dropped. */
static int close_target(struct target *t, bool drop, int code)
{
	if (code && t->made && drop &&
	    store_table_drop(t->store, bytes_str(t->name), false) == 0)
		fprintf(stderr, "  the table %s was not made\n", t->name);
	if (!t->store)
		return code;
	if (code == EXIT_DONE && store_sync(t->store) < 0)
		code = fail_store(t->name);
	return close_store(t->store, t->table, code);
}

static int find_target(void *arg, const struct schema *from, struct table **out)
{
	struct target *t = arg;

	t->code = open_target(t, from);
	if (t->code)
		return -ECANCELED;
	table_ref(t->table);
	*out = t->table;
	return 0;
}

static int feed_text(struct cells_import *im)
{
	static char piece[1 << 18];
	size_t n;
	int r = 0;

	while (r == 0 && (n = fread(piece, 1, sizeof(piece), stdin)) > 0) {
		r = cells_import_feed(im, bytes_of(piece, n));
		if (r == 0)
			r = take_went(im, n);
	}
	return r == 0 && ferror(stdin) ? cells_import_refuse(im, take_unread())
				       : r;
}

static int feed_json(struct cells_import *im)
{
	struct buf text = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = getline(&line, &cap, stdin)) > 0) {
		text.len = 0;
		r = json_line(bytes_of(line, (size_t)n), &text);
		if (r == 0 && line[n - 1] != '\n')
			r = why(-EINVAL, "the last line does not end in a "
					 "newline: the stream is cut");
		if (r < 0)
			r = cells_import_refuse(im, r);
		else
			r = cells_import_feed(im, buf_bytes(&text));
		if (r == 0)
			r = take_went(im, (size_t)n);
	}
	if (r == 0 && ferror(stdin))
		r = cells_import_refuse(im, take_unread());
	free(line);
	buf_free(&text);
	return r;
}

static int say_empty(const struct target *t)
{
	struct stat st;

	why(-EINVAL, "the input is empty: nothing is imported");
	fail_store(t->name);
	if (fstat(0, &st) == 0 && S_ISFIFO(st.st_mode))
		fputs("  within one store: cellctl copy STORE TABLE TABLE2\n",
		      stderr);
	return EXIT_STORE;
}

/* Reads FILE where it is given, as if it were the standard input, which is "-". */
static int open_input(struct request *rq)
{
	if (rq->nwords > 2 && !strcmp(rq->words[2], "-"))
		rq->nwords = 2;
	if (rq->nwords < 3 || freopen(rq->words[2], "re", stdin))
		return EXIT_DONE;
	why(-errno, "%s", strerror(errno));
	return fail_store(rq->words[2]);
}

static int feed(struct request *rq, struct take *take, struct cells_import *im)
{
	take->import = im;
	take->format = rq->format ? format_find(rq->format) : NULL;
	take->file = rq->nwords > 2 ? rq->words[2] : "standard input";
	if (take->format || rq->nwords > 2)
		cells_import_where(im, take_where, take);
	if (take->format)
		return take_all(take, stdin);
	return rq->json ? feed_json(im) : feed_text(im);
}

static int say_stopped(uint64_t applied)
{
	progress_say_stopped("%llu cells are applied, and no row by halves\n"
			     "  to go on do it again: cells with a timestamp "
			     "are there once then, others twice",
			     (unsigned long long)applied);
	return EXIT_STORE;
}

static int import_all(struct request *rq, struct target *t, struct take *take,
		      uint64_t *applied)
{
	struct cells_import *im;
	int r, code = EXIT_DONE;

	if (cells_import_new_late(find_target, t, 0, &im) < 0)
		return fail_memory();
	take_begins(stdin);
	r = feed(rq, take, im);
	progress_clear();
	if (progress_stopped())
		r = -EINTR;
	if (r == 0 && cells_import_is_empty(im) && !take->any)
		code = say_empty(t);
	else if (r == 0)
		r = cells_import_end(im);
	*applied = cells_import_applied(im);
	if (t->code)
		code = t->code;
	else if (r == -EINTR)
		code = say_stopped(*applied);
	else if (r < 0)
		code = fail_store(t->name);
	if (r < 0 && r != -EINTR)
		fprintf(stderr, "  %llu cells before that are applied\n",
			(unsigned long long)*applied);
	cells_import_free(im);
	return code;
}

int cmd_import(struct request *rq)
{
	struct target t = {.path = rq->words[0],
			   .name = rq->words[1],
			   .create = rq->create};
	struct take take = {0};
	uint64_t applied = 0;
	int code = open_input(rq);

	if (code == EXIT_DONE)
		code = rules_parse(&take.rules, rq);
	if (code == EXIT_DONE)
		code = import_all(rq, &t, &take, &applied);
	take_free(&take);
	code = close_target(&t, !applied, code);
	if (code == EXIT_DONE)
		fprintf(stderr, "%llu cells\n", (unsigned long long)applied);
	return code;
}

struct copy {
	struct cells_import *import;
	const char *name;
};

static int copy_cell(void *arg, const struct cell *c)
{
	struct copy *copy = arg;
	struct cells_line l = {
		.row = c->row,
		.family = c->family,
		.qualifier = c->qualifier,
		.value = c->value,
		.ts = c->ts,
		.ttl_ms = c->ttl_ms,
		.op = c->kind,
	};

	return cells_import_put(copy->import, &l) < 0 ? fail_store(copy->name)
						      : EXIT_DONE;
}

static int copy_all(struct request *rq, struct target *t,
		    const struct schema *schema, uint64_t *applied)
{
	struct copy copy = {.name = t->name};
	int code;

	if (cells_import_new(t->table, 0, &copy.import) < 0 ||
	    cells_import_schema(copy.import, schema) < 0) {
		cells_import_free(copy.import);
		return fail_memory();
	}
	code = walk(rq, copy_cell, &copy);
	if (code && progress_stopped())
		say_copy_stopped(rq);
	if (code == EXIT_DONE)
		code = look_again(rq, schema);
	if (code == EXIT_DONE && cells_import_end(copy.import) < 0)
		code = fail_store(t->name);
	*applied = cells_import_applied(copy.import);
	cells_import_free(copy.import);
	return code;
}

int cmd_copy(struct request *rq)
{
	bool within = rq->nwords == 3;
	struct target t = {.path = rq->words[within ? 0 : 2],
			   .name = rq->words[rq->nwords - 1],
			   .create = true,
			   .store = within ? rq->store : NULL};
	struct schema schema = {0};
	uint64_t applied = 0;
	int code = look_at_source(rq, &schema);

	/* While a store does not answer, a signal ends the command. */
	if (code == EXIT_DONE && !within)
		code = open_store(t.path, t.create, false, &t.store);
	/* Who stops it from here on finds no table that it has made. */
	progress_begin("copy", "cells", expected(rq));
	if (code == EXIT_DONE)
		code = open_target(&t, &schema);
	if (code == EXIT_DONE)
		code = copy_all(rq, &t, &schema, &applied);
	if (code && t.table && !t.made)
		fprintf(stderr, "  %llu cells were copied\n",
			(unsigned long long)applied);
	/* Both tables are closed before their store. */
	if (within) {
		table_unref(rq->table);
		rq->table = NULL;
		rq->store = NULL;
	}
	code = close_target(&t, true, code);
	schema_free(&schema);
	if (code == EXIT_DONE)
		fprintf(stderr, "%llu cells\n", (unsigned long long)applied);
	return code;
}
