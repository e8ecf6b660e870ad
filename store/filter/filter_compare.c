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
		r = buf_set(&c->value, value);
		if (r == 0 && kinds[i].kind == COMPARE_REGEX)
			r = regex_compile(value, kinds[i].nocase, &c->regex);
		if (r < 0)
			return r;
		c->kind = kinds[i].kind;
		c->nocase = kinds[i].nocase;
		for (size_t k = 0;
		     c->kind == COMPARE_SUBSTRING && k < c->value.len; k++)
			c->value.data[k] =
				(uint8_t)ascii_lower(c->value.data[k]);
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
	pcre2_code_free(c->regex);
	c->regex = NULL;
	buf_free(&c->value);
	c->kind = COMPARE_NONE;
}

static bool holds_substring(struct bytes s, struct bytes lower)
{
	for (size_t i = 0; lower.len <= s.len && i <= s.len - lower.len; i++) {
		size_t k = 0;

		while (k < lower.len &&
		       ascii_lower(s.data[i + k]) == lower.data[k])
			k++;
		if (k == lower.len)
			return true;
	}
	return false;
}

int comparator_holds(const struct comparator *c, struct regex_search *s,
		     struct bytes value)
{
	struct bytes mine = buf_bytes(&c->value);
	int d = 0; /* <0, 0, >0; of a search 0 = found */

	if (c->kind == COMPARE_REGEX) {
		d = regex_find(c->regex, s, value);
		if (d < 0)
			return d;
		d = !d;
	} else if (c->kind == COMPARE_SUBSTRING) {
		d = !holds_substring(value, mine);
	} else {
		if (c->kind == COMPARE_PREFIX && value.len > mine.len)
			value.len = mine.len;
		d = bytes_cmp(value, mine);
	}
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
