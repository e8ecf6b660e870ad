#include <time.h>

#include "tests/unit/unit.h"
#include "fs/kernel/node.h"
#include "fs/tree/view.h"
#include "store/value/why.h"

static int64_t when(const char *text)
{
	int64_t ms = -1;

	return view_parse_when(bytes_str(text), &ms) ? ms : -1;
}

TEST(a_time_is_milliseconds_now_or_utc)
{
	assert_int_equal(when("0"), 0);
	assert_int_equal(when("1637056832082"), 1637056832082);
	assert_int_equal(when("9223372036854775805"), TS_MAX);
	assert_int_equal(when("now"), TS_MAX);
	assert_int_equal(when("1970-01-01T00:00:00Z"), 0);
	assert_int_equal(when("2026-11-20T10:00:00.123Z"), 1795168800123);
	assert_int_equal(when("2026-11-20T10:00:00.1Z"), 1795168800100);
	assert_int_equal(when("2026-11-20T10:00:00.12Z"), 1795168800120);
	assert_int_equal(when("2000-02-29T00:00:00Z"), 951782400000);
	assert_int_equal(when("9999-12-31T23:59:59.999Z"), 253402300799999);
}

TEST(the_days_are_those_of_the_calendar)
{
	char text[32];
	struct tm tm;

	for (time_t day = 0; day < 24000; day++) {
		time_t t = day * 86400;

		gmtime_r(&t, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT00:00:00Z", &tm);
		assert_int_equal(when(text), (int64_t)t * 1000);
	}
}

TEST(no_other_spelling_is_a_time)
{
	static const char *const bad[] = {
		"",
		"-1",
		"+1",
		" 1",
		"01",
		"1 ",
		"1.5",
		"0x10",
		"1e3",
		"9223372036854775806",
		"9223372036854775807",
		"18446744073709551616",
		"99999999999999999999999999",
		"Now",
		"now ",
		"tomorrow",
		"2026-11-20",
		"2026-11-20T10:00:00",
		"2026-11-20T10:00Z",
		"2026-11-20 10:00:00Z",
		"2026-11-20t10:00:00z",
		"2026-11-20T10:00:00+01:00",
		"2026-11-20T10:00:00.Z",
		"2026-11-20T10:00:00.1234Z",
		"2026-11-20T10:00:00,123Z",
		"2026-11-20T10:00:00.12xZ",
		"20261120T100000Z",
		"26-11-20T10:00:00Z",
		"02026-11-20T10:00:0Z",
		"1969-12-31T23:59:59Z",
		"0000-01-01T00:00:00Z",
		"2026-00-20T10:00:00Z",
		"2026-13-20T10:00:00Z",
		"2026-11-00T10:00:00Z",
		"2026-11-31T10:00:00Z",
		"2026-02-29T10:00:00Z",
		"2100-02-29T10:00:00Z",
		"2026-11-20T24:00:00Z",
		"2026-11-20T10:60:00Z",
		"2026-11-20T10:00:60Z",
		"2026-11-20T-1:00:00Z",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (when(bad[i]) != -1)
			fail_msg("\"%s\" is a time", bad[i]);
}

/*
 * The view that components separated by blanks make, from @level down; NULL
 * when one is refused with -EINVAL, which must say why.
 */
static struct view *chain(uint8_t level, const char *words)
{
	struct view *v = NULL, *next;
	char copy[600], *rest = copy, *name, *arg;
	int r;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((name = strsep(&rest, " "))) {
		enum view_op op = view_op_of(bytes_str(name));

		assert_int_not_equal(op, VIEW_NONE);
		arg = op == VIEW_RAW ? NULL : strsep(&rest, " ");
		why_clear();
		r = view_narrow(v, op, arg ? bytes_str(arg) : (struct bytes){0},
				level, &next);
		view_unref(v);
		if (r < 0) {
			assert_int_equal(r, -EINVAL);
			assert_true(strlen(store_why()) > 10);
			return NULL;
		}
		v = next;
	}
	return v;
}

static void assert_rows(const char *words, const char *start, const char *stop)
{
	struct view *v = chain(NODE_TABLE, words);

	assert_non_null(v);
	assert_int_equal(v->rows.has_start, start != NULL);
	assert_int_equal(v->rows.has_stop, stop != NULL);
	if (start)
		assert_true(
			bytes_eq(buf_bytes(&v->rows.start), bytes_str(start)));
	if (stop)
		assert_true(
			bytes_eq(buf_bytes(&v->rows.stop), bytes_str(stop)));
	view_unref(v);
}

TEST(only_names_of_views_are_ops)
{
	static const char *const no[] = {"",	    ".",       "range",
					 ".Range",  ".range ", ".rang",
					 ".ranges", ".cells",  ".snapshot"};

	assert_int_equal(view_op_of(bytes_str(".range")), VIEW_RANGE);
	assert_int_equal(view_op_of(bytes_str(".raw")), VIEW_RAW);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		assert_int_equal(view_op_of(bytes_str(no[i])), VIEW_NONE);
}

TEST(keys_bound_a_view)
{
	assert_rows(".range a..b", "a", "b");
	assert_rows(".range a..", "a", NULL);
	assert_rows(".range ..b", NULL, "b");
	assert_rows(".range a...b", "a", ".b");
	assert_rows(".range a%2Fb..%FF", "a/b", "\xff");
	assert_rows(".prefix ab", "ab", "ac");
	assert_rows(".prefix a%FF", "a\xff", "b");
	assert_rows(".prefix %FF%FF", "\xff\xff", NULL);
	assert_rows(".prefix %", "", NULL);
	assert_rows(".after k", "k", NULL);
	assert_rows(".range a..m .range c..z", "c", "m");
	assert_rows(".range c..z .prefix d .after dd", "dd", "e");
	/* A later start does not make an exclusive one inclusive. */
	assert_rows(".after k .range k..", "k", NULL);
}

TEST(counts_and_times_narrow)
{
	struct view *v = chain(NODE_TABLE, ".first 9 .first 5 .first 7");

	assert_int_equal(v->rows.limit, 5);
	assert_false(v->reversed);
	view_unref(v);
	v = chain(NODE_TABLE, ".last 5 .last 3 .since 10 .between 5..20");
	assert_true(v->reversed);
	assert_int_equal(v->rows.limit, 3);
	assert_int_equal(v->ts_min, 10);
	assert_int_equal(v->ts_max, 20);
	assert_false(v->empty);
	view_unref(v);
	v = chain(NODE_TABLE, ".at 30 .at 20 .at now");
	assert_int_equal(v->at, 20);
	view_unref(v);
	v = chain(NODE_FAMILY, ".first 4 .prefix q");
	assert_int_equal(v->qualifiers.limit, 4);
	assert_false(v->rows.has_start);
	assert_true(v->qualifiers.has_stop);
	view_unref(v);
}

TEST(what_holds_nothing_is_empty_and_no_error)
{
	static const char *const empty[] = {
		".range ..%",
		".range b..a",
		".range a..a",
		".prefix a .prefix b",
		".between 5..5",
		".between 9..5",
		".between ..0",
		".since 9 .between 1..9",
		".range a..c .range d..",
	};

	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
		struct view *v;

		why_clear();
		v = chain(NODE_TABLE, empty[i]);
		assert_non_null(v);
		assert_string_equal(store_why(), "");
		if (!v->empty)
			fail_msg("\"%s\" is not empty", empty[i]);
		view_unref(v);
	}
}

TEST(what_means_nothing_is_refused_in_words)
{
	static const char *const bad[] = {
		".range a",
		".range a.b",
		".range a%..b",
		".range a..%zz",
		".range %4",
		".prefix a%2",
		".after %2f",
		".first 0",
		".first -1",
		".first x",
		".first 01",
		".first 9223372036854775807",
		".first 18446744073709551617",
		".last 1.5",
		".first 1 .last 1",
		".last 1 .first 1",
		".since yesterday",
		".since 2026-02-30T00:00:00Z",
		".between 5",
		".between x..5",
		".between 5..x",
		".between 5..-1",
		".at 1969-01-01T00:00:00Z",
		".at 9223372036854775806",
		".raw .at now",
		".at now .raw",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (chain(NODE_TABLE, bad[i]))
			fail_msg("\"%s\" is a view", bad[i]);
	assert_null(chain(NODE_ROW, ".range a..b"));
	assert_null(chain(NODE_ROW, ".first 1"));
	assert_null(chain(NODE_FAMILY, ".last 1"));
	assert_null(chain(NODE_FAMILY, ".first 0"));
}

TEST(a_name_of_255_bytes_is_a_bound)
{
	char words[300], key[256];
	struct view *v;

	memset(key, 'k', 255);
	key[255] = '\0';
	snprintf(words, sizeof(words), ".prefix %s", key);
	v = chain(NODE_TABLE, words);
	assert_int_equal(v->rows.start.len, 255);
	assert_int_equal(v->rows.stop.data[254], 'l');
	view_unref(v);
	memset(key + 9, '.', 2);
	snprintf(words, sizeof(words), ".range %s", key);
	v = chain(NODE_TABLE, words);
	assert_int_equal(v->rows.start.len, 9);
	assert_int_equal(v->rows.stop.len, 244);
	view_unref(v);
}
