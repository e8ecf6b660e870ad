#include "tools/line/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fs/text/name.h"
#include "tools/line/fail.h"

/* Appends the bytes that the spelling @text stands for to @out. */
static int unescape(const char *text, struct buf *out)
{
	if (!strcmp(text, "%"))
		return 0;
	return name_unescape(bytes_str(text), out);
}

int parse_key(const char *text, struct buf *out)
{
	out->len = 0;
	if (unescape(text, out) == 0)
		return EXIT_DONE;
	return fail_usage("'%s' is no key: %s", text, store_why());
}

int parse_row(const char *text, struct buf *out)
{
	int code = parse_key(text, out);

	if (code == EXIT_DONE && !out->len)
		return fail_usage("the row key is empty: a row needs a name");
	return code;
}

int columns_add(struct columns *c, const char *text)
{
	size_t size = (c->n + 1) * sizeof(*c->names);
	struct column_name *names = realloc(c->names, size), *name;
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	struct buf *holds, *hold;

	if (names)
		c->names = names;
	holds = names ? realloc(c->holds, (c->n + 1) * sizeof(*holds)) : NULL;
	if (!holds)
		return fail_memory();
	c->holds = holds;
	hold = &holds[c->n];
	name = &names[c->n++];
	*hold = (struct buf){0};
	*name = (struct column_name){.whole_family = !colon};
	if (!n)
		return fail_usage("'%s' is no column: it has no family before "
				  "a ':'",
				  text);
	if (buf_append(hold, text, n) < 0)
		return fail_memory();
	if (colon && unescape(colon + 1, hold) < 0)
		return fail_usage("'%s' is no column: %s", text, store_why());
	name->family = bytes_of(hold->data, n);
	name->qualifier = bytes_of(hold->data + n, hold->len - n);
	return EXIT_DONE;
}

void columns_free(struct columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		buf_free(&c->holds[i]);
	free(c->holds);
	free(c->names);
	*c = (struct columns){0};
}

int texts_add(struct text_list *l, const char *text)
{
	const char **texts = realloc(l->texts, (l->n + 1) * sizeof(*texts));

	if (!texts)
		return fail_memory();
	l->texts = texts;
	texts[l->n++] = text;
	return EXIT_DONE;
}

int parse_ts_arg(const char *text, int64_t *ts)
{
	if (name_parse_ts(bytes_str(text), ts))
		return EXIT_DONE;
	return fail_usage("'%s' is no timestamp (milliseconds since 1970)",
			  text);
}

int parse_count(const char *text, uint64_t max, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	if (!errno && *text >= '0' && *text <= '9' && !*end && *n && *n <= max)
		return EXIT_DONE;
	return fail_usage("'%s' is no number from 1 to %llu", text,
			  (unsigned long long)max);
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
