#include "tests/unit/unit.h"
#include "fs/text/cells.h"
#include "fs/text/cells_import.h"
#include "store/front/backend.h"
#include "tests/model/ref_store.h"
#include "tests/unit/alloc_fault.h"

static int64_t fixed_now(void)
{
	return 1000;
}

TEST(a_cell_comes_back_from_its_line)
{
	static const uint8_t row[] = {0xff, '/', 'a', 0, '\t'};
	struct cell c = {.row = bytes_of(row, sizeof(row)),
			 .family = bytes_str("f"),
			 .qualifier = bytes_str("-x.:y"),
			 .ts = 42,
			 .ttl_ms = UINT64_MAX,
			 .kind = CELL_PUT,
			 .value = bytes_str("1\n100%\tü/")};
	struct buf text = {0}, hold = {0};
	struct cells_line l;

	assert_int_equal(cells_format(&c, &text), 0);
	assert_true(bytes_eq(buf_bytes(&text),
			     bytes_str("%FF/a%00%09\tf:%2Dx.:y\t42\t"
				       "1%0A100%25%09ü/\tput"
				       "\t18446744073709551615\n")));
	text.len--;
	assert_int_equal(cells_parse(buf_bytes(&text), &hold, &l), 0);
	assert_true(bytes_eq(l.row, c.row));
	assert_true(bytes_eq(l.family, c.family));
	assert_true(bytes_eq(l.qualifier, c.qualifier));
	assert_true(bytes_eq(l.value, c.value));
	assert_int_equal(l.ts, 42);
	assert_int_equal(l.op, CHANGE_PUT);
	assert_true(l.ttl_ms == UINT64_MAX);
	buf_free(&text);
	buf_free(&hold);
}

static uint32_t seed = 1;

static uint8_t random_byte(void)
{
	static const char often[] = "%.-\t\n/:\x7f\xc3\xa9\xf0\x9f\x98\x80\xff";

	seed = seed * 1664525 + 1013904223;
	if (seed >> 31)
		return (uint8_t)often[(seed >> 16) % (sizeof(often) - 1)];
	return (uint8_t)(' ' + (seed >> 16) % 95);
}

TEST(any_bytes_come_back_and_cut_lines_do_not_harm)
{
	struct buf text = {0}, hold = {0};
	struct cells_line l;
	uint8_t bytes[64];

	for (int run = 0; run < 2000; run++) {
		size_t n = run % sizeof(bytes), third = n / 3;
		struct cell c = {
			.row = bytes_of(bytes, third),
			.family = bytes_str("f"),
			.qualifier = bytes_of(bytes + third, third),
			.ts = run,
			.value = bytes_of(bytes + 2 * third, n - 2 * third),
			.kind = CELL_PUT};

		for (size_t i = 0; i < n; i++)
			bytes[i] = random_byte();
		text.len = 0;
		assert_int_equal(cells_format(&c, &text), 0);
		for (size_t i = 0; i + 1 < text.len; i++)
			assert_true(text.data[i] >= ' ' ||
				    text.data[i] == '\t');
		text.len--;
		assert_int_equal(cells_parse(buf_bytes(&text), &hold, &l), 0);
		assert_true(bytes_eq(l.row, c.row));
		assert_true(bytes_eq(l.qualifier, c.qualifier));
		assert_true(bytes_eq(l.value, c.value));
		assert_int_equal(l.ts, run);
		for (size_t cut = 0; cut < text.len; cut++) {
			struct bytes in = bytes_of(text.data, cut);

			text.data[cut] ^= (uint8_t)(1 + run % 255);
			cells_parse(in, &hold, &l);
			in.len = text.len;
			cells_parse(in, &hold, &l);
			text.data[cut] ^= (uint8_t)(1 + run % 255);
		}
	}
	buf_free(&text);
	buf_free(&hold);
}

TEST(a_long_value_is_escaped_across_its_pieces)
{
	enum {
		LEN = 200001
	};
	struct cell c = {.row = bytes_str("r"),
			 .family = bytes_str("f"),
			 .kind = CELL_PUT};
	struct buf text = {0}, hold = {0};
	uint8_t *value = malloc(LEN);
	struct cells_line l;

	assert_non_null(value);
	/* A character of three bytes lies over every cut. */
	for (size_t i = 0; i < LEN; i++)
		value[i] = (uint8_t) "\xe2\x82\xac"[i % 3];
	for (size_t len = LEN - 3; len <= LEN; len++) {
		c.value = bytes_of(value, len);
		text.len = 0;
		assert_int_equal(cells_format(&c, &text), 0);
		assert_int_equal(text.len,
				 strlen("r\tf:%\t0\t\n") + len + 2 * (len % 3));
		text.len--;
		assert_int_equal(cells_parse(buf_bytes(&text), &hold, &l), 0);
		assert_true(bytes_eq(l.value, c.value));
	}
	free(value);
	buf_free(&text);
	buf_free(&hold);
}

TEST(an_empty_qualifier_is_a_percent_sign)
{
	struct cell c = {.row = bytes_str("r"),
			 .family = bytes_str("f"),
			 .kind = CELL_DELETE_FAMILY};
	struct buf text = {0}, hold = {0};
	struct cells_line l;

	assert_int_equal(cells_format(&c, &text), 0);
	assert_true(bytes_eq(buf_bytes(&text),
			     bytes_str("r\tf:%\t0\t\tdelete-family\n")));
	text.len--;
	assert_int_equal(cells_parse(buf_bytes(&text), &hold, &l), 0);
	assert_int_equal(l.qualifier.len, 0);
	assert_int_equal(l.op, CHANGE_DELETE_FAMILY);
	buf_free(&text);
	buf_free(&hold);
}

/* The line of a cell of this value, part by part; how many there were. */
static int in_parts(struct bytes value, struct buf *out)
{
	const struct cell c = {.row = bytes_str("r"),
			       .family = bytes_str("f"),
			       .qualifier = bytes_str("q"),
			       .ts = 1,
			       .value = value,
			       .kind = CELL_PUT};
	struct buf whole = {0};
	size_t at = 0;
	int n = 1, r;

	out->len = 0;
	while ((r = cells_format_part(&c, &at, out)) > 0) {
		assert_true(at < value.len);
		n++;
	}
	assert_int_equal(r, 0);
	assert_int_equal(cells_format(&c, &whole), 0);
	assert_true(bytes_eq(buf_bytes(out), buf_bytes(&whole)));
	buf_free(&whole);
	return n;
}

/* A part ends before a character, and within bytes that are none anywhere. */
TEST(a_line_in_parts_is_the_same_line)
{
	enum {
		LEN = 30000,
		PART = 8192
	};
	uint8_t *bytes = malloc(LEN);
	struct buf out = {0};

	assert_non_null(bytes);
	memset(bytes, 'x', LEN);
	assert_int_equal(in_parts(bytes_of(bytes, 0), &out), 1);
	assert_int_equal(in_parts(bytes_of(bytes, PART), &out), 1);
	assert_int_equal(in_parts(bytes_of(bytes, PART + 1), &out), 2);
	for (size_t i = 0; i < LEN; i++)
		bytes[i] = (uint8_t) "\xe2\x82\xac"[i % 3];
	for (size_t begin = 0; begin < 3; begin++) {
		size_t sound = (3 - begin) % 3;

		assert_int_equal(
			in_parts(bytes_of(bytes + begin + sound,
					  LEN - begin - sound - begin % 3),
				 &out),
			4);
	}
	assert_int_equal(in_parts(bytes_of(bytes, LEN), &out), 4);
	assert_null(memchr(out.data, '%', out.len));
	memset(bytes, 0xa9, LEN);
	assert_int_equal(in_parts(bytes_of(bytes, LEN), &out), 4);
	buf_free(&out);
	free(bytes);
}

TEST(a_long_name_is_escaped_at_its_begin_only)
{
	/* More than is escaped in one piece. */
	enum {
		LEN = 70000
	};
	uint8_t *key = malloc(LEN);
	struct buf out = {0};

	assert_non_null(key);
	memset(key, '.', LEN);
	assert_int_equal(cells_format_name(bytes_of(key, LEN), &out), 0);
	assert_int_equal(out.len, LEN + 2);
	assert_memory_equal(out.data, "%2E.", 4);
	assert_null(memchr(out.data + 1, '%', out.len - 1));
	buf_free(&out);
	free(key);
}

TEST(what_is_a_value_may_have_a_ttl)
{
	struct buf hold = {0};
	struct cells_line l;

	assert_int_equal(
		cells_parse(bytes_str("r\tf:q\t\t-5\tincrement\t7"), &hold, &l),
		0);
	assert_int_equal(l.op, CHANGE_INCREMENT);
	assert_int_equal(l.ttl_ms, 7);
	assert_int_equal(l.delta, -5);
	assert_int_equal(
		cells_parse(bytes_str("r\tf:q\t\tv\tappend\t7"), &hold, &l), 0);
	assert_int_equal(l.op, CHANGE_APPEND);
	assert_int_equal(l.ttl_ms, 7);
	buf_free(&hold);
}

/* Of what is long the sentence has the begin. */
TEST(long_fields_are_refused_in_short_words)
{
	static const char *const of[] = {
		"r\t%s\t1\tv", "r\tf:q\t%s\tv", "r\tf:q\t1\tv\t%s",
		"r\tf:q\t1\tv\tput\t%s", "r\tf:q\t\t%s\tincrement"};
	char field[201], line[256];
	struct buf hold = {0};
	struct cells_line l;

	memset(field, '9', 200);
	field[200] = '\0';
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		why_clear();
		snprintf(line, sizeof(line), of[i], field);
		assert_int_equal(cells_parse(bytes_str(line), &hold, &l),
				 -EINVAL);
		assert_in_range(strlen(store_why()), 20, 180);
	}
	buf_free(&hold);
}

TEST(bad_lines_are_refused_in_words)
{
	static const char *const bad[] = {
		"",
		"r",
		"r\tf:q",
		"r\tf:q\t1",
		"r\tq\t1\tv",
		"r\tf:q\tx\tv",
		"r\tf:q\t-1\tv",
		"r\tf:q\t9223372036854775806\tv",
		"r\tf:q\t1\t%",
		"r\tf:q\t1\t%4",
		"r\tf:q\t1\t%zz",
		"r\tf:q\t1\tv\tmove",
		"r\tf:q\t1\tv\tput\t",
		"r\tf:q\t1\tv\tput\t0",
		"r\tf:q\t1\tv\tput\t-1",
		"r\tf:q\t1\tv\tput\t18446744073709551616",
		"r\tf:q\t1\tv\tput\t5\t",
		"r\tf:q\t1\tv\t\t5",
		"r\tf:q\t1\t\tdelete\t5",
		"r\tf:q\t\tten\tincrement",
		"r\tf:q\t\t\tincrement",
		"r\tf:q\t\t 5\tincrement",
		"r\tf:q\t\t9223372036854775808\tincrement",
		"r\tf:q\t1\t\tdelete-row\t5",
	};
	static const char nul[] = "r\tf:q\t\t5\0x\tincrement";
	struct buf hold = {0};
	struct cells_line l;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why_clear();
		assert_int_equal(cells_parse(bytes_str(bad[i]), &hold, &l),
				 -EINVAL);
		assert_true(store_why()[0] != '\0');
	}
	assert_int_equal(cells_parse(bytes_of(nul, sizeof(nul) - 1), &hold, &l),
			 -EINVAL);
	buf_free(&hold);
}

static struct {
	struct store *store;
	struct table *table;
	struct cells_import *import;
} the;

static int setup(void **state)
{
	memset(&the, 0, sizeof(the));
	if (ref_store_open(fixed_now, false, &the.store) < 0 ||
	    store_table_create(the.store, bytes_str("t"), NULL) < 0 ||
	    table_open(the.store, bytes_str("t"), &the.table) < 0 ||
	    cells_import_new(the.table, 0, &the.import) < 0)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	cells_import_free(the.import);
	table_unref(the.table);
	store_close(the.store);
	return 0;
}

static int value_of(const char *row, char *out)
{
	struct buf hold = {0};
	struct cell c;
	int r = table_get(the.table, bytes_str(row), bytes_str("f"),
			  bytes_str("q"), TS_MAX, NULL, &c, &hold);

	out[0] = '\0';
	if (r > 0) {
		memcpy(out, hold.data, hold.len);
		out[hold.len] = '\0';
	}
	buf_free(&hold);
	return r;
}

TEST_IN(lines_may_come_in_any_portions, setup, teardown)
{
	static const char text[] = "a\tf:q\t1\tone\n"
				   "a\tf:q\t2\ttwo\n"
				   "b\tf:q\t\tnow\n";
	char value[16];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_int_equal(
			cells_import_feed(the.import, bytes_of(text + i, 1)),
			0);
	assert_int_equal(cells_import_end(the.import), 0);
	assert_int_equal(cells_import_lines(the.import), 3);
	assert_int_equal(value_of("a", value), 1);
	assert_string_equal(value, "two");
	assert_int_equal(value_of("b", value), 1);
	assert_string_equal(value, "now");
}

TEST_IN(a_bad_line_halves_no_row, setup, teardown)
{
	static const char text[] = "a\tf:q\t1\tone\n"
				   "b\tf:q\t1\ttwo\n"
				   "b\tf:q\tx\tbad\n"
				   "c\tf:q\t1\tthree\n";
	char value[16];

	assert_int_equal(cells_import_feed(the.import, bytes_str(text)),
			 -EINVAL);
	assert_non_null(strstr(store_why(), "line 3"));
	assert_int_equal(cells_import_lines(the.import), 3);
	assert_int_equal(cells_import_end(the.import), -EINVAL);
	assert_int_equal(value_of("a", value), 1);
	assert_int_equal(value_of("b", value), 0);
	assert_int_equal(value_of("c", value), 0);
}

TEST_IN(every_increment_and_append_of_a_row_counts, setup, teardown)
{
	static const char text[] = "a\tf:q\t\tone\tappend\n"
				   "a\tf:n\t\t5\tincrement\n"
				   "a\tf:q\t\t\tappend\n"
				   "a\tg:n\t\t100\tincrement\n"
				   "a\tf:p\t1\tput\n"
				   "a\tf:n\t\t-2\tincrement\n"
				   "a\tf:q\t\ttwo\tappend\n"
				   "a\tf:n\t\t4\tincrement\n"
				   "b\tf:q\t\tone\tappend\n"
				   "c\tf:q\t1\tx\n";
	struct buf hold = {0};
	struct cell c;
	char value[16];

	assert_int_equal(cells_import_feed(the.import, bytes_str(text)), 0);
	assert_int_equal(cells_import_end(the.import), 0);
	assert_int_equal(value_of("a", value), 1);
	assert_string_equal(value, "onetwo");
	assert_int_equal(value_of("b", value), 1);
	assert_string_equal(value, "one");
	assert_int_equal(table_get(the.table, bytes_str("a"), bytes_str("f"),
				   bytes_str("n"), TS_MAX, NULL, &c, &hold),
			 1);
	assert_true(bytes_eq(c.value, bytes_of("\0\0\0\0\0\0\0\7", 8)));
	buf_free(&hold);
}

TEST_IN(a_row_that_the_store_refuses_names_its_line, setup, teardown)
{
	static const char text[] = "a\tf:q\t1\tone\n"
				   "b\tf:p\t1\tno counter\n"
				   "a\tf:p\t1\tone\n"
				   "b\tf:q\t1\tone\n"
				   "b\tf:p\t\t1\tincrement\n"
				   "c\tf:q\t1\ttwo\n";
	char value[16];

	assert_int_equal(cells_import_feed(the.import, bytes_str(text)), 0);
	assert_int_equal(cells_import_end(the.import), -EINVAL);
	assert_non_null(strstr(store_why(), "line 4: "));
	assert_int_equal(cells_import_lines(the.import), 4);
	assert_int_equal(value_of("a", value), 1);
	assert_int_equal(value_of("b", value), 0);
	assert_int_equal(value_of("c", value), 0);
}

static const struct store_ops *real;
static struct store_ops changed;

/* The store goes by these from now on, until put_back_ops(). */
static struct store_ops *change_ops(void)
{
	real = the.store->ops;
	changed = *real;
	the.store->ops = &changed;
	return &changed;
}

static void put_back_ops(void)
{
	the.store->ops = real;
}

static int not_on_disk(struct table *t, struct mutation *m, size_t n,
		       unsigned flags, size_t *done)
{
	int r = real->mutate_many(t, m, n, flags, done);

	return r < 0 ? r : why(-EIO, "the disk does not take it");
}

/* The rows are applied by then. */
TEST_IN(rows_that_do_not_come_to_the_disk_are_told, setup, teardown)
{
	char value[16];

	change_ops()->mutate_many = not_on_disk;
	assert_int_equal(
		cells_import_feed(the.import, bytes_str("a\tf:q\t1\tone\n"
							"b\tf:q\t1\ttwo\n")),
		0);
	assert_int_equal(cells_import_end(the.import), -EIO);
	put_back_ops();
	assert_non_null(strstr(store_why(), "the disk does not take it"));
	assert_int_equal(value_of("a", value), 1);
	assert_int_equal(value_of("b", value), 1);
}

TEST_IN(too_long_a_key_is_refused_at_its_line, setup, teardown)
{
	struct buf text = {0};
	char value[16];

	assert_int_equal(buf_append(&text, "a\tf:q\t1\tone\n", 12), 0);
	for (int i = 0; i < 4000; i++)
		assert_int_equal(buf_append(&text, "too long: ", 10), 0);
	assert_int_equal(buf_append(&text, "\tf:q\t1\tx\n", 9), 0);
	assert_int_equal(cells_import_feed(the.import, buf_bytes(&text)),
			 -EINVAL);
	assert_non_null(strstr(store_why(), "line 2: "));
	assert_int_equal(value_of("a", value), 1);
	buf_free(&text);
}

TEST_IN(a_last_line_without_newline_is_an_error, setup, teardown)
{
	char value[16];

	assert_int_equal(
		cells_import_feed(the.import, bytes_str("a\tf:q\t1\tone\n"
							"b\tf:q\t1\ttw")),
		0);
	assert_int_equal(cells_import_end(the.import), -EINVAL);
	assert_int_equal(value_of("b", value), 0);
}

static size_t changes_tried;

static int count_try(struct table *t, struct mutation *m)
{
	changes_tried += m->nchanges;
	return 1;
}

static int feed(const char *line)
{
	int r = cells_import_feed(the.import, bytes_str(line));

	return r < 0 ? r : cells_import_settle(the.import);
}

/* Each line of a row in a write of its own. */
TEST_IN(what_comes_line_by_line_is_asked_of_once, setup, teardown)
{
	char line[64];

	change_ops()->mutate_try = count_try;
	changes_tried = 0;
	for (int i = 0; i < 300; i++) {
		snprintf(line, sizeof(line), "r\tf:q%d\t%d\tx\n", i % 7, i);
		assert_int_equal(feed(line), 0);
		snprintf(line, sizeof(line), "r\tf:a%d\t\tx\tappend\n", i % 7);
		assert_int_equal(feed(line), 0);
	}
	assert_in_range(changes_tried, 300, 600);
	assert_int_equal(cells_import_end(the.import), 0);
	put_back_ops();
}

static unsigned families_added;

static int count_family(struct table *t, struct bytes family)
{
	families_added++;
	return -EEXIST;
}

/* The store is another machine, it may be. */
TEST_IN(a_family_that_is_there_is_not_asked_for, setup, teardown)
{
	assert_int_equal(feed("r\tf:q\t1\tx\nr\tg:q\t1\tx\n"), 0);
	change_ops()->add_family = count_family;
	families_added = 0;
	assert_int_equal(feed("s\tf:q\t1\tx\ns\tg:q\t1\tx\n"), 0);
	assert_int_equal(families_added, 0);
	assert_int_equal(feed("s\th:q\t1\tx\n"), -EPERM);
	assert_int_equal(families_added, 1);
	put_back_ops();
}

TEST_IN(appends_that_are_too_much_together_are_refused_at_the_last, setup,
	teardown)
{
	struct schema schema = {0};

	assert_int_equal(feed("r\tf:q\t\t1\tappend\n"), 0);
	assert_int_equal(feed("s\tf:q\t\t1\tappend\n"), 0);
	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.max_value = 4;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	/* r has one byte by now; two timestamps are two values. */
	assert_int_equal(feed("r\tf:q\t\t23\tappend\n"), 0);
	assert_int_equal(feed("r\tf:p\t\t123\tappend\n"), 0);
	assert_int_equal(feed("r\tf:q\t7\t23\tappend\n"), 0);
	assert_int_equal(feed("r\tf:q\t\t4\tappend\n"), 0);
	assert_int_equal(feed("r\tf:q\t\t5\tappend\n"), -EFBIG);
	assert_string_equal(store_why(), "line 7: a value of 5 bytes is over "
					 "max_value 4 of family f");
}

static void has_no_room(const struct cell *c, bool in_parts)
{
	struct buf whole = {0}, text = {0};
	uint64_t failed = 1;

	assert_int_equal(buf_append(&whole, "", 1), 0);
	assert_int_equal(cells_format(c, &whole), 0);
	for (size_t room = 0; failed; room++) {
		size_t at = 0;
		int r;

		alloc_arm_room(&text, room);
		r = in_parts ? cells_format_part(c, &at, &text)
			     : cells_format(c, &text);
		failed = alloc_disarm();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_true(
			bytes_eq(buf_bytes(&text),
				 bytes_of(whole.data, failed ? 1 : whole.len)));
	}
	buf_free(&whole);
	buf_free(&text);
}

/* Whatever of it there is no more room for, nothing of the line is left. */
TEST(a_line_that_has_no_room_is_not_begun)
{
	const struct cell empty = {.kind = CELL_PUT, .ttl_ms = UINT64_MAX};
	const struct cell full = {.row = bytes_str("row"),
				  .family = bytes_str("family"),
				  .qualifier = bytes_str("qualifier"),
				  .kind = CELL_PUT,
				  .value = bytes_str("a longer value")};

	for (int in_parts = 0; in_parts < 2; in_parts++) {
		has_no_room(&empty, in_parts);
		has_no_room(&full, in_parts);
	}
}

TEST(a_line_for_which_there_is_no_memory_is_no_bad_one)
{
	struct buf hold = {0};
	struct cells_line l;

	alloc_arm_room(&hold, 0);
	assert_int_equal(cells_parse(bytes_str("%41\tf:q\t\t1"), &hold, &l),
			 -ENOMEM);
	assert_int_equal(alloc_disarm(), 1);
	assert_non_null(strstr(store_why(), "out of memory for a line"));
	buf_free(&hold);
}
