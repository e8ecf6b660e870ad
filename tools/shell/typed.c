#include "tools/shell/typed.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/store.h"
#include "tools/shell/escapes.h"

static uint64_t load(struct bytes value)
{
	uint64_t n = 0;

	for (size_t i = 0; i < value.len; i++)
		n = n << 8 | value.data[i];
	return n;
}

static int store_bytes(const struct typed *t, uint64_t n, struct buf *out)
{
	int r = 0;

	for (size_t i = t->size; r == 0 && i-- > 0;) {
		uint8_t b = (uint8_t)(n >> 8 * i);

		r = buf_append(out, &b, 1);
	}
	return r;
}

static int add_text(struct buf *out, const char *text)
{
	return buf_append(out, text, strlen(text));
}

static int show_int(const struct typed *t, struct bytes value, struct buf *out)
{
	unsigned shift = 64 - 8 * (unsigned)t->size;
	char text[24];

	/* The sign is that of the value's first bit. */
	snprintf(text, sizeof(text), "%lld",
		 (long long)((int64_t)(load(value) << shift) >> shift));
	return add_text(out, text);
}

static int read_int(const struct typed *t, const char *text, struct buf *out)
{
	unsigned shift = 64 - 8 * (unsigned)t->size;
	long long n;
	char *end;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || isspace((unsigned char)*text) ||
	    (int64_t)((uint64_t)n << shift) >> shift != n)
		return -EINVAL;
	return store_bytes(t, (uint64_t)n, out);
}

static double as_double(const struct typed *t, struct bytes value)
{
	uint64_t bits = load(value);
	uint32_t half = (uint32_t)bits;
	double d;
	float f;

	if (t->size == sizeof(f)) {
		memcpy(&f, &half, sizeof(f));
		return (double)f;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static int show_float(const struct typed *t, struct bytes value,
		      struct buf *out)
{
	double d = as_double(t, value);
	char text[40];

	/* As few digits as give the same number again. */
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, d);
		if (t->size == sizeof(float) ? strtof(text, NULL) == (float)d
					     : strtod(text, NULL) == d)
			break;
	}
	return add_text(out, text);
}

static int read_float(const struct typed *t, const char *text, struct buf *out)
{
	bool is_float = t->size == sizeof(float);
	double d = 0;
	float f = 0;
	uint64_t bits;
	uint32_t half;
	char *end;

	errno = 0;
	if (is_float)
		f = strtof(text, &end);
	else
		d = strtod(text, &end);
	if (end == text || *end || isspace((unsigned char)*text))
		return -EINVAL;
	/* A number that is too great is not infinite; one next to 0 is 0. */
	if (errno == ERANGE && (isinf(f) || isinf(d)))
		return -EINVAL;
	memcpy(&bits, &d, sizeof(d));
	memcpy(&half, &f, sizeof(f));
	return store_bytes(t, is_float ? half : bits, out);
}

static int show_bool(const struct typed *t, struct bytes value, struct buf *out)
{
	return add_text(out, value.data[0] ? "true" : "false");
}

/* True is -1, as HBase writes it. */
static int read_bool(const struct typed *t, const char *text, struct buf *out)
{
	bool yes = !strcmp(text, "true");

	if (!yes && strcmp(text, "false") != 0)
		return -EINVAL;
	return store_bytes(t, yes ? 0xff : 0, out);
}

static int show_text(const struct typed *t, struct bytes value, struct buf *out)
{
	return buf_append(out, value.data, value.len);
}

static int read_text(const struct typed *t, const char *text, struct buf *out)
{
	return add_text(out, text);
}

static int show_escaped(const struct typed *t, struct bytes value,
			struct buf *out)
{
	return escapes_write(value, out);
}

static int read_escaped(const struct typed *t, const char *text,
			struct buf *out)
{
	return escapes_read(text, out);
}

static const struct typed types[] = {
	{"toShort", 2, true, show_int, read_int},
	{"toInt", 4, true, show_int, read_int},
	{"toLong", 8, true, show_int, read_int},
	{"toFloat", 4, true, show_float, read_float},
	{"toDouble", 8, true, show_float, read_float},
	{"toBoolean", 1, true, show_bool, read_bool},
	{"toString", 0, false, show_text, read_text},
	{"toStringBinary", 0, false, show_escaped, read_escaped},
};

const struct typed *typed_of(struct bytes column, size_t *len)
{
	const uint8_t *first =
		column.len ? memchr(column.data, ':', column.len) : NULL;
	const uint8_t *last =
		column.len ? memrchr(column.data, ':', column.len) : NULL;

	size_t before = last ? (size_t)(last - column.data) : 0;

	if (last == first)
		return NULL;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (bytes_eq(bytes_str(types[i].name),
			     bytes_of(last + 1, column.len - before - 1))) {
			*len = before;
			return &types[i];
		}
	return NULL;
}

int typed_show(const struct typed *t, struct bytes value, struct buf *out)
{
	int r;

	if (t->size && value.len != t->size)
		return why(-EINVAL,
			   "a value of %zu bytes is no %s, which has %zu",
			   value.len, t->name, t->size);
	r = t->show(t, value, out);
	return r == -ENOMEM ? why(r, "out of memory") : r;
}

int typed_read(const struct typed *t, struct bytes text, struct buf *out)
{
	char *copy = strndup((const char *)text.data, text.len);
	int r;

	if (!copy)
		return why(-ENOMEM, "out of memory");
	r = strlen(copy) == text.len ? t->read(t, copy, out) : -EINVAL;
	if (r == -EINVAL)
		why(r, "'%.40s' is no %s", copy, t->name);
	free(copy);
	return r == -ENOMEM ? why(r, "out of memory") : r;
}
