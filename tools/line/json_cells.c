#include "tools/line/json_cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/text/cells.h"
#include "tools/line/json.h"
#include "tools/line/json_read.h"

int json_note(struct buf *out, struct bytes line)
{
	static const char schema[] = "\tschema\t";
	size_t n = sizeof(schema) - 1;
	char *text = strndup((const char *)line.data, line.len), sum[24] = "";
	struct json json = {.out = out};
	unsigned long long cells = 0;
	int version = 0;

	if (!text)
		return -ENOMEM;
	json_open(&json, NULL, '{');
	if (bytes_has_prefix(line, bytes_str(schema)))
		json_bytes(&json, "schema",
			   bytes_of(line.data + n, line.len - n));
	else if (sscanf(text, "\tcellfs export %d", &version) == 1)
		json_int(&json, "export", version);
	else if (sscanf(text, "\tend\tcells=%llu\txxh64=%20s", &cells, sum) ==
		 2)
		json_uint(&json, "cells", cells);
	if (sum[0])
		json_str(&json, "xxh64", sum);
	free(text);
	return json_end_line(&json);
}

enum member {
	ROW,
	FAMILY,
	QUALIFIER,
	VALUE,
	TIMESTAMP,
	TTL,
	KIND,
	EXPORT,
	SCHEMA,
	CELLS,
	SUM,
	MEMBERS
};

enum {
	TEXT = 1,
	BYTES = 2 | TEXT, /* may be NAME_base64 */
	NUMBER = 4,
};

static const struct member_word {
	const char *name;
	unsigned type;
} member_words[MEMBERS] = {
	[ROW] = {"row", BYTES},
	[FAMILY] = {"family", BYTES},
	[QUALIFIER] = {"qualifier", BYTES},
	[VALUE] = {"value", BYTES},
	[TIMESTAMP] = {"timestamp", NUMBER},
	[TTL] = {"ttl", NUMBER},
	[KIND] = {"kind", TEXT},
	[EXPORT] = {"export", NUMBER},
	[SCHEMA] = {"schema", TEXT},
	[CELLS] = {"cells", NUMBER},
	[SUM] = {"xxh64", TEXT},
};

struct object {
	struct json_reader json;
	unsigned seen;		    /* bits of members */
	struct buf values[MEMBERS]; /* decoded; a number's digits */
	struct buf name;
};

/* The index of the member, and whether its value is in base64. */
static int find_member(struct bytes name, bool *base64)
{
	static const char suffix[] = "_base64";
	size_t n = sizeof(suffix) - 1;

	*base64 = name.len > n && !memcmp(name.data + name.len - n, suffix, n);
	if (*base64)
		name.len -= n;
	for (int i = 0; i < MEMBERS; i++)
		if (bytes_eq(name, bytes_str(member_words[i].name)) &&
		    (!*base64 || member_words[i].type == BYTES))
			return i;
	return -1;
}

static int take_value(struct object *o, int member, bool base64)
{
	struct buf *out = &o->values[member];
	unsigned type = member_words[member].type;
	bool digits = true;
	struct bytes word;
	int r;

	if (type & TEXT) {
		if (!json_take(&o->json, '"'))
			return why(-EINVAL, "%s is no string",
				   member_words[member].name);
		r = json_take_string(&o->json, out);
		return r == 0 && base64 ? json_from_base64(out) : r;
	}
	word = json_take_word(&o->json);
	for (size_t i = 0; i < word.len; i++)
		digits &= word.data[i] >= '0' && word.data[i] <= '9';
	if (!digits || !word.len || word.len > 20)
		return why(-EINVAL, "%s is no number",
			   member_words[member].name);
	return buf_append(out, word.data, word.len) < 0
		       ? why(-ENOMEM, "out of memory")
		       : 0;
}

static int take_member(struct object *o)
{
	bool base64;
	int member, r;

	o->name.len = 0;
	if (!json_take(&o->json, '"'))
		return why(-EINVAL, "a member has no name");
	r = json_take_string(&o->json, &o->name);
	if (r < 0)
		return r;
	member = find_member(buf_bytes(&o->name), &base64);
	if (member < 0)
		return why(-EINVAL,
			   "there is no member '%.*s': a cell has row, family, "
			   "qualifier, timestamp, value, kind and ttl; --jsonl "
			   "reads objects of other programs",
			   (int)(o->name.len > 40 ? 40 : o->name.len),
			   (const char *)o->name.data);
	if (o->seen & 1u << member)
		return why(-EINVAL, "%s is there twice",
			   member_words[member].name);
	o->seen |= 1u << member;
	if (!json_take(&o->json, ':'))
		return why(-EINVAL, "%s has no value",
			   member_words[member].name);
	return take_value(o, member, base64);
}

static int read_object(struct object *o)
{
	int r = 0;

	if (!json_take(&o->json, '{'))
		return why(-EINVAL, "the line is no JSON object");
	do {
		r = take_member(o);
	} while (r == 0 && json_take(&o->json, ','));
	if (r < 0)
		return r;
	if (!json_take(&o->json, '}'))
		return why(-EINVAL, "the object does not end");
	return json_end(&o->json);
}

static bool is_hex(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		if (!strchr("0123456789abcdef", b->data[i] ? b->data[i] : 'x'))
			return false;
	return true;
}

static int put_note(const struct object *o, struct buf *out)
{
	const struct buf *v = o->values;

	if (o->seen == 1u << EXPORT)
		return buf_printf(out, "\tcellfs export %.*s\n",
				  (int)v[EXPORT].len, v[EXPORT].data);
	if (o->seen == (1u << CELLS | 1u << SUM) && is_hex(&v[SUM]))
		return buf_printf(out, "\tend\tcells=%.*s\txxh64=%.*s\n",
				  (int)v[CELLS].len, v[CELLS].data,
				  (int)v[SUM].len, v[SUM].data);
	if (o->seen != 1u << SCHEMA)
		return why(-EINVAL, "the object is neither a cell nor a line "
				    "of an export's head or end");
	if (v[SCHEMA].len && memchr(v[SCHEMA].data, '\n', v[SCHEMA].len))
		return why(-EINVAL, "schema is more than a line");
	return buf_printf(out, "\tschema\t%.*s\n", (int)v[SCHEMA].len,
			  v[SCHEMA].data);
}

static int put_cell(const struct object *o, struct buf *out)
{
	const struct buf *v = o->values;
	int r = cells_format_name(buf_bytes(&v[ROW]), out);

	if (r == 0)
		r = buf_append(out, "\t", 1);
	if (r == 0 && o->seen & (1u << FAMILY | 1u << QUALIFIER)) {
		r = cells_format_name(buf_bytes(&v[FAMILY]), out);
		if (r == 0)
			r = buf_append(out, ":", 1);
		if (r == 0)
			r = cells_format_name(buf_bytes(&v[QUALIFIER]), out);
	}
	if (r == 0)
		r = buf_printf(out, "\t%.*s\t", (int)v[TIMESTAMP].len,
			       v[TIMESTAMP].data);
	if (r == 0)
		r = cells_format_value(buf_bytes(&v[VALUE]), out);
	if (r == 0 && o->seen & (1u << KIND | 1u << TTL))
		r = buf_append(out, "\t", 1);
	if (r == 0 && o->seen & 1u << KIND)
		r = cells_format_value(buf_bytes(&v[KIND]), out);
	else if (r == 0 && o->seen & 1u << TTL)
		r = buf_append(out, "put", 3);
	if (r == 0 && o->seen & 1u << TTL)
		r = buf_printf(out, "\t%.*s", (int)v[TTL].len, v[TTL].data);
	return r < 0 ? r : buf_append(out, "\n", 1);
}

int json_line(struct bytes object, struct buf *out)
{
	struct object o = {.json = {object.data, object.data + object.len}};
	const unsigned note =
		1u << EXPORT | 1u << SCHEMA | 1u << CELLS | 1u << SUM;
	size_t len = out->len;
	int r = read_object(&o);

	if (r == 0 && o.seen & note)
		r = put_note(&o, out);
	else if (r == 0 && !(o.seen & 1u << ROW))
		r = why(-EINVAL, "row is missing");
	else if (r == 0)
		r = put_cell(&o, out);
	if (r == -ENOMEM)
		why(r, "out of memory");
	if (r < 0)
		out->len = len;
	for (int i = 0; i < MEMBERS; i++)
		buf_free(&o.values[i]);
	buf_free(&o.name);
	return r;
}
