#include "fs/text/cells.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/text/name.h"
#include "store/value/utf8.h"

/* Text is escaped in pieces, which limits the space for the worst case. */
#define PIECE_BYTES 65536u

#define EACH_BYTE(b) (0x0101010101010101ull * (b))

/* Does @w contain a byte that may need an escape? */
static bool has_special(uint64_t w)
{
	uint64_t percent = w ^ EACH_BYTE('%'), del = w ^ EACH_BYTE(0x7f);
	uint64_t low = (w - EACH_BYTE(0x20)) | (percent - EACH_BYTE(1)) |
		       (del - EACH_BYTE(1));

	/* A byte that is too small borrows, which sets its highest bit. */
	return (low | w) & EACH_BYTE(0x80);
}

static bool is_special(uint8_t c)
{
	return c < 0x20 || c >= 0x7f || c == '%';
}

/* The number of ASCII bytes from @p on that need no escape. */
static size_t plain_run(const uint8_t *p, size_t n)
{
	size_t i = 0;
	uint64_t w;

	for (; n - i >= sizeof(w); i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		if (has_special(w))
			break;
	}
	while (i < n && !is_special(p[i]))
		i++;
	return i;
}

static uint8_t *put_escaped(uint8_t *to, uint8_t c)
{
	static const char hex[] = "0123456789ABCDEF";

	to[0] = '%';
	to[1] = (uint8_t)hex[c >> 4];
	to[2] = (uint8_t)hex[c & 15];
	return to + 3;
}

/*
 * Appends the characters of @s that begin in [@i, @end), with at most three
 * bytes for each byte and three more; returns where the next character begins.
 */
static size_t put_piece(struct buf *out, struct bytes s, size_t i, size_t end)
{
	uint8_t *to = out->data + out->len;

	while (i < end) {
		size_t n = plain_run(s.data + i, end - i);

		if (!n && s.data[i] >= 0x80)
			n = utf8_char(s.data + i, s.len - i);
		if (n) {
			memcpy(to, s.data + i, n);
			to += n;
			i += n;
		} else {
			to = put_escaped(to, s.data[i++]);
		}
	}
	out->len = (size_t)(to - out->data);
	return i;
}

/* Appends @s; in a @name a leading '.' or '-' is escaped and empty is "%". */
static int append_text(struct buf *out, struct bytes s, bool name)
{
	size_t i = 0;

	if (name && !s.len)
		return buf_append(out, "%", 1);
	while (i < s.len) {
		size_t end = s.len - i > PIECE_BYTES ? i + PIECE_BYTES : s.len;
		int r = buf_reserve(out, 3 * (end - i) + 4);

		if (r < 0)
			return r;
		if (name && i == 0 && (s.data[0] == '.' || s.data[0] == '-')) {
			put_escaped(out->data + out->len, s.data[0]);
			out->len += 3;
			i = 1;
		}
		i = put_piece(out, s, i, end);
	}
	return 0;
}

/*
 * Decodes @in: in place if nothing is escaped, else at the end of @hold, which
 * must have space. Only %HH is an escape; in a name a lone "%" is the empty
 * name.
 */
static int decode(struct bytes in, bool name, struct buf *hold,
		  struct bytes *out)
{
	const uint8_t *at = in.data, *end, *percent;
	uint8_t *start = hold->data + hold->len, *p = start;

	*out = in;
	percent = in.len ? memchr(at, '%', in.len) : NULL;
	if (!percent)
		return 0;
	end = at + in.len;
	*out = bytes_of(start, 0);
	if (name && in.len == 1)
		return 0;
	while (at < end) {
		size_t n = (size_t)((percent ? percent : end) - at);
		int high, low;

		memcpy(p, at, n);
		p += n;
		at += n;
		if (!percent)
			break;
		high = end - at > 2 ? hex_digit(at[1]) : -1;
		low = end - at > 2 ? hex_digit(at[2]) : -1;
		if (high < 0 || low < 0)
			return why(-EINVAL,
				   "a '%%' is not followed by two "
				   "hexadecimal digits; a percent sign is "
				   "written %%25");
		*p++ = (uint8_t)(high << 4 | low);
		at += 3;
		percent = at < end ? memchr(at, '%', (size_t)(end - at)) : NULL;
	}
	out->len = (size_t)(p - start);
	hold->len += out->len;
	return 0;
}

int cells_format_name(struct bytes key, struct buf *out)
{
	return append_text(out, key, true);
}

int cells_format_value(struct bytes value, struct buf *out)
{
	return append_text(out, value, false);
}

/*
 * Appends the fields between the row and the value, with the tabs around them.
 */
static int append_column(struct buf *out, const struct cell *c)
{
	int r = buf_append(out, "\t", 1);

	if (r == 0)
		r = append_text(out, c->family, true);
	if (r == 0)
		r = buf_append(out, ":", 1);
	if (r == 0)
		r = append_text(out, c->qualifier, true);
	if (r == 0)
		r = buf_reserve(out, NAME_TS_LEN_MAX + 2);
	if (r < 0)
		return r;
	out->data[out->len++] = '\t';
	out->len += name_format_ts(c->ts, (char *)out->data + out->len);
	out->data[out->len++] = '\t';
	return 0;
}

/* Appends the fields after the value. */
static int append_kind(struct buf *out, const struct cell *c)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "\t%s", kind_name(c->kind));

	if (c->ttl_ms)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "\t%" PRIu64,
			      c->ttl_ms);
	return buf_append(out, text, (size_t)n);
}

static int append_end(struct buf *out, const struct cell *c)
{
	int r = 0;

	if (c->kind != CELL_PUT || c->ttl_ms)
		r = append_kind(out, c);
	return r ? r : buf_append(out, "\n", 1);
}

int cells_format(const struct cell *c, struct buf *out)
{
	size_t len = out->len;
	int r = append_text(out, c->row, true);

	if (r == 0)
		r = append_column(out, c);
	if (r == 0)
		r = append_text(out, c->value, false);
	if (r == 0)
		r = append_end(out, c);
	if (r < 0)
		out->len = len;
	return r;
}

#define PART_BYTES ((size_t)8 << 10)

/* Where a part that begins at @at ends: before a character, if there are any. */
static size_t part_end(struct bytes value, size_t at)
{
	size_t end = at + PART_BYTES, back = 0;

	if (value.len - at <= PART_BYTES)
		return value.len;
	/* A character has at most three bytes of this kind. */
	while (back < 4 && (value.data[end - back] & 0xc0) == 0x80)
		back++;
	return back < 4 ? end - back : end;
}

int cells_format_part(const struct cell *c, size_t *at, struct buf *out)
{
	size_t len = out->len, end = part_end(c->value, *at);
	int r = *at ? 0 : append_text(out, c->row, true);

	if (r == 0 && *at == 0)
		r = append_column(out, c);
	if (r == 0)
		r = append_text(out, bytes_of(c->value.data + *at, end - *at),
				false);
	if (r == 0 && end == c->value.len)
		r = append_end(out, c);
	if (r < 0) {
		out->len = len;
		return r;
	}
	*at = end;
	return end < c->value.len;
}

static const struct kind_word {
	const char *word;
	uint8_t op;
} kind_words[] = {
	{"put", CHANGE_PUT},
	{"delete", CHANGE_DELETE},
	{"delete-column", CHANGE_DELETE_COLUMN},
	{"delete-family", CHANGE_DELETE_FAMILY},
	{"delete-family-version", CHANGE_DELETE_FAMILY_VERSION},
	{"delete-row", CHANGE_DELETE_ROW},
	{"increment", CHANGE_INCREMENT},
	{"append", CHANGE_APPEND},
};

static int parse_kind(struct bytes in, uint8_t *op)
{
	for (size_t i = 0; i < sizeof(kind_words) / sizeof(kind_words[0]); i++)
		if (bytes_eq(in, bytes_str(kind_words[i].word))) {
			*op = kind_words[i].op;
			return 0;
		}
	return why(-EINVAL,
		   "the kind '%.*s' is not known: put, delete, delete-column, "
		   "delete-family, delete-family-version, delete-row, "
		   "increment or append",
		   (int)(in.len > 40 ? 40 : in.len), (const char *)in.data);
}

/* Parses decimal digits only, up to @max. */
static bool parse_digits(struct bytes in, uint64_t max, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < in.len; i++) {
		uint8_t d = (uint8_t)(in.data[i] - '0');

		if (d > 9 || *n > (max - d) / 10)
			return false;
		*n = *n * 10 + d;
	}
	return in.len > 0;
}

static int parse_ts(struct bytes in, int64_t *ts)
{
	uint64_t v;

	*ts = TS_AUTO;
	if (!in.len)
		return 0;
	if (!parse_digits(in, TS_MAX, &v))
		return why(-EINVAL,
			   "the timestamp '%.*s' is not decimal milliseconds "
			   "since 1970",
			   (int)(in.len > 40 ? 40 : in.len),
			   (const char *)in.data);
	*ts = (int64_t)v;
	return 0;
}

static int parse_ttl(struct bytes in, struct cells_line *l)
{
	if (!op_writes(l->op))
		return why(-EINVAL, "a delete has a ttl: only a value can "
				    "have one");
	if (parse_digits(in, UINT64_MAX, &l->ttl_ms) && l->ttl_ms)
		return 0;
	return why(-EINVAL, "the ttl '%.*s' is not decimal milliseconds from 1",
		   (int)(in.len > 40 ? 40 : in.len), (const char *)in.data);
}

static int parse_delta(struct bytes in, int64_t *delta)
{
	char text[24], *end;

	if (!in.len || in.len >= sizeof(text))
		goto bad;
	memcpy(text, in.data, in.len);
	text[in.len] = '\0';
	errno = 0;
	*delta = strtoll(text, &end, 10);
	/*
	 * strtoll() would accept a leading blank, and a NUL after the number.
	 */
	if (errno || end != text + in.len || (uint8_t)text[0] <= ' ')
		goto bad;
	return 0;
bad:
	return why(-EINVAL, "an increment is a decimal number of 64 bits");
}

#define FIELDS_MAX 6

/* Splits the line at its tabs into 4 to 6 fields. */
static int split(struct bytes line, struct bytes field[FIELDS_MAX], int *n)
{
	const uint8_t *p = line.data, *end = line.data + line.len;

	const uint8_t *tab = p;

	for (*n = 0; tab && *n < FIELDS_MAX; ++*n) {
		tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
		field[*n] = bytes_of(p, (size_t)((tab ? tab : end) - p));
		if (tab)
			p = tab + 1;
	}
	/* A tab after the last field begins another one. */
	if (*n >= 4 && !tab)
		return 0;
	return why(-EINVAL,
		   "a line is row TAB family:qualifier TAB timestamp "
		   "TAB value [TAB kind [TAB ttl]]; here are %s fields",
		   *n < 4 ? "fewer" : "more");
}

int cells_check_end(struct bytes line)
{
	if (!line.len || line.data[line.len - 1] != '\r')
		return 0;
	return why(-EINVAL, "the line ends in CR LF: end lines in LF alone "
			    "(tr -d '\\r'), and write a CR in a value as %%0D");
}

int cells_parse(struct bytes line, struct buf *hold, struct cells_line *out)
{
	struct bytes field[FIELDS_MAX], family, qualifier = {0};
	const uint8_t *colon;
	int n, r;

	*out = (struct cells_line){.op = CHANGE_PUT};
	hold->len = 0;
	r = buf_reserve(hold, line.len + 1);
	if (r < 0)
		return why(r, "out of memory for a line of %zu bytes",
			   line.len);
	r = split(line, field, &n);
	if (r == 0 && n >= 5)
		r = parse_kind(field[4], &out->op);
	if (r == 0 && n == 6)
		r = parse_ttl(field[5], out);
	if (r == 0)
		r = parse_ts(field[2], &out->ts);
	if (r == 0)
		r = decode(field[0], true, hold, &out->row);
	if (r < 0)
		return r;
	colon = field[1].len ? memchr(field[1].data, ':', field[1].len) : NULL;
	if (!colon && out->op != CHANGE_DELETE_ROW)
		return why(-EINVAL, "the column '%.*s' has no ':'",
			   (int)(field[1].len > 80 ? 80 : field[1].len),
			   (const char *)field[1].data);
	family = field[1];
	if (colon) {
		family.len = (size_t)(colon - field[1].data);
		qualifier = bytes_of(colon + 1, field[1].len - family.len - 1);
	}
	r = decode(family, true, hold, &out->family);
	if (r == 0)
		r = decode(qualifier, true, hold, &out->qualifier);
	if (r == 0 && out->op == CHANGE_INCREMENT)
		return parse_delta(field[3], &out->delta);
	if (r == 0)
		r = decode(field[3], false, hold, &out->value);
	return r;
}
