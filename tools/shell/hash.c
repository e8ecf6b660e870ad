#include "tools/shell/hash.h"

#include <ctype.h>
#include <errno.h>

#include "store/store.h"

static void skip_blanks(const char **p)
{
	while (isspace((unsigned char)**p))
		++*p;
}

static bool take(const char **p, const char *what)
{
	size_t n = strlen(what);

	skip_blanks(p);
	if (strncmp(*p, what, n) != 0)
		return false;
	*p += n;
	return true;
}

static int bad(const char *what, const char *at)
{
	return why(-EINVAL, "%s is expected at '%.20s'", what, at);
}

static int add(struct buf *out, const char *text, size_t n)
{
	return buf_append(out, text, n) < 0 ? why(-ENOMEM, "out of memory") : 0;
}

static int take_quoted(const char **p, struct buf *out)
{
	char quote = *(*p)++;
	int r = 0;

	for (; r == 0 && **p != quote; ++*p) {
		if (!**p)
			return why(-EINVAL, "a text in quotes does not end");
		if (**p == '\\' && ((*p)[1] == quote))
			++*p;
		r = add(out, *p, 1);
	}
	++*p;
	return r;
}

/* A hash within, as it is written. */
static int take_nested(const char **p, struct buf *out)
{
	const char *from = *p;
	int depth = 0;

	do {
		if (!**p)
			return bad("a }", *p);
		depth += **p == '{';
		depth -= **p == '}';
		++*p;
	} while (depth);
	return add(out, from, (size_t)(*p - from));
}

static int take_value(const char **p, struct buf *out)
{
	size_t n;
	int r;

	out->len = 0;
	skip_blanks(p);
	if (**p == '\'' || **p == '"') {
		r = take_quoted(p, out);
	} else if (**p == '{') {
		r = take_nested(p, out);
	} else {
		n = strcspn(*p, " \t\r\n,]}=");
		if (!n)
			return bad("a value", *p);
		r = add(out, *p, n);
		*p += n;
	}
	return r < 0 ? r : add(out, "", 1);
}

static int take_pair(const char **p, struct buf *key, struct buf *value,
		     hash_pair *give, void *arg)
{
	bool list;
	int r = take_value(p, key);

	if (r == 0 && !take(p, "=>"))
		r = bad("a =>", *p);
	list = r == 0 && take(p, "[");
	do {
		if (r == 0)
			r = take_value(p, value);
		if (r == 0)
			r = give(arg, (const char *)key->data,
				 (const char *)value->data);
	} while (r == 0 && list && take(p, ","));
	if (r == 0 && list && !take(p, "]"))
		r = bad("a ]", *p);
	return r;
}

bool hash_begins(const char *text)
{
	skip_blanks(&text);
	return *text == '{';
}

bool hash_is_bare(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	return n && !strncmp(text + n + strspn(text + n, " "), "=>", 2);
}

int hash_read(const char **text, hash_pair *give, void *arg)
{
	struct buf key = {0}, value = {0};
	int r = 0;

	if (!take(text, "{"))
		return bad("a {", *text);
	if (take(text, "}"))
		return 0;
	do {
		r = take_pair(text, &key, &value, give, arg);
	} while (r == 0 && take(text, ","));
	if (r == 0 && !take(text, "}"))
		r = bad("a , or }", *text);
	buf_free(&key);
	buf_free(&value);
	return r;
}
