/* Schemas: names, attributes, the text for people, the bytes for manifests. */
#include "tests/unit/unit.h"
#include "store/value/schema.h"
#include "store/value/why.h"
#include "tests/unit/alloc_fault.h"

/* The fuzz target, for its small corpus below. */
#include "tests/fuzz/schema.c"

static const char golden[] = "families fixed\n"
			     "mode 0750\n"
			     "uid 1000\n"
			     "gid 100\n"
			     "\n"
			     "family basic\n"
			     "\tversions 3\n"
			     "\tmin_versions 0\n"
			     "\tttl forever\n"
			     "\tkeep_deleted no\n"
			     "\tcompression none\n"
			     "\tbloom row\n"
			     "\tblock_size 16KiB\n"
			     "\tblock_cache yes\n"
			     "\tin_memory no\n"
			     "\tnew_version_behavior yes\n"
			     "\tmax_value 10MiB\n"
			     "\n"
			     "family odd%20%23%25\n"
			     "\tversions all\n"
			     "\tmin_versions 2\n"
			     "\tttl 90s\n"
			     "\tkeep_deleted ttl\n"
			     "\tcompression zlib\n"
			     "\tbloom rowcol\n"
			     "\tblock_size 1025\n"
			     "\tblock_cache no\n"
			     "\tin_memory yes\n"
			     "\tnew_version_behavior no\n"
			     "\tmax_value 1KiB\n";

/* Two families, one with nothing at its default. */
static void make(struct schema *s)
{
	struct family_attrs a;

	schema_init(s, 1000, 100);
	s->fixed = true;
	s->mode = 0750;
	family_attrs_default(&a);
	a = (struct family_attrs){.versions = UINT32_MAX,
				  .min_versions = 2,
				  .ttl_ms = 90000,
				  .keep_deleted = KEEP_DELETED_TTL,
				  .compression = COMPRESSION_ZLIB,
				  .bloom = BLOOM_ROWCOL,
				  .in_memory = true,
				  .block_size = 1025,
				  .max_value = 1024};
	assert_int_equal(schema_add(s, bytes_str("odd #%"), &a), 0);
	family_attrs_default(&a);
	assert_int_equal(schema_add(s, bytes_str("basic"), &a), 0);
}

static struct buf text_of(const struct schema *s)
{
	struct buf b = {0};

	assert_int_equal(schema_format(s, &b), 0);
	assert_int_equal(buf_append(&b, "", 1), 0);
	b.len--;
	return b;
}

TEST(the_text_is_the_canonical_one)
{
	struct schema s, back = {0};
	struct buf text;

	make(&s);
	text = text_of(&s);
	assert_string_equal((char *)text.data, golden);
	assert_int_equal(schema_parse(buf_bytes(&text), NULL, &back), 0);
	assert_true(schema_equal(&s, &back));
	buf_free(&text);
	schema_free(&s);
	schema_free(&back);
}

TEST(what_the_text_leaves_out_has_its_default)
{
	struct schema s = {0}, defaults;
	struct family_attrs a;

	schema_init(&defaults, 7, 8);
	defaults.mode = 0700;
	assert_int_equal(schema_parse(bytes_str("family f"), &defaults, &s), 0);
	assert_false(s.fixed);
	assert_int_equal(s.mode, 0700);
	assert_int_equal(s.uid, 7);
	assert_int_equal(s.gid, 8);
	family_attrs_default(&a);
	assert_int_equal(s.nfamilies, 1);
	assert_int_equal(s.families[0].attrs.versions, 3);
	assert_int_equal(s.families[0].attrs.max_value, 10 << 20);
	assert_true(s.families[0].attrs.ttl_ms == TTL_FOREVER);
	assert_true(s.families[0].attrs.new_version_behavior);
	schema_free(&s);
	assert_int_equal(schema_parse(bytes_str(""), NULL, &s), 0);
	assert_true(s.fixed);
	assert_int_equal(s.mode, 0755);
	assert_int_equal(s.nfamilies, 0);
	schema_free(&s);
}

TEST(a_quota_is_kept_as_text_and_as_bytes)
{
	struct schema s = {0}, back = {0}, unsaid = {0};
	struct buf bytes = {0};
	struct alter a = {0};
	struct buf text;

	assert_int_equal(
		schema_parse(bytes_str("quota 1536MiB\nfamily f"), NULL, &s),
		0);
	assert_int_equal(s.quota, 1536ull << 20);
	text = text_of(&s);
	assert_non_null(strstr((char *)text.data, "\nquota 1536MiB\n"));
	assert_int_equal(schema_encode(&s, &bytes), 0);
	assert_int_equal(schema_decode(buf_bytes(&bytes), &back), 0);
	assert_true(schema_equal(&s, &back));
	back.quota++;
	assert_false(schema_equal(&s, &back));
	for (size_t n = 0; n < bytes.len; n++)
		assert_int_equal(
			schema_decode(bytes_of(bytes.data, n), &unsaid),
			-EUCLEAN);
	/* A quota of 0 is written as none. */
	memset(bytes.data + 13, 0, 8);
	assert_int_equal(schema_decode(buf_bytes(&bytes), &unsaid), -EUCLEAN);
	/* What does not name it keeps it; none takes it away. */
	assert_int_equal(alter_parse(bytes_str("family f"), &s, 0, &a), 0);
	assert_int_equal(a.to.quota, s.quota);
	alter_free(&a);
	assert_int_equal(alter_parse(bytes_str("quota none"), &s, 0, &a), 0);
	assert_int_equal(a.to.quota, 0);
	alter_free(&a);
	buf_free(&text);
	buf_free(&bytes);
	schema_free(&s);
	schema_free(&back);
}

TEST(order_comments_and_blanks_mean_nothing)
{
	static const char text[] = "# mine\r\n"
				   "  family  z # last\n"
				   "ttl\t7d\n\n"
				   "\t\tversions 5\n"
				   "families open\n"
				   "family a\n"
				   "block_size 65536";
	struct schema s = {0};

	assert_int_equal(schema_parse(bytes_str(text), NULL, &s), 0);
	assert_false(s.fixed);
	assert_int_equal(s.nfamilies, 2);
	assert_string_equal(s.families[0].name, "a");
	assert_int_equal(s.families[0].attrs.block_size, 65536);
	assert_string_equal(s.families[1].name, "z");
	assert_int_equal(s.families[1].attrs.versions, 5);
	assert_true(s.families[1].attrs.ttl_ms == 7ull * 86400000);
	schema_free(&s);
}

TEST(a_time_is_written_in_its_largest_whole_unit)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"1ms", "1ms"},		{"1000ms", "1s"}, {"90s", "90s"},
		{"120s", "2m"},		{"3600s", "1h"},  {"24h", "1d"},
		{"36h", "36h"},		{"365d", "365d"}, {"1001ms", "1001ms"},
		{"forever", "forever"},
	};
	struct schema s = {0};
	struct buf text;
	char line[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(line, sizeof(line), "family f\nttl %s\n", cases[i].in);
		assert_int_equal(schema_parse(bytes_str(line), NULL, &s), 0);
		text = text_of(&s);
		snprintf(line, sizeof(line), "\tttl %s\n", cases[i].out);
		assert_non_null(strstr((char *)text.data, line));
		buf_free(&text);
		schema_free(&s);
	}
}

TEST(one_attribute_is_set_as_the_text_sets_it)
{
	struct family_attrs a;
	struct family_attr attr;
	unsigned n = 0;

	family_attrs_default(&a);
	assert_int_equal(
		family_attr_set(&a, bytes_str("ttl"), bytes_str("90s")), 0);
	assert_true(a.ttl_ms == 90000);
	assert_int_equal(
		family_attr_set(&a, bytes_str("versions"), bytes_str("all")),
		0);
	assert_int_equal(
		family_attr_set(&a, bytes_str("bloom"), bytes_str("none")), 0);
	assert_int_equal(
		family_attr_set(&a, bytes_str("bloom"), bytes_str("much")),
		-EINVAL);
	assert_non_null(strstr(store_why(), "none, row or rowcol"));
	assert_int_equal(a.bloom, BLOOM_NONE);
	assert_int_equal(
		family_attr_set(&a, bytes_str("blom"), bytes_str("none")),
		-ENOENT);
	assert_non_null(strstr(store_why(), "'blom'"));
	for (; family_attr_get(&a, n, &attr); n++) {
		if (!strcmp(attr.word, "ttl")) {
			assert_null(attr.choice);
			assert_true(attr.number == 90000);
		} else if (!strcmp(attr.word, "versions")) {
			assert_string_equal(attr.choice, "all");
		} else if (!strcmp(attr.word, "bloom")) {
			assert_string_equal(attr.choice, "none");
		}
	}
	assert_true(n >= 11);
}

TEST(a_wrong_line_is_named_with_what_is_wrong)
{
	static const struct {
		const char *text, *says[3];
	} cases[] = {
		{"families shut", {"line 1:", "open or fixed", "'shut'"}},
		{"\n\ncolour red", {"line 3:", "'colour'", "min_versions"}},
		{"versions 3", {"line 1:", "family NAME", "versions"}},
		{"family f\nversions 0", {"line 2:", "family f", "at least 1"}},
		{"family f\nversions -1", {"line 2:", "'-1'", "from 1 on"}},
		{"family f\nversions 4294967296", {"line 2:", "'4294967296'"}},
		{"family f\nversions 1 2", {"line 2:", "'2'", "too much"}},
		{"family f\nversions", {"line 2:", "''", "from 1 on"}},
		{"family f\nttl 90", {"line 2:", "'90'", "90s"}},
		{"family f\nttl 0s", {"line 2:", "ttl", "1ms"}},
		{"family f\nttl 18446744073709551615d", {"line 2:", "forever"}},
		{"family f\nbloom maybe", {"line 2:", "rowcol", "'maybe'"}},
		{"family f\nblock_size 17MiB", {"line 2:", "16MiB"}},
		{"family f\nblock_size 16777217", {"line 2:", "16MiB"}},
		{"family f\nblock_size 1023", {"line 2:", "1KiB"}},
		{"family f\nblock_size 1", {"line 2:", "1KiB"}},
		{"family f\nmax_value 257MiB", {"line 2:", "256MiB"}},
		{"family f\nmax_value 268435457", {"line 2:", "256MiB"}},
		{"family f\nttl 9223372036854775808ms", {"line 2:", "forever"}},
		{"family f\nversions 3\nmin_versions 4",
		 {"line 3:", "min_versions 4"}},
		{"drop family f", {"line 1:", "to be made"}},
		{"family f\n\nttl 1s\nversions 0\nfamily g\nttl 5s",
		 {"line 4:", "family f", "at least 1"}},
		{"family f\nversions 1\nversions 1", {"line 3:", "second"}},
		{"mode 0755\nmode 0755", {"line 2:", "second"}},
		{"family f\nfamily f", {"line 2:", "already"}},
		{"family", {"line 1:", "name"}},
		{"family .f", {"line 1:", "dot"}},
		{"family a%2", {"line 1:", "hex"}},
		{"family a%00", {"line 1:", "control"}},
		{"mode 0888", {"line 1:", "octal"}},
		{"mode 10000", {"line 1:", "octal"}},
		{"uid 4294967295", {"line 1:", "user"}},
		{"gid x", {"line 1:", "group"}},
		{"quota 0", {"line 1:", "10GiB"}},
		{"quota 99999999999GiB", {"line 1:", "10GiB"}},
		{"quota 5furlongs", {"line 1:", "10GiB"}},
	};
	struct schema s = {.nfamilies = 77};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			schema_parse(bytes_str(cases[i].text), NULL, &s),
			-EINVAL);
		for (size_t j = 0; j < 3 && cases[i].says[j]; j++)
			if (!strstr(store_why(), cases[i].says[j]))
				fail_msg("'%s' lacks '%s'", store_why(),
					 cases[i].says[j]);
	}
	assert_int_equal(s.nfamilies, 77);
}

TEST(each_bound_is_a_value_that_is_taken)
{
	static const char *const texts[] = {
		"family f\nversions 1\nmin_versions 1",
		"family f\nversions 4294967295",
		"family f\nttl 1ms",
		"family f\nblock_size 1KiB",
		"family f\nblock_size 16MiB",
		"family f\nmax_value 256MiB",
		"mode 07777",
		"uid 4294967294",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct schema s;

		if (schema_parse(bytes_str(texts[i]), NULL, &s) < 0)
			fail_msg("%s: %s", texts[i], store_why());
		schema_free(&s);
	}
}

/* The table of make(), to be changed. */
static int alter(const char *text, unsigned flags, struct alter *a)
{
	struct schema s;
	int r;

	make(&s);
	r = alter_parse(bytes_str(text), &s, flags, a);
	schema_free(&s);
	return r;
}

TEST(a_change_names_what_it_drops)
{
	struct alter a;

	assert_int_equal(alter("family new\ndrop family basic\n", 0, &a), 0);
	assert_int_equal(a.to.nfamilies, 1);
	assert_int_equal(a.drop.nfamilies, 1);
	assert_true(schema_find(&a.drop, bytes_str("basic")) >= 0);
	assert_int_equal(a.rest, ALTER_KEEP);
	assert_int_equal(a.to.uid, 1000);
	alter_free(&a);
	/* A line before may say that it is there. */
	assert_int_equal(alter("family basic\ndrop family basic\n", 0, &a), 0);
	assert_int_equal(a.to.nfamilies, 0);
	assert_int_equal(a.drop.nfamilies, 1);
	alter_free(&a);
	/* It may be gone where that is allowed. */
	assert_int_equal(alter("drop family gone\n", ALTER_GONE, &a), 0);
	assert_int_equal(a.drop.nfamilies, 1);
	alter_free(&a);
}

TEST(a_wrong_line_that_drops_is_named)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"drop family gone", "line 1: the table has no family 'gone'"},
		{"drop", "line 1: it is drop family NAME"},
		{"drop table t", "line 1: it is drop family NAME"},
		{"drop family", "line 1: it is drop family NAME"},
		{"drop family basic now", "line 1: it is drop family NAME"},
		{"drop family a%zz", "line 1: 'a%zz' is no family name"},
		{"drop family basic\ndrop family basic", "line 2: "},
		{"drop family basic\nfamily basic", "line 2: a line before"},
		{"family f\nversions 3\nmin_versions 4\ndrop family basic",
		 "line 3: family f"},
	};
	struct alter a = {.rest = 77};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(alter(cases[i].text, 0, &a), -EINVAL);
		if (!strstr(store_why(), cases[i].says))
			fail_msg("'%s' lacks '%s'", store_why(), cases[i].says);
	}
	assert_int_equal(a.rest, 77);
}

/* What would be hidden by what the text leaves out is kept, if so asked. */
TEST(a_family_that_is_named_again_may_keep_what_it_has)
{
	const struct family_attrs *f;
	struct family_attrs usual;
	struct alter a;

	assert_int_equal(alter("family odd%20%23%25\n", 0, &a), 0);
	family_attrs_default(&usual);
	assert_int_equal(a.to.families[0].attrs.versions, usual.versions);
	assert_int_equal(a.to.families[0].attrs.min_versions, 0);
	alter_free(&a);
	assert_int_equal(alter("family odd%20%23%25\nfamily basic\nttl 5s\n"
			       "family new\n",
			       ALTER_SPARE, &a),
			 0);
	f = &a.to.families[schema_find(&a.to, bytes_str("odd #%"))].attrs;
	assert_int_equal(f->versions, UINT32_MAX);
	assert_int_equal(f->min_versions, 2);
	assert_true(f->ttl_ms == TTL_FOREVER);
	assert_int_equal(f->keep_deleted, KEEP_DELETED_TTL);
	f = &a.to.families[schema_find(&a.to, bytes_str("basic"))].attrs;
	assert_int_equal(f->ttl_ms, 5000);
	alter_free(&a);
}

/* The last of them counts; of other words there is one. */
TEST(a_quota_may_be_appended)
{
	struct schema s;

	assert_int_equal(
		schema_parse(bytes_str("quota 1GiB\nquota 2GiB\n"), NULL, &s),
		0);
	assert_true(s.quota == (uint64_t)2 << 30);
	assert_int_equal(schema_set_quota(&s, bytes_str("none")), 0);
	assert_int_equal(s.quota, 0);
	s.quota = 5;
	assert_int_equal(schema_set_quota(&s, bytes_str("5 GiB")), -EINVAL);
	assert_non_null(strstr(store_why(), "'5 GiB'"));
	assert_int_equal(schema_set_quota(&s, bytes_str("GiB")), -EINVAL);
	schema_free(&s);
}

/* Its bytes are counted, however they are spelled. */
TEST(a_family_name_has_no_more_bytes_than_it_may)
{
	char text[16 + 3 * FAMILY_LEN_MAX + 4] = "family ";
	struct schema s;

	for (int i = 0; i < FAMILY_LEN_MAX; i++)
		strcat(text, "%61");
	assert_int_equal(schema_parse(bytes_str(text), NULL, &s), 0);
	assert_int_equal(strlen(s.families[0].name), FAMILY_LEN_MAX);
	schema_free(&s);
	strcat(text, "a");
	assert_int_equal(schema_parse(bytes_str(text), NULL, &s), -EINVAL);
	assert_non_null(strstr(store_why(), "at most"));
}

TEST(a_text_too_long_is_refused)
{
	char *text = calloc(1, SCHEMA_TEXT_MAX + 1);
	struct schema s = {0};

	assert_non_null(text);
	memset(text, '\n', SCHEMA_TEXT_MAX + 1);
	assert_int_equal(
		schema_parse(bytes_of(text, SCHEMA_TEXT_MAX), NULL, &s), 0);
	schema_free(&s);
	assert_int_equal(
		schema_parse(bytes_of(text, SCHEMA_TEXT_MAX + 1), NULL, &s),
		-EINVAL);
	free(text);
}

TEST(families_stay_in_byte_order)
{
	struct family_attrs a;
	struct schema s, copy = {0};

	schema_init(&s, 0, 0);
	family_attrs_default(&a);
	assert_int_equal(schema_add(&s, bytes_str("m"), &a), 0);
	assert_int_equal(schema_add(&s, bytes_str("z"), &a), 0);
	assert_int_equal(schema_add(&s, bytes_str("\xc3\xa4"), &a), 0);
	assert_int_equal(schema_add(&s, bytes_str("A"), &a), 0);
	assert_int_equal(schema_add(&s, bytes_str("m"), &a), -EEXIST);
	assert_int_equal(schema_find(&s, bytes_str("A")), 0);
	assert_int_equal(schema_find(&s, bytes_str("m")), 1);
	assert_int_equal(schema_find(&s, bytes_str("\xc3\xa4")), 3);
	assert_int_equal(schema_find(&s, bytes_str("n")), -1);
	assert_int_equal(schema_copy(&copy, &s), 0);
	assert_true(schema_equal(&s, &copy));
	assert_int_equal(schema_remove(&s, bytes_str("m")), 0);
	assert_int_equal(schema_remove(&s, bytes_str("m")), -ENOENT);
	assert_int_equal(schema_find(&s, bytes_str("z")), 1);
	assert_false(schema_equal(&s, &copy));
	schema_free(&s);
	schema_free(&copy);
}

TEST(a_table_has_a_bounded_number_of_families)
{
	struct family_attrs a;
	struct schema s;
	char name[16];

	schema_init(&s, 0, 0);
	family_attrs_default(&a);
	for (int i = 0; i < SCHEMA_FAMILIES_MAX; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		assert_int_equal(schema_add(&s, bytes_str(name), &a), 0);
	}
	assert_int_equal(schema_add(&s, bytes_str("one more"), &a), -ENOSPC);
	schema_free(&s);
}

TEST(family_names_follow_the_rules)
{
	static const char *const good[] = {
		"f", "-", "a b", "caf\xc3\xa9", "%", "\xf0\x9f\x98\x80", "a.b"};
	static const char *const bad[] = {
		"",	    ".f",	    "a:b",
		"a/b",	    "a\\b",	    "a\tb",
		"\x7f",	    "\xc2\x85",	    "\xff",
		"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\xe2\x82", "\xc3",	    "recovered.edits"};
	char longest[FAMILY_LEN_MAX + 2];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(family_name_check(bytes_str(good[i])), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(family_name_check(bytes_str(bad[i])), -EINVAL);
	assert_int_equal(family_name_check(bytes_of("a\0", 2)), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(family_name_check(bytes_of(longest, FAMILY_LEN_MAX)),
			 0);
	assert_int_equal(
		family_name_check(bytes_of(longest, FAMILY_LEN_MAX + 1)),
		-ENAMETOOLONG);
}

TEST(table_names_follow_the_rules)
{
	static const char *const good[] = {"t",	   "T1",    "_x", "a.b-c",
					   "ns:t", "n_1:_", "9"};
	static const char *const bad[] = {
		"",	 "-t",	       ".t",	    "a b",
		"a/b",	 "a:",	       ":t",	    "a:b:c",
		"n-s:t", "ns:.t",      "n.s:t",	    "\xc3\xa4",
		"a%62",	 "hbase:meta", "default:t", ".schema"};
	char longest[TABLE_NAME_LEN_MAX + 2];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(table_name_check(bytes_str(good[i])), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(table_name_check(bytes_str(bad[i])), -EINVAL);
	memset(longest, 'a', sizeof(longest));
	assert_int_equal(
		table_name_check(bytes_of(longest, TABLE_NAME_LEN_MAX)), 0);
	assert_int_equal(
		table_name_check(bytes_of(longest, TABLE_NAME_LEN_MAX + 1)),
		-ENAMETOOLONG);
}

TEST(bytes_come_back_and_every_truncation_is_found)
{
	struct schema s, back = {0};
	struct buf b = {0};
	uint8_t *part;

	make(&s);
	assert_int_equal(schema_encode(&s, &b), 0);
	assert_int_equal(schema_decode(buf_bytes(&b), &back), 0);
	assert_true(schema_equal(&s, &back));
	schema_free(&back);
	for (size_t n = 0; n < b.len; n++) {
		/* Of its own size, so that a sanitizer sees a step too far. */
		part = malloc(n ? n : 1);
		assert_non_null(part);
		memcpy(part, b.data, n);
		assert_int_equal(schema_decode(bytes_of(part, n), &back),
				 -EUCLEAN);
		free(part);
	}
	assert_int_equal(buf_append(&b, "", 1), 0);
	assert_int_equal(schema_decode(buf_bytes(&b), &back), -EUCLEAN);
	buf_free(&b);
	schema_free(&s);
}

/* No checksum here: what is accepted must be sound and come back the same. */
TEST(every_flipped_bit_is_refused_or_a_sound_schema)
{
	struct schema s, back = {0};
	struct buf b = {0}, again = {0};

	make(&s);
	assert_int_equal(schema_encode(&s, &b), 0);
	for (size_t i = 0; i < b.len * 8; i++) {
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
		if (schema_decode(buf_bytes(&b), &back) == 0) {
			again.len = 0;
			assert_int_equal(schema_encode(&back, &again), 0);
			assert_true(bytes_eq(buf_bytes(&b), buf_bytes(&again)));
			schema_free(&back);
		}
		b.data[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	buf_free(&b);
	buf_free(&again);
	schema_free(&s);
}

TEST(kinds_have_names)
{
	for (int k = 0; k < 256; k++)
		assert_int_equal(kind_parse(bytes_str(kind_name((uint8_t)k))),
				 strcmp(kind_name((uint8_t)k), "unknown") ? k
									  : -1);
	assert_int_equal(kind_parse(bytes_str("delete-column")),
			 CELL_DELETE_COLUMN);
	assert_int_equal(kind_parse(bytes_str("")), -1);
	assert_int_equal(kind_parse(bytes_str("delete-col")), -1);
}

TEST(the_fuzz_corpus_passes)
{
	struct schema s;
	struct buf b = {0};

	make(&s);
	assert_int_equal(schema_encode(&s, &b), 0);
	LLVMFuzzerTestOneInput(b.data, b.len);
	for (size_t n = 0; n < sizeof(golden); n++)
		LLVMFuzzerTestOneInput((const uint8_t *)golden, n);
	buf_free(&b);
	schema_free(&s);
}

/* Whatever of it there is no more room for, nothing of the text is left. */
TEST(a_text_that_has_no_room_is_not_begun)
{
	struct buf text = {0};
	struct schema schema;
	uint64_t failed = 1;
	size_t room;

	make(&schema);
	schema.quota = 5 << 20;
	for (room = 0; failed; room++) {
		int r;

		alloc_arm_room(&text, room);
		r = schema_format(&schema, &text);
		failed = alloc_disarm();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(text.len, failed ? 1 : 1 + room);
	}
	schema_free(&schema);
	buf_free(&text);
}
