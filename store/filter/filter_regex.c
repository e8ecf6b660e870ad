/*
 * Java's patterns in POSIX's extended syntax, as far as they say whether there
 * is a match, not where: lazy quantifiers are then greedy ones, groups that do
 * not capture are groups. What has no equal (looking around, possessive
 * quantifiers, classes of Unicode) is refused, never guessed.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/filter/filter_inside.h"
#include "store/value/why.h"

#define PATTERN_MAX 4096

struct translation {
	struct bytes in;
	size_t at;
	struct buf out;
	bool nocase;
	bool quantified; /* a quantifier was just written */
};

static int refuse(const struct translation *t, const char *what)
{
	return why(-EINVAL, "the pattern of a filter has %s at byte %zu", what,
		   t->at + 1);
}

static int put(struct translation *t, const char *s)
{
	return buf_append(&t->out, s, strlen(s));
}

static bool more(const struct translation *t, size_t n)
{
	return n <= t->in.len - t->at;
}

static int peek(const struct translation *t, size_t n)
{
	return more(t, n + 1) ? t->in.data[t->at + n] : -1;
}

/* Writes one literal byte, outside or inside of brackets. */
static int put_literal(struct translation *t, uint8_t c, bool bracket)
{
	char one[3] = {'\\', (char)c, '\0'};

	if (!c)
		return refuse(t, "a NUL byte");
	if (bracket && strchr("]^-[", c))
		return refuse(t, "an escaped bracket, '^' or '-' in a class "
				 "in a place that is not supported");
	if (!bracket && strchr(".[]{}()*+?^$|\\", c))
		return put(t, one);
	return put(t, one + 1);
}

static const char *class_of(int c, bool bracket)
{
	switch (c) {
	case 'd':
		return bracket ? "0-9" : "[0-9]";
	case 'w':
		return bracket ? "[:alnum:]_" : "[[:alnum:]_]";
	case 's':
		return bracket ? "[:space:]" : "[[:space:]]";
	case 'D':
		return bracket ? NULL : "[^0-9]";
	case 'W':
		return bracket ? NULL : "[^[:alnum:]_]";
	case 'S':
		return bracket ? NULL : "[^[:space:]]";
	case 'b':
		return bracket ? NULL : "\\b";
	case 'B':
		return bracket ? NULL : "\\B";
	case 'A':
		return bracket ? NULL : "^";
	case 'z':
	case 'Z':
		return bracket ? NULL : "$";
	}
	return NULL;
}

static int control_of(int c)
{
	static const char from[] = "tnrfae", to[] = "\t\n\r\f\a\033";
	const char *p = c > 0 ? strchr(from, c) : NULL;

	return p ? to[p - from] : -1;
}

static int hex_of(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = c < 0 ? c : tolower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \Q...\E: everything between is literal. */
static int quoted(struct translation *t)
{
	int r = 0;

	for (t->at += 2; r == 0 && more(t, 1); t->at++) {
		if (peek(t, 0) == '\\' && peek(t, 1) == 'E') {
			t->at += 2;
			return 0;
		}
		r = put_literal(t, t->in.data[t->at], false);
	}
	return r;
}

static int escaped(struct translation *t, bool bracket)
{
	int c = peek(t, 1);
	const char *class = class_of(c, bracket);
	char back[3] = {'\\', (char)c, '\0'};

	if (c == 'Q' && !bracket)
		return quoted(t);
	t->at += 2;
	if (class)
		return put(t, class);
	if (control_of(c) >= 0)
		return put_literal(t, (uint8_t)control_of(c), bracket);
	if (c == 'x' && hex_of(peek(t, 0)) >= 0 && hex_of(peek(t, 1)) >= 0) {
		c = hex_of(peek(t, 0)) * 16 + hex_of(peek(t, 1));
		t->at += 2;
		return put_literal(t, (uint8_t)c, bracket);
	}
	if (c >= '1' && c <= '9' && !bracket)
		return put(t, back);
	if (c < 0 || isalnum(c))
		return refuse(t, "an escape that is not supported");
	return put_literal(t, (uint8_t)c, bracket);
}

/*
 * Translates [...]. In POSIX a backslash is literal there, and ']', '^' and '-'
 * are literal by position, so these three are collected and written in place.
 */
static int bracket(struct translation *t)
{
	bool close = false, caret = false, dash = false, any = false;
	bool negated = peek(t, 1) == '^';
	int c, r = put(t, negated ? "[^" : "[");
	size_t start = t->out.len;

	t->at += negated ? 2 : 1;
	for (; r == 0 && (c = peek(t, 0)) != ']'; any = true) {
		int next = peek(t, 1);

		if (c < 0)
			return refuse(t, "a class that does not end");
		if (c == '[' || (c == '&' && next == '&'))
			return refuse(t, "a class within a class");
		if (c == '\\' && next > 0 && strchr("]^-[", next)) {
			close |= next == ']';
			caret |= next == '^';
			dash |= next == '-';
			if (next == '[')
				r = put(t, "[");
			t->at += 2;
		} else if (c == '\\') {
			if (next == '\\') {
				t->at += 2;
				r = put(t, "\\");
			} else {
				r = escaped(t, true);
			}
		} else if (c == '^' || (c == '-' && (!any || next == ']'))) {
			caret |= c == '^';
			dash |= c == '-';
			t->at++;
		} else {
			char one[2] = {(char)c, '\0'};

			if (!c)
				return refuse(t, "a NUL byte");
			r = put(t, one);
			t->at++;
		}
	}
	t->at++;
	if (r == 0 && close) {
		r = put(t, "]");
		if (r == 0 && t->out.len - 1 > start) {
			memmove(t->out.data + start + 1, t->out.data + start,
				t->out.len - 1 - start);
			t->out.data[start] = ']';
		}
	}
	/* A single caret must not be first: it would negate the set. */
	if (r == 0 && caret && t->out.len == start && !negated && !dash) {
		t->out.len--;
		return put(t, "\\^");
	}
	if (r == 0 && dash && caret && t->out.len == start && !negated)
		return put(t, "-^]");
	if (r == 0 && caret)
		r = put(t, "^");
	if (r == 0 && dash)
		r = put(t, "-");
	return r < 0 ? r : put(t, "]");
}

/* (?:...) is a group; (?i), (?s) at the start apply to the whole. */
static int group(struct translation *t)
{
	if (peek(t, 1) != '?') {
		t->at++;
		return put(t, "(");
	}
	if (peek(t, 2) == ':') {
		t->at += 3;
		return put(t, "(");
	}
	if (t->at == 0 && (peek(t, 2) == 'i' || peek(t, 2) == 's') &&
	    peek(t, 3) == ')') {
		t->nocase |= peek(t, 2) == 'i';
		t->at += 4;
		return 0;
	}
	return refuse(t, "a group that is not supported");
}

/* Whether a text matches does not depend on lazy or greedy. */
static int quantifier(struct translation *t)
{
	int c = peek(t, 0);
	char one[2] = {(char)c, '\0'};

	if (c == '{') {
		int r = 0;

		for (; r == 0 && peek(t, 0) > 0 && peek(t, 0) != '}'; t->at++) {
			one[0] = (char)peek(t, 0);
			r = put(t, one);
		}
		one[0] = '}';
		if (r < 0 || peek(t, 0) < 0)
			return r < 0 ? r : refuse(t, "a '{' without '}'");
	}
	t->at++;
	if (peek(t, 0) == '+')
		return refuse(t, "a possessive quantifier");
	if (peek(t, 0) == '?')
		t->at++;
	return put(t, one);
}

static int element(struct translation *t)
{
	int c = peek(t, 0);
	char one[2] = {(char)c, '\0'};

	switch (c) {
	case '\\':
		return escaped(t, false);
	case '[':
		return bracket(t);
	case '(':
		return group(t);
	case '*':
	case '+':
	case '?':
	case '{':
		return quantifier(t);
	case 0:
		return refuse(t, "a NUL byte");
	}
	t->at++;
	return put(t, one);
}

int filter_regex(struct bytes pattern, bool nocase, regex_t *out)
{
	struct translation t = {.in = pattern, .nocase = nocase};
	char text[128];
	int r = 0;

	if (pattern.len > PATTERN_MAX)
		return why(-EINVAL,
			   "the pattern of a filter has %zu bytes, at most %d "
			   "are allowed",
			   pattern.len, PATTERN_MAX);
	while (r == 0 && more(&t, 1))
		r = element(&t);
	if (r == 0)
		r = buf_append(&t.out, "", 1);
	if (r == 0) {
		r = regcomp(out, (const char *)t.out.data,
			    REG_EXTENDED | (t.nocase ? REG_ICASE : 0));
		if (r) {
			regerror(r, NULL, text, sizeof(text));
			r = why(-EINVAL, "the pattern of a filter: %s", text);
		}
	}
	buf_free(&t.out);
	return r;
}
