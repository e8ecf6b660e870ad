#include "tests/unit/unit.h"
#include "fs/text/name.h"
#include "fs/text/nearest.h"

static const char *spelled(struct bytes key)
{
	static struct name_part part;

	name_part(key, 0, &part);
	assert_false(part.more);
	assert_int_equal(part.next, key.len);
	return part.text;
}

TEST(keys_are_spelled_as_the_contract_says)
{
	assert_string_equal(spelled(bytes_str("bash")), "bash");
	assert_string_equal(spelled(bytes_str("a/b%c")), "a%2Fb%25c");
	assert_string_equal(spelled(bytes_str(".x.y")), "%2Ex.y");
	assert_string_equal(spelled(bytes_str("-rf-")), "%2Drf-");
	assert_string_equal(spelled(bytes_str("..")), "%2E.");
	assert_string_equal(spelled(bytes_str("")), "%");
	assert_string_equal(spelled(bytes_of("\0\x1f\x7f", 3)), "%00%1F%7F");
	assert_string_equal(spelled(bytes_str("gr\xc3\xbc\xc3\x9f e")),
			    "gr\xc3\xbc\xc3\x9f e");
	assert_string_equal(spelled(bytes_str("\xff\xc3")), "%FF%C3");
	/* A long form, a surrogate, beyond U+10FFFF. */
	assert_string_equal(spelled(bytes_str("\xc0\xaf")), "%C0%AF");
	assert_string_equal(spelled(bytes_str("\xed\xa0\x80")), "%ED%A0%80");
	assert_string_equal(spelled(bytes_str("\xf4\x90\x80\x80")),
			    "%F4%90%80%80");
	assert_string_equal(spelled(bytes_str("\xf0\x9f\x98\x80")),
			    "\xf0\x9f\x98\x80");
}

TEST(only_the_one_spelling_is_understood)
{
	static const char *const bad[] = {
		"%2f",	".x",	"-x",	   "%41",    "%",      "a%",	  "a%2",
		"a%zz", "\xff", "a/b",	   "%C3%BC", "%2E%2E", "x%+",	  "%+",
		"a\n",	"%%25", "%C3\xbc", "a%2b",   "\x7f%",  "abc%+%+",
	};
	struct buf key = {0};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (!strcmp(bad[i], "%"))
			continue;
		assert_int_equal(name_decode(bytes_str(bad[i]), &key), -EINVAL);
	}
	assert_int_equal(name_decode(bytes_str(""), &key), -EINVAL);
	assert_int_equal(name_decode(bytes_str("%"), &key), 0);
	assert_int_equal(key.len, 0);
	buf_free(&key);
}

TEST(a_name_over_255_bytes_is_too_long)
{
	char name[257];
	struct buf key = {0};

	memset(name, 'a', sizeof(name));
	assert_int_equal(name_decode(bytes_of(name, 256), &key), -ENAMETOOLONG);
	assert_int_equal(name_decode(bytes_of(name, 255), &key), 0);
	assert_int_equal(key.len, 255);
	buf_free(&key);
}

static void round_trip(struct bytes key)
{
	struct name_part part;
	struct buf joined = {0}, appended = {0};
	size_t pos = 0;
	bool more;

	do {
		assert_true(name_is_cut(key, pos));
		name_part(key, pos, &part);
		assert_true(part.len > 0 && part.len <= NAME_LEN_MAX);
		assert_int_equal(strlen(part.text), part.len);
		assert_null(memchr(part.text, '/', part.len));
		assert_true(part.text[0] != '.' && part.text[0] != '-');
		assert_int_equal(name_join(bytes_of(part.text, part.len),
					   &joined, &more),
				 0);
		assert_int_equal(more, part.more);
		assert_int_equal(joined.len, part.next);
		assert_int_equal(name_append(bytes_of(part.text, part.len),
					     &appended, &more),
				 0);
		assert_int_equal(more, part.more);
		pos = part.next;
	} while (part.more);
	assert_true(bytes_eq(buf_bytes(&joined), key));
	assert_true(bytes_eq(buf_bytes(&appended), key));
	buf_free(&joined);
	buf_free(&appended);
}

TEST(every_key_comes_back)
{
	static const char alphabet[] = "a.-/%\x01\x7f\xc3\xbc\xf0\x9f\x98\x80"
				       "\xff+:z";
	static uint8_t key[2000];

	srand(7);
	for (int i = 0; i < 20000; i++) {
		size_t len = (size_t)rand() % (i % 20 ? 24 : sizeof(key));

		for (size_t j = 0; j < len; j++)
			key[j] = (uint8_t)(i % 3 ? alphabet[(size_t)rand() %
							    (sizeof(alphabet) -
							     1)]
						 : rand());
		round_trip(bytes_of(key, len));
	}
}

TEST(a_long_key_is_cut_at_250_bytes)
{
	char key[600];
	struct name_part part;

	memset(key, 'k', sizeof(key));
	name_part(bytes_of(key, 256), 0, &part);
	assert_true(part.more);
	assert_int_equal(part.len, 252);
	assert_string_equal(part.text + 250, "%+");
	assert_int_equal(part.next, 250);
	name_part(bytes_of(key, 256), 250, &part);
	assert_false(part.more);
	assert_int_equal(part.len, 6);
	/* An escape is not cut: 249 bytes and one that would need three. */
	key[249] = '\x01';
	name_part(bytes_of(key, 600), 0, &part);
	assert_int_equal(part.len, 249 + 2);
	/* A piece does not begin with a '.', which would be a control name. */
	key[249] = 'k';
	key[250] = '.';
	name_part(bytes_of(key, 256), 250, &part);
	assert_string_equal(part.text, "%2Ekkkkk");
}

TEST(a_piece_too_few_or_too_many_is_refused)
{
	char piece[260];
	struct buf key = {0};
	bool more;

	memset(piece, 'k', sizeof(piece));
	memcpy(piece + 200, "%+", 2);
	assert_int_equal(name_join(bytes_of(piece, 202), &key, &more), -EINVAL);
	memset(piece, 'k', sizeof(piece));
	memcpy(piece + 250, "%+", 2);
	assert_int_equal(name_join(bytes_of(piece, 252), &key, &more), 0);
	assert_true(more);
	/* 250 + 5 fit in one component, so this is not its spelling. */
	assert_int_equal(name_join(bytes_str("kkkkk"), &key, &more), -EINVAL);
	assert_int_equal(key.len, 250);
	assert_int_equal(name_join(bytes_str("%"), &key, &more), -EINVAL);
	assert_int_equal(name_join(bytes_str("kkkkkk"), &key, &more), 0);
	assert_int_equal(key.len, 256);
	buf_free(&key);
}

TEST(a_character_cut_in_two_is_refused)
{
	char piece[260];
	struct buf key = {0};
	bool more;

	/* ..%C3%+ / %BC..: the two are one literal character. */
	memset(piece, 'k', 247);
	memcpy(piece + 247, "%C3%+", 5);
	assert_int_equal(name_join(bytes_of(piece, 252), &key, &more), 0);
	assert_int_equal(name_join(bytes_str("%BCkkkkkkkk"), &key, &more),
			 -EINVAL);
	assert_int_equal(name_join(bytes_str("kkkkkkkk"), &key, &more), 0);
	buf_free(&key);
}

TEST(timestamps_are_canonical_decimals)
{
	char text[21];
	int64_t ts;

	assert_true(name_parse_ts(bytes_str("0"), &ts) && ts == 0);
	assert_true(name_parse_ts(bytes_str("1637056832082"), &ts));
	assert_int_equal(ts, 1637056832082);
	assert_int_equal(name_format_ts(ts, text), 13);
	assert_string_equal(text, "1637056832082");
	name_format_ts(TS_MAX, text);
	assert_true(name_parse_ts(bytes_str(text), &ts) && ts == TS_MAX);
	assert_false(name_parse_ts(bytes_str("9223372036854775806"), &ts));
	assert_false(name_parse_ts(bytes_str("9223372036854775808"), &ts));
	assert_false(name_parse_ts(bytes_str("99999999999999999999"), &ts));
	assert_false(name_parse_ts(bytes_str("01"), &ts));
	assert_false(name_parse_ts(bytes_str("-1"), &ts));
	assert_false(name_parse_ts(bytes_str("+1"), &ts));
	assert_false(name_parse_ts(bytes_str("1 "), &ts));
	assert_false(name_parse_ts(bytes_str(""), &ts));
}

TEST(an_alias_splits_at_its_first_colon)
{
	struct buf hold = {0};
	struct bytes f, q;

	assert_int_equal(name_split_alias(bytes_str("i"), &hold, &f, &q), 0);
	assert_int_equal(name_split_alias(bytes_str("i:a:b%2F"), &hold, &f, &q),
			 1);
	assert_true(bytes_eq(f, bytes_str("i")));
	assert_true(bytes_eq(q, bytes_str("a:b/")));
	assert_int_equal(name_split_alias(bytes_str("i:"), &hold, &f, &q), 1);
	assert_int_equal(q.len, 0);
	assert_int_equal(name_split_alias(bytes_str("i:%41"), &hold, &f, &q),
			 -EINVAL);
	buf_free(&hold);
}

TEST(an_alias_is_made_as_it_is_split)
{
	const char *const names[] = {"f:q", "f:", "f:a:b", "f:%00%2F"};
	char long_key[NAME_LEN_MAX];
	struct bytes family, qualifier;
	struct buf hold = {0};
	struct name_part part;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(name_split_alias(bytes_str(names[i]), &hold,
						  &family, &qualifier),
				 1);
		assert_true(name_alias(family, qualifier, &part));
		assert_string_equal(part.text, names[i]);
	}
	memset(long_key, 'q', sizeof(long_key));
	assert_false(name_alias(bytes_str("f"),
				bytes_of(long_key, sizeof(long_key)), &part));
	assert_true(name_alias(bytes_str("f"), bytes_of(long_key, 240), &part));
	/* As long as it is decoded, but not when it is escaped. */
	memset(long_key, 1, sizeof(long_key));
	assert_false(
		name_alias(bytes_str("f"), bytes_of(long_key, 200), &part));
	buf_free(&hold);
}

/* The word that is found for what was given, of these. */
static const char *nearest_to(const char *given, const char *one,
			      const char *two)
{
	static struct nearest n;

	nearest_init(&n, given);
	nearest_offer(&n, one);
	nearest_offer(&n, two);
	return n.word;
}

TEST(the_nearest_word_is_the_one_that_was_meant)
{
	char word[NEAREST_LEN_MAX + 2];

	/* A letter more, less, another, two the other way about; capitals. */
	assert_string_equal(nearest_to("rangex", "range", "none"), "range");
	assert_string_equal(nearest_to("rang", "none", "range"), "range");
	assert_string_equal(nearest_to("runge", "range", "none"), "range");
	assert_string_equal(nearest_to("arnge", "range", "none"), "range");
	assert_string_equal(nearest_to("RANGE", "range", "none"), "range");
	assert_string_equal(nearest_to("ba", "ab", "none"), "ab");
	assert_string_equal(nearest_to("bc", "ab", "none"), "");
	assert_string_equal(nearest_to("ca", "ab", "none"), "");
	/* A quarter of the letters and one, no more. */
	assert_string_equal(nearest_to("abc", "abd", "none"), "abd");
	assert_string_equal(nearest_to("abc", "ade", "none"), "");
	assert_string_equal(nearest_to("abcd", "abxy", "none"), "abxy");
	assert_string_equal(nearest_to("abcd", "axyz", "none"), "");
	/* The nearer one, and of two as near the first. */
	assert_string_equal(nearest_to("abcdef", "abcdxy", "abcdex"), "abcdex");
	assert_string_equal(nearest_to("abcdef", "abcdex", "abcdxy"), "abcdex");
	assert_string_equal(nearest_to("abcdef", "abcdex", "abcdey"), "abcdex");
	/* Some letter must be the word's own. */
	assert_string_equal(nearest_to("x", "y", "xy"), "xy");
	assert_string_equal(nearest_to("", "y", "none"), "");
	assert_string_equal(nearest_to("abcd", "xy", "none"), "");
	memset(word, 'w', sizeof(word));
	word[NEAREST_LEN_MAX] = '\0';
	assert_string_equal(nearest_to(word, word, "none"), word);
	word[NEAREST_LEN_MAX] = 'w';
	word[NEAREST_LEN_MAX + 1] = '\0';
	assert_string_equal(nearest_to(word, "none", word), "");
	assert_string_equal(nearest_to(word + 1, word, word), "");
	assert_string_equal(nearest_to(word, word + 1, word + 1), "");
}
