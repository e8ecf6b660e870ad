/* What a store tells of its shape, and the page that is drawn of it. */
#include "tests/unit/unit.h"
#include "store/front/backend.h"
#include "store/front/heat.h"
#include "store/front/shape.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/engine.h"
#include "tools/shape/draw.h"

static void load(struct shape *out)
{
	assert_int_equal(shape_load(the.store, out), 0);
}

static double called(const struct shape *s, const char *row, int write)
{
	double n = 0;

	for (size_t i = 0; i < s->ncalls; i++)
		if (s->calls[i].write == write &&
		    (!row || bytes_eq(s->calls[i].row, bytes_str(row))))
			n += s->calls[i].weight;
	return n;
}

TEST_IN(a_store_that_nobody_watches_notes_no_call, setup, teardown)
{
	struct shape shape;

	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	load(&shape);
	assert_int_equal(shape.since_ms, 0);
	assert_int_equal(shape.ncalls, 0);
	assert_int_equal(shape.ntables, 1);
	assert_int_equal(shape.memory, 1);
	shape_free(&shape);
}

TEST_IN(the_calls_of_a_quiet_store_are_all_kept, setup, teardown)
{
	struct shape shape;

	assert_int_equal(store_heat(the.store), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(temp_put(&the, "w", "f", "q", i, "v"), 1);
	for (int i = 0; i < 20; i++)
		assert_non_null(temp_get(&the, "w", "f", "q"));
	assert_null(temp_get(&the, "absent", "f", "q"));
	assert_int_equal(table_has_row(the.table, bytes_str("w")), 1);
	load(&shape);
	assert_true(shape.since_ms > 0);
	assert_true(called(&shape, "w", CALL_WRITE) == 10);
	assert_true(called(&shape, "w", CALL_READ) == 21);
	assert_true(called(&shape, "absent", CALL_READ) == 1);
	assert_true(called(&shape, NULL, CALL_READ) == 22);
	shape_free(&shape);
}

TEST_IN(calls_are_kept_for_four_hours, setup, teardown)
{
	const int64_t minute_ms = 60000;
	struct buf out = {0};
	int64_t now;

	assert_int_equal(store_heat(the.store), 0);
	assert_int_equal(temp_put(&the, "w", "f", "q", 1, "v"), 1);
	now = store_now_ms(the.store);
	/* A minute may have gone by in between. */
	assert_int_equal(heat_put(the.store->heat,
				  now + (HEAT_MINUTES - 2) * minute_ms, &out),
			 0);
	assert_true(out.len > 0);
	out.len = 0;
	assert_int_equal(
		heat_put(the.store->heat, now + HEAT_MINUTES * minute_ms, &out),
		0);
	assert_int_equal(out.len, 0);
	buf_free(&out);
}

/* As the metrics do for each table, again and again. */
TEST_IN(what_a_table_holds_is_told_without_a_call, setup, teardown)
{
	struct table_info info;
	struct shape shape;

	assert_int_equal(store_heat(the.store), 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(table_info(the.table, &info), 0);
	assert_true(info.exact);
	load(&shape);
	assert_true(called(&shape, NULL, CALL_READ) == 0);
	shape_free(&shape);
}

TEST_IN(of_many_calls_a_sample_stands_for_all, setup, teardown)
{
	const int calls = 50000;
	struct shape shape;
	size_t minutes = 0;
	double sum;

	assert_int_equal(store_heat(the.store), 0);
	assert_int_equal(temp_put(&the, "hot", "f", "q", 1, "v"), 1);
	for (int i = 0; i < calls; i++)
		temp_get(&the, i % 10 ? "hot" : "cold", "f", "q");
	load(&shape);
	for (size_t i = 0; i < shape.ncalls; i++)
		minutes += !i || shape.calls[i].minute_ms !=
					 shape.calls[i - 1].minute_ms;
	assert_true(shape.ncalls <= HEAT_KEPT * minutes);
	sum = called(&shape, NULL, CALL_READ);
	assert_true(sum > calls * .98 && sum < calls * 1.02);
	assert_true(called(&shape, "hot", CALL_READ) > .75 * sum);
	assert_true(called(&shape, "cold", CALL_READ) < .25 * sum);
	shape_free(&shape);
}

/* One in HEAT_EVERY calls would be of one and the same row. */
TEST_IN(rows_that_are_called_in_turn_are_all_kept, setup, teardown)
{
	struct shape shape;
	double sum, of_row;
	char row[8];

	assert_int_equal(store_heat(the.store), 0);
	for (int i = 0; i < 50000; i++) {
		snprintf(row, sizeof(row), "%d", i % HEAT_EVERY);
		temp_get(&the, row, "f", "q");
	}
	load(&shape);
	sum = called(&shape, NULL, CALL_READ);
	for (int i = 0; i < HEAT_EVERY; i++) {
		snprintf(row, sizeof(row), "%d", i);
		of_row = called(&shape, row, CALL_READ);
		assert_true(of_row > 0 && of_row < 4 * sum / HEAT_EVERY);
	}
	shape_free(&shape);
}

TEST_IN(files_and_their_parts_are_told, setup, teardown)
{
	struct shape shape;
	uint64_t parts = 0;
	char row[32];

	for (int i = 0; i < 3000; i++) {
		snprintf(row, sizeof(row), "row%06d", i);
		assert_int_equal(temp_put(&the, row, "f", "q",
					  store_now_ms(the.store), row),
				 1);
	}
	assert_int_equal(store_flush(the.store, NULL), 0);
	load(&shape);
	assert_int_equal(shape.nfiles, 1);
	assert_int_equal(shape.memory, 0);
	assert_true(bytes_eq(shape.files_of[0].row, bytes_str("row000000")));
	assert_true(bytes_eq(shape.files_of[0].last, bytes_str("row002999")));
	assert_int_equal(shape.files_of[0].entries, 3000);
	assert_true(shape.nparts > 2);
	for (size_t i = 0; i < shape.nparts; i++)
		parts += shape.parts[i].bytes;
	assert_in_range(parts, shape.bytes / 2, shape.bytes);
	assert_in_range(shape.ndays, 1, 2);
	shape_free(&shape);
}

TEST_IN(a_cell_of_a_strange_time_moves_no_others, setup, teardown)
{
	static const int64_t strange[] = {1, 253402300799000};
	int64_t day = store_now_ms(the.store) / 86400000 - 9;
	struct shape shape;
	char row[32];

	for (int i = 0; i < 100; i++) {
		snprintf(row, sizeof(row), "row%06d", i);
		assert_int_equal(
			temp_put(&the, row, "f", "q", day * 86400000, row), 1);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			temp_put(&the, "row", "f", "q", strange[i], "v"), 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
		assert_int_equal(store_compact(the.store, NULL), 0);
		load(&shape);
		assert_int_equal(shape.ndays, 1);
		/* Of a block of both there is no more to say than: until now. */
		assert_in_range(shape.days[0].day, day + (i ? 9 : 0),
				day + (i ? 10 : 0));
		shape_free(&shape);
	}
}

#define FAMILIES 256
#define TABLES (SHAPE_MEMORIES_MAX / FAMILIES + 1)

/* A table that has a cell in each of its families. */
static void fill_table(int number)
{
	static char names[FAMILIES][8];
	static struct change changes[FAMILIES];
	struct mutation m = {.row = bytes_str("r"),
			     .changes = changes,
			     .nchanges = FAMILIES};
	struct family_attrs attrs;
	struct schema schema = {0};
	struct table *t;
	char name[16];

	family_attrs_default(&attrs);
	schema_init(&schema, 0, 0);
	for (int i = 0; i < FAMILIES; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		assert_int_equal(
			schema_add(&schema, bytes_str(names[i]), &attrs), 0);
		changes[i] = (struct change){.op = CHANGE_PUT,
					     .family = bytes_str(names[i]),
					     .qualifier = bytes_str("q"),
					     .ts = store_now_ms(the.store),
					     .value = bytes_str("value")};
	}
	snprintf(name, sizeof(name), "t%d", number);
	assert_int_equal(
		store_table_create(the.store, bytes_str(name), &schema), 0);
	assert_int_equal(table_open(the.store, bytes_str(name), &t), 0);
	assert_int_equal(table_mutate(t, &m, 0), 1);
	table_unref(t);
	schema_free(&schema);
}

TEST(a_shape_is_bounded_whatever_is_in_memory)
{
	struct os *os = sim_new(1);
	struct shape shape;

	the = (struct temp_store){.path = "/store",
				  .options.inline_background = true};
	the.options.os = os;
	assert_int_equal(temp_open(&the), 0);
	for (int i = 0; i < TABLES; i++)
		fill_table(i);
	load(&shape);
	assert_int_equal(shape.memory, SHAPE_MEMORIES_MAX);
	shape_free(&shape);
	assert_int_equal(temp_close(&the), 0);
	sim_free(os);
}

/* Whatever bytes a peer sends as a shape. */
/* Programs of different releases tell each other. */
TEST(an_item_is_of_its_length)
{
	static const size_t numbers[SHAPE_KINDS] = {
		[SHAPE_NOW] = 3,    [SHAPE_TABLE] = 0, [SHAPE_FILE] = 6,
		[SHAPE_OTHERS] = 2, [SHAPE_PART] = 1,  [SHAPE_MEMORY] = 1,
		[SHAPE_DAY] = 2,    [SHAPE_CALL] = 3,
	};

	for (uint8_t kind = 0; kind < SHAPE_KINDS; kind++) {
		const struct shape_item item = {.kind = kind,
						.name = bytes_str("name"),
						.row = bytes_str("row"),
						.last = bytes_str("to")};
		struct buf out = {0};

		assert_int_equal(shape_put(&out, &item), 0);
		assert_int_equal(out.len, 1 + 8 + (4 + 4) + (4 + 3) + (4 + 2) +
						  8 * numbers[kind]);
		buf_free(&out);
	}
}

TEST_IN(what_is_no_shape_is_refused, setup, teardown)
{
	struct buf whole = {0};
	struct shape shape;

	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(store_shape(the.store, &whole), 0);
	for (size_t n = 0; n < whole.len; n++) {
		shape = (struct shape){0};
		assert_int_equal(buf_append(&shape.text, whole.data, n), 0);
		if (n % 3 == 0 && n)
			shape.text.data[n - 1] ^= 0x55;
		if (shape_read(&shape) < 0)
			assert_string_equal(store_why(), "the store says of "
							 "itself what cannot "
							 "be");
		shape_free(&shape);
	}
	buf_free(&whole);
}

static void shown(const char *key, size_t len, const char *want)
{
	struct page p = {0};

	page_key(&p, bytes_of(key, len), 100);
	assert_int_equal(buf_append(&p.out, "", 1), 0);
	assert_string_equal((const char *)p.out.data, want);
	buf_free(&p.out);
}

TEST(a_key_is_no_markup)
{
	shown("<script>", 8, "&lt;script&gt;");
	shown("a&b\"'", 5, "a&amp;b&quot;&#39;");
	shown("]]>", 3, "]]&gt;");
	shown("\0\x01\n\x7f\xff", 5, "\\x00\\x01\\x0A\\x7F\\xFF");
	shown("\xE2\x80\xAE", 3, "\\xE2\\x80\\xAE");
	shown("\xEF\xBF\xBF", 3, "\\xEF\\xBF\\xBF");
	shown("\xC3\xA4", 2, "\xC3\xA4");
}

static void put(struct shape *s, struct shape_item item)
{
	assert_int_equal(shape_put(&s->text, &item), 0);
}

/* A key that takes as much of a page as one can; until the fourth one after it. */
static struct bytes costly(int i)
{
	static char texts[4][SHAPE_ROW_MAX];
	static unsigned next;
	char *text = texts[next++ % 4];

	memset(text, '"', SHAPE_ROW_MAX);
	for (size_t k = 0; k < 6; k++, i /= 7)
		text[5 - k] = (char)('"' + i % 7);
	return bytes_of(text, SHAPE_ROW_MAX);
}

/* Two beginnings, each with more endings than are shown alone. */
TEST(the_rest_of_a_beginning_is_named_by_it)
{
	struct shape s = {0};
	struct page p = {0};
	char row[8];

	put(&s, (struct shape_item){.kind = SHAPE_NOW, .n = {1790000000000}});
	put(&s, (struct shape_item){.kind = SHAPE_TABLE,
				    .table = 1,
				    .name = bytes_str("t")});
	put(&s, (struct shape_item){.kind = SHAPE_FILE,
				    .table = 1,
				    .name = bytes_str("f"),
				    .row = bytes_str("a00"),
				    .last = bytes_str("b99"),
				    .n = {1, 0, 200 << 16, 200}});
	for (int i = 0; i < 200; i++) {
		snprintf(row, sizeof(row), "%c%02d", i < 100 ? 'a' : 'b',
			 i % 100);
		put(&s, (struct shape_item){.kind = SHAPE_PART,
					    .table = 1,
					    .row = bytes_str(row),
					    .n = {1 << 16}});
	}
	assert_int_equal(shape_read(&s), 0);
	draw_treemap(&p, &s);
	assert_int_equal(buf_append(&p.out, "", 1), 0);
	assert_non_null(strstr((char *)p.out.data, ">other a</text>"));
	assert_non_null(strstr((char *)p.out.data, ">other b</text>"));
	assert_null(strstr((char *)p.out.data, ">others</text>"));
	shape_free(&s);
	buf_free(&p.out);
}

/* A bar is a file: where there are too many lanes of them it says so. */
TEST(files_that_have_no_bar_are_counted)
{
	struct shape s = {0};
	struct page p = {0};
	char name[8];

	put(&s, (struct shape_item){.kind = SHAPE_NOW, .n = {1790000000000}});
	put(&s, (struct shape_item){.kind = SHAPE_TABLE,
				    .table = 1,
				    .name = bytes_str("t")});
	for (uint64_t i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "f%02d", (int)i / 2);
		put(&s, (struct shape_item){.kind = SHAPE_FILE,
					    .table = 1,
					    .name = bytes_str(name),
					    .row = bytes_str("a"),
					    .last = bytes_str("b"),
					    .n = {i, 0, 1 << 16, 1}});
	}
	assert_int_equal(shape_read(&s), 0);
	draw_levels(&p, &s);
	assert_int_equal(buf_append(&p.out, "", 1), 0);
	assert_non_null(strstr((char *)p.out.data,
			       ">60 files, 12 of them not shown, "));
	shape_free(&s);
	buf_free(&p.out);
}

TEST(a_page_is_bounded_whatever_is_stored)
{
	const uint64_t tables = 1000, files = 10000, parts = 10000;
	const uint64_t now = 1790000000000;
	struct shape s = {0};
	struct page p = {0};

	put(&s, (struct shape_item){.kind = SHAPE_NOW,
				    .n = {now, now - 86400000, 1}});
	for (uint64_t i = 0; i < tables; i++)
		put(&s, (struct shape_item){.kind = SHAPE_TABLE,
					    .table = i + 1,
					    .name = costly((int)i)});
	for (uint64_t i = 0; i < files; i++)
		put(&s, (struct shape_item){
				.kind = SHAPE_FILE,
				.table = i % tables + 1,
				.name = costly((int)(i / tables % 30)),
				.row = costly((int)i),
				.last = costly((int)i + 1),
				.n = {i, i / 30 % 7, 1 << 26, 1, now, now}});
	for (uint64_t i = 0; i < parts; i++)
		put(&s, (struct shape_item){.kind = SHAPE_PART,
					    .table = i % tables + 1,
					    .row = costly((int)i * 11),
					    .n = {1 << 16}});
	for (uint64_t day = 0; day < 366; day++)
		put(&s, (struct shape_item){
				.kind = SHAPE_DAY,
				.n = {now / 86400000 - 365 + day, day + 1}});
	for (uint64_t i = 0; i < HEAT_MINUTES * HEAT_KEPT; i++)
		put(&s, (struct shape_item){
				.kind = SHAPE_CALL,
				.table = i % 6 + 1,
				.row = costly((int)(i * 7919 % 100000)),
				.n = {(now / 60000 - i / HEAT_KEPT) * 60000,
				      i & 1, i * SHAPE_WEIGHT}});
	assert_int_equal(shape_read(&s), 0);
	draw_page(&p, &s, "store");
	assert_int_equal(p.err, 0);
	assert_in_range(p.out.len, 100000, 1000000);
	shape_free(&s);
	buf_free(&p.out);
}
