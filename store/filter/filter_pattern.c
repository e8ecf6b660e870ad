/*
 * Java's patterns in PCRE2's syntax, which nearly all mean the same there and are
 * copied. \R is written out, since PCRE2's never gives back half of "\r\n", and
 * \p{Alpha} and the like become POSIX's classes, since PCRE2's of that name hold
 * more than ASCII. What PCRE2 would take for something else is refused, as is
 * what only PCRE2 knows; what it lacks or finds wrong it says itself.
 */
#include <errno.h>

#include "store/filter/filter_inside.h"
#include "store/value/why.h"

#define DIGITS "0123456789"

struct copy {
	struct bytes in;
	size_t at;
	struct buf *out;
};

static int refuse(const struct copy *p, const char *what)
{
	return why(-EINVAL, "the pattern of a filter has %s at byte %zu", what,
		   p->at + 1);
}

/* The @n-th byte from here, -1 behind the end. */
static int peek(const struct copy *p, size_t n)
{
	return n < p->in.len - p->at ? p->in.data[p->at + n] : -1;
}

static bool is_in(int c, const char *set)
{
	return c > 0 && strchr(set, c);
}

/* How many bytes of @set follow each other from the @n-th one on. */
static size_t run(const struct copy *p, size_t n, const char *set)
{
	size_t len = 0;

	while (is_in(peek(p, n + len), set))
		len++;
	return len;
}

static int copy(struct copy *p, size_t n)
{
	p->at += n;
	return buf_append(p->out, p->in.data + p->at - n, n);
}

/* \Q...\E, or to the end: literal. */
static int quoted(struct copy *p)
{
	size_t n = 2;

	while (peek(p, n) >= 0 && (peek(p, n) != '\\' || peek(p, n + 1) != 'E'))
		n++;
	return copy(p, peek(p, n) < 0 ? n : n + 2);
}

/* \pL and \p{Lu} are PCRE2's too; a longer name is a class of POSIX's. */
static int property(struct copy *p, bool in_class)
{
	size_t n = 3;
	int r;

	while (peek(p, n) > 0 && ascii_is_letter(peek(p, n)))
		n++;
	if (peek(p, 2) != '{')
		return copy(p, 2);
	if (peek(p, n) != '}')
		return refuse(p, "a property that is not supported");
	if (n < 6)
		return copy(p, n + 1);
	r = buf_printf(p->out, "%s[:%s", in_class ? "" : "[",
		       peek(p, 1) == 'P' ? "^" : "");
	for (size_t i = 3; r == 0 && i < n; i++)
		r = buf_printf(p->out, "%c", ascii_lower(peek(p, i)));
	p->at += n + 1;
	return r < 0 ? r : buf_printf(p->out, in_class ? ":]" : ":]]");
}

static int escape(struct copy *p, bool in_class)
{
	static const char hex[] = "abcdefABCDEF" DIGITS;
	int c = peek(p, 1), next = peek(p, 2);
	bool known =
		(c >= 0 && !ascii_is_alnum(c)) || is_in(c, "dDsSwWhHvVtnrfae");

	if (c == 'Q')
		return quoted(p);
	if (c == 'p' || c == 'P')
		return property(p, in_class);
	if (c == 'R' && !in_class) {
		p->at += 2;
		return buf_printf(p->out, "(?:\\r\\n|[\\n-\\r\\x85"
					  "\\x{2028}\\x{2029}])");
	}
	/* From \uD800 on there are halves of characters. */
	if (c == 'u' && run(p, 2, hex) >= 4 &&
	    (!is_in(next, "dD") || is_in(peek(p, 3), "01234567"))) {
		p->at += 6;
		return buf_printf(p->out, "\\x{%.4s}",
				  (const char *)p->in.data + p->at - 4);
	}
	if (c == 'x' && next == '{' && peek(p, 3 + run(p, 3, hex)) == '}')
		return copy(p, 4 + run(p, 3, hex));
	known |= c == 'x' && run(p, 2, hex) >= 2;
	if (!in_class)
		known |= is_in(c, "AzZG") || (c == 'k' && next == '<') ||
			 (is_in(c, "bB") && next != '{') ||
			 (is_in(c, "123456789") && !is_in(next, DIGITS));
	return known ? copy(p, 2)
		     : refuse(p, "an escape that is not supported");
}

/* [...] from its '[' to its ']', which is literal in the first place. */
static int class(struct copy *p)
{
	size_t n = peek(p, 1) == '^' ? 2 : 1;
	int c, r = copy(p, peek(p, n) == ']' ? n + 1 : n);
	bool set;

	while (r == 0 && (c = peek(p, 0)) != ']') {
		if (c < 0)
			return refuse(p, "a class that does not end");
		if (c == '[' || (c == '&' && peek(p, 1) == '&'))
			return refuse(p, "a class within a class");
		set = c == '\\' && is_in(peek(p, 1), "dDsSwWhHvVpP");
		r = c == '\\' ? escape(p, true) : copy(p, 1);
		/* No range begins with a set; a '-' behind it is itself. */
		if (r == 0 && set && peek(p, 0) == '-')
			r = buf_append(p->out, "\\", 1);
	}
	return r < 0 ? r : copy(p, 1);
}

/* The beginning of a group, or flags. */
static int group(struct copy *p)
{
	size_t flags = run(p, 2, "ims-");
	int c = peek(p, 2), next = peek(p, 3);

	if (!is_in(peek(p, 1), "?*"))
		return copy(p, 1);
	if (peek(p, 1) == '?' && is_in(peek(p, 2 + flags), ":)"))
		return copy(p, 3 + flags);
	if (peek(p, 1) == '?' &&
	    (is_in(c, "=!>") ||
	     (c == '<' &&
	      (is_in(next, "=!") || (next > 0 && ascii_is_letter(next))))))
		return copy(p, 3);
	return refuse(p, "a group that is not supported");
}

static int quantifier(struct copy *p)
{
	size_t n = 1;

	if (peek(p, 0) == '{') {
		n += run(p, n, DIGITS);
		if (n > 1 && peek(p, n) == ',')
			n += 1 + run(p, n + 1, DIGITS);
		if (n == 1 || peek(p, n++) != '}')
			return refuse(p, "a '{' that begins no quantifier");
	}
	n += is_in(peek(p, n), "?+");
	if (is_in(peek(p, n), "*+?{"))
		return refuse(p, "a quantifier of a quantifier");
	return copy(p, n);
}

int filter_pattern(struct bytes java, struct buf *out)
{
	struct copy p = {.in = java, .out = out};
	int c, r = 0;

	while (r == 0 && (c = peek(&p, 0)) >= 0)
		r = c == '\\'	       ? escape(&p, false)
		    : c == '['	       ? class(&p)
		    : c == '('	       ? group(&p)
		    : is_in(c, "*+?{") ? quantifier(&p)
				       : copy(&p, 1);
	return r;
}
