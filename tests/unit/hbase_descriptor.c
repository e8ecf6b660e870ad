/*
 * HBase's description of a table and our schema, filters as messages, and what
 * the failures of servers mean.
 */
#include "tests/unit/unit.h"
#include "store/hbase/cluster/failure.h"
#include "store/hbase/filters/filter_message.h"
#include "store/hbase/master/descriptor.h"
#include "store/hbase/master/told.h"
#include "store/value/why.h"

/* The description of a table as HBase makes one, with pairs of family f. */
static void describe(const char *const (*pairs)[2], size_t n, struct buf *out)
{
	const struct pb_table_name name = table_name_of(bytes_str("n:t"));
	struct buf family = {0};
	struct encoder e = {.out = out}, f = {.out = &family};

	put_message(&e, DESCRIPTOR_TABLE, &pb_table_name, &name);
	put_field(&f, FAMILY_NAME, bytes_str("f"));
	for (size_t i = 0; i < n; i++) {
		const struct pb_pair pair = {
			.first = bytes_str(pairs[i][0]),
			.second = bytes_str(pairs[i][1]),
		};

		put_message(&f, FAMILY_ATTRIBUTES, &pb_pair, &pair);
	}
	put_field(&e, DESCRIPTOR_FAMILIES, buf_bytes(&family));
	buf_free(&family);
	assert_int_equal(e.err | f.err, 0);
}

static void take(struct bytes text, struct pb_descriptor *d, struct schema *s)
{
	assert_int_equal(proto_take(text, &pb_descriptor, d), 0);
	assert_int_equal(descriptor_take(d, 7, 8, s), 0);
}

/* The value of an attribute of the only family, or "absent". */
static void assert_attribute(const struct pb_descriptor *d, const char *key,
			     const char *want)
{
	struct proto_list families = d->families, l;
	struct pb_family f;
	struct pb_pair pair;
	const char *found = "absent";
	char text[64];
	unsigned n = 0;

	assert_int_equal(proto_next(&families, &f), 1);
	l = f.attributes;
	while (proto_next(&l, &pair) > 0)
		if (bytes_eq(pair.first, bytes_str(key))) {
			snprintf(text, sizeof(text), "%.*s",
				 (int)pair.second.len,
				 (const char *)pair.second.data);
			found = text;
			n++;
		}
	assert_true(n <= 1);
	assert_string_equal(found, want);
}

TEST(a_table_of_others)
{
	static const char *const pairs[][2] = {
		{"VERSIONS", "2147483647"},	 {"TTL", "86400"},
		{"KEEP_DELETED_CELLS", "TTL"},	 {"COMPRESSION", "SNAPPY"},
		{"BLOOMFILTER", "ROWCOL"},	 {"BLOCKCACHE", "false"},
		{"DATA_BLOCK_ENCODING", "DIFF"},
	};
	struct pb_descriptor d;
	struct schema s;
	struct buf text = {0};
	const struct family_attrs *a;

	describe(pairs, sizeof(pairs) / sizeof(*pairs), &text);
	take(buf_bytes(&text), &d, &s);
	assert_true(s.fixed);
	assert_int_equal(s.mode, 0755);
	assert_int_equal(s.uid, 7);
	assert_int_equal(s.gid, 8);
	assert_int_equal(s.nfamilies, 1);
	a = &s.families[0].attrs;
	assert_int_equal(a->versions, UINT32_MAX);
	assert_int_equal(a->ttl_ms, 86400000);
	assert_int_equal(a->keep_deleted, KEEP_DELETED_TTL);
	assert_int_equal(a->bloom, BLOOM_ROWCOL);
	assert_false(a->block_cache);
	assert_false(a->new_version_behavior);
	assert_int_equal(a->block_size, 64 << 10);
	schema_free(&s);
	buf_free(&text);
}

/* What HBase says beside a schema stays when the schema changes. */
TEST(a_change_keeps_the_rest)
{
	static const char *const pairs[][2] = {
		{"VERSIONS", "1"},
		{"COMPRESSION", "SNAPPY"},
		{"DATA_BLOCK_ENCODING", "DIFF"},
	};
	struct pb_descriptor d, changed;
	struct schema s;
	struct buf text = {0}, out = {0};

	describe(pairs, sizeof(pairs) / sizeof(*pairs), &text);
	take(buf_bytes(&text), &d, &s);
	s.families[0].attrs.versions = 5;
	assert_int_equal(descriptor_put(bytes_str("n:t"), &s, &d, 9, &out), 0);
	schema_free(&s);
	take(buf_bytes(&out), &changed, &s);
	assert_true(bytes_eq(changed.table.namespace, bytes_str("n")));
	assert_true(bytes_eq(changed.table.qualifier, bytes_str("t")));
	assert_attribute(&changed, "VERSIONS", "5");
	assert_attribute(&changed, "COMPRESSION", "SNAPPY");
	assert_attribute(&changed, "DATA_BLOCK_ENCODING", "DIFF");
	assert_attribute(&changed, "TTL", "absent");
	assert_int_equal(s.families[0].attrs.versions, 5);
	schema_free(&s);
	buf_free(&text);
	buf_free(&out);
}

TEST(a_schema_there_and_back)
{
	struct pb_descriptor d;
	struct schema s, back;
	struct family_attrs a;
	struct buf out = {0};

	schema_init(&s, 100, 200);
	s.mode = 01750;
	family_attrs_default(&a);
	a.versions = UINT32_MAX;
	a.ttl_ms = 5000;
	a.keep_deleted = KEEP_DELETED_YES;
	a.compression = COMPRESSION_ZLIB;
	a.in_memory = true;
	a.max_value = 4096;
	assert_int_equal(schema_add(&s, bytes_str("f"), &a), 0);
	assert_int_equal(descriptor_put(bytes_str("t"), &s, NULL, 9, &out), 0);
	take(buf_bytes(&out), &d, &back);
	assert_true(schema_equal(&s, &back));
	assert_true(bytes_eq(d.table.namespace, bytes_str("default")));
	schema_free(&back);
	/* HBase has seconds. */
	s.families[0].attrs.ttl_ms = 1500;
	assert_int_equal(descriptor_put(bytes_str("t"), &s, NULL, 9, &out),
			 -EINVAL);
	assert_non_null(strstr(store_why(), "1500 ms"));
	/* And fewer bits: what it takes for its greatest number is "for ever". */
	s.families[0].attrs.ttl_ms = INT32_MAX * 1000ull;
	assert_int_equal(descriptor_check(&s), -EINVAL);
	assert_int_equal(descriptor_put(bytes_str("t"), &s, NULL, 9, &out),
			 -EINVAL);
	assert_non_null(strstr(store_why(), "2147483646 s"));
	s.families[0].attrs.ttl_ms -= 1000;
	assert_int_equal(descriptor_check(&s), 0);
	s.families[0].attrs.min_versions = 1u << 31;
	assert_int_equal(descriptor_check(&s), -EINVAL);
	assert_non_null(strstr(store_why(), "min_versions"));
	schema_free(&s);
	buf_free(&out);
}

/* What the family f of @s is noted to keep, after it was @text. */
static int64_t kept(struct schema *s, struct buf *text)
{
	struct buf out = {0};
	struct pb_descriptor was, d;
	int64_t since = -1;

	if (text->len)
		assert_int_equal(
			proto_take(buf_bytes(text), &pb_descriptor, &was), 0);
	assert_int_equal(descriptor_put(bytes_str("t"), s,
					text->len ? &was : NULL, 9, &out),
			 0);
	buf_free(text);
	*text = out;
	assert_int_equal(proto_take(buf_bytes(text), &pb_descriptor, &d), 0);
	if (descriptor_kept_since(&d, bytes_str("f"), &since) == 0)
		assert_int_equal(since, -1);
	return since;
}

TEST(since_when_deleted_cells_are_kept_is_noted)
{
	struct buf text = {0};
	struct schema s;
	struct family_attrs *a, first;

	schema_init(&s, 1, 2);
	family_attrs_default(&first);
	assert_int_equal(schema_add(&s, bytes_str("f"), &first), 0);
	a = &s.families[0].attrs;
	assert_int_equal(kept(&s, &text), -1);
	/* Cells may have gone before. */
	a->keep_deleted = KEEP_DELETED_YES;
	assert_int_equal(kept(&s, &text), 9);
	a->keep_deleted = KEEP_DELETED_TTL;
	assert_int_equal(kept(&s, &text), -1);
	buf_free(&text);
	/* Of a new family none has. */
	a->keep_deleted = KEEP_DELETED_YES;
	assert_int_equal(kept(&s, &text), 0);
	a->block_cache = false;
	assert_int_equal(kept(&s, &text), 0);
	a->versions--;
	assert_int_equal(kept(&s, &text), 0);
	/* Those that it did not keep may have gone. */
	a->versions++;
	assert_int_equal(kept(&s, &text), 9);
	buf_free(&text);
	schema_free(&s);
}

TEST(a_table_without_families)
{
	struct pb_descriptor d;
	struct schema s, back;
	struct buf out = {0};

	schema_init(&s, 1, 2);
	assert_int_equal(descriptor_put(bytes_str("t"), &s, NULL, 9, &out), 0);
	take(buf_bytes(&out), &d, &back);
	/* HBase sees one, and we do not. */
	assert_attribute(&d, "VERSIONS", "3");
	assert_int_equal(back.nfamilies, 0);
	assert_true(schema_equal(&s, &back));
	schema_free(&back);
	schema_free(&s);
	buf_free(&out);
}

TEST(failures)
{
	const struct {
		const char *class;
		bool do_not_retry;
		int err;
		uint8_t cure;
		const char *trace;
	} cases[] = {
		{"org.apache.hadoop.hbase.NotServingRegionException", false,
		 -EAGAIN, CURE_LOCATE, NULL},
		{"org.apache.hadoop.hbase.exceptions.RegionMovedException",
		 false, -EAGAIN, CURE_LOCATE, NULL},
		{"org.apache.hadoop.hbase.UnknownScannerException", true,
		 -EAGAIN, CURE_SCANNER, NULL},
		{"org.apache.hadoop.hbase.TableNotFoundException", true,
		 -ENOENT, CURE_NONE, NULL},
		{"org.apache.hadoop.hbase.security.AccessDeniedException", true,
		 -EACCES, CURE_NONE, NULL},
		{"org.example.Unheard", true, -EIO, CURE_NONE, NULL},
		{"org.example.Unheard", false, -EIO, CURE_WAIT, NULL},
		{"", true, -EIO, CURE_NONE, NULL},
		/* As a server sends what is no IOException. */
		{"java.io.IOException", false, -EINVAL, CURE_NONE,
		 "java.io.IOException: Illegal character <-> at 1.\n"
		 "\tat org.example.Call(Call.java:1)\n"
		 "Caused by: java.lang.IllegalArgumentException: Illegal "
		 "character <-> at 1.\n"},
		{"java.io.IOException", false, -EINVAL, CURE_NONE,
		 "java.io.IOException: For input string: \"3153600000\"\n"
		 "Caused by: java.lang.NumberFormatException: For input "
		 "string: \"3153600000\"\n"},
		/* A fault of the server's program, and one that is told to end. */
		{"java.io.IOException", false, -EIO, CURE_DOUBT,
		 "java.io.IOException: / by zero\n"
		 "Caused by: java.lang.ArithmeticException: / by zero\n"},
		{"java.io.IOException", false, -EAGAIN, CURE_WAIT,
		 "java.io.IOException: \n"
		 "Caused by: java.lang.InterruptedException"},
		{"java.io.IOException", false, -EIO, CURE_WAIT,
		 "java.io.IOException: \nCaused by: org.example.Unheard"},
		{"java.io.IOException", false, -EIO, CURE_WAIT,
		 "java.io.IOException: \nCaused by: "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct pb_exception x = {
			.class = bytes_str(cases[i].class),
			.trace = cases[i].trace ? bytes_str(cases[i].trace)
						: (struct bytes){0},
			.do_not_retry = cases[i].do_not_retry,
		};
		struct failure f = failure_judge(-EREMOTEIO, &x);

		assert_int_equal(f.err, cases[i].err);
		assert_int_equal(f.cure, cases[i].cure);
		assert_true(f.is_refused);
	}
	/* Of what was sent to a server that is lost nothing is known. */
	assert_false(failure_judge(-ECONNRESET, NULL).is_refused);
	assert_int_equal(failure_judge(-ECONNRESET, NULL).cure, CURE_LOCATE);
	assert_int_equal(failure_judge(-ENOMEM, NULL).cure, CURE_NONE);
}

/* A clock that only a sleep moves. */
static uint64_t played_ns;

static uint64_t played_monotonic_ns(struct os *os)
{
	return played_ns;
}

static void played_sleep_ms(struct os *os, unsigned ms)
{
	played_ns += ms * 1000000ull;
}

/* Of each wait the longest. */
static uint64_t played_random(struct os *os)
{
	return UINT32_MAX;
}

TEST(retries_end_in_time)
{
	static const struct os_ops ops = {
		.monotonic_ns = played_monotonic_ns,
		.sleep_ms = played_sleep_ms,
		.random = played_random,
	};
	struct os os = {.ops = &ops};
	const struct failure f = {-EAGAIN, CURE_LOCATE, true};
	const struct failure no = {-EINVAL, CURE_NONE, true};
	struct retry retry = {.os = &os, .deadline_ns = 200000000};
	unsigned n = 0;

	assert_int_equal(retry_wait(&retry, &no), 0);
	while (retry_wait(&retry, &f))
		n++;
	assert_true(n >= 2 && n < 20);
	assert_true(played_ns > 0 && played_ns <= retry.deadline_ns);
}

TEST(filters)
{
	struct filter_list l = {0};
	struct bytes message;
	char text[512];

	assert_int_equal(filter_message(&l, &message), 0);
	assert_null(message.data);
	filter_add_keys(&l, true);
	assert_int_equal(filter_message(&l, &message), 0);
	snprintf(text, sizeof(text), "%.*s", (int)message.len,
		 (const char *)message.data);
	assert_non_null(strstr(text, "filter.KeyOnlyFilter"));
	assert_null(strstr(text, "FilterList"));
	filter_add_first(&l);
	filter_add_ts(&l, 5);
	assert_int_equal(filter_message(&l, &message), 0);
	assert_non_null(memmem(message.data, message.len, "FilterList", 10));
	assert_non_null(
		memmem(message.data, message.len, "TimestampsFilter", 16));
	filter_list_free(&l);
}

TEST(a_description_in_words_is_taken)
{
	static const char text[] =
		"x.NoSuchColumnFamilyException: Column family . does not exist "
		"in region n:t,,1.2. in table 'n:t', {TABLE_ATTRIBUTES => "
		"{READONLY => 'true', coprocessor$1 => '|it's|1|', "
		"METADATA => {'a key' => '{', 'cellfs.mode' => '448'}}}, "
		"{NAME => 'f', VERSIONS => '5', TTL => '86400 SECONDS (1 "
		"DAY)', "
		"BLOCKSIZE => '4096 B (4KB)', METADATA => {"
		"'NEW_VERSION_BEHAVIOR' => 'true'}}, {NAME => 'g h', "
		"TTL => 'FOREVER', IS_MOB => 'true', MIN_VERSIONS => ''}, "
		"{NAME => 'it's', 'a' {and'}b'}', TTL => 'FOREVER'}\n\tat";
	struct table_traits traits;
	struct pb_descriptor d;
	struct buf hold = {0};
	struct schema s;
	const struct family_attrs *f, *g;

	assert_int_equal(
		told_take(bytes_str("n:t"), bytes_str(text), &hold, &d), 0);
	assert_int_equal(descriptor_traits(&d, &traits), 0);
	assert_true(traits.read_only && traits.has_mob);
	assert_int_equal(descriptor_take(&d, 7, 8, &s), 0);
	assert_int_equal(s.mode, 0700);
	assert_int_equal(s.nfamilies, 3);
	assert_true(schema_find(&s, bytes_str("it's', 'a' {and'}b'}")) >= 0);
	f = &s.families[schema_find(&s, bytes_str("f"))].attrs;
	g = &s.families[schema_find(&s, bytes_str("g h"))].attrs;
	assert_int_equal(f->versions, 5);
	assert_int_equal(f->ttl_ms, 86400000);
	assert_int_equal(f->block_size, 4096);
	assert_true(f->new_version_behavior && !g->new_version_behavior);
	assert_true(g->ttl_ms == TTL_FOREVER);
	schema_free(&s);
	/* Of another table, or cut off. */
	assert_int_equal(told_take(bytes_str("t"), bytes_str(text), &hold, &d),
			 -EPROTO);
	for (size_t n = 0; n < strlen(text) - 4; n++) {
		char *cut = strndup(text, n);

		assert_int_equal(told_take(bytes_str("n:t"), bytes_of(cut, n),
					   &hold, &d),
				 -EPROTO);
		free(cut);
	}
	buf_free(&hold);
}
