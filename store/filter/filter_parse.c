#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter_inside.h"
#include "store/value/array.h"
#include "store/value/why.h"

#define ARGS_MAX 4096

enum arg_kind {
	ARG_QUOTED,
	ARG_BARE, /* a number, a truth, an op */
};

struct arg {
	uint8_t kind;
	size_t at; /* in the text */
	struct buf text;
};

struct parser {
	struct bytes in;
	size_t at;
	int depth;
	uint32_t nodes;
	struct arg *args; /* of the current filter */
	size_t nargs;
};

static int fail(const struct parser *p, const char *what)
{
	return why(-EINVAL, "the filter has %s at byte %zu", what, p->at + 1);
}

static int peek(const struct parser *p, size_t n)
{
	return n < p->in.len - p->at ? p->in.data[p->at + n] : -1;
}

static bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

static void skip_blanks(struct parser *p)
{
	while (is_blank(peek(p, 0)))
		p->at++;
}

static int new_node(struct parser *p, uint8_t kind, struct filter **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return why(-ENOMEM, "out of memory for a filter");
	(*out)->kind = kind;
	(*out)->id = p->nodes++;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nsubs; i++)
		filter_free(f->subs[i]);
	for (size_t i = 0; i < f->ntexts; i++)
		buf_free(&f->texts[i]);
	comparator_free(&f->compare);
	buf_free(&f->text);
	free(f->subs);
	free(f->texts);
	free(f->numbers);
	free(f);
}

/* Takes ownership of @sub, also on failure. */
static int add_sub(struct filter *f, struct filter *sub)
{
	if (ARRAY_ONE_MORE(f->subs, f->nsubs) < 0) {
		filter_free(sub);
		return why(-ENOMEM, "out of memory for a filter");
	}
	f->subs[f->nsubs++] = sub;
	return 0;
}

static void args_free(struct parser *p)
{
	while (p->nargs)
		buf_free(&p->args[--p->nargs].text);
	free(p->args);
	p->args = NULL;
}

static int add_arg(struct parser *p, uint8_t kind, struct arg **out)
{
	if (p->nargs == ARGS_MAX)
		return fail(p, "too many arguments");
	if (ARRAY_ONE_MORE(p->args, p->nargs) < 0)
		return why(-ENOMEM, "out of memory for a filter");
	*out = &p->args[p->nargs++];
	**out = (struct arg){.kind = kind, .at = p->at};
	return 0;
}

/* Parses 'text', in which '' is one quote. */
static int quoted_arg(struct parser *p)
{
	struct arg *a = NULL;
	int c, r = add_arg(p, ARG_QUOTED, &a);

	for (p->at++; r == 0; p->at++) {
		uint8_t byte;

		c = peek(p, 0);
		if (c < 0)
			return fail(p, "a quote that does not end");
		if (c == '\'') {
			p->at++;
			if (peek(p, 0) != '\'')
				return 0;
		}
		byte = (uint8_t)c;
		r = buf_append(&a->text, &byte, 1);
	}
	return r;
}

static int bare_arg(struct parser *p)
{
	struct arg *a = NULL;
	int c, r = add_arg(p, ARG_BARE, &a);

	while (r == 0 && (c = peek(p, 0)) >= 0 && c != ',' && c != ')' &&
	       c != '(' && c != '\'' && !is_blank(c)) {
		uint8_t byte = (uint8_t)c;

		r = buf_append(&a->text, &byte, 1);
		p->at++;
	}
	return r == 0 && !a->text.len ? fail(p, "no argument") : r;
}

/* Parses from after '(' to after ')'. Blanks separate arguments, too. */
static int parse_args(struct parser *p)
{
	for (;;) {
		int r;

		while (is_blank(peek(p, 0)) || peek(p, 0) == ',')
			p->at++;
		if (peek(p, 0) == ')') {
			p->at++;
			return 0;
		}
		r = peek(p, 0) == '\'' ? quoted_arg(p) : bare_arg(p);
		if (r < 0)
			return r;
	}
}

/* The text argument @i becomes the filter's next text. */
static int take_text(struct parser *p, struct filter *f, size_t i)
{
	if (p->args[i].kind != ARG_QUOTED)
		return fail(p, "a text without quotes before here,");
	if (ARRAY_ONE_MORE(f->texts, f->ntexts) < 0)
		return why(-ENOMEM, "out of memory for a filter");
	f->texts[f->ntexts++] = p->args[i].text;
	p->args[i].text = (struct buf){0};
	return 0;
}

static int take_number(struct parser *p, struct filter *f, size_t i,
		       int64_t max)
{
	const struct buf *b = &p->args[i].text;
	bool minus = b->len && b->data[0] == '-';
	int64_t n = 0;

	if (p->args[i].kind != ARG_BARE || b->len == minus)
		return fail(p, "no number before here,");
	for (size_t k = minus; k < b->len; k++) {
		if (b->data[k] < '0' || b->data[k] > '9' ||
		    __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, b->data[k] - '0', &n))
			return fail(p, "no number before here,");
	}
	if (minus && n)
		return fail(p, "a number below 0 before here,");
	if (n > max)
		return fail(p, "too great a number before here,");
	if (ARRAY_ONE_MORE(f->numbers, f->nnumbers) < 0)
		return why(-ENOMEM, "out of memory for a filter");
	f->numbers[f->nnumbers++] = n;
	return 0;
}

static bool is_word(const struct buf *b, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; b->len == n && i < n; i++)
		if (ascii_lower(b->data[i]) != word[i])
			return false;
	return b->len == n;
}

static int take_truth(struct parser *p, size_t i, bool *out)
{
	const struct arg *a = &p->args[i];

	*out = is_word(&a->text, "true");
	if (a->kind == ARG_BARE && (*out || is_word(&a->text, "false")))
		return 0;
	return fail(p, "no true or false before here,");
}

/* Takes the op in argument @i and the comparator in the next one. */
static int take_compare(struct parser *p, struct filter *f, size_t i)
{
	static const char *const ops[] = {"<", "<=", "=", "!=", ">=", ">"};
	const struct arg *op = &p->args[i], *value = &p->args[i + 1];

	if (value->kind != ARG_QUOTED)
		return fail(p, "a comparator without quotes before here,");
	for (uint8_t k = 0; op->kind == ARG_BARE && k < 6; k++) {
		int r;

		if (!is_word(&op->text, ops[k]))
			continue;
		r = comparator_init(&f->compare, k, buf_bytes(&value->text));
		return r != -EINVAL ? r
				    : why(r, "%s (the argument at byte %zu)",
					  store_why(), value->at + 1);
	}
	return fail(p, "no operator (< <= = != >= >) before here,");
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Takes the arguments by their letters, of which the last one is for all that
 * follow: a text, a number, an int of HBase's, a truth (b), which is the filter's
 * next flag, or an operator and a comparator (c).
 */
static int take_args(struct parser *p, struct filter *f, const char *letters)
{
	bool *flag = f->flags;
	int r = 0;

	/* By default rows without the column pass, and the newest version is compared. */
	f->flags[1] = f->kind == FILTER_SINGLE_VALUE ||
		      f->kind == FILTER_SINGLE_VALUE_EXCLUDE;
	for (size_t i = 0; r == 0 && i < p->nargs; i++) {
		switch (*letters) {
		case 't':
			r = take_text(p, f, i);
			break;
		case 'b':
			r = take_truth(p, i, flag++);
			break;
		case 'c':
			r = take_compare(p, f, i++);
			break;
		default:
			r = take_number(p, f, i,
					*letters == 'i' ? INT32_MAX
							: INT64_MAX);
		}
		letters += letters[1] != '\0';
	}
	if (f->kind == FILTER_TIMESTAMPS && f->nnumbers)
		qsort(f->numbers, f->nnumbers, sizeof(*f->numbers),
		      compare_numbers);
	return r;
}

#define N(n) (1u << (n))
#define ANY UINT32_MAX
static const struct {
	const char *name;
	uint8_t kind;
	uint32_t counts;  /* allowed numbers of arguments, as bits */
	const char *args; /* take_args() */
} filters[] = {
	{"KeyOnlyFilter", FILTER_KEY_ONLY, N(0) | N(1), "b"},
	{"FirstKeyOnlyFilter", FILTER_FIRST_KEY_ONLY, N(0), ""},
	{"PrefixFilter", FILTER_PREFIX, N(1), "t"},
	{"ColumnPrefixFilter", FILTER_COLUMN_PREFIX, N(1), "t"},
	{"MultipleColumnPrefixFilter", FILTER_MULTIPLE_COLUMN_PREFIX,
	 ANY & ~N(0), "t"},
	{"ColumnCountGetFilter", FILTER_COLUMN_COUNT, N(1), "i"},
	{"PageFilter", FILTER_PAGE, N(1), "n"},
	{"ColumnPaginationFilter", FILTER_PAGINATION, N(2), "i"},
	{"InclusiveStopFilter", FILTER_INCLUSIVE_STOP, N(1), "t"},
	{"TimestampsFilter", FILTER_TIMESTAMPS, ANY, "n"},
	{"RowFilter", FILTER_ROW, N(2), "c"},
	{"FamilyFilter", FILTER_FAMILY, N(2), "c"},
	{"QualifierFilter", FILTER_QUALIFIER, N(2), "c"},
	{"ValueFilter", FILTER_VALUE, N(2), "c"},
	{"ColumnRangeFilter", FILTER_COLUMN_RANGE, N(4), "tbtb"},
	{"SingleColumnValueFilter", FILTER_SINGLE_VALUE, N(4) | N(6), "ttcbb"},
	{"SingleColumnValueExcludeFilter", FILTER_SINGLE_VALUE_EXCLUDE,
	 N(4) | N(6), "ttcbb"},
	{"DependentColumnFilter", FILTER_DEPENDENT, N(2) | N(3) | N(5), "ttbc"},
	{"ColumnValueFilter", FILTER_COLUMN_VALUE, N(4), "ttc"},
};

const char *filter_name(unsigned i)
{
	return i < sizeof(filters) / sizeof(*filters) ? filters[i].name : NULL;
}

/* Name(arg, ...) */
static int parse_simple(struct parser *p, struct filter **out)
{
	size_t start = p->at, i, n = sizeof(filters) / sizeof(*filters);
	struct bytes name;
	int r;

	while (ascii_is_alnum(peek(p, 0)))
		p->at++;
	name = bytes_of(p->in.data + start, p->at - start);
	for (i = 0; i < n; i++)
		if (bytes_eq(name, bytes_str(filters[i].name)))
			break;
	if (i == n && !name.len)
		return fail(p, "no filter's name");
	if (i == n)
		return why(-EINVAL, "there is no filter '%.*s' (at byte %zu)",
			   (int)(name.len < 60 ? name.len : 60), name.data,
			   start + 1);
	skip_blanks(p);
	if (peek(p, 0) != '(')
		return fail(p, "no '('");
	p->at++;
	r = parse_args(p);
	if (r == 0 && !(p->nargs < 32 ? filters[i].counts & N(p->nargs)
				      : filters[i].counts & N(31)))
		r = why(-EINVAL, "%s does not take %zu arguments (at byte %zu)",
			filters[i].name, p->nargs, start + 1);
	if (r == 0)
		r = new_node(p, filters[i].kind, out);
	if (r == 0)
		r = take_args(p, *out, filters[i].args);
	args_free(p);
	return r;
}

static bool is_keyword(const struct parser *p, const char *word)
{
	size_t n = strlen(word);

	return n <= p->in.len - p->at && !memcmp(p->in.data + p->at, word, n) &&
	       (is_blank(peek(p, n)) || peek(p, n) == '(');
}

static int parse_or(struct parser *p, struct filter **out);

static int parse_unary(struct parser *p, struct filter **out)
{
	bool skip;
	int r;

	if (p->depth == FILTER_DEPTH_MAX)
		return fail(p, "too many levels");
	skip_blanks(p);
	skip = is_keyword(p, "SKIP");
	p->depth++;
	if (skip || is_keyword(p, "WHILE")) {
		struct filter *sub = NULL;

		p->at += skip ? 4 : 5;
		r = new_node(p, skip ? FILTER_SKIP : FILTER_WHILE, out);
		if (r == 0)
			r = parse_unary(p, &sub);
		if (r == 0)
			r = add_sub(*out, sub);
		else
			filter_free(sub);
	} else if (peek(p, 0) == '(') {
		p->at++;
		r = parse_or(p, out);
		skip_blanks(p);
		if (r == 0 && peek(p, 0) != ')')
			r = fail(p, "no ')'");
		p->at += r == 0;
	} else {
		r = parse_simple(p, out);
	}
	p->depth--;
	return r;
}

/* Is the keyword next, with a blank or a parenthesis around it? */
static bool take_keyword(struct parser *p, const char *word)
{
	size_t before = p->at;
	bool apart;

	skip_blanks(p);
	apart = p->at > before || (p->at > 0 && p->in.data[p->at - 1] == ')');
	if (apart && is_keyword(p, word)) {
		p->at += strlen(word);
		return true;
	}
	p->at = before;
	return false;
}

static int parse_list(struct parser *p, uint8_t kind, const char *word,
		      int (*part)(struct parser *p, struct filter **out),
		      struct filter **out)
{
	struct filter *list, *first;
	int r = part(p, out);

	if (r < 0 || !take_keyword(p, word))
		return r;
	first = *out;
	*out = NULL;
	r = new_node(p, kind, &list);
	if (r < 0) {
		filter_free(first);
		return r;
	}
	*out = list;
	r = add_sub(list, first);
	while (r == 0) {
		struct filter *sub = NULL;

		r = part(p, &sub);
		if (r < 0) {
			filter_free(sub);
			return r;
		}
		r = add_sub(list, sub);
		if (r == 0 && !take_keyword(p, word))
			break;
	}
	return r;
}

static int parse_and(struct parser *p, struct filter **out)
{
	return parse_list(p, FILTER_AND, "AND", parse_unary, out);
}

static int parse_or(struct parser *p, struct filter **out)
{
	return parse_list(p, FILTER_OR, "OR", parse_and, out);
}

int filter_parse(struct bytes text, struct filter **out)
{
	struct parser p = {.in = text};
	struct filter *f = NULL;
	int r;

	*out = NULL;
	if (text.len > FILTER_TEXT_MAX)
		return why(-EINVAL,
			   "the filter has %zu bytes, at most %u are allowed",
			   text.len, FILTER_TEXT_MAX);
	r = parse_or(&p, &f);
	if (r == 0) {
		skip_blanks(&p);
		if (peek(&p, 0) >= 0)
			r = fail(&p, "something that is no AND or OR");
	}
	if (r == 0)
		r = buf_set(&f->text, text);
	if (r < 0) {
		filter_free(f);
		return r;
	}
	f->nodes = p.nodes;
	*out = f;
	return 0;
}

struct bytes filter_text(const struct filter *f)
{
	return buf_bytes(&f->text);
}
