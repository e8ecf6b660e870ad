/*
 * Any bytes as an export or as JSON are refused or taken, each line for one;
 * what was written as an export is read, and any other byte in it is missed;
 * a cell's JSON stands for the cell's line.
 */
#include <stdlib.h>

#include "fs/text/cells.h"
#include "fs/text/cells_frame.h"
#include "tools/line/json.h"
#include "tools/line/json_cells.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool held)
{
	if (!held)
		abort();
}

/* Is all of it taken? A line that does not end is not. */
static bool is_taken(struct bytes in)
{
	struct cells_frame f = {0};
	struct schema schema;
	int r = 0;

	while (r >= 0 && in.len) {
		const uint8_t *lf = memchr(in.data, '\n', in.len);
		size_t n = lf ? (size_t)(lf - in.data) : 0;

		r = lf ? cells_frame_read(&f, bytes_of(in.data, n)) : -1;
		in = bytes_of(in.data + n + 1, lf ? in.len - n - 1 : 0);
	}
	if (r >= 0)
		r = cells_frame_done(&f);
	if (f.schema.len && cells_frame_schema(&f, &schema) == 0)
		schema_free(&schema);
	cells_frame_free(&f);
	return r >= 0;
}

/* The lines of @in that are no notes, as an export. */
static void framed(struct bytes in, size_t at)
{
	struct cells_frame f = {0};
	struct schema schema;
	struct buf out = {0};

	schema_init(&schema, 1, 2);
	need(cells_frame_begin(&f, &schema, &out) == 0);
	while (in.len) {
		const uint8_t *lf = memchr(in.data, '\n', in.len);
		size_t n = lf ? (size_t)(lf - in.data) : in.len;
		struct bytes line = bytes_of(in.data, n);
		size_t from = out.len;

		in = bytes_of(in.data + n + (lf != NULL),
			      in.len - n - (lf != NULL));
		if (cells_frame_is_note(line))
			continue;
		need(buf_append(&out, line.data, n) == 0);
		need(buf_append(&out, "\n", 1) == 0);
		cells_frame_wrote(&f, bytes_of(out.data + from, n + 1));
	}
	need(cells_frame_end(&f, &out) == 0);
	need(is_taken(buf_bytes(&out)));
	out.data[at % out.len] ^= (uint8_t)(1 + at % 255);
	need(!is_taken(buf_bytes(&out)));
	out.data[at % out.len] ^= (uint8_t)(1 + at % 255);
	need(at % out.len == 0 || !is_taken(bytes_of(out.data, at % out.len)));
	cells_frame_free(&f);
	schema_free(&schema);
	buf_free(&out);
}

static void as_json(struct bytes in)
{
	struct buf text = {0}, note = {0}, again = {0};

	if (json_line(in, &text) == 0) {
		need(memchr(text.data, '\n', text.len) ==
		     text.data + text.len - 1);
		if (text.data[0] == '\t') {
			need(json_note(&note,
				       bytes_of(text.data, text.len - 1)) == 0);
			if (json_line(buf_bytes(&note), &again) == 0)
				need(again.data[0] == '\t');
		}
	} else {
		need(!text.len);
	}
	buf_free(&text);
	buf_free(&note);
	buf_free(&again);
}

static void there_and_back(const struct cell *c)
{
	struct buf made = {0}, text = {0}, want = {0};
	struct json json = {.out = &made};

	json_open(&json, NULL, '{');
	json_bytes(&json, "row", c->row);
	json_bytes(&json, "family", c->family);
	json_bytes(&json, "qualifier", c->qualifier);
	json_int(&json, "timestamp", c->ts);
	json_bytes(&json, "value", c->value);
	if (c->ttl_ms)
		json_uint(&json, "ttl", c->ttl_ms);
	json_close(&json, '}');
	need(json.err == 0);
	need(json_line(buf_bytes(&made), &text) == 0);
	need(cells_format(c, &want) == 0);
	need(bytes_eq(buf_bytes(&text), buf_bytes(&want)));
	buf_free(&made);
	buf_free(&text);
	buf_free(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = bytes_of(data, size);
	size_t a = size / 3, b = 2 * size / 3, at = size;
	struct cell c = {.row = bytes_of(data, a),
			 .family = bytes_str("f"),
			 .qualifier = bytes_of(data + a, b - a),
			 .ts = (int64_t)size,
			 .ttl_ms = size % 7,
			 .kind = CELL_PUT,
			 .value = bytes_of(data + b, size - b)};

	for (size_t i = 0; i < size && i < 8; i++)
		at = at * 31 + data[i];
	is_taken(in);
	framed(in, at);
	as_json(in);
	there_and_back(&c);
	return 0;
}
