/*
 * Commands that read cells: of one row, of a range.
 */
#include <errno.h>
#include <stdio.h>

#include "fs/text/cells.h"
#include "store/value/utf8.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/line/print.h"

/* The most bytes of one. */
#define UTF8_CHAR_MAX 4

enum shape {
	CELLS,
	VALUES,
	ROWS,	/* each row once */
	NUMBER, /* count rows, print nothing */
};

/* How much of a longer value at most @max bytes show: no character by halves. */
static size_t whole_characters(struct bytes value, size_t max)
{
	for (size_t back = 1; back < UTF8_CHAR_MAX && back <= max; back++) {
		size_t at = max - back;
		size_t n = utf8_char(value.data + at, value.len - at);

		if (n > 0)
			return n > back ? at : max;
	}
	return max;
}

/*
 * Sets the value as it is shown: as the type behind its column says, and no longer
 * than --maxlength, which cuts no character of UTF-8.
 */
static int show(struct request *rq, struct cell *c, struct buf *hold)
{
	const struct typed *type = columns_type(&rq->columns, c);

	hold->len = 0;
	if (type && c->kind == CELL_PUT) {
		if (typed_show(type, c->value, hold) < 0)
			return fail_store(rq->words[1]);
		c->value = buf_bytes(hold);
	}
	if (rq->max_length && c->value.len > rq->max_length)
		c->value.len = whole_characters(c->value, rq->max_length);
	return EXIT_DONE;
}

/* What count says on its way. */
static void say_where(const struct request *rq, uint64_t rows, struct bytes row)
{
	struct buf name = {0};

	if (rq->interval && rows % rq->interval == 0 &&
	    cells_format_name(row, &name) == 0)
		fprintf(stderr, "%llu rows, at %.*s\n",
			(unsigned long long)rows, (int)name.len, name.data);
	buf_free(&name);
}

static int print_one(enum shape shape, const struct cell *c)
{
	if (shape == CELLS)
		return print_cell(c);
	return shape == VALUES ? print_raw(c->value) : print_row(c->row);
}

/* *found is the number of cells printed, or of rows. */
static int walk(struct request *rq, enum shape shape, uint64_t *found)
{
	struct buf row = {0}, hold = {0};
	struct scan *sc;
	struct cell c;
	int code = need_families(rq), damage = EXIT_DONE;

	*found = 0;
	if (code)
		return code;
	if (scan_open(rq->table, &rq->spec, &sc) < 0)
		return fail_store(rq->words[1]);
	while (code == EXIT_DONE &&
	       next_past_damage(sc, rq->words[1], &c, &damage) > 0) {
		if (shape >= ROWS) {
			if (bytes_eq(c.row, buf_bytes(&row)))
				continue;
			if (buf_set(&row, c.row) < 0)
				code = fail_memory();
		}
		++*found;
		if (shape == NUMBER)
			say_where(rq, *found, c.row);
		else if (code == EXIT_DONE && shape < ROWS)
			code = show(rq, &c, &hold);
		if (code == EXIT_DONE && shape != NUMBER)
			code = print_one(shape, &c);
	}
	scan_close(sc);
	buf_free(&row);
	buf_free(&hold);
	return code ? code : damage;
}

int cmd_get(struct request *rq)
{
	uint64_t n;
	int code = walk(rq, rq->values ? VALUES : CELLS, &n);

	return code == EXIT_DONE && !n ? EXIT_NONE : code;
}

int cmd_scan(struct request *rq)
{
	uint64_t n;

	return walk(rq, rq->rows ? ROWS : CELLS, &n);
}

int cmd_count(struct request *rq)
{
	uint64_t n;
	int code = walk(rq, NUMBER, &n);

	return code ? code : print_figure("rows", n);
}

int cmd_get_counter(struct request *rq)
{
	const struct column_name *name = &rq->columns.names[0];
	struct buf value = {0};
	uint64_t n = 0;
	struct cell c;
	int r, code = need_family(rq, name->family);

	if (code)
		return code;
	r = table_get(rq->table, buf_bytes(&rq->row), name->family,
		      name->qualifier, TS_MAX, NULL, &c, &value);
	if (r > 0 && c.value.len != 8)
		r = why(-EINVAL, "the value has %zu bytes: a counter has 8",
			c.value.len);
	for (size_t i = 0; r > 0 && i < 8; i++)
		n = n << 8 | c.value.data[i];
	if (r < 0)
		code = fail_store(rq->words[3]);
	else
		code = r ? print_counter(&c, (int64_t)n) : EXIT_NONE;
	buf_free(&value);
	return code;
}
