#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hbase/case.h"

void *step_alloc(struct run *r, size_t n)
{
	void **more = realloc(r->memory, (r->nmemory + 1) * sizeof(*more));
	void *p = calloc(1, n + 1);

	if (!more || !p) {
		fputs("out of memory\n", stderr);
		exit(2);
	}
	r->memory = more;
	return r->memory[r->nmemory++] = p;
}

void step_release(struct run *r)
{
	while (r->nmemory)
		free(r->memory[--r->nmemory]);
	free(r->memory);
	r->memory = NULL;
	json_decref(r->answer);
	json_decref(r->chunks);
	r->answer = r->chunks = NULL;
	r->error = NULL;
}

int refuse(struct run *r, const char *kind)
{
	r->error = kind;
	return -1;
}

int refuse_errno(struct run *r, int err)
{
	if (err == -EOPNOTSUPP)
		r->cannot = true;
	switch (err) {
	case -EPERM:
		return refuse(r, E_NO_FAMILY);
	case -ENOENT:
		return refuse(r, E_NO_TABLE);
	case -EEXIST:
		return refuse(r, E_TABLE_EXISTS);
	case -EINVAL:
	case -EFBIG:
		return refuse(r, E_NO_RETRY);
	}
	return err < 0 ? refuse(r, E_OTHER) : 0;
}

int check_row(struct run *r, struct bytes row)
{
	return row.len && row.len <= ROW_LEN_MAX ? 0 : refuse(r, E_ILLEGAL);
}

static struct bytes hex_bytes(struct run *r, const char *s, size_t n)
{
	uint8_t *p = step_alloc(r, n / 2);

	for (size_t i = 0; i < n / 2; i++) {
		unsigned v = 0;

		sscanf(s + 2 * i, "%2x", &v);
		p[i] = (uint8_t)v;
	}
	return bytes_of(p, n / 2);
}

static struct bytes int_bytes(struct run *r, const char *s)
{
	uint64_t v = (uint64_t)strtoll(s, NULL, 10);
	uint8_t *p = step_alloc(r, 8);

	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (56 - 8 * i));
	return bytes_of(p, 8);
}

static struct bytes repeated(struct run *r, json_t *rep)
{
	struct bytes one = text_bytes(r, json_array_get(rep, 0));
	size_t n = (size_t)json_integer_value(json_array_get(rep, 1));
	uint8_t *p = step_alloc(r, n * one.len);

	for (size_t i = 0; i < n; i++)
		memcpy(p + i * one.len, one.data, one.len);
	return bytes_of(p, n * one.len);
}

struct bytes text_bytes(struct run *r, json_t *v)
{
	const char *s = json_string_value(v);
	size_t n = s ? json_string_length(v) : 0;
	char *copy;

	if (json_is_object(v))
		return repeated(r, json_object_get(v, "rep"));
	if (n >= 2 && !memcmp(s, "x:", 2))
		return hex_bytes(r, s + 2, n - 2);
	if (n >= 2 && !memcmp(s, "i:", 2))
		return int_bytes(r, s + 2);
	copy = step_alloc(r, n);
	if (n)
		memcpy(copy, s, n);
	return bytes_of(copy, n);
}

int text_ts(struct run *r, json_t *v, int64_t *out)
{
	const char *s = json_string_value(v);

	if (s && !strncmp(s, "T0", 2)) {
		*out = r->t0 + strtoll(s + 2, NULL, 10);
		return 0;
	}
	*out = json_is_integer(v) ? json_integer_value(v) : INT64_MAX;
	if (*out < 0)
		return refuse(r, E_ILLEGAL);
	if (*out == INT64_MAX)
		*out = TS_CLOCK;
	return 0;
}

/* The family is text; a qualifier may be "f:x:00ff", too. */
struct column_name text_column(struct run *r, json_t *v)
{
	const char *s = json_string_value(v);
	size_t n = s ? json_string_length(v) : 0;
	const char *colon = n ? memchr(s, ':', n) : NULL;
	struct column_name c = {.whole_family = !colon};
	struct bytes all = bytes_of(step_alloc(r, n), n);

	if (n)
		memcpy((uint8_t *)all.data, s, n);
	c.family = bytes_of(all.data, colon ? (size_t)(colon - s) : n);
	if (!colon)
		return c;
	n -= c.family.len + 1;
	c.qualifier = bytes_of(all.data + c.family.len + 1, n);
	if (n >= 2 && !memcmp(c.qualifier.data, "x:", 2))
		c.qualifier =
			hex_bytes(r, (const char *)c.qualifier.data + 2, n - 2);
	return c;
}

/* Long values are cut: their length and ends tell them apart. */
static void render(struct bytes s, struct buf *out)
{
	char hex[32];

	for (size_t i = 0; i < s.len; i++) {
		if (s.len > 400 && i == 100) {
			i = s.len - 100;
			snprintf(hex, sizeof(hex), "...%zu...", s.len);
		} else if (isprint(s.data[i]) && s.data[i] != '%') {
			hex[0] = (char)s.data[i];
			hex[1] = '\0';
		} else {
			snprintf(hex, sizeof(hex), "%%%02x", s.data[i]);
		}
		buf_append(out, hex, strlen(hex));
	}
}

static json_t *string_of(struct buf *b)
{
	json_t *s = json_stringn((const char *)b->data, b->len);

	buf_free(b);
	return s ? s : json_string("");
}

json_t *text_render(struct bytes s)
{
	struct buf b = {0};

	render(s, &b);
	return string_of(&b);
}

json_t *text_render_column(const struct cell *c)
{
	struct buf b = {0};

	render(c->family, &b);
	buf_append(&b, ":", 1);
	render(c->qualifier, &b);
	return string_of(&b);
}

static bool ts_same(struct run *r, json_t *expected, json_t *answer)
{
	const char *s = json_string_value(expected);
	int64_t got = json_integer_value(answer), want;

	if (s && !strcmp(s, "*"))
		return true;
	if (s && !strcmp(s, "now"))
		return got >= r->t0 && got <= r->now + 1;
	return text_ts(r, expected, &want) == 0 && want == got;
}

static bool field_same(struct run *r, json_t *expected, json_t *answer,
		       bool is_ts, bool is_column)
{
	struct column_name c;
	struct cell cell;
	json_t *text;
	bool same;

	if (is_ts)
		return ts_same(r, expected, answer);
	if (json_is_integer(expected))
		return json_equal(expected, answer);
	if (!strcmp(json_is_string(expected) ? json_string_value(expected) : "",
		    "*"))
		return true;
	if (is_column) {
		c = text_column(r, expected);
		cell = (struct cell){.family = c.family,
				     .qualifier = c.qualifier};
		text = text_render_column(&cell);
	} else {
		text = text_render(text_bytes(r, expected));
	}
	same = json_equal(text, answer);
	json_decref(text);
	return same;
}

/* @nts: where the timestamp stands, behind the column; -1 = there is none. */
bool text_same(struct run *r, json_t *expected, json_t *answer, int nts)
{
	size_t n = json_array_size(expected);

	if (!json_is_array(expected))
		return json_equal(expected, answer);
	if (!json_is_array(answer) || json_array_size(answer) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		json_t *e = json_array_get(expected, i);
		json_t *a = json_array_get(answer, i);
		size_t fields = json_array_size(e);

		/* The type may be left out of what is expected. */
		if (json_array_size(a) < fields)
			return false;
		for (size_t k = 0; k < fields; k++)
			if (!field_same(r, json_array_get(e, k),
					json_array_get(a, k), (int)k == nts,
					(int)k == (nts < 0 ? 0 : nts - 1)))
				return false;
	}
	return true;
}
