#include "tools/line/json_cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/text/cells.h"
#include "tools/line/json.h"

int json_note(struct buf *out, struct bytes line)
{
	static const char schema[] = "\tschema\t";
	size_t n = sizeof(schema) - 1;
	unsigned long long cells = 0;
	char sum[24] = "", *text;
	int version = 0, r;

	if (bytes_has_prefix(line, bytes_str(schema))) {
		r = json_open(out, NULL, '{');
		if (r == 0)
			r = json_bytes(out, "schema",
				       bytes_of(line.data + n, line.len - n));
		goto close;
	}
	text = strndup((const char *)line.data, line.len);
	if (!text)
		return -ENOMEM;
	r = json_open(out, NULL, '{');
	if (r == 0 && sscanf(text, "\tcellfs export %d", &version) == 1)
		r = json_int(out, "export", version);
	else if (r == 0 && sscanf(text, "\tend\tcells=%llu\txxh64=%20s", &cells,
				  sum) == 2)
		r = json_uint(out, "cells", cells);
	if (r == 0 && sum[0])
		r = json_str(out, "xxh64", sum);
	free(text);
close:
	if (r == 0)
		r = json_close(out, '}');
	return r < 0 ? r : buf_append(out, "\n", 1);
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
	const uint8_t *at, *end;
	unsigned seen;		    /* bits of members */
	struct buf values[MEMBERS]; /* decoded; a number's digits */
	struct buf name;
};

static void skip_blanks(struct object *o)
{
	while (o->at < o->end && (*o->at == ' ' || *o->at == '\t' ||
				  *o->at == '\r' || *o->at == '\n'))
		o->at++;
}

static bool take(struct object *o, uint8_t c)
{
	skip_blanks(o);
	if (o->at == o->end || *o->at != c)
		return false;
	o->at++;
	return true;
}

static int hex4(const uint8_t *p, uint32_t *out)
{
	char text[5], *end;

	memcpy(text, p, 4);
	text[4] = '\0';
	*out = (uint32_t)strtoul(text, &end, 16);
	return end == text + 4 && text[0] != '-' && text[0] != '+' &&
			       text[0] != ' '
		       ? 0
		       : -EINVAL;
}

static int put_utf8(struct buf *out, uint32_t c)
{
	uint8_t b[4];
	size_t n = 0;

	if (c < 0x80) {
		b[n++] = (uint8_t)c;
	} else if (c < 0x800) {
		b[n++] = (uint8_t)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		b[n++] = (uint8_t)(0xe0 | c >> 12);
		b[n++] = (uint8_t)(0x80 | (c >> 6 & 63));
	} else {
		b[n++] = (uint8_t)(0xf0 | c >> 18);
		b[n++] = (uint8_t)(0x80 | (c >> 12 & 63));
		b[n++] = (uint8_t)(0x80 | (c >> 6 & 63));
	}
	if (c >= 0x80)
		b[n++] = (uint8_t)(0x80 | (c & 63));
	return buf_append(out, b, n);
}

/* Decodes the digits after "\u"; two escapes may make one character. */
static int take_unicode(struct object *o, struct buf *out)
{
	uint32_t c, low;

	if (o->end - o->at < 4 || hex4(o->at, &c) < 0)
		goto bad;
	o->at += 4;
	if (c >= 0xd800 && c < 0xe000) {
		if (c >= 0xdc00 || o->end - o->at < 6 || o->at[0] != '\\' ||
		    o->at[1] != 'u' || hex4(o->at + 2, &low) < 0 ||
		    low < 0xdc00 || low >= 0xe000)
			goto bad;
		o->at += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	return put_utf8(out, c) < 0 ? why(-ENOMEM, "out of memory") : 0;
bad:
	return why(-EINVAL, "a \\u is not followed by four hexadecimal digits "
			    "that are a character");
}

static int take_escape(struct object *o, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *p;

	if (o->at == o->end)
		return why(-EINVAL, "a string does not end");
	if (*o->at == 'u') {
		o->at++;
		return take_unicode(o, out);
	}
	p = *o->at ? strchr(from, *o->at) : NULL;
	if (!p)
		return why(-EINVAL, "a string has an unknown escape");
	o->at++;
	return buf_append(out, &to[p - from], 1) < 0
		       ? why(-ENOMEM, "out of memory")
		       : 0;
}

/* Decodes a string after its first quote, and appends it to @out. */
static int take_string(struct object *o, struct buf *out)
{
	int r = 0;

	while (r == 0) {
		const uint8_t *p = o->at;

		while (p < o->end && *p != '"' && *p != '\\' && *p >= 0x20)
			p++;
		if (buf_append(out, o->at, (size_t)(p - o->at)) < 0)
			return why(-ENOMEM, "out of memory");
		o->at = p;
		if (p == o->end || *p < 0x20)
			return why(-EINVAL, "a string does not end");
		o->at++;
		if (*p == '"')
			return 0;
		r = take_escape(o, out);
	}
	return r;
}

static int digit64(uint8_t c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *p = c ? strchr(digits, c) : NULL;

	return p ? (int)(p - digits) : -1;
}

/* Decodes base64 in place. */
static int from_base64(struct buf *b)
{
	size_t n = b->len, out = 0;
	uint32_t bits = 0;

	if (n % 4)
		goto bad;
	while (n && b->len - n < 2 && b->data[n - 1] == '=')
		n--;
	for (size_t i = 0; i < n; i++) {
		int d = digit64(b->data[i]);

		if (d < 0)
			goto bad;
		bits = bits << 6 | (uint32_t)d;
		if (i % 4)
			b->data[out++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	/* The unused bits of the last digit must be zero. */
	if (n % 4 && bits & (n % 4 == 2 ? 15u : 3u))
		goto bad;
	b->len = out;
	return 0;
bad:
	return why(-EINVAL, "a member is not base64 with padding");
}

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
	const uint8_t *from;
	int r;

	skip_blanks(o);
	if (type & TEXT) {
		if (!take(o, '"'))
			return why(-EINVAL, "%s is no string",
				   member_words[member].name);
		r = take_string(o, out);
		return r == 0 && base64 ? from_base64(out) : r;
	}
	from = o->at;
	while (o->at < o->end && *o->at >= '0' && *o->at <= '9')
		o->at++;
	if (o->at == from || o->at - from > 20)
		return why(-EINVAL, "%s is no number",
			   member_words[member].name);
	if (buf_append(out, from, (size_t)(o->at - from)) < 0)
		return why(-ENOMEM, "out of memory");
	return 0;
}

static int take_member(struct object *o)
{
	bool base64;
	int member, r;

	o->name.len = 0;
	if (!take(o, '"'))
		return why(-EINVAL, "a member has no name");
	r = take_string(o, &o->name);
	if (r < 0)
		return r;
	member = find_member(buf_bytes(&o->name), &base64);
	if (member < 0)
		return why(-EINVAL, "there is no member '%.*s'",
			   (int)(o->name.len > 40 ? 40 : o->name.len),
			   (const char *)o->name.data);
	if (o->seen & 1u << member)
		return why(-EINVAL, "%s is there twice",
			   member_words[member].name);
	o->seen |= 1u << member;
	if (!take(o, ':'))
		return why(-EINVAL, "%s has no value",
			   member_words[member].name);
	return take_value(o, member, base64);
}

static int read_object(struct object *o)
{
	int r = 0;

	if (!take(o, '{'))
		return why(-EINVAL, "the line is no JSON object");
	do {
		r = take_member(o);
	} while (r == 0 && take(o, ','));
	if (r < 0)
		return r;
	if (!take(o, '}'))
		return why(-EINVAL, "the object does not end");
	skip_blanks(o);
	if (o->at != o->end)
		return why(-EINVAL, "there is text after the object");
	return 0;
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
	struct object o = {.at = object.data, .end = object.data + object.len};
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
