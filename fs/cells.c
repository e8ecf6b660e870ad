#include "fs/cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/utf8.h"

/* A batch goes to the store at this many bytes; a row is never split. */
#define BATCH_BYTES (1u << 20)
/* One line, and one row: what the store takes as one mutation. */
#define LINE_BYTES_MAX (4ull * VALUE_LEN_MAX)
#define ROW_BYTES_MAX (512ull << 20)

/* -- escapes ----------------------------------------------------------------
 */

static int append_escaped(struct buf *out, uint8_t c)
{
	static const char hex[] = "0123456789ABCDEF";
	char text[3] = {'%', hex[c >> 4], hex[c & 15]};

	return buf_append(out, text, 3);
}

/* Appends @s; in a @name a leading '.' or '-' is escaped and empty is "%". */
static int append_text(struct buf *out, struct bytes s, bool name)
{
	if (name && !s.len)
		return buf_append(out, "%", 1);
	for (size_t i = 0; i < s.len;) {
		uint8_t c = s.data[i];
		size_t n = utf8_char(s.data + i, s.len - i);
		bool escape = n == 0 || c < 0x20 || c == 0x7f || c == '%' ||
			      (name && i == 0 && (c == '.' || c == '-'));
		int r = escape ? append_escaped(out, c)
			       : buf_append(out, s.data + i, n);

		if (r < 0)
			return r;
		i += escape ? 1 : n;
	}
	return 0;
}

static int hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/*
 * Decodes @in to the end of @hold, which has room. Every byte stands for
 * itself but a %HH; in a name a lone "%" is the empty one.
 */
static int decode(struct bytes in, bool name, struct buf *hold,
		  struct bytes *out)
{
	uint8_t *start = hold->data + hold->len, *p = start;

	*out = bytes_of(start, 0);
	if (name && in.len == 1 && in.data[0] == '%')
		return 0;
	for (size_t i = 0; i < in.len; i++) {
		int high, low;

		if (in.data[i] != '%') {
			*p++ = in.data[i];
			continue;
		}
		high = in.len - i > 2 ? hex_value(in.data[i + 1]) : -1;
		low = in.len - i > 2 ? hex_value(in.data[i + 2]) : -1;
		if (high < 0 || low < 0)
			return why(-EINVAL,
				   "a '%%' is not followed by two "
				   "hexadecimal digits; a percent sign is "
				   "written %%25");
		*p++ = (uint8_t)(high << 4 | low);
		i += 2;
	}
	out->len = (size_t)(p - start);
	hold->len += out->len;
	return 0;
}

/* -- lines ------------------------------------------------------------------
 */

int cells_format_name(struct bytes key, struct buf *out)
{
	return append_text(out, key, true);
}

int cells_format(const struct cell *c, struct buf *out)
{
	char ts[32];
	int n = snprintf(ts, sizeof(ts), "\t%lld\t", (long long)c->ts);
	size_t len = out->len;
	int r;

	r = append_text(out, c->row, true);
	if (r == 0)
		r = buf_append(out, "\t", 1);
	if (r == 0)
		r = append_text(out, c->family, true);
	if (r == 0)
		r = buf_append(out, ":", 1);
	if (r == 0)
		r = append_text(out, c->qualifier, true);
	if (r == 0)
		r = buf_append(out, ts, (size_t)n);
	if (r == 0)
		r = append_text(out, c->value, false);
	if (r == 0 && c->kind != CELL_PUT) {
		const char *kind = kind_name(c->kind);

		r = buf_append(out, "\t", 1);
		if (r == 0)
			r = buf_append(out, kind, strlen(kind));
	}
	if (r == 0)
		r = buf_append(out, "\n", 1);
	if (r < 0)
		out->len = len;
	return r;
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

static int parse_ts(struct bytes in, int64_t *ts)
{
	uint64_t v = 0;

	*ts = TS_AUTO;
	if (!in.len)
		return 0;
	for (size_t i = 0; i < in.len; i++) {
		uint8_t d = (uint8_t)(in.data[i] - '0');

		if (d > 9 || v > (uint64_t)TS_MAX / 10)
			goto bad;
		v = v * 10 + d;
	}
	if (v > (uint64_t)TS_MAX)
		goto bad;
	*ts = (int64_t)v;
	return 0;
bad:
	return why(-EINVAL,
		   "the timestamp '%.*s' is not decimal milliseconds since "
		   "1970",
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
	if (errno || *end)
		goto bad;
	return 0;
bad:
	return why(-EINVAL, "an increment is a decimal number of 64 bits");
}

/* The fields between tabs: 4 or 5. */
static int split(struct bytes line, struct bytes field[5], int *n)
{
	const uint8_t *p = line.data, *end = line.data + line.len;

	const uint8_t *tab = p;

	for (*n = 0; tab && *n < 5; ++*n) {
		tab = p < end ? memchr(p, '\t', (size_t)(end - p)) : NULL;
		field[*n] = bytes_of(p, (size_t)((tab ? tab : end) - p));
		if (tab)
			p = tab + 1;
	}
	/* A tab behind the fifth field begins a sixth. */
	if (*n >= 4 && !tab)
		return 0;
	return why(-EINVAL,
		   "a line is row TAB family:qualifier TAB timestamp "
		   "TAB value [TAB kind]; here are %s fields",
		   *n < 4 ? "fewer" : "more");
}

int cells_parse(struct bytes line, struct buf *hold, struct cells_line *out)
{
	struct bytes field[5], family, qualifier = {0};
	const uint8_t *colon;
	int n, r;

	*out = (struct cells_line){.op = CHANGE_PUT};
	hold->len = 0;
	r = buf_reserve(hold, line.len + 1);
	if (r < 0)
		return why(r, "out of memory for a line of %zu bytes",
			   line.len);
	r = split(line, field, &n);
	if (r == 0 && n == 5)
		r = parse_kind(field[4], &out->op);
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

/* -- import -----------------------------------------------------------------
 */

/* A line that waits; its bytes lie in im->bytes, which may move. */
struct waiting {
	size_t at; /* family, qualifier, value, one behind the other */
	size_t family_len, qualifier_len, value_len;
	int64_t ts, delta;
	uint8_t op;
};

struct waiting_row {
	size_t at, len;	   /* of the key in im->bytes */
	size_t first, end; /* of im->lines */
};

struct cells_import {
	struct table *table;
	unsigned flags;
	int failed;
	uint64_t lines;
	struct buf partial; /* a line whose end has not come */
	struct buf hold, bytes;
	struct waiting *waiting;
	size_t nwaiting, waiting_cap;
	struct waiting_row *rows;
	size_t nrows, rows_cap;
	struct buf only_row, only_family; /* empty = any */
	void (*applied)(void *arg, struct bytes row);
	void *applied_arg;
	/* A family that was just declared or seen, not to ask again. */
	char family[FAMILY_LEN_MAX + 1];
};

int cells_import_new(struct table *t, unsigned flags, struct cells_import **out)
{
	struct cells_import *im = calloc(1, sizeof(*im));

	if (!im)
		return why(-ENOMEM, "out of memory");
	im->table = t;
	im->flags = flags;
	table_ref(t);
	*out = im;
	return 0;
}

void cells_import_free(struct cells_import *im)
{
	if (!im)
		return;
	table_unref(im->table);
	buf_free(&im->partial);
	buf_free(&im->hold);
	buf_free(&im->bytes);
	buf_free(&im->only_row);
	buf_free(&im->only_family);
	free(im->waiting);
	free(im->rows);
	free(im);
}

int cells_import_within(struct cells_import *im, struct bytes row,
			struct bytes family)
{
	int r = buf_set(&im->only_row, row);

	if (r == 0)
		r = buf_set(&im->only_family, family);
	return r < 0 ? why(r, "out of memory") : 0;
}

void cells_import_notify(struct cells_import *im,
			 void (*applied)(void *arg, struct bytes row),
			 void *arg)
{
	im->applied = applied;
	im->applied_arg = arg;
}

uint64_t cells_import_lines(const struct cells_import *im)
{
	return im->lines;
}

/* Applies the first @nrows of the waiting rows and forgets them all. */
static int apply(struct cells_import *im, size_t nrows)
{
	struct mutation *m = calloc(nrows + 1, sizeof(*m));
	struct change *c = calloc(im->nwaiting + 1, sizeof(*c));
	size_t done = 0;
	int r = 0;

	if (!m || !c) {
		r = why(-ENOMEM, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < nrows; i++) {
		const struct waiting_row *row = &im->rows[i];

		m[i].row = bytes_of(im->bytes.data + row->at, row->len);
		m[i].changes = c + row->first;
		m[i].nchanges = row->end - row->first;
		for (size_t k = row->first; k < row->end; k++) {
			const struct waiting *w = &im->waiting[k];
			const uint8_t *p = im->bytes.data + w->at;

			c[k] = (struct change){
				.op = w->op,
				.ts = w->ts,
				.delta = w->delta,
				.family = bytes_of(p, w->family_len),
				.qualifier = bytes_of(p + w->family_len,
						      w->qualifier_len),
				.value = bytes_of(p + w->family_len +
							  w->qualifier_len,
						  w->value_len),
			};
		}
	}
	if (nrows)
		r = table_mutate_many(im->table, m, nrows, im->flags, &done);
	for (size_t i = 0; im->applied && i < done; i++)
		im->applied(im->applied_arg, m[i].row);
out:
	free(m);
	free(c);
	im->nrows = im->nwaiting = im->bytes.len = 0;
	return r < 0 ? r : 0;
}

/* Declares the family if the table is open and does not know it. */
static int declare(struct cells_import *im, struct bytes family)
{
	int r;

	if (!family.len || bytes_eq(family, bytes_str(im->family)))
		return 0;
	r = table_add_family(im->table, family);
	if (r < 0 && r != -EEXIST)
		return r;
	if (family.len <= FAMILY_LEN_MAX) {
		memcpy(im->family, family.data, family.len);
		im->family[family.len] = '\0';
	}
	return 0;
}

static int grow(void **p, size_t *cap, size_t n, size_t size)
{
	size_t more = *cap ? 2 * *cap : 64;
	void *q;

	if (n < *cap)
		return 0;
	q = realloc(*p, more * size);
	if (!q)
		return why(-ENOMEM, "out of memory");
	*p = q;
	*cap = more;
	return 0;
}

static int begin_row(struct cells_import *im, struct bytes key)
{
	struct waiting_row *row;
	int r = grow((void **)&im->rows, &im->rows_cap, im->nrows,
		     sizeof(*im->rows));

	if (r < 0)
		return r;
	row = &im->rows[im->nrows];
	*row = (struct waiting_row){im->bytes.len, key.len, im->nwaiting,
				    im->nwaiting};
	r = buf_append(&im->bytes, key.data, key.len);
	if (r == 0)
		im->nrows++;
	return r;
}

static bool same_row(const struct cells_import *im, struct bytes key)
{
	const struct waiting_row *row;

	if (!im->nrows)
		return false;
	row = &im->rows[im->nrows - 1];
	return bytes_eq(key, bytes_of(im->bytes.data + row->at, row->len));
}

static int keep(struct cells_import *im, const struct cells_line *l)
{
	struct waiting *w;
	int r = grow((void **)&im->waiting, &im->waiting_cap, im->nwaiting,
		     sizeof(*im->waiting));

	if (r < 0)
		return r;
	w = &im->waiting[im->nwaiting];
	*w = (struct waiting){im->bytes.len, l->family.len, l->qualifier.len,
			      l->value.len,  l->ts,	    l->delta,
			      l->op};
	r = buf_append(&im->bytes, l->family.data, l->family.len);
	if (r == 0)
		r = buf_append(&im->bytes, l->qualifier.data, l->qualifier.len);
	if (r == 0)
		r = buf_append(&im->bytes, l->value.data, l->value.len);
	if (r < 0)
		return why(r, "out of memory");
	im->nwaiting++;
	im->rows[im->nrows - 1].end = im->nwaiting;
	return 0;
}

/* Does the line belong to where the stream stands? */
static int check_within(const struct cells_import *im,
			const struct cells_line *l)
{
	if (im->only_row.len && !bytes_eq(l->row, buf_bytes(&im->only_row)))
		return why(-EINVAL, "the line is of another row than the "
				    "stream");
	if (im->only_family.len &&
	    !bytes_eq(l->family, buf_bytes(&im->only_family)))
		return why(-EINVAL, "the line is of another family than the "
				    "stream");
	return 0;
}

static int take_line(struct cells_import *im, struct bytes line)
{
	struct cells_line l;
	int r;

	im->lines++;
	r = cells_parse(line, &im->hold, &l);
	if (r == 0 && !l.row.len)
		r = why(-EINVAL, "the row key is empty");
	if (r == 0)
		r = check_within(im, &l);
	if (r == 0 && l.op != CHANGE_DELETE_ROW)
		r = declare(im, l.family);
	if (r < 0)
		return r;
	if (!same_row(im, l.row)) {
		if (im->bytes.len >= BATCH_BYTES)
			r = apply(im, im->nrows);
		if (r == 0)
			r = begin_row(im, l.row);
		if (r < 0)
			return r;
	} else if (im->bytes.len - im->rows[im->nrows - 1].at > ROW_BYTES_MAX) {
		return why(-EFBIG, "one row of more than %llu bytes",
			   ROW_BYTES_MAX);
	}
	return keep(im, &l);
}

/* The row of the bad line is dropped, the rows before it are applied. */
static int fail(struct cells_import *im, int err)
{
	char reason[600];
	size_t whole = im->nrows ? im->nrows - 1 : 0;

	snprintf(reason, sizeof(reason), "%s", store_why());
	apply(im, whole);
	im->failed = why(err, "line %llu: %s", (unsigned long long)im->lines,
			 reason);
	return err;
}

static int feed(struct cells_import *im, struct bytes data)
{
	const uint8_t *p = data.data, *end = data.data + data.len;

	while (p < end) {
		const uint8_t *lf = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((lf ? lf : end) - p);
		struct bytes line = bytes_of(p, n);
		int r = 0;

		if (!lf || im->partial.len) {
			if (im->partial.len + n > LINE_BYTES_MAX) {
				im->lines++;
				return why(-EFBIG, "the line is too long");
			}
			r = buf_append(&im->partial, p, n);
			if (r < 0)
				return why(r, "out of memory");
			line = buf_bytes(&im->partial);
		}
		if (!lf)
			return 0;
		r = take_line(im, line);
		im->partial.len = 0;
		if (r < 0)
			return r;
		p = lf + 1;
	}
	return 0;
}

int cells_import_feed(struct cells_import *im, struct bytes data)
{
	int r;

	if (im->failed)
		return why(im->failed, "an earlier line was refused");
	r = feed(im, data);
	return r < 0 ? fail(im, r) : 0;
}

int cells_import_end(struct cells_import *im)
{
	int r;

	if (im->failed)
		return why(im->failed, "an earlier line was refused");
	if (im->partial.len) {
		im->lines++;
		r = why(-EINVAL, "the last line does not end in a newline");
		return fail(im, r);
	}
	r = apply(im, im->nrows);
	if (r < 0)
		im->failed = r;
	return r;
}
