/*
 * Patterns of filters. What a case finds is what java.util.regex.Pattern finds
 * with DOTALL, in text that was decoded from UTF-8, as HBase asks it.
 */
#include "tests/unit/unit.h"
#include "store/filter/filter_inside.h"
#include "store/value/why.h"

struct find {
	const char *pattern, *text;
	bool found;
};

/* 1, 0 or the error of the search. */
static int finds(struct bytes pattern, bool nocase, struct bytes text)
{
	struct regex_search s = {0};
	pcre2_code *code = NULL;
	int r = regex_compile(pattern, nocase, &code);

	if (r < 0)
		fail_msg("%.*s: %s", (int)pattern.len, pattern.data,
			 store_why());
	r = regex_find(code, &s, text);
	regex_search_free(&s);
	pcre2_code_free(code);
	return r;
}

static void check(const struct find *c, size_t n, bool nocase)
{
	for (size_t i = 0; i < n; i++)
		if (finds(bytes_str(c[i].pattern), nocase,
			  bytes_str(c[i].text)) != c[i].found)
			fail_msg("%s: '%s' is%s found", c[i].pattern, c[i].text,
				 c[i].found ? " not" : "");
}

#define CHECK(cases, nocase) \
	check(cases, sizeof(cases) / sizeof(*cases), nocase)

TEST(a_pattern_is_found_anywhere)
{
	static const struct find cases[] = {
		{"", "", true},
		{"", "a", true},
		{"b", "abc", true},
		{"^b", "abc", false},
		{"b$", "abc", false},
		{"^a.c$", "abc", true},
		{"\\Aa", "abc", true},
		{"c\\z", "abc", true},
		{"\\Gb", "abc", false},
		{"^(?:B|D)\\w+?(rry|pe)$", "Berry", true},
		{"^(?:B|D)\\w+?(rry|pe)$", "berry", false},
		{"a|", "", true},
		{"x|bc", "abc", true},
	};

	CHECK(cases, false);
}

TEST(quantifiers_are_greedy_lazy_or_possessive)
{
	static const struct find cases[] = {
		{"^a{2}$", "aa", true},	      {"^a{2,}$", "a", false},
		{"^a{1,2}?$", "aa", true},    {"^a??b", "ab", true},
		{"^a++ab", "aaab", false},    {"^a+ab", "aaab", true},
		{"^a*+b", "aaab", true},      {"^a?+ab", "ab", false},
		{"^a{1,3}+ab", "aab", false}, {"^(?>a+)ab", "aaab", false},
		{"^(?:ab)*c", "ababc", true}, {"(|a)+b", "aab", true},
	};

	CHECK(cases, false);
}

TEST(looking_around)
{
	static const struct find cases[] = {
		{"a(?=b)", "ab", true},
		{"a(?=b)", "ac", false},
		{"a(?!b)", "ab", false},
		{"a(?!b)", "ac", true},
		{"(?<=a)b", "ab", true},
		{"(?<=a)b", "cb", false},
		{"(?<!a)b", "ab", false},
		{"(?<!a)b", "b", true},
		{"(?<=a|bc)d", "bcd", true},
		{"^(?=.*[0-9])(?=.*[a-z]).{4,}$", "ab12", true},
		{"^(?=.*[0-9])(?=.*[a-z]).{4,}$", "abcd", false},
	};

	CHECK(cases, false);
}

TEST(groups_are_referred_to)
{
	static const struct find cases[] = {
		{"^(a|b)\\1$", "aa", true},
		{"^(a|b)\\1$", "ab", false},
		{"^(?<one>a|b)\\k<one>$", "bb", true},
		{"^(?<one>a|b)\\k<one>$", "ba", false},
		{"^(?:a)(b)\\1$", "abb", true},
	};

	CHECK(cases, false);
}

TEST(classes_are_of_ascii_or_of_unicode)
{
	static const struct find cases[] = {
		{"^\\p{Alpha}+$", "aZ", true},
		{"\\p{Alpha}", "\u00e9", false},
		{"^\\p{L}\\pL$", "\u00e9a", true},
		{"\\p{Lu}", "\u00e9", false},
		{"^\\P{Lower}$", "A", true},
		{"^[\\p{Upper}\\p{Digit}_]+$", "A_1", true},
		{"^[^\\p{Punct}]$", "!", false},
		{"^[\\P{Space}]$", " ", false},
		{"^\\p{XDigit}\\p{ASCII}\\p{Blank}$", "f~\t", true},
		{"\\d", "\u0663", false},
		{"\\w", "\u00e9", false},
		{"\\s", "\v", true},
		{"^\\D\\W\\S$", "a-b", true},
		{"^\\h\\v$", "\u00a0\n", true},
		{"^[\\w-.]+@", "a-b.c@", true},
		{"^[]a]+$", "]a", true},
		{"^[^]a]$", "]", false},
		{"^[a\\]\\-^]+$", "]-^", true},
		{"^[\\Qa-c\\E]+$", "b", false},
		{"^[\u00e0-\u00fc]$", "\u00e9", true},
		{"^[\\u00e0-\\xfc]$", "\u00e9", true},
		{"\\bb", "a b", true},
		{"\\Bb", "a b", false},
	};

	CHECK(cases, false);
}

TEST(escapes_are_characters)
{
	static const struct find cases[] = {
		{"^\\t\\n\\r\\f\\a\\e$", "\t\n\r\f\a\033", true},
		{"^\\x41\\x{42}\\u0043$", "ABC", true},
		{"^\\x{1F600}$", "\U0001f600", true},
		{"^\\Qa*\\E*$", "a**", true},
		{"\\Qa.", "a.", true},
		{"\\Qa.", "ab", false},
		{"^\\.\\*\\_\\\\$", ".*_\\", true},
		{"^}]$", "}]", true},
	};

	CHECK(cases, false);
}

TEST(lines)
{
	static const struct find cases[] = {
		{"a.b", "a\nb", true}, /* DOTALL */
		{"(?-s)a.b", "a\nb", false},  {"a$", "a\n", true},
		{"a$", "a\r\n", true},	      {"a\\Z", "a\n", true},
		{"a\\z", "a\n", false},	      {"a$", "a\n\n", false},
		{"a$", "a\v", false},	      {"^b", "a\nb", false},
		{"(?m)^b$", "a\nb\nc", true}, {"^\\R$", "\r\n", true},
		{"^\\R\\R$", "\r\n", true},   {"^\\R$", "\u2028", true},
	};

	CHECK(cases, false);
}

TEST(case_is_that_of_ascii)
{
	static const struct find either[] = {
		{"aPPle", "Apple", true},    {"[a-c]", "B", true},
		{"\u00e9", "\u00c9", false}, {"\u00c9", "\u00c9", true},
		{"k", "\u212a", false},	     {"(?-i)a", "A", false},
	};
	static const struct find given[] = {
		{"(?i)a", "A", true},	    {"a(?i)b", "AB", false},
		{"a(?i:b)c", "aBc", true},  {"a(?i:b)c", "aBC", false},
		{"(?i)k", "\u212a", false},
	};

	CHECK(either, true);
	CHECK(given, false);
}

TEST(a_text_is_characters_of_any_bytes)
{
	static const struct find cases[] = {
		{"^.$", "\u00e9", true},
		{"^.{2}$", "\U0001f600\u00e9", true},
		{"^a.b$",
		 "a\xff"
		 "b",
		 true},
		{"^\\x{FFFD}$", "\xff", true},
		{"^\\x{ff}$", "\xff", false},
		{"^\xff$", "\xfe", true}, /* both are U+FFFD */
		{"^[^a]$", "\x80", true},
	};

	CHECK(cases, false);
	assert_int_equal(finds(bytes_str("^a.b$"), false, bytes_of("a\0b", 3)),
			 1);
	assert_int_equal(finds(bytes_str("b$"), false, bytes_of("a\0b", 3)), 1);
	assert_int_equal(finds(bytes_str("\\x00"), false, bytes_of("a\0b", 3)),
			 1);
	assert_int_equal(finds(bytes_of("a\0b", 3), false, bytes_of("a\0b", 3)),
			 1);
	assert_int_equal(finds(bytes_of("a\0b", 3), false, bytes_str("ab")), 0);
	assert_int_equal(finds(bytes_str("^$"), false, bytes_of(NULL, 0)), 1);
}

static void refused(const char *pattern, const char *words)
{
	pcre2_code *code = NULL;

	if (regex_compile(bytes_str(pattern), false, &code) != -EINVAL)
		fail_msg("%s is taken", pattern);
	assert_null(code);
	if (!strstr(store_why(), words))
		fail_msg("%s: '%s', not '%s'", pattern, store_why(), words);
}

TEST(what_java_has_and_pcre2_not_is_refused)
{
	refused("[a-z&&[^b]]", "a class within a class at byte 5");
	refused("x[a[bc]]", "a class within a class at byte 4");
	refused("\\p{javaLowerCase}", "unknown POSIX class name");
	refused("\\p{IsAlphabetic}", "unknown POSIX class name");
	refused("[\\p{InGreek}]", "unknown POSIX class name");
	refused("\\p{sc=Greek}", "a property that is not supported at byte 1");
	refused("(?<=a+)b", "lookbehind assertion is not");
	refused("a(?u)b", "a group that is not supported at byte 2");
	refused("(?x) a", "a group that is not supported");
	refused("(?U)a", "a group that is not supported");
	refused("(?d)a", "a group that is not supported");
	refused("\\0101", "an escape that is not supported");
	refused("\\cA", "an escape that is not supported");
	refused("\\X", "an escape that is not supported");
	refused("\\N{DIGIT ONE}", "an escape that is not supported");
	refused("\\b{g}", "an escape that is not supported");
	refused("\\ud83d\\ude00", "an escape that is not supported");
	refused("(a)\\11", "an escape that is not supported at byte 4");
	refused("(a)\\2", "reference to non-existent subpattern");
	refused("a{2}{3}", "a quantifier of a quantifier at byte 2");
}

TEST(what_only_pcre2_has_is_refused)
{
	refused("(?R)", "a group that is not supported");
	refused("(a)(?1)", "a group that is not supported at byte 4");
	refused("(?|a)", "a group that is not supported");
	refused("(?#a)", "a group that is not supported");
	refused("(?P<n>a)", "a group that is not supported");
	refused("(?'n'a)", "a group that is not supported");
	refused("(?J)a", "a group that is not supported");
	refused("(?(?=a)b)", "a group that is not supported");
	refused("(?C)a", "a group that is not supported");
	refused("(*UTF)a", "a group that is not supported at byte 1");
	refused("a(*ACCEPT)", "a group that is not supported at byte 2");
	refused("a\\Kb", "an escape that is not supported at byte 2");
	refused("\\C", "an escape that is not supported");
	refused("\\g1", "an escape that is not supported");
	refused("a\\E", "an escape that is not supported");
	refused("\\x4", "an escape that is not supported");
	refused("[\\b]", "an escape that is not supported at byte 2");
	refused("[\\1]", "an escape that is not supported");
	refused("[[:alpha:]]", "a class within a class");
	refused("a{", "a '{' that begins no quantifier at byte 2");
	refused("a{,3}", "a '{' that begins no quantifier");
	refused("a{1", "a '{' that begins no quantifier");
}

TEST(what_is_wrong_is_refused)
{
	char deep[1000];

	refused("(", "missing closing parenthesis");
	refused("a)|(b", "unmatched closing parenthesis");
	refused("a\\", "an escape that is not supported at byte 2");
	refused("[a", "a class that does not end at byte 3");
	refused("[]", "a class that does not end");
	refused("a**", "a quantifier of a quantifier");
	refused("*a", "quantifier does not follow a repeatable item");
	refused("a{2,1}", "numbers out of order");
	refused("[b-a]", "range out of order");
	refused("(?:a{9999}){9999}", "more than 256 KiB when compiled");
	memset(deep, '(', sizeof(deep));
	memset(deep + 500, ')', 499);
	deep[999] = '\0';
	refused(deep, "too deeply nested");
}

static char *text_of_as(size_t n, char last)
{
	char *text = malloc(n + 1);

	assert_non_null(text);
	memset(text, 'a', n);
	text[n - 1] = last;
	text[n] = '\0';
	return text;
}

TEST(a_search_that_takes_too_many_steps_ends)
{
	static const struct {
		const char *pattern;
		size_t length;
	} cases[] = {
		{"(a+)+$", 40},
		{"^(a|aa)+$", 60},
		{"(.*)*(.*)*(.*)*[cd]", 60},
		{"(?:a|b)*(?:a|b)*(?:a|b)*[cd]", 5000},
		{"a+$", 200000}, /* few for each beginning */
		{"(\\w|\\d)*\\1\\1[cd]", 1000000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = text_of_as(cases[i].length, '!');
		int r = finds(bytes_str(cases[i].pattern), false,
			      bytes_str(text));

		if (r != -ETIME)
			fail_msg("%s: %d", cases[i].pattern, r);
		assert_non_null(strstr(store_why(), "needs too many steps"));
		free(text);
	}
}

TEST(a_long_text_takes_no_more_than_its_length)
{
	char *text = text_of_as(1000000, 'b');
	struct bytes all = bytes_str(text), some = bytes_of(text, 50000);

	assert_int_equal(finds(bytes_str("a$"), false, all), 0);
	assert_int_equal(finds(bytes_str("ab$"), false, all), 1);
	assert_int_equal(finds(bytes_str("^a.*b$"), false, all), 1);
	assert_int_equal(finds(bytes_str("c|d|e"), false, all), 0);
	assert_int_equal(finds(bytes_str("^(?:a|c)*$"), false, some), 1);
	free(text);
}

/* What a filter says of a row "aaa...!" with one cell f:q of that value. */
static int judge(const char *text)
{
	char *long_text = text_of_as(40, '!');
	struct cell c = {.row = bytes_str(long_text),
			 .family = bytes_str("f"),
			 .qualifier = bytes_str("q"),
			 .kind = CELL_PUT,
			 .value = bytes_str(long_text)};
	struct filter_answer a;
	struct filter *f = NULL;
	struct filter_run *run = NULL;
	int r;

	assert_int_equal(filter_parse(bytes_str(text), &f), 0);
	assert_int_equal(filter_run_new(f, false, &run), 0);
	r = filter_row_begin(run, c.row);
	if (r > 0)
		r = filter_cell(run, &c, &a);
	filter_run_free(run);
	filter_free(f);
	free(long_text);
	return r;
}

TEST(a_filter_passes_the_error_on)
{
	static const char *const kinds[] = {
		"RowFilter(=,%s)",
		"RowFilter(!=,%s)",
		"ValueFilter(=,%s)",
		"ValueFilter(!=,%s)",
		"WHILE RowFilter(!=,%s)",
		"SKIP ValueFilter(=,%s)",
		"RowFilter(=,%s) OR PageFilter(1)",
		"PageFilter(1) AND ValueFilter(=,%s)",
		"ColumnValueFilter('f','q',=,%s)",
		"SingleColumnValueFilter('f','q',!=,%s)",
		"DependentColumnFilter('f','q',false,=,%s)",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char text[128];

		snprintf(text, sizeof(text), kinds[i], "'regexstring:(a+)+$'");
		if (judge(text) != -ETIME)
			fail_msg("%s: %d", text, judge(text));
	}
}

/* Searches are several times as fast then. */
TEST(a_pattern_becomes_machine_code_where_there_is_any)
{
	const PCRE2_UCHAR text[] = {'a', 0};
	pcre2_code *own, *code = NULL;
	size_t size = 0;
	PCRE2_SIZE where;
	int error;

	own = pcre2_compile(text, 1, 0, &error, &where, NULL);
	assert_non_null(own);
	assert_int_equal(regex_compile(bytes_str("a"), false, &code), 0);
	assert_int_equal(pcre2_pattern_info(code, PCRE2_INFO_JITSIZE, &size),
			 0);
	assert_int_equal(size > 0,
			 pcre2_jit_compile(own, PCRE2_JIT_COMPLETE) == 0);
	pcre2_code_free(own);
	pcre2_code_free(code);
}
