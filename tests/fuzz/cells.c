/*
 * Any bytes as a line are refused or come back when they are spelled anew; any
 * bytes as the parts of a cell come back from its line.
 */
#include <stdlib.h>

#include "fs/text/cells.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool held)
{
	if (!held)
		abort();
}

/* The cell's line, parsed, is the cell. */
static void there_and_back(const struct cell *c)
{
	struct buf text = {0}, hold = {0};
	struct cells_line l;

	need(cells_format(c, &text) == 0);
	need(text.data[text.len - 1] == '\n');
	need(memchr(text.data, '\n', text.len) == text.data + text.len - 1);
	need(cells_parse(bytes_of(text.data, text.len - 1), &hold, &l) == 0);
	need(bytes_eq(l.row, c->row) && bytes_eq(l.family, c->family) &&
	     bytes_eq(l.qualifier, c->qualifier) &&
	     bytes_eq(l.value, c->value) && l.ts == c->ts &&
	     l.op == CHANGE_PUT && l.ttl_ms == c->ttl_ms);
	buf_free(&text);
	buf_free(&hold);
}

static void as_line(struct bytes in)
{
	struct buf hold = {0};
	struct cells_line l;

	if (cells_parse(in, &hold, &l) == 0 && l.op == CHANGE_PUT) {
		struct cell c = {.row = l.row,
				 .family = l.family,
				 .qualifier = l.qualifier,
				 .ts = l.ts == TS_AUTO ? 0 : l.ts,
				 .ttl_ms = l.ttl_ms,
				 .kind = CELL_PUT,
				 .value = l.value};

		/* A family has no colon, which is not escaped. */
		if (!memchr(l.family.data, ':', l.family.len))
			there_and_back(&c);
	}
	buf_free(&hold);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t a = size / 3, b = 2 * size / 3;
	struct cell c = {.row = bytes_of(data, a),
			 .family = bytes_str("f"),
			 .qualifier = bytes_of(data + a, b - a),
			 .ts = (int64_t)size,
			 .ttl_ms = size % 7,
			 .kind = CELL_PUT,
			 .value = bytes_of(data + b, size - b)};

	as_line(bytes_of(data, size));
	there_and_back(&c);
	return 0;
}
