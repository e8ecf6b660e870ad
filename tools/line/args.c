#include "tools/line/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/text/cells.h"
#include "fs/text/name.h"
#include "store/value/array.h"
#include "tools/line/fail.h"
#include "tools/shell/escapes.h"

static bool hbase; /* names and values are in the spelling of its shell */

void args_hbase_escapes(void)
{
	hbase = true;
}

int value_read(const char *text, struct buf *out)
{
	return hbase ? escapes_read(text, out)
		     : buf_append(out, text, strlen(text));
}

/* Where an escape of HBase's shell is meant, most probably. */
static void warn(const char *text)
{
	if (!hbase && escapes_has(text))
		fprintf(stderr,
			"cellctl: warning: \\xHH in '%s' is taken as it is: "
			"cellctl --hbase-escapes ... reads it as a byte\n",
			text);
}

/* Appends the bytes that the spelling @text stands for to @out. */
static int unescape(struct bytes text, struct buf *out)
{
	char *copy;
	int r;

	if (hbase) {
		copy = strndup((const char *)text.data, text.len);
		r = copy ? escapes_read(copy, out) : -ENOMEM;
		free(copy);
		return r;
	}
	if (bytes_eq(text, bytes_str("%")))
		return 0;
	return name_unescape(text, out);
}

int parse_key(const char *text, struct buf *out)
{
	out->len = 0;
	warn(text);
	if (unescape(bytes_str(text), out) == 0)
		return EXIT_DONE;
	return fail_usage("'%s' is no key: %s", text, store_why());
}

int key_spell(struct bytes key, struct buf *out)
{
	struct buf text = {0};
	bool plain = true;
	int r = hbase ? escapes_write(key, &text)
		      : cells_format_name(key, &text);

	for (size_t i = 0; i < text.len; i++)
		plain = plain && (isalnum(text.data[i]) ||
				  strchr("%+,-./:=@_", text.data[i]));
	if (r == 0 && plain)
		r = buf_append(out, text.data, text.len);
	for (size_t i = 0; r == 0 && !plain && i < text.len; i++) {
		if (i == 0)
			r = buf_append(out, "'", 1);
		if (r == 0 && text.data[i] == '\'')
			r = buf_append(out, "'\\'", 3);
		if (r == 0)
			r = buf_append(out, text.data + i, 1);
	}
	if (r == 0 && !plain)
		r = buf_append(out, "'", 1);
	buf_free(&text);
	return r;
}

int parse_row(const char *text, struct buf *out)
{
	int code = parse_key(text, out);

	if (code == EXIT_DONE && !out->len)
		return fail_usage("the row key is empty: a row needs a name");
	return code;
}

/* A family as output has it; one with a '%' that is no escape stands for itself. */
static int family_read(struct bytes text, struct buf *hold)
{
	int r = -EINVAL;

	hold->len = 0;
	if (!hbase && memchr(text.data, '%', text.len) && text.len > 1)
		r = name_unescape(text, hold);
	return r == -EINVAL ? buf_set(hold, text) : r;
}

int column_parse(struct bytes text, struct buf *hold, struct column_name *out)
{
	const uint8_t *colon =
		text.len ? memchr(text.data, ':', text.len) : NULL;
	size_t n = colon ? (size_t)(colon - text.data) : text.len;
	struct bytes rest = bytes_of(text.data + n, text.len - n);
	int r;

	if (!n)
		return why(-EINVAL, "it has no family before a ':'");
	r = family_read(bytes_of(text.data, n), hold);
	n = hold->len;
	if (r == 0 && rest.len)
		r = unescape(bytes_of(rest.data + 1, rest.len - 1), hold);
	if (r < 0)
		return r == -ENOMEM ? why(r, "out of memory") : r;
	out->whole_family = !colon;
	out->family = bytes_of(hold->data, n);
	out->qualifier = bytes_of(hold->data + n, hold->len - n);
	return 0;
}

int columns_add(struct columns *c, const char *text, bool reader)
{
	size_t len = strlen(text);
	int r;

	if (ARRAY_RESERVE(c->names, c->cap[0], c->n + 1) < 0 ||
	    ARRAY_RESERVE(c->holds, c->cap[1], c->n + 1) < 0 ||
	    ARRAY_RESERVE(c->types, c->cap[2], c->n + 1) < 0)
		return fail_memory();
	c->names[c->n] = (struct column_name){0};
	c->holds[c->n] = (struct buf){0};
	warn(text);
	c->types[c->n] = reader ? typed_of(bytes_str(text), &len) : NULL;
	if (reader && strstr(text, ":c("))
		fprintf(stderr,
			"cellctl: warning: no class of HBase's converts "
			"values here: '%s' is a qualifier as it stands; types "
			"are toInt, toLong and others, see cellctl(1)\n",
			text);
	c->n++;
	r = column_parse(bytes_of(text, len), &c->holds[c->n - 1],
			 &c->names[c->n - 1]);
	return r < 0 ? fail_usage("'%s' is no column: %s", text, store_why())
		     : EXIT_DONE;
}

const struct typed *columns_type(const struct columns *c, const struct cell *is)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->types[i] && bytes_eq(c->names[i].family, is->family) &&
		    bytes_eq(c->names[i].qualifier, is->qualifier))
			return c->types[i];
	return NULL;
}

void columns_free(struct columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		buf_free(&c->holds[i]);
	free(c->holds);
	free(c->names);
	free(c->types);
	*c = (struct columns){0};
}

int texts_add(struct text_list *l, const char *text)
{
	if (ARRAY_ONE_MORE(l->texts, l->n) < 0)
		return fail_memory();
	l->texts[l->n++] = text;
	return EXIT_DONE;
}

int parse_ts_arg(const char *text, int64_t *ts)
{
	if (name_parse_ts(bytes_str(text), ts))
		return EXIT_DONE;
	return fail_usage("'%s' is no timestamp (milliseconds since 1970)",
			  text);
}

int parse_within(const char *text, uint64_t min, uint64_t max, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && *n >= min &&
	    *n <= max)
		return EXIT_DONE;
	return fail_usage("'%s' is no number from %llu to %llu", text,
			  (unsigned long long)min, (unsigned long long)max);
}

int parse_count(const char *text, uint64_t max, uint64_t *n)
{
	return parse_within(text, 1, max, n);
}

int parse_number(const char *text, int64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoll(text, &end, 10);
	if (!errno && end != text && !*end)
		return EXIT_DONE;
	return fail_usage("'%s' is no number of 64 bits", text);
}

int parse_ms(const char *text, uint64_t *ms)
{
	size_t digits = strspn(text, "0123456789");
	char with_unit[40];
	struct family_attrs a;

	/* As in a schema's ttl; the unit may be left out. */
	snprintf(with_unit, sizeof(with_unit), "%s%s", text,
		 digits && !text[digits] ? "ms" : "");
	family_attrs_default(&a);
	if (strlen(text) < sizeof(with_unit) - 2 && digits &&
	    family_attr_set(&a, bytes_str("ttl"), bytes_str(with_unit)) == 0 &&
	    a.ttl_ms) {
		*ms = a.ttl_ms;
		return EXIT_DONE;
	}
	return fail_usage("'%s' is no time such as 500ms, 90s, 15m, 12h or 7d",
			  text);
}

static int read_all(FILE *in, size_t max, struct buf *out)
{
	size_t n;

	do {
		if (out->len > max)
			return why(-EFBIG, "over %zu bytes", max);
		if (buf_reserve(out, 65536) < 0)
			return why(-ENOMEM, "out of memory");
		n = fread(out->data + out->len, 1, 65536, in);
		out->len += n;
	} while (n);
	return ferror(in) ? why(-EIO, "cannot be read: %s", strerror(errno))
			  : 0;
}

int read_file(const char *path, size_t max, struct buf *out)
{
	bool std = !strcmp(path, "-");
	FILE *in = std ? stdin : fopen(path, "re");
	int r;

	if (!in) {
		why(-errno, "%s", strerror(errno));
		return fail_store(path);
	}
	r = read_all(in, max, out);
	if (!std)
		fclose(in);
	return r < 0 ? fail_store(std ? "the standard input" : path)
		     : EXIT_DONE;
}
