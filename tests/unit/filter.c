/* The filter language: what it takes, and what it says of what it does not. */
#include "tests/unit/unit.h"
#include "store/filter/filter_inside.h"
#include "store/value/why.h"

static struct filter *parsed(const char *text)
{
	struct filter *f = NULL;

	if (filter_parse(bytes_str(text), &f) < 0)
		fail_msg("%s: %s", text, store_why());
	return f;
}

static void refused(const char *text, const char *words)
{
	struct filter *f = NULL;

	assert_int_equal(filter_parse(bytes_str(text), &f), -EINVAL);
	assert_null(f);
	if (!strstr(store_why(), words))
		fail_msg("%s: '%s', not '%s'", text, store_why(), words);
}

TEST(an_error_names_its_place)
{
	refused("", "no filter's name at byte 1");
	refused("  ", "no filter's name at byte 3");
	refused("Page", "no filter 'Page' (at byte 1)");
	refused("PageFilter(1) AND pageFilter(1)",
		"no filter 'pageFilter' (at byte 19)");
	refused("PageFilter", "no '(' at byte 11");
	refused("PageFilter(1", "at byte 13");
	refused("PrefixFilter('a", "a quote that does not end at byte 16");
	refused("(PageFilter(1)", "no ')' at byte 15");
	refused("PageFilter(1) PageFilter(2)", "no AND or OR at byte 15");
	refused("PageFilter(1) ANDPageFilter(2)", "no AND or OR at byte 15");
	refused("PageFilter(1) AND", "no AND or OR at byte 15");
	refused("PageFilter(1) AND ", "no filter's name at byte 19");
	refused("PageFilter(1)\n", "no AND or OR at byte 14");
	refused("SKIP", "no filter 'SKIP' (at byte 1)");
	refused("SKIP ()", "no filter's name at byte 7");
}

TEST(an_error_says_what_an_argument_is_to_be)
{
	refused("PageFilter()", "PageFilter does not take 0 arguments");
	refused("PageFilter(1, 2)", "does not take 2 arguments (at byte 1)");
	refused("PageFilter('1')", "no number");
	refused("PageFilter(-1)", "a number below 0");
	refused("PageFilter(9223372036854775808)", "no number");
	refused("ColumnCountGetFilter(2147483648)", "too great a number");
	refused("PrefixFilter(a)", "a text without quotes");
	refused("KeyOnlyFilter(yes)", "no true or false");
	refused("RowFilter(==,'binary:a')", "no operator");
	refused("RowFilter('=','binary:a')", "no operator");
	refused("RowFilter(=,a)", "a comparator without quotes");
	refused("RowFilter(=,'bin:a')", "'bin:a' is no comparator of a filter");
	refused("RowFilter(=,'bin:a')", "(the argument at byte 13)");
	refused("RowFilter(<,'substring:a')", "substring takes = and != only");
	refused("RowFilter(<,'regexstring:a')",
		"regexstring takes = and != only");
	refused("RowFilter(=,'regexstring:(')", "(the argument at byte 13)");
}

TEST(and_binds_closer_than_or)
{
	struct filter *f = parsed("PageFilter(1) OR PageFilter(2) AND "
				  "SKIP PageFilter(3) OR PageFilter(4)");

	assert_int_equal(f->kind, FILTER_OR);
	assert_int_equal(f->nsubs, 3);
	assert_int_equal(f->subs[1]->kind, FILTER_AND);
	assert_int_equal(f->subs[1]->subs[1]->kind, FILTER_SKIP);
	filter_free(f);
	f = parsed("SKIP(PageFilter(1) OR PageFilter(2))AND PageFilter(3)");
	assert_int_equal(f->kind, FILTER_AND);
	assert_int_equal(f->subs[0]->subs[0]->kind, FILTER_OR);
	filter_free(f);
}

TEST(two_quotes_are_one)
{
	struct filter *f = parsed("PrefixFilter('it''s')");

	assert_true(bytes_eq(buf_bytes(&f->texts[0]), bytes_str("it's")));
	filter_free(f);
}

TEST(levels_have_an_end)
{
	char text[3 * FILTER_DEPTH_MAX];
	int n = FILTER_DEPTH_MAX - 1;

	for (int more = 0; more < 2; more++, n++) {
		snprintf(text, sizeof(text), "%*sPageFilter(1)%*s", n, "", n,
			 "");
		memset(text, '(', (size_t)n);
		memset(text + n + 13, ')', (size_t)n);
		if (more)
			refused(text, "too many levels at byte 65");
		else
			filter_free(parsed(text));
	}
}

/* A filter of @n times @part between @before and @after. */
static char *long_filter(const char *before, const char *part, size_t n,
			 const char *after)
{
	size_t len = strlen(part);
	char *text = malloc(strlen(before) + n * len + strlen(after) + 1);
	char *p;

	assert_non_null(text);
	p = stpcpy(text, before);
	for (size_t i = 0; i < n; i++)
		p = stpcpy(p, part);
	strcpy(p, after);
	return text;
}

static void takes(char *text)
{
	filter_free(parsed(text));
	free(text);
}

static void takes_not(char *text, const char *words)
{
	refused(text, words);
	free(text);
}

TEST(what_is_too_long_is_refused)
{
	size_t most = FILTER_TEXT_MAX - strlen("PrefixFilter('')");

	takes(long_filter("PrefixFilter('", "a", most, "')"));
	takes_not(long_filter("PrefixFilter('", "a", most + 1, "')"),
		  "the filter has 1048577 bytes, at most 1048576 are allowed");
	takes(long_filter("TimestampsFilter(1", ",1", 4095, ")"));
	takes_not(long_filter("TimestampsFilter(1", ",1", 4096, ")"),
		  "too many arguments");
	takes(long_filter("RowFilter(=,'regexstring:", "a", 4096, "')"));
	takes_not(long_filter("RowFilter(=,'regexstring:", "a", 4097, "')"),
		  "has 4097 bytes, at most 4096 are allowed");
}

TEST(every_cut_is_refused_or_parsed)
{
	const char *whole = "(PrefixFilter('a''b') AND WHILE SingleColumn"
			    "ValueFilter('f','q',>=,'binary:x',true,false)) "
			    "OR ColumnRangeFilter('a',true,'b',false)";

	filter_free(parsed(whole));
	for (size_t i = 0; i < strlen(whole); i++) {
		struct filter *f = NULL;
		uint8_t *cut = malloc(i + 1);

		/* Behind its end lies nothing that may be read. */
		assert_non_null(cut);
		memcpy(cut, whole, i);
		assert_int_equal(
			filter_parse(bytes_of(cut, i), &f) < 0,
			i != strlen("(PrefixFilter('a''b') AND WHILE "
				    "SingleColumnValueFilter('f','q',"
				    ">=,'binary:x',true,false))") &&
				i != strlen(whole) - strlen("OR ColumnRange"
							    "Filter('a',true,"
							    "'b',false)"));
		filter_free(f);
		free(cut);
	}
}

TEST(only_rows_that_may_pass_are_looked_at)
{
	static const struct {
		const char *text, *min, *max;
	} cases[] = {
		{"PrefixFilter('b')", "b", ""},
		{"RowFilter(=,'binary:b')", "b", "b"},
		{"RowFilter(<,'binary:b')", "", "b"},
		{"PrefixFilter('b') AND RowFilter(<=,'binary:c')", "b", "c"},
		{"PrefixFilter('b') OR PageFilter(1)", "", ""},
		{"PrefixFilter('b') AND WHILE PageFilter(1)", "", ""},
		{"PrefixFilter('b') AND (SKIP WHILE PageFilter(1))", "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct filter *f = parsed(cases[i].text);
		struct bytes min = {0}, max = {0};

		filter_rows(f, &min, &max);
		if (!bytes_eq(min, bytes_str(cases[i].min)) ||
		    !bytes_eq(max, bytes_str(cases[i].max)))
			fail_msg("%s", cases[i].text);
		filter_free(f);
	}
}
