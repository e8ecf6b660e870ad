#include <ctype.h>
#include <errno.h>

#include "store/filter/filter_inside.h"
#include "store/value/why.h"

static const struct {
	const char *prefix;
	uint8_t kind;
	bool nocase;
} kinds[] = {
	{"binary:", COMPARE_BINARY, false},
	{"binaryprefix:", COMPARE_PREFIX, false},
	{"substring:", COMPARE_SUBSTRING, false},
	{"regexstring:", COMPARE_REGEX, false},
	{"regexstringnocase:", COMPARE_REGEX, true},
};

int comparator_init(struct comparator *c, uint8_t op, struct bytes text)
{
	*c = (struct comparator){.op = op};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct bytes prefix = bytes_str(kinds[i].prefix);
		struct bytes value;
		int r;

		if (!bytes_has_prefix(text, prefix))
			continue;
		value = bytes_of(text.data + prefix.len, text.len - prefix.len);
		if (kinds[i].kind >= COMPARE_SUBSTRING && op != OP_EQUAL &&
		    op != OP_NOT_EQUAL)
			return why(-EINVAL,
				   "%.*s takes = and != only in a filter",
				   (int)prefix.len - 1, prefix.data);
		if (kinds[i].kind == COMPARE_REGEX)
			r = filter_regex(value, kinds[i].nocase, &c->regex);
		else
			r = buf_set(&c->value, value);
		if (r < 0)
			return r;
		c->kind = kinds[i].kind;
		for (size_t k = 0;
		     c->kind == COMPARE_SUBSTRING && k < c->value.len; k++)
			c->value.data[k] = (uint8_t)tolower(c->value.data[k]);
		return 0;
	}
	return why(-EINVAL,
		   "'%.*s' is no comparator of a filter: it begins with "
		   "binary:, binaryprefix:, substring:, regexstring: or "
		   "regexstringnocase:",
		   (int)(text.len > 40 ? 40 : text.len),
		   (const char *)text.data);
}

void comparator_free(struct comparator *c)
{
	if (c->kind == COMPARE_REGEX)
		regfree(&c->regex);
	buf_free(&c->value);
	c->kind = COMPARE_NONE;
}

static bool holds_substring(struct bytes s, struct bytes lower)
{
	for (size_t i = 0; lower.len <= s.len && i <= s.len - lower.len; i++) {
		size_t k = 0;

		while (k < lower.len && tolower(s.data[i + k]) == lower.data[k])
			k++;
		if (k == lower.len)
			return true;
	}
	return false;
}

/* GNU re_search() takes a length, so a value may hold NUL bytes. */
static bool holds_match(const regex_t *re, struct bytes s)
{
	const char *text = s.len ? (const char *)s.data : "";
	regoff_t n = (regoff_t)s.len;

	return re_search((regex_t *)re, text, n, 0, n, NULL) >= 0;
}

/* Compares @value with the comparator's: <0, 0, >0. Searches: 0 = found. */
static int compare(const struct comparator *c, struct bytes value)
{
	struct bytes mine = buf_bytes(&c->value);

	switch (c->kind) {
	case COMPARE_SUBSTRING:
		return holds_substring(value, mine) ? 0 : 1;
	case COMPARE_REGEX:
		return holds_match(&c->regex, value) ? 0 : 1;
	case COMPARE_PREFIX:
		if (value.len > mine.len)
			value.len = mine.len;
		break;
	}
	return bytes_cmp(value, mine);
}

bool comparator_holds(const struct comparator *c, struct bytes value)
{
	int d = compare(c, value);

	switch (c->op) {
	case OP_LESS:
		return d < 0;
	case OP_LESS_OR_EQUAL:
		return d <= 0;
	case OP_EQUAL:
		return d == 0;
	case OP_NOT_EQUAL:
		return d != 0;
	case OP_GREATER_OR_EQUAL:
		return d >= 0;
	default:
		return d > 0;
	}
}
