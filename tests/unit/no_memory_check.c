/*
 * The n-th allocation fails, for each n: while a store is opened after a crash,
 * read, written, flushed, compacted and closed; while it is checked, and rescued.
 *
 * Whoever asked is told, never of damage; nothing is leaked (that AddressSanitizer
 * sees); and the store, opened again, has all that it had, and what was
 * acknowledged meanwhile.
 */
#include "tests/unit/unit.h"
#include "store/filter/filter.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/alloc_fault.h"
#include "tests/unit/temp_store.h"

enum {
	ROWS = 40,
	NEW_ROW = 77,
	VALUE = 200
};

/* The allocation that fails, of how many, and whether any did. */
static uint64_t nth, nth_runs, nth_failed;

struct world {
	struct os *os;
	int version
		[100]; /* of the value of each row; 0 = deleted, -1 = never */
};

static const struct store_options options = {.inline_background = true,
					     .wal_segment_bytes = 1 << 16};

static void value_of(int row, int version, char out[VALUE + 1])
{
	for (int i = 0; i < VALUE; i++)
		out[i] = (char)('a' + (row * 5 + version * 3 + i % 11) % 26);
	out[VALUE] = '\0';
}

static int change(struct table *t, int row, int version)
{
	char key[16], value[VALUE + 1];
	struct change c = {.op = version ? CHANGE_PUT : CHANGE_DELETE_COLUMN,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = version ? version : 100};
	struct mutation m = {.changes = &c, .nchanges = 1};

	snprintf(key, sizeof(key), "%02d", row);
	value_of(row, version, value);
	m.row = bytes_str(key);
	if (version)
		c.value = bytes_str(value);
	return table_mutate(t, &m, 0);
}

static void fill(struct world *w, struct table *t, int from, int to, int step,
		 int version)
{
	for (int row = from; row < to; row += step) {
		assert_int_equal(change(t, row, version), 1);
		w->version[row] = version;
	}
}

/* Files of two levels, markers, a snapshot, and a log that nobody has flushed. */
static void make_store(struct world *w, struct os *os)
{
	struct store_options o = options;
	struct family_attrs attrs;
	struct schema schema;
	struct store *s;
	struct table *t;

	o.os = os;
	o.create = true;
	family_attrs_default(&attrs);
	attrs.block_size = 1 << 10;
	assert_int_equal(store_open("/store", &o, &s), 0);
	schema_init(&schema, 0, 0);
	assert_int_equal(schema_add(&schema, bytes_str("f"), &attrs), 0);
	attrs.compression = COMPRESSION_ZLIB;
	assert_int_equal(schema_add(&schema, bytes_str("g"), &attrs), 0);
	assert_int_equal(store_table_create(s, bytes_str("t"), &schema), 0);
	schema_free(&schema);
	assert_int_equal(table_open(s, bytes_str("t"), &t), 0);
	fill(w, t, 0, ROWS, 1, 1);
	assert_int_equal(store_compact(s, t), 0);
	assert_int_equal(store_snapshot_create(s, t, bytes_str("n")), 0);
	fill(w, t, 0, ROWS, 5, 0);
	fill(w, t, 1, ROWS, 7, 2);
	assert_int_equal(store_flush(s, t), 0);
	fill(w, t, 3, ROWS, 9, 3);
	w->os = sim_after_kill(os);
	table_unref(t);
	assert_int_equal(store_close(s), 0);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct os *os = sim_new(1);

	*state = w;
	if (!w)
		return -1;
	for (size_t i = 0; i < 100; i++)
		w->version[i] = -1;
	make_store(w, os);
	sim_free(os);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	sim_free(w->os);
	free(w);
	return 0;
}

EACH_TEST_IN(setup, teardown);

/* What is refused for want of memory says that, or that the store has failed. */
static void told(int r)
{
	if (r < 0 && r != -ENOMEM && r != -EIO && r != -EROFS)
		fail_msg("allocation %llu: %d, %s", (unsigned long long)nth, r,
			 store_why());
}

/* Reads all: 0, or an error. What is read is right; @want: it is all there. */
static int read_all(const struct world *w, struct table *t, bool want)
{
	const struct scan_spec spec = {.granularity = SCAN_COLUMNS};
	bool seen[100] = {false};
	struct scan *sc;
	struct cell c;
	char value[VALUE + 1];
	int r = scan_open(t, &spec, &sc);

	if (r < 0)
		return r;
	while ((r = scan_next(sc, &c)) > 0) {
		int row = (c.row.data[0] - '0') * 10 + c.row.data[1] - '0';

		assert_in_range(w->version[row] > 0 ? w->version[row] : 9, 1,
				row == NEW_ROW ? 9 : 3);
		value_of(row, row == NEW_ROW ? 9 : w->version[row], value);
		assert_true(bytes_eq(c.value, bytes_str(value)));
		seen[row] = true;
	}
	scan_close(sc);
	for (int row = 0; (want || r == 0) && row < ROWS; row++)
		assert_int_equal(seen[row], w->version[row] > 0);
	return r;
}

/* Uses the store as long as it can: whether the new row was acknowledged. */
static bool use(const struct world *w, struct os *os)
{
	struct store_options o = options;
	struct store *s;
	struct table *t;
	bool put = false;
	int r;

	o.os = os;
	r = store_open("/store", &o, &s);
	told(r);
	if (r < 0)
		return false;
	r = table_open(s, bytes_str("t"), &t);
	told(r);
	if (r == 0) {
		told(read_all(w, t, false));
		r = change(t, NEW_ROW, 9);
		told(r);
		put = r == 1;
		told(store_flush(s, t));
		told(store_snapshot_create(s, t, bytes_str("m")));
		told(table_add_family(t, bytes_str("h")));
		told(store_compact(s, t));
		told(read_all(w, t, false));
		table_unref(t);
	}
	told(store_close(s));
	return put;
}

static void check_after(const struct world *w, struct os *os, bool put)
{
	struct store_options o = options;
	struct os *after = sim_after_kill(os);
	struct buf hold = {0};
	struct store *s;
	struct table *t;
	struct cell c;
	int r;

	o.os = after;
	assert_int_equal(store_open("/store", &o, &s), 0);
	assert_int_equal(table_open(s, bytes_str("t"), &t), 0);
	assert_int_equal(read_all(w, t, true), 0);
	r = table_get(t, bytes_str("77"), bytes_str("f"), bytes_str("q"),
		      TS_MAX, NULL, &c, &hold);
	assert_true(r == 1 || (r == 0 && !put));
	buf_free(&hold);
	table_unref(t);
	assert_int_equal(store_close(s), 0);
	sim_free(after);
}

/* @act with each allocation failing, until it makes no more of them. */
static void each_fails(const struct world *w,
		       bool (*act)(const struct world *w, struct os *os))
{
	const uint64_t runs[] = {1, 1000000};
	uint64_t cases = 0;

	for (size_t i = 0; i < 2; i++) {
		for (nth = 1;; nth++) {
			struct os *os = sim_after_kill(w->os);
			uint64_t failed;
			bool put;

			alloc_arm(nth, runs[i] - 1);
			put = act(w, os);
			failed = alloc_disarm();
			check_after(w, os, put);
			sim_free(os);
			if (!failed)
				break;
			cases++;
		}
	}
	assert_true(cases > 20);
	printf("%llu allocations failed\n", (unsigned long long)cases);
}

TEST(a_store_in_use_loses_nothing)
{
	each_fails(*state, use);
}

/*
 * Rows whose keys need memory of their own: of one family in memory and in a file,
 * of the other in a file only, where some is deleted.
 */
static void put_long_rows(struct os *os)
{
	struct store_options o = options;
	struct change c[] = {
		a_put("f", "q", 7, "v"),
		a_put("g", "long", 7, "v"),
		a_put("g", "q", 7, "v"),
		{.op = CHANGE_DELETE_COLUMN,
		 .family = bytes_str("g"),
		 .qualifier = bytes_str("q"),
		 .ts = 7},
	};
	struct mutation m = {.changes = c, .nchanges = 4};
	char key[600];
	struct store *s;
	struct table *t;

	memset(key, '/', sizeof(key));
	o.os = os;
	assert_int_equal(store_open("/store", &o, &s), 0);
	assert_int_equal(table_open(s, bytes_str("t"), &t), 0);
	for (size_t len = sizeof(key); len > 0; len -= 100) {
		m.row = bytes_of(key, len);
		assert_int_equal(table_mutate(t, &m, 0), 1);
		if (len == 300) {
			assert_int_equal(store_flush(s, t), 0);
			m.nchanges = 1;
		}
	}
	table_unref(t);
	assert_int_equal(store_close(s), 0);
}

/* How long the keys and qualifiers of a scan are, and how it ended. */
static int lengths(struct os *os, const struct scan_spec *spec, char out[4096])
{
	struct store_options o = options;
	struct scan *sc = NULL;
	struct store *s;
	struct table *t;
	struct cell c;
	size_t n = 0;
	int r;

	o.os = os;
	o.read_only = true;
	assert_int_equal(store_open("/store", &o, &s), 0);
	assert_int_equal(table_open(s, bytes_str("t"), &t), 0);
	alloc_arm(nth, nth_runs - 1);
	r = scan_open(t, spec, &sc);
	while (r == 0 && (r = scan_next(sc, &c)) > 0) {
		n += (size_t)snprintf(out + n, 4096 - n, "%zu:%zu ", c.row.len,
				      c.qualifier.len);
		r = 0;
	}
	out[n] = '\0';
	if (sc)
		scan_close(sc);
	nth_failed = alloc_disarm();
	table_unref(t);
	assert_int_equal(store_close(s), 0);
	return r;
}

static void all_or_told(struct os *os, const struct scan_spec *spec)
{
	static char all[4096], some[4096];
	int r;

	nth = UINT64_MAX;
	nth_runs = 1;
	assert_int_equal(lengths(os, spec, all), 0);
	assert_true(strlen(all) > 20);
	for (int on = 0; on < 2; on++) {
		nth_runs = on ? 1000000 : 1;
		nth = 0;
		do {
			nth++;
			r = lengths(os, spec, some);
			if (r < 0)
				assert_int_equal(r, -ENOMEM);
			else
				assert_string_equal(some, all);
			assert_memory_equal(some, all, strlen(some));
		} while (nth_failed);
		assert_true(nth > 1);
	}
}

TEST(who_asks_has_all_or_is_told)
{
	const struct column_name f = {.family = bytes_str("f"),
				      .whole_family = true};
	const struct column_name g = {.family = bytes_str("g"),
				      .whole_family = true};
	const struct column_name two[] = {
		{.family = bytes_str("f"), .qualifier = bytes_str("q")},
		{.family = bytes_str("g"), .qualifier = bytes_str("long")},
	};
	struct scan_spec specs[] = {
		{.granularity = SCAN_ROWS},
		{.granularity = SCAN_CELLS},
		{.granularity = SCAN_COLUMNS, .row_stop = bytes_str("2")},
		{.granularity = SCAN_ROWS, .columns = &f, .ncolumns = 1},
		{.granularity = SCAN_CELLS, .columns = &f, .ncolumns = 1},
		{.granularity = SCAN_ROWS, .columns = &g, .ncolumns = 1},
		{.granularity = SCAN_CELLS, .columns = &g, .ncolumns = 1},
		{.granularity = SCAN_CELLS, .columns = two, .ncolumns = 2},
		{.granularity = SCAN_ROWS, .reversed = true},
		{.granularity = SCAN_CELLS, .reversed = true},
	};
	struct world *w = *state;
	struct filter *filter;

	put_long_rows(w->os);
	assert_int_equal(filter_parse(bytes_str("PageFilter(99)"), &filter), 0);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		all_or_told(w->os, &specs[i]);
		specs[i].filter = filter;
		if (specs[i].granularity >= SCAN_COLUMNS)
			all_or_told(w->os, &specs[i]);
	}
	filter_free(filter);
}

static void hear(void *arg, const char *sentence)
{
	printf("%s\n", sentence);
}

static bool check(const struct world *w, struct os *os)
{
	int r = store_check("/store", os, hear, NULL);

	if (r > 0)
		fail_msg("allocation %llu is taken for damage",
			 (unsigned long long)nth);
	told(r);
	return false;
}

TEST(a_check_takes_it_for_no_damage)
{
	each_fails(*state, check);
}

static void hear_news(void *arg, const struct store_rescue *news)
{
	if (news->kind == RESCUE_LOST)
		printf("%s: %s\n", news->file, news->reason);
}

static bool rescue(const struct world *w, struct os *os)
{
	int r = store_repair("/store", "/new", os, hear_news, NULL);

	if (r > 0)
		fail_msg("allocation %llu is taken for a loss",
			 (unsigned long long)nth);
	told(r);
	return false;
}

TEST(a_rescue_takes_it_for_no_loss)
{
	each_fails(*state, rescue);
}
