#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "store/lsm/admin/engine.h"
#include "store/lsm/background/background.h"
#include "store/lsm/state/full.h"
#include "store/lsm/state/tombstone_stats.h"
#include "store/os/thread.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/temp_store.h"

static struct temp_store *store_of(void **state)
{
	return *state;
}

static int setup(void **state)
{
	struct temp_store *s = calloc(1, sizeof(*s));

	*state = s;
	return s ? temp_make(s) : -1;
}

static int teardown(void **state)
{
	struct temp_store *s = *state;
	int r = temp_remove(s);

	free(s);
	return r;
}

/* Small files, work in the caller: many flushes and levels in a few puts. */
static int setup_small(void **state)
{
	struct temp_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	s->options.inline_background = true;
	s->options.write_buffer_bytes = 16 << 10;
	s->options.table_file_bytes = 8 << 10;
	s->options.wal_segment_bytes = 64 << 10;
	s->options.wal_ring_bytes = 16 << 10;
	*state = s;
	return temp_make(s);
}

static void a_put_is_read_back_and_survives_a_reopen(void **state)
{
	struct temp_store *s = store_of(state);

	assert_int_equal(temp_put(s, "r", "f", "q", 5, "five"), 1);
	assert_string_equal(temp_get(s, "r", "f", "q"), "five");
	assert_null(temp_get(s, "r", "f", "x"));
	assert_null(temp_get(s, "r", "g", "q"));
	assert_null(temp_get(s, "s", "f", "q"));
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	assert_string_equal(temp_get(s, "r", "f", "q"), "five");
}

static int try_one(struct temp_store *s, const char *family, uint8_t op,
		   int64_t ts, const char *value)
{
	struct change c = {.op = op,
			   .family = bytes_str(family),
			   .qualifier = bytes_str("q"),
			   .ts = ts,
			   .value = bytes_str(value)};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};

	return table_mutate_try(s->table, &m);
}

static void what_is_only_tried_is_judged_and_changes_nothing(void **state)
{
	struct temp_store *s = store_of(state);

	assert_int_equal(try_one(s, "f", CHANGE_PUT, 5, "v"), 1);
	assert_null(temp_get(s, "r", "f", "q"));
	assert_int_equal(temp_put(s, "r", "f", "q", TS_MAX, "text"), 1);
	assert_int_equal(try_one(s, "f", CHANGE_INCREMENT, TS_AUTO, ""),
			 -EINVAL);
	assert_int_equal(try_one(s, "f", CHANGE_PUT, TS_AUTO, "v"), -EOVERFLOW);
	assert_int_equal(try_one(s, "none", CHANGE_PUT, 5, "v"), -EPERM);
	assert_int_equal(try_one(s, "f", CHANGE_DELETE, TS_AUTO, "v"), -EINVAL);
	assert_int_equal(try_one(s, "f", CHANGE_DELETE, TS_AUTO, ""), 1);
	assert_string_equal(temp_get(s, "r", "f", "q"), "text");
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	assert_string_equal(temp_get(s, "r", "f", "q"), "text");
}

static void a_put_survives_the_death_of_the_process(void **state)
{
	struct temp_store *s = store_of(state);

	for (int i = 0; i < 100; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%03d", i);
		assert_int_equal(temp_put(s, row, "f", "q", TS_AUTO, row), 1);
	}
	table_unref(s->table);
	lsm_abandon(s->store);
	assert_int_equal(temp_open(s), 0);
	assert_string_equal(temp_get(s, "r000", "f", "q"), "r000");
	assert_string_equal(temp_get(s, "r099", "f", "q"), "r099");
}

static void flush_and_compaction_change_no_answer(void **state)
{
	struct temp_store *s = store_of(state);
	char row[16], value[16];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 2000; i++) {
			snprintf(row, sizeof(row), "r%05d", i * 7 % 2000);
			snprintf(value, sizeof(value), "%d", round * 10000 + i);
			assert_int_equal(temp_put(s, row, i % 2 ? "f" : "g",
						  "q", TS_AUTO, value),
					 1);
		}
	for (int step = 0; step < 3; step++) {
		for (int i = 0; i < 2000; i += 13) {
			snprintf(row, sizeof(row), "r%05d", i * 7 % 2000);
			snprintf(value, sizeof(value), "%d", 20000 + i);
			assert_string_equal(
				temp_get(s, row, i % 2 ? "f" : "g", "q"),
				value);
			assert_null(temp_get(s, row, i % 2 ? "g" : "f", "q"));
		}
		if (step == 0)
			assert_int_equal(store_flush(s->store, NULL), 0);
		if (step == 1)
			assert_int_equal(store_compact(s->store, NULL), 0);
	}
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(store_check(s->path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(s), 0);
	assert_string_equal(temp_get(s, "r00000", "g", "q"), "20000");
}

static int count(struct temp_store *s, struct scan_spec *spec)
{
	struct scan *sc;
	struct cell c;
	int n = 0, r;

	assert_int_equal(scan_open(s->table, spec, &sc), 0);
	while ((r = scan_next(sc, &c)) > 0)
		n++;
	assert_int_equal(r, 0);
	scan_close(sc);
	return n;
}

static void a_scan_sees_each_row_once_at_every_granularity(void **state)
{
	struct temp_store *s = store_of(state);
	struct scan_spec spec = {0};
	char row[16];

	for (int v = 0; v < 5; v++)
		for (int i = 0; i < 300; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			temp_put(s, row, "f", "a", TS_AUTO, "x");
			temp_put(s, row, "f", "b", TS_AUTO, "x");
			temp_put(s, row, "g", "c", TS_AUTO, "x");
		}
	for (int step = 0; step < 2; step++) {
		spec = (struct scan_spec){.granularity = SCAN_ROWS};
		assert_int_equal(count(s, &spec), 300);
		spec.reversed = true;
		assert_int_equal(count(s, &spec), 300);
		spec = (struct scan_spec){.granularity = SCAN_FAMILIES};
		assert_int_equal(count(s, &spec), 600);
		spec.granularity = SCAN_COLUMNS;
		assert_int_equal(count(s, &spec), 900);
		spec.granularity = SCAN_CELLS;
		assert_int_equal(count(s, &spec), 2700);
		spec.versions = 2;
		assert_int_equal(count(s, &spec), 1800);
		spec.row_start = bytes_str("r00010");
		spec.row_stop = bytes_str("r00020");
		assert_int_equal(count(s, &spec), 60);
		spec.limit_rows = 3;
		assert_int_equal(count(s, &spec), 18);
		assert_int_equal(store_compact(s->store, NULL), 0);
	}
}

/* Of a row that is all newer the scan must not go on to the next one. */
static void a_row_that_a_snapshot_lacks_is_not_its_neighbour(void **state)
{
	struct temp_store *s = store_of(state);
	struct column_name f = {.family = bytes_str("f"), .whole_family = true};
	struct scan_spec spec = {.row_start = bytes_str("b"),
				 .row_stop = bytes_str("b"),
				 .row_stop_inclusive = true,
				 .columns = &f,
				 .ncolumns = 1};
	struct snapshot *snap;

	temp_put(s, "a", "f", "q", TS_AUTO, "old");
	temp_put(s, "c", "f", "q", TS_AUTO, "old");
	assert_int_equal(
		store_snapshot_create(s->store, s->table, bytes_str("n")), 0);
	temp_put(s, "b", "f", "q", TS_AUTO, "new");
	assert_int_equal(
		store_snapshot_open(s->store, s->table, bytes_str("n"), &snap),
		0);
	for (int step = 0; step < 2; step++) {
		for (int g = SCAN_ROWS; g <= SCAN_CELLS; g++) {
			spec.granularity = (uint8_t)g;
			spec.snapshot = snap;
			assert_int_equal(count(s, &spec), 0);
			spec.snapshot = NULL;
			assert_int_equal(count(s, &spec), 1);
		}
		assert_int_equal(store_flush(s->store, NULL), 0);
	}
	snapshot_release(snap);
}

static void two_writes_in_one_millisecond_are_two_versions(void **state)
{
	struct temp_store *s = store_of(state);
	struct scan_spec spec = {.granularity = SCAN_CELLS};

	for (int i = 0; i < 3; i++)
		assert_int_equal(temp_put(s, "r", "f", "q", TS_AUTO, "v"), 1);
	assert_int_equal(count(s, &spec), 3);
	/* A future version does not hide what is put next. */
	assert_int_equal(temp_put(s, "r", "f", "q", 4102444800000, "future"),
			 1);
	assert_int_equal(temp_put(s, "r", "f", "q", TS_AUTO, "next"), 1);
	assert_string_equal(temp_get(s, "r", "f", "q"), "next");
}

static void a_delete_hides_what_was_before_and_not_what_comes(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c = {.op = CHANGE_DELETE_COLUMN,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};

	temp_put(s, "r", "f", "q", 7, "seven");
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_null(temp_get(s, "r", "f", "q"));
	temp_put(s, "r", "f", "q", 7, "again");
	assert_string_equal(temp_get(s, "r", "f", "q"), "again");
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_string_equal(temp_get(s, "r", "f", "q"), "again");
	c = (struct change){.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_int_equal(table_has_row(s->table, bytes_str("r")), 0);
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_int_equal(table_has_row(s->table, bytes_str("r")), 0);
}

/* Wherever they lie: a bit of @i is a flush behind a step. */
static void at_one_timestamp_the_last_one_counts(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c = {.op = CHANGE_DELETE,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = 5};
	struct mutation m = {.changes = &c, .nchanges = 1};
	char row[16];

	for (int i = 0; i < 32; i++) {
		m.row = bytes_of(row, (size_t)snprintf(row, 16, "r%d", i));
		for (int step = 0; step < 5; step++) {
			const char *value = step == 1 ? "b" : "a";

			if (step == 2)
				assert_int_equal(table_mutate(s->table, &m, 0),
						 1);
			else
				assert_int_equal(temp_put(s, row, "f", "q",
							  step == 4 ? 4 : 5,
							  value),
						 1);
			if (i >> step & 1)
				assert_int_equal(store_flush(s->store, NULL),
						 0);
			if (step == 2)
				assert_null(temp_get(s, row, "f", "q"));
			else
				assert_string_equal(temp_get(s, row, "f", "q"),
						    value);
		}
	}
}

static void an_older_marker_hides_a_put_of_its_time_in_old_tables(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c = {
		.op = CHANGE_DELETE_FAMILY, .family = bytes_str("f"), .ts = 5};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};
	struct schema schema;

	assert_int_equal(table_schema(s->table, &schema), 0);
	schema.families[0].attrs.new_version_behavior = false;
	assert_int_equal(table_alter(s->table, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_int_equal(store_flush(s->store, NULL), 0);
	assert_int_equal(temp_put(s, "r", "f", "q", 5, "hidden"), 1);
	assert_null(temp_get(s, "r", "f", "q"));
	assert_int_equal(store_flush(s->store, NULL), 0);
	assert_null(temp_get(s, "r", "f", "q"));
	assert_int_equal(temp_put(s, "r", "f", "q", 6, "seen"), 1);
	assert_string_equal(temp_get(s, "r", "f", "q"), "seen");
}

static void a_check_that_does_not_hold_changes_nothing(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO,
			   .value = bytes_str("new")};
	struct check k = {.op = CHECK_ABSENT,
			  .family = bytes_str("f"),
			  .qualifier = bytes_str("q")};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &c,
			     .nchanges = 1,
			     .checks = &k,
			     .nchecks = 1};

	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_int_equal(table_mutate(s->table, &m, 0), 0);
	k.op = CHECK_EQUAL;
	k.value = bytes_str("other");
	assert_int_equal(table_mutate(s->table, &m, 0), 0);
	k.value = bytes_str("new");
	c.value = bytes_str("newer");
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_string_equal(temp_get(s, "r", "f", "q"), "newer");
}

static void a_check_of_a_version_looks_at_that_version(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c = {.op = CHANGE_DELETE,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = 5};
	struct check k = {.op = CHECK_VERSION_EQUAL,
			  .family = bytes_str("f"),
			  .qualifier = bytes_str("q"),
			  .ts = 5,
			  .value = bytes_str("five")};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &c,
			     .nchanges = 1,
			     .checks = &k,
			     .nchecks = 1};

	temp_put(s, "r", "f", "q", 5, "anew");
	temp_put(s, "r", "f", "q", 6, "five");
	assert_int_equal(table_mutate(s->table, &m, 0), 0);
	temp_put(s, "r", "f", "q", 5, "five");
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_int_equal(table_mutate(s->table, &m, 0), 0);
	temp_put(s, "r", "f", "q", 5, "");
	assert_int_equal(table_mutate(s->table, &m, 0), 0);
	k.value = bytes_str("");
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	/* An empty value is no absent one. */
	assert_int_equal(table_mutate(s->table, &m, 0), 0);
	k.op = CHECKS;
	assert_int_equal(table_mutate(s->table, &m, 0), -EINVAL);
}

static const struct store_ops *ops_of_store;

/* Another's put comes when all looks of the wrapper are behind it. */
static int put_and_alter(struct table *t, const struct alter *a)
{
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = 5,
			   .value = bytes_str("late")};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};

	assert_int_equal(ops_of_store->mutate(t, &m, 0), 1);
	return ops_of_store->table_alter(t, a);
}

static void a_schema_that_would_hide_a_put_just_made_is_refused(void **state)
{
	struct temp_store *s = store_of(state);
	struct alter a = {.rest = ALTER_DROP};
	struct store_ops ops = *s->store->ops;

	ops_of_store = s->store->ops;
	ops.table_alter = put_and_alter;
	s->store->ops = &ops;
	s->store->no_delete = true;
	/* It drops f, which is empty until then. */
	assert_int_equal(table_change(s->table, &a), -EPERM);
	assert_string_equal(temp_get(s, "r", "f", "q"), "late");
	s->store->ops = ops_of_store;
	s->store->no_delete = false;
	assert_int_equal(table_change(s->table, &a), 0);
}

static void a_snapshot_keeps_what_compaction_would_drop(void **state)
{
	struct temp_store *s = store_of(state);
	struct snapshot *snap;
	struct buf hold = {0};
	struct cell c;

	temp_put(s, "r", "f", "q", 7, "old");
	assert_int_equal(snapshot_take(s->store, &snap), 0);
	temp_put(s, "r", "f", "q", 7, "new");
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_int_equal(table_get(s->table, bytes_str("r"), bytes_str("f"),
				   bytes_str("q"), TS_MAX, snap, &c, &hold),
			 1);
	assert_true(bytes_eq(c.value, bytes_str("old")));
	snapshot_release(snap);
	assert_string_equal(temp_get(s, "r", "f", "q"), "new");
	buf_free(&hold);
}

/* The value of r f:q in a named snapshot; NULL = none, or no such snapshot. */
static const char *shown(struct temp_store *s, struct table *t,
			 const char *name)
{
	static struct buf hold;
	struct snapshot *snap;
	struct cell c;
	int r = store_snapshot_open(s->store, t, bytes_str(name), &snap);

	if (r < 0)
		return NULL;
	r = table_get(s->table, bytes_str("r"), bytes_str("f"), bytes_str("q"),
		      TS_MAX, snap, &c, &hold);
	snapshot_release(snap);
	if (r <= 0 || buf_append(&hold, "", 1) < 0)
		return NULL;
	return (const char *)hold.data;
}

static void a_named_snapshot_survives_restart_and_compaction(void **state)
{
	struct temp_store *s = store_of(state);
	struct snapshot_info info;

	temp_put(s, "r", "f", "q", 7, "old");
	assert_int_equal(
		store_snapshot_create(s->store, s->table, bytes_str("nightly")),
		0);
	assert_int_equal(
		store_snapshot_create(s->store, s->table, bytes_str("nightly")),
		-EEXIST);
	assert_int_equal(
		store_snapshot_create(s->store, NULL, bytes_str("all")), 0);
	temp_put(s, "r", "f", "q", 7, "new");
	for (int i = 0; i < 4; i++) {
		assert_string_equal(temp_get(s, "r", "f", "q"), "new");
		assert_string_equal(shown(s, s->table, "nightly"), "old");
		assert_string_equal(shown(s, NULL, "all"), "old");
		assert_null(shown(s, NULL, "nightly"));
		assert_null(shown(s, s->table, "all"));
		if (i == 0) {
			assert_int_equal(temp_close(s), 0);
			assert_int_equal(temp_open(s), 0);
		} else if (i == 1) {
			table_unref(s->table);
			lsm_abandon(s->store);
			assert_int_equal(temp_open(s), 0);
		} else {
			assert_int_equal(store_compact(s->store, NULL), 0);
		}
	}
	assert_int_equal(store_snapshot_rename(s->store, s->table,
					       bytes_str("nightly"),
					       bytes_str("weekly")),
			 0);
	assert_int_equal(
		store_snapshot_next(s->store, s->table, bytes_str(""), &info),
		1);
	assert_string_equal(info.name, "weekly");
	assert_true(info.taken_ms > 0);
	assert_int_equal(store_snapshot_next(s->store, s->table,
					     bytes_str("weekly"), &info),
			 0);
	assert_string_equal(shown(s, s->table, "weekly"), "old");
	assert_int_equal(
		store_snapshot_drop(s->store, s->table, bytes_str("nightly")),
		-ENOENT);
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(store_check(s->path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(s), 0);
	assert_string_equal(shown(s, s->table, "weekly"), "old");
}

static void what_a_snapshot_shows_is_not_dropped(void **state)
{
	struct temp_store *s = store_of(state);
	struct schema schema = {0};
	struct bytes name = bytes_str("n");

	for (int whole = 0; whole < 2; whole++) {
		struct table *t = whole ? NULL : s->table;

		assert_int_equal(store_snapshot_create(s->store, t, name), 0);
		assert_int_equal(table_add_family(s->table, bytes_str("h")), 0);
		for (int empty = 0; empty < 2; empty++)
			assert_int_equal(store_table_drop(s->store,
							  bytes_str("t"),
							  empty),
					 -ENOTEMPTY);
		assert_int_equal(table_schema(s->table, &schema), 0);
		schema_remove(&schema, bytes_str("h"));
		assert_int_equal(table_alter(s->table, &schema, false), 0);
		schema_remove(&schema, bytes_str("f"));
		for (int drop = 0; drop < 2; drop++)
			assert_int_equal(table_alter(s->table, &schema, drop),
					 -EBUSY);
		schema_free(&schema);
		assert_int_equal(store_snapshot_drop(s->store, t, name), 0);
	}
	assert_int_equal(store_snapshot_create(s->store, NULL, name), 0);
	assert_int_equal(store_table_create(s->store, bytes_str("later"), NULL),
			 0);
	assert_int_equal(store_table_drop(s->store, bytes_str("later"), false),
			 0);
	assert_int_equal(store_snapshot_drop(s->store, NULL, name), 0);
	assert_int_equal(store_table_drop(s->store, bytes_str("t"), true), 0);
	assert_int_equal(store_snapshot_create(s->store, s->table, name),
			 -ENOENT);
}

static void a_table_that_is_dropped_says_so(void **state)
{
	struct temp_store *s = store_of(state);
	char name[TABLE_NAME_LEN_MAX + 1];
	struct schema schema;

	assert_int_equal(store_table_drop(s->store, bytes_str("t"), true), 0);
	assert_int_equal(table_schema(s->table, &schema), -ENOENT);
	assert_string_equal(store_why(), "the table has been dropped");
	assert_int_equal(table_name(s->table, name), -ENOENT);
	assert_string_equal(store_why(), "the table has been dropped");
}

static void a_scan_outlives_its_table(void **state)
{
	struct temp_store *s = store_of(state);
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct bytes u = bytes_str("u");
	char row[16];

	for (int step = 0; step < 2; step++) {
		struct change c = {.op = CHANGE_PUT,
				   .family = bytes_str("f"),
				   .qualifier = bytes_str("q"),
				   .ts = TS_AUTO,
				   .value = bytes_str("v")};
		struct mutation m = {.changes = &c, .nchanges = 1};
		struct table *t;
		struct scan *sc;
		struct cell cell;

		assert_int_equal(store_table_create(s->store, u, NULL), 0);
		assert_int_equal(table_open(s->store, u, &t), 0);
		assert_int_equal(table_add_family(t, c.family), 0);
		for (int i = 0; i < 300; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			m.row = bytes_str(row);
			assert_int_equal(table_mutate(t, &m, 0), 1);
		}
		if (step == 1)
			assert_int_equal(store_flush(s->store, NULL), 0);
		assert_int_equal(scan_open(t, &spec, &sc), 0);
		assert_int_equal(store_table_drop(s->store, u, false), 0);
		table_unref(t);
		for (int i = 0; i < 300; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			assert_int_equal(scan_next(sc, &cell), 1);
			assert_true(bytes_eq(cell.row, bytes_str(row)));
		}
		assert_int_equal(scan_next(sc, &cell), 0);
		scan_close(sc);
	}
}

static void a_snapshot_remembers_names_and_schemas(void **state)
{
	struct temp_store *s = store_of(state);
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct schema schema = {0};
	struct table *t, *other;
	struct snapshot *snap;
	struct scan *sc;
	struct scan_spec spec = {0};

	assert_int_equal(store_table_create(s->store, bytes_str("u"), NULL), 0);
	assert_int_equal(store_snapshot_create(s->store, NULL, bytes_str("n")),
			 0);
	assert_int_equal(
		store_table_rename(s->store, bytes_str("t"), bytes_str("z")),
		0);
	assert_int_equal(table_add_family(s->table, bytes_str("h")), 0);
	assert_int_equal(
		store_snapshot_open(s->store, NULL, bytes_str("n"), &snap), 0);
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 1);
	assert_string_equal(name, "t");
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 1);
	assert_string_equal(name, "u");
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 0);
	assert_int_equal(snapshot_table_open(snap, bytes_str("t"), &t), 0);
	assert_ptr_equal(t, s->table);
	assert_int_equal(snapshot_table_open(snap, bytes_str("z"), &other),
			 -ENOENT);
	assert_int_equal(snapshot_schema(snap, t, &schema), 0);
	assert_int_equal(schema.nfamilies, 2);
	schema_free(&schema);

	/* For who reads only one table it forgets the others. */
	snapshot_keep(snap, t);
	name[0] = '\0';
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 1);
	assert_string_equal(name, "t");
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 0);
	assert_int_equal(snapshot_schema(snap, t, &schema), 0);
	schema_free(&schema);
	spec.snapshot = snap;
	assert_int_equal(scan_open(t, &spec, &sc), 0);
	scan_close(sc);
	table_unref(t);
	snapshot_release(snap);

	/* One of another table is no snapshot of this one. */
	assert_int_equal(table_open(s->store, bytes_str("u"), &other), 0);
	assert_int_equal(store_snapshot_create(s->store, other, bytes_str("m")),
			 0);
	assert_int_equal(
		store_snapshot_open(s->store, other, bytes_str("m"), &snap), 0);
	spec.snapshot = snap;
	assert_int_equal(scan_open(s->table, &spec, &sc), -EINVAL);
	snapshot_release(snap);
	table_unref(other);
	assert_int_equal(
		store_table_rename(s->store, bytes_str("z"), bytes_str("t")),
		0);
}

static uint64_t stat_of(struct store *s, const char *name)
{
	struct store_stat st;

	for (unsigned i = 0; store_stat(s, i, &st) > 0; i++)
		if (!strcmp(st.name, name))
			return st.value;
	return UINT64_MAX;
}

static const char filler[200] = {[0 ... 198] = 'x'};

static void rewrite(struct temp_store *s)
{
	char row[16], value[240];

	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "r%04d", i * 7 % 1000);
		snprintf(value, sizeof(value), "%s%d", filler, rand());
		assert_int_equal(temp_put(s, row, "f", "q", 7, value), 1);
	}
}

/* Blocks that came into the cache by the work, and by a read of all. */
static void warmed(struct temp_store *s, bool compact, uint64_t *work,
		   uint64_t *read)
{
	uint64_t begin = stat_of(s->store, "cache_misses_total"), end;
	char row[16];

	rewrite(s);
	assert_int_equal(compact ? store_compact(s->store, NULL)
				 : store_flush(s->store, NULL),
			 0);
	end = stat_of(s->store, "cache_misses_total");
	*work = end - begin;
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "r%04d", i);
		assert_non_null(temp_get(s, row, "f", "q"));
	}
	*read = stat_of(s->store, "cache_misses_total") - end;
}

static void new_files_come_with_their_blocks_to_who_reads(void **state)
{
	struct temp_store *s = store_of(state);
	uint64_t work, read;

	/* Nobody has read yet: nobody is served before he does. */
	warmed(s, false, &work, &read);
	assert_int_equal(work, 0);
	assert_true(read > 0);
	for (int compact = 0; compact < 2; compact++) {
		warmed(s, compact, &work, &read);
		assert_true(work > 0);
		assert_int_equal(read, 0);
	}
}

static void dropping_a_snapshot_frees_the_space(void **state)
{
	struct temp_store *s = store_of(state);
	struct bytes name = bytes_str("n");
	uint64_t one;
	struct table *u;

	rewrite(s);
	assert_int_equal(store_compact(s->store, NULL), 0);
	one = stat_of(s->store, "sstable_bytes");
	assert_int_not_equal(one, UINT64_MAX);
	/* One of another table holds nothing back. */
	assert_int_equal(store_table_create(s->store, bytes_str("u"), NULL), 0);
	assert_int_equal(table_open(s->store, bytes_str("u"), &u), 0);
	assert_int_equal(store_snapshot_create(s->store, u, name), 0);
	rewrite(s);
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_in_range(stat_of(s->store, "sstable_bytes"), 0, one * 5 / 4);
	table_unref(u);
	/* One that was taken since the open, and one that the open found. */
	for (int reopened = 0; reopened < 2; reopened++) {
		assert_int_equal(
			store_snapshot_create(s->store, s->table, name), 0);
		rewrite(s);
		assert_int_equal(store_compact(s->store, NULL), 0);
		assert_in_range(stat_of(s->store, "sstable_bytes"), one * 3 / 2,
				one * 3);
		if (reopened) {
			assert_int_equal(temp_close(s), 0);
			assert_int_equal(temp_open(s), 0);
		}
		/* The next work in the background finds it. */
		assert_int_equal(store_snapshot_drop(s->store, s->table, name),
				 0);
		for (int i = 0; i < 6000; i++) {
			if (stat_of(s->store, "sstable_bytes") <= one * 5 / 4)
				break;
			/* Without threads a writer that fills its buffer
			 * works. */
			temp_put(s, "r", "f", "q", 7, filler);
			usleep(5000);
		}
		assert_in_range(stat_of(s->store, "sstable_bytes"), 0,
				one * 5 / 4);
	}
}

/* A merge that failed is not tried again at once, whatever wants it. */
static void
what_a_snapshot_frees_waits_for_a_tree_that_may_be_merged(void **state)
{
	struct temp_store *s = store_of(state);
	struct lsm *db = lsm_of(s->store);
	struct bytes name = bytes_str("n");
	struct tree *t;

	rewrite(s);
	assert_int_equal(store_snapshot_create(s->store, s->table, name), 0);
	rewrite(s);
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_int_equal(store_snapshot_drop(s->store, s->table, name), 0);
	t = db->tables[0]->now->trees[0];
	assert_true(t->freed.number);
	t->retry_ns = UINT64_MAX;
	assert_int_equal(compact_one(db), 0);
	assert_true(t->freed.number);
	t->retry_ns = 0;
	assert_int_equal(compact_one(db), 1);
}

static int open_id(struct temp_store *s, uint64_t id)
{
	struct table *t = NULL;
	int r = s->store->ops->table_open_id(s->store, id, &t);

	if (r == 0) {
		assert_int_equal(t->id, id);
		table_unref(t);
	}
	return r;
}

static void an_id_opens_its_table_and_no_other(void **state)
{
	struct temp_store *s = store_of(state);
	uint64_t ids[9] = {s->table->id};
	char name[2] = "t";
	struct table *t;

	/* As many as any step of the list's memory has, and one more. */
	for (int n = 1; n < 9; n++) {
		name[0] = (char)('a' + n);
		assert_int_equal(
			store_table_create(s->store, bytes_str(name), NULL), 0);
		assert_int_equal(table_open(s->store, bytes_str(name), &t), 0);
		ids[n] = t->id;
		table_unref(t);
		for (int i = 0; i <= n; i++)
			assert_int_equal(open_id(s, ids[i]), 0);
		assert_int_equal(open_id(s, ids[n] + 1), -ENOENT);
	}
	for (int n = 8; n >= 0; n--) {
		name[0] = (char)(n ? 'a' + n : 't');
		assert_int_equal(
			store_table_drop(s->store, bytes_str(name), false), 0);
		for (int i = 0; i < 9; i++)
			assert_int_equal(open_id(s, ids[i]),
					 i < n ? 0 : -ENOENT);
	}
}

/* Threads of this process that are so much nicer than it. */
static unsigned threads_nicer_by(int n)
{
	int own = getpriority(PRIO_PROCESS, 0);
	DIR *tasks = opendir("/proc/self/task");
	unsigned found = 0;
	struct dirent *d;

	assert_non_null(tasks);
	while ((d = readdir(tasks)))
		if (d->d_name[0] != '.')
			found += getpriority(PRIO_PROCESS,
					     (id_t)atoi(d->d_name)) == own + n;
	closedir(tasks);
	return found;
}

static void flush_and_compaction_give_way_to_callers(void **state)
{
	struct temp_store *s = store_of(state);

	/* There is nothing nicer than 19. */
	if (getpriority(PRIO_PROCESS, 0) + THREAD_GIVES_WAY > 19)
		skip();
	/* They may not have begun yet. */
	for (int i = 0; i < 2000; i++) {
		if (threads_nicer_by(THREAD_GIVES_WAY) == 2)
			break;
		usleep(5000);
	}
	assert_int_equal(threads_nicer_by(THREAD_GIVES_WAY), 2);
	assert_true(threads_nicer_by(0) >= 2);
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(threads_nicer_by(THREAD_GIVES_WAY), 0);
	assert_int_equal(temp_open(s), 0);
}

static void a_second_opener_is_told_the_pid(void **state)
{
	struct temp_store *s = store_of(state);
	struct store_options o = {0};
	struct store *other;
	char pid[16];

	assert_int_equal(store_open(s->path, &o, &other), -EBUSY);
	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_non_null(strstr(store_why(), pid));
}

static void a_directory_with_other_files_is_left_alone(void **state)
{
	struct temp_store *s = store_of(state);
	struct store_options o = {.create = true};
	struct store *other;
	char dir[80], file[200];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s/sub", s->path);
	assert_int_equal(store_open(dir, &(struct store_options){0}, &other),
			 -ENOENT);
	snprintf(file, sizeof(file), "mkdir '%s' && touch '%s/x'", dir, dir);
	assert_int_equal(system(file), 0);
	assert_int_equal(store_open(dir, &o, &other), -ENOTEMPTY);
	snprintf(file, sizeof(file), "%s/LOCK", dir);
	f = fopen(file, "r");
	assert_null(f);
}

static void a_dropped_table_is_gone_and_its_files_too(void **state)
{
	struct temp_store *s = store_of(state);

	temp_put(s, "r", "f", "q", 7, "x");
	assert_int_equal(store_table_drop(s->store, bytes_str("t"), true),
			 -ENOTEMPTY);
	assert_int_equal(store_flush(s->store, NULL), 0);
	assert_int_equal(store_table_drop(s->store, bytes_str("t"), false), 0);
	assert_int_equal(temp_put(s, "r", "f", "q", 7, "x"), -ENOENT);
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(store_check(s->path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(s), 0);
	assert_null(temp_get(s, "r", "f", "q"));
}

static void families_come_change_and_go(void **state)
{
	struct temp_store *s = store_of(state);
	struct schema schema;

	temp_put(s, "r", "g", "q", 7, "x");
	assert_int_equal(table_schema(s->table, &schema), 0);
	assert_int_equal(schema_remove(&schema, bytes_str("g")), 0);
	assert_int_equal(table_alter(s->table, &schema, false), -EBUSY);
	assert_int_equal(table_alter(s->table, &schema, true), 0);
	assert_null(temp_get(s, "r", "g", "q"));
	assert_int_equal(table_add_family(s->table, bytes_str("g")), 0);
	assert_null(temp_get(s, "r", "g", "q"));
	schema_free(&schema);
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	assert_null(temp_get(s, "r", "g", "q"));
}

static void a_batch_is_as_its_mutations_one_by_one(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c[3000];
	struct mutation m[3000];
	char rows[3000][8];
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	size_t done;

	for (int i = 0; i < 3000; i++) {
		snprintf(rows[i], sizeof(rows[i]), "r%d", i % 1000);
		c[i] = (struct change){.op = CHANGE_PUT,
				       .family = bytes_str(i % 2 ? "f" : "g"),
				       .qualifier = bytes_str("q"),
				       .ts = TS_AUTO,
				       .value = bytes_str(rows[i])};
		m[i] = (struct mutation){.row = bytes_str(rows[i]),
					 .changes = &c[i],
					 .nchanges = 1};
	}
	assert_int_equal(table_mutate_many(s->table, m, 3000, 0, &done), 0);
	assert_int_equal(done, 3000);
	assert_int_equal(count(s, &spec), 3000);
}

static void a_batch_reads_what_it_wrote_before(void **state)
{
	struct temp_store *s = store_of(state);
	const int64_t late = TS_MAX / 2;
	struct change c[4];
	struct mutation m[4];
	size_t done;

	/* Only the last one asks, after those that do not. */
	for (int i = 0; i < 4; i++) {
		c[i] = (struct change){.op = CHANGE_PUT,
				       .family = bytes_str("f"),
				       .qualifier = bytes_str("q"),
				       .ts = i < 3 ? late + i : TS_AUTO,
				       .value = bytes_str("v")};
		m[i] = (struct mutation){.row = bytes_str(i % 2 ? "a" : "b"),
					 .changes = &c[i],
					 .nchanges = 1};
	}
	assert_int_equal(table_mutate_many(s->table, m, 4, 0, &done), 0);
	assert_int_equal(done, 4);
	assert_int_equal(c[2].ts_given, late + 2);
	assert_int_equal(c[3].ts_given, late + 2);
	c[3].ts = TS_AUTO;
	m[3].row = bytes_str("c");
	assert_int_equal(table_mutate_many(s->table, m, 4, 0, &done), 0);
	assert_true(c[3].ts_given < late);
}

static void named_columns_are_held_to_the_range_of_qualifiers(void **state)
{
	struct temp_store *s = store_of(state);
	const struct column_name columns[] = {
		{.family = bytes_str("f"), .qualifier = bytes_str("a")},
		{.family = bytes_str("f"), .qualifier = bytes_str("c")},
		{.family = bytes_str("f"), .qualifier = bytes_str("e")},
	};
	struct scan_spec spec = {
		.granularity = SCAN_COLUMNS,
		.columns = columns,
		.ncolumns = 3,
		.has_qual_start = true,
		.has_qual_stop = true,
		.qual_start = bytes_str("b"),
		.qual_stop = bytes_str("d"),
	};

	for (const char *q = "abcde"; *q; q++)
		assert_int_equal(temp_put(s, "r", "f", (char[2]){*q}, 1, "v"),
				 1);
	assert_int_equal(count(s, &spec), 1);
	/* Nothing that is named lies in it. */
	spec.qual_start = bytes_str("f");
	spec.has_qual_stop = false;
	assert_int_equal(count(s, &spec), 0);
}

/* Three cells a row, so that memtables fill in the middle of one. */
static void what_is_written_in_order_is_not_merged(void **state)
{
	struct temp_store *s = store_of(state);
	char row[16], value[64];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	for (int i = 0; i < 3000; i++) {
		snprintf(row, sizeof(row), "%06d", i / 3);
		assert_int_equal(temp_put(s, row, "f",
					  i % 3 == 0   ? "a"
					  : i % 3 == 1 ? "b"
						       : "c",
					  i, value),
				 1);
	}
	assert_true(stat_of(s->store, "flushes_total") > 12);
	assert_true(stat_of(s->store, "level_sstables{level=\"0\"}") <= 14);
	assert_int_equal(stat_of(s->store, "compactions_total"), 0);
	assert_string_equal(temp_get(s, "000500", "f", "b"), value);
}

/* Merged by a thread: it is waited for, as long as it takes. */
static void what_was_flushed_is_merged_when_nobody_writes(void **state)
{
	struct temp_store *s = store_of(state);
	char value[16];

	assert_int_equal(temp_close(s), 0);
	s->options.table_file_bytes = 1024;
	assert_int_equal(temp_open(s), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(temp_put(s, "a", "f", "q", i + 1, value), 1);
		assert_int_equal(temp_put(s, "b", "f", "q", i + 1, value), 1);
		assert_int_equal(store_flush(s->store, NULL), 0);
	}
	for (int i = 0; i < 12000 && stat_of(s->store, "sstables") > 1; i++)
		usleep(5000);
	assert_int_equal(stat_of(s->store, "sstables"), 1);
	assert_int_equal(stat_of(s->store, "level_sstables{level=\"0\"}"), 0);
	assert_string_equal(temp_get(s, "b", "f", "q"), "2");
}

/* Is one but the caller at work, or waits for a processor? */
static bool a_thread_runs(void)
{
	DIR *tasks = opendir("/proc/self/task");
	bool runs = false;
	struct dirent *e;

	assert_non_null(tasks);
	while ((e = readdir(tasks))) {
		char path[300], text[64] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat",
			 e->d_name);
		/* Not "..", either. */
		if (atoi(e->d_name) == 0 || atoi(e->d_name) == gettid())
			continue;
		f = fopen(path, "r");
		if (!f)
			continue;
		runs |= fgets(text, sizeof(text), f) && strstr(text, ") R ");
		fclose(f);
	}
	closedir(tasks);
	return runs;
}

/* Its threads wait for work: the state is waited for, as long as it takes. */
static void a_store_that_nobody_uses_sleeps(void **state)
{
	struct temp_store *s = store_of(state);
	int asleep = 0;

	assert_int_equal(temp_put(s, "a", "f", "q", 1, "v"), 1);
	assert_int_equal(store_flush(s->store, NULL), 0);
	for (int i = 0; i < 12000 && asleep < 10; i++) {
		asleep = a_thread_runs() ? 0 : asleep + 1;
		usleep(1000);
	}
	assert_int_equal(asleep, 10);
}

static void level_0_may_be_deep_until_somebody_reads(void **state)
{
	struct temp_store *s = store_of(state);

	for (int i = 0; i < 20; i++) {
		assert_int_equal(temp_put(s, "a", "f", "q", i + 1, "v"), 1);
		assert_int_equal(store_flush(s->store, NULL), 0);
	}
	assert_int_equal(stat_of(s->store, "level_sstables{level=\"0\"}"), 20);
	assert_int_equal(stat_of(s->store, "compactions_total"), 0);
	assert_string_equal(temp_get(s, "a", "f", "q"), "v");
	for (int i = 0;
	     i < 12000 && stat_of(s->store, "level_sstables{level=\"0\"}"); i++)
		usleep(5000);
	assert_int_equal(stat_of(s->store, "level_sstables{level=\"0\"}"), 0);
}

/* How many versions of row000 f:q are seen when 20 are kept. */
static int versions_of_twenty(struct temp_store *s)
{
	struct scan_spec spec = {
		.granularity = SCAN_CELLS,
		.row_start = bytes_str("row000"),
		.row_stop = bytes_str("row000"),
		.row_stop_inclusive = true,
	};
	struct schema schema;
	struct cell cell;
	struct scan *sc;
	int n = 0;

	assert_int_equal(table_schema(s->table, &schema), 0);
	schema.families[0].attrs.versions = 20;
	assert_int_equal(table_alter(s->table, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(scan_open(s->table, &spec, &sc), 0);
	while (scan_next(sc, &cell) > 0)
		n++;
	scan_close(sc);
	return n;
}

/* Twelve versions of each row, merged by then. */
static void put_twelve(struct temp_store *s)
{
	char row[16], value[64];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (int version = 1; version <= 12; version++)
		for (int i = 0; i < 200; i++) {
			snprintf(row, sizeof(row), "row%03d", i);
			assert_int_equal(
				temp_put(s, row, "f", "q", version, value), 1);
		}
	assert_true(stat_of(s->store, "compactions_total") > 0);
}

/* A restore can put rows before it comes to the schema. */
static void a_new_table_keeps_all_versions_until_it_has_a_schema(void **state)
{
	struct temp_store *s = store_of(state);

	put_twelve(s);
	assert_int_equal(versions_of_twenty(s), 12);
}

static void a_new_table_loses_versions_when_asked_to_compact(void **state)
{
	struct temp_store *s = store_of(state);

	put_twelve(s);
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_int_equal(versions_of_twenty(s), 3);
}

static void put_or_delete_rows(struct temp_store *s, int n, uint8_t op)
{
	char row[16];
	struct change c = {.op = op, .family = bytes_str("f"), .ts = TS_AUTO};

	for (int i = 0; i < n; i++) {
		struct mutation m = {.changes = &c, .nchanges = 1};

		snprintf(row, sizeof(row), "r%05d", i);
		m.row = bytes_str(row);
		assert_int_equal(table_mutate(s->table, &m, 0), 1);
	}
}

static void what_scans_step_over_is_merged_away(void **state)
{
	enum {
		ROWS = 22000
	};
	struct temp_store *s = store_of(state);
	struct scan_spec all = {0};
	struct lsm *db = lsm_of(s->store);
	struct tree *t;

	put_or_delete_rows(s, ROWS, CHANGE_PUT);
	assert_int_equal(store_flush(s->store, NULL), 0);
	put_or_delete_rows(s, ROWS, CHANGE_DELETE_FAMILY);
	t = db->tables[0]->now->trees[0];
	assert_int_equal(count(s, &all), 0);
	assert_int_equal(count(s, &all), 0);
	assert_false(tombstone_stats_due(t));
	assert_int_equal(stat_of(s->store, "flushes_total"), 1);
	assert_int_equal(count(s, &all), 0);
	for (int i = 0; i < 12000 && (stat_of(s->store, "sstables") ||
				      tombstone_stats_due(t));
	     i++)
		usleep(5000);
	assert_int_equal(stat_of(s->store, "flushes_total"), 2);
	assert_int_equal(stat_of(s->store, "sstables"), 0);
	assert_false(tombstone_stats_due(t));
	assert_int_equal(count(s, &all), 0);
}

/* Markers that scans pass are frozen, unless a writer is at work just then. */
static void who_freezes_keeps_no_writer_waiting(void **state)
{
	struct temp_store *s = store_of(state);
	struct lsm *db;

	s->options.inline_background = true;
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	db = lsm_of(s->store);
	put_or_delete_rows(s, 5000, CHANGE_DELETE_FAMILY);
	freeze_markers(db);
	assert_int_equal(pthread_mutex_trylock(&db->commit), 0);
	atomic_store(&db->tables[0]->now->trees[0]->passed, 1u << 20);
	assert_true(tombstone_stats_in_memory(db));
	freeze_markers(db);
	assert_int_equal(db->nfrozen, 0);
	assert_int_equal(pthread_mutex_trylock(&db->commit), EBUSY);
	pthread_mutex_unlock(&db->commit);
	freeze_markers(db);
	assert_int_equal(db->nfrozen, 1);
	/* No table's past is given up by that. */
	assert_int_equal(db->frozen[0].trim, 0);
	assert_int_equal(pthread_mutex_trylock(&db->commit), 0);
	pthread_mutex_unlock(&db->commit);
}

static void a_calm_store_is_flushed_when_its_disk_is_nearly_full(void **state)
{
	struct os *os = sim_new(1);
	struct temp_store s = {.path = "/store",
			       .options = {.inline_background = true,
					   .wal_segment_bytes = 64 << 10,
					   .wal_ring_bytes = 16 << 10,
					   .os = os}};
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};
	struct lsm *db;

	(void)state;
	assert_int_equal(temp_open(&s), 0);
	db = lsm_of(s.store);
	assert_int_equal(temp_put(&s, "r", "f", "q", 5, "five"), 1);
	sim_set_space(os, db->limits.file_bytes);
	/* That deletes nothing: a flush would make no room. */
	freeze_full(db);
	freeze_full(db);
	assert_int_equal(db->nfrozen, 0);
	sim_set_space(os, (uint64_t)1 << 40);
	assert_int_equal(table_mutate(s.table, &m, 0), 1);
	freeze_full(db);
	freeze_full(db);
	assert_int_equal(db->nfrozen, 0);
	sim_set_space(os, db->limits.file_bytes);
	freeze_full(db);
	assert_int_equal(db->nfrozen, 1);
	assert_int_equal(temp_close(&s), 0);
	sim_free(os);
}

/* It is lent to a flush or merge, which makes room with it. */
static void
what_the_log_keeps_for_a_full_disk_is_lent_until_repaid(void **state)
{
	struct temp_store *s = store_of(state);
	struct lsm *db = lsm_of(s->store);
	uint64_t kept = wal_lendable(db->wal);
	unsigned loans = 0;

	assert_true(kept > 0);
	assert_false(full_lend(db, -EIO, &loans));
	assert_int_equal(loans, 0);
	full_repay(db, &loans);
	assert_true(full_lend(db, -ENOSPC, &loans));
	assert_int_equal(loans, 1);
	assert_int_equal(wal_lendable(db->wal), 0);
	assert_int_equal(wal_prepare(db->wal), 0);
	assert_int_equal(wal_lendable(db->wal), 0);
	full_repay(db, &loans);
	assert_int_equal(loans, 0);
	assert_int_equal(wal_lendable(db->wal), kept);
}

static void a_store_that_is_only_opened_is_merged_too(void **state)
{
	struct temp_store *s = store_of(state);

	s->options.inline_background = true;
	s->options.table_file_bytes = 1024;
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(temp_put(s, "a", "f", "q", i + 1, "v"), 1);
		assert_int_equal(store_flush(s->store, NULL), 0);
	}
	assert_int_equal(stat_of(s->store, "level_sstables{level=\"0\"}"), 3);
	s->options.inline_background = false;
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	for (int i = 0; i < 12000 && stat_of(s->store, "sstables") > 1; i++)
		usleep(5000);
	assert_int_equal(stat_of(s->store, "sstables"), 1);
}

/* A row that is larger than a memtable does not stay in one. */
static void a_row_without_end_is_flushed_all_the_same(void **state)
{
	struct temp_store *s = store_of(state);
	char name[16];

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "%06d", i);
		assert_int_equal(temp_put(s, "row", "f", name, 1, "v"), 1);
	}
	assert_true(stat_of(s->store, "flushes_total") > 3);
	assert_string_equal(temp_get(s, "row", "f", "001999"), "v");
}

static void a_creation_that_a_crash_cut_short_is_done_again(void **state)
{
	struct temp_store *s = store_of(state);
	char path[128];
	FILE *f;

	assert_int_equal(temp_remove(s), 0);
	assert_int_equal(mkdir(s->path, 0700), 0);
	/* Whether the lock file or this comes back first is up to the disk. */
	snprintf(path, sizeof(path), "%s/CATALOG.new", s->path);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(temp_open(s), 0);
	assert_int_equal(temp_put(s, "r", "f", "q", 1, "v"), 1);
}

static void
what_was_written_before_a_table_change_is_there_with_it(void **state)
{
	struct temp_store s = {.path = "/store",
			       .options.inline_background = true};
	struct os *os = sim_new(1), *after;
	struct table *t;

	(void)state;
	s.options.os = os;
	assert_int_equal(temp_open(&s), 0);
	assert_int_equal(temp_put(&s, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_table_create(s.store, bytes_str("u"), NULL), 0);
	after = sim_after_power_loss(os);
	assert_int_equal(temp_close(&s), 0);
	s.options.os = after;
	assert_int_equal(temp_open(&s), 0);
	assert_int_equal(table_open(s.store, bytes_str("u"), &t), 0);
	table_unref(t);
	assert_string_equal(temp_get(&s, "r", "f", "q"), "v");
	assert_int_equal(temp_close(&s), 0);
	sim_free(after);
	sim_free(os);
}

/* The versions 1 to 5, of which a family keeps three unless it says more. */
static void put_five_and_compact(struct temp_store *s, struct os *os)
{
	char row[16];

	for (int64_t ts = 1; ts <= 5; ts++)
		assert_int_equal(temp_put(s, "r", "f", "q", ts, "v"), 1);
	sim_set_now_ms(os, os_now_ms(os) + 7200000);
	for (int i = 0; i < 3000; i++) {
		snprintf(row, sizeof(row), "r%d", i);
		assert_int_equal(temp_put(s, row, "f", "q", 1, "v"), 1);
	}
}

static void a_clock_set_ahead_takes_no_version_of_a_new_table(void **state)
{
	struct temp_store s = {
		.path = "/store",
		.options = {.inline_background = true,
			    .write_buffer_bytes = 16 << 10,
			    .table_file_bytes = 8 << 10,
			    .wal_segment_bytes = 64 << 10,
			    .wal_ring_bytes = 16 << 10},
	};
	struct os *os = sim_new(1);
	struct schema schema;
	struct cell c;

	(void)state;
	s.options.os = os;
	assert_int_equal(temp_open(&s), 0);
	put_five_and_compact(&s, os);
	assert_int_equal(table_schema(s.table, &schema), 0);
	schema.families[0].attrs.versions = 5;
	assert_int_equal(table_alter(s.table, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(table_get_version(s.table, bytes_str("r"),
					   bytes_str("f"), bytes_str("q"), 1,
					   NULL, &c, NULL),
			 1);
	assert_int_equal(temp_close(&s), 0);
	sim_free(os);
}

static void set_quota(struct temp_store *s, uint64_t bytes)
{
	struct schema schema;

	assert_int_equal(table_schema(s->table, &schema), 0);
	schema.quota = bytes;
	assert_int_equal(table_alter(s->table, &schema, false), 0);
	schema_free(&schema);
}

static void each_change_of_a_quota_counts_at_once(void **state)
{
	struct temp_store *s = store_of(state);

	assert_int_equal(temp_put(s, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_flush(s->store, NULL), 0);
	for (uint64_t changes = 1; changes <= 4; changes++) {
		set_quota(s, 0);
		assert_int_equal(temp_put(s, "r", "f", "q", 1, "v"), 1);
		for (uint64_t bytes = 1; bytes <= changes; bytes++)
			set_quota(s, bytes);
		assert_int_equal(temp_put(s, "r", "f", "q", 1, "v"), -ENOSPC);
	}
}

static void a_table_over_its_quota_takes_deletes_only(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c[] = {{.op = CHANGE_DELETE_COLUMN,
			      .family = bytes_str("f"),
			      .qualifier = bytes_str("q"),
			      .ts = TS_AUTO},
			     {.op = CHANGE_PUT,
			      .family = bytes_str("f"),
			      .qualifier = bytes_str("q"),
			      .ts = TS_AUTO,
			      .value = bytes_str("v")}};
	struct mutation m[] = {
		{.row = bytes_str("r0001"), .changes = c, .nchanges = 1},
		{.row = bytes_str("r0002"), .changes = c, .nchanges = 1},
		{.row = bytes_str("r0003"), .changes = c + 1, .nchanges = 1},
		{.row = bytes_str("r0004"), .changes = c, .nchanges = 1},
	};
	size_t done;

	rewrite(s);
	assert_int_equal(store_flush(s->store, NULL), 0);
	assert_int_equal(table_writable(s->table), 0);
	set_quota(s, 1000);
	for (int reopened = 0; reopened < 2; reopened++) {
		assert_int_equal(table_writable(s->table), -ENOSPC);
		assert_non_null(strstr(store_why(), "its quota is 1000"));
		assert_int_equal(table_mutate(s->table, &m[2], 0), -ENOSPC);
		assert_int_equal(table_mutate_try(s->table, &m[2]), -ENOSPC);
		assert_int_equal(table_mutate(s->table, &m[2], MUTATE_ADMITTED),
				 1);
		assert_int_equal(table_mutate(s->table, &m[0], 0), 1);
		assert_int_equal(table_mutate_many(s->table, m, 4, 0, &done),
				 -ENOSPC);
		assert_int_equal(done, 2);
		assert_int_equal(temp_close(s), 0);
		assert_int_equal(temp_open(s), 0);
	}
	set_quota(s, 1 << 30);
	assert_int_equal(table_mutate_many(s->table, m, 4, 0, &done), 0);
	set_quota(s, 1000);
	assert_int_equal(table_mutate(s->table, &m[2], 0), -ENOSPC);
	set_quota(s, 0);
	assert_int_equal(table_mutate(s->table, &m[2], 0), 1);
}

/* A mebibyte in rows of 1 KiB that zlib makes half of. */
static void put_mebibyte(struct temp_store *s)
{
	char row[8], value[1 << 10];

	for (int i = 0; i < 1024; i++) {
		for (size_t k = 0; k < sizeof(value) - 1; k++)
			value[k] = (char)('0' + rand() % 16);
		value[sizeof(value) - 1] = '\0';
		snprintf(row, sizeof(row), "r%04d", i);
		assert_int_equal(temp_put(s, row, "f", "q", 1, value), 1);
	}
}

static void set_compression(struct temp_store *s, uint8_t compression)
{
	struct schema schema;

	assert_int_equal(table_schema(s->table, &schema), 0);
	schema.families[0].attrs.compression = compression;
	assert_int_equal(table_alter(s->table, &schema, false), 0);
	schema_free(&schema);
}

/* Seconds of the simulated clock that a compaction of a mebibyte takes. */
static double compact_at(uint64_t bytes_s, uint8_t compression, bool full)
{
	struct temp_store s = {.path = "/store",
			       .options = {.inline_background = true,
					   .background_bytes_s = bytes_s}};
	struct os *os = sim_new(1);
	uint64_t begun;
	double took;

	s.options.os = os;
	assert_int_equal(temp_open(&s), 0);
	set_compression(&s, compression);
	put_mebibyte(&s);
	assert_int_equal(store_flush(s.store, NULL), 0);
	/* So that nothing of the flush is owed any more. */
	os_sleep_ms(os, 60000);
	if (full)
		assert_true(wal_lend(lsm_of(s.store)->wal) > 0);
	begun = os_monotonic_ns(os);
	assert_int_equal(store_compact(s.store, NULL), 0);
	took = (double)(os_monotonic_ns(os) - begun) / 1e9;
	assert_int_equal(stat_of(s.store, "compaction_paced_ns_total") > 0,
			 bytes_s > 0 && !full);
	assert_int_equal(temp_close(&s), 0);
	sim_free(os);
	return took;
}

static void a_compaction_writes_no_faster_than_it_may(void **state)
{
	(void)state;
	assert_true(compact_at(0, COMPRESSION_NONE, false) < 1);
	/* But for the first eighth of a second, and what is told at the end. */
	assert_in_range(compact_at(100 << 10, COMPRESSION_NONE, false), 8, 11);
	assert_in_range(compact_at(20 << 10, COMPRESSION_NONE, false), 44, 52);
	/* Not while the disk is full: it makes room. */
	assert_true(compact_at(20 << 10, COMPRESSION_NONE, true) < 1);
	/* What counts is written, and no block before it is compressed. */
	assert_in_range(compact_at(20 << 10, COMPRESSION_ZLIB, false), 20, 35);
}

static bool merges(struct temp_store *s)
{
	struct lsm *db = lsm_of(s->store);
	bool is;

	pthread_mutex_lock(&db->state);
	is = db->compacting > 0;
	pthread_mutex_unlock(&db->state);
	return is;
}

/* One that would take minutes. */
static void a_store_that_closes_waits_for_no_merge(void **state)
{
	static char value[160 << 10];
	char row[8];
	struct temp_store *s = store_of(state);

	assert_int_equal(temp_close(s), 0);
	s->options.table_file_bytes = 1024;
	s->options.background_bytes_s = 1;
	assert_int_equal(temp_open(s), 0);
	for (size_t i = 0; i < sizeof(value) - 1; i++)
		value[i] = (char)('0' + rand() % 16);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 10; k++) {
			snprintf(row, sizeof(row), "%d", k);
			assert_int_equal(
				temp_put(s, row, "f", "q", i + 1, value), 1);
		}
		assert_int_equal(store_flush(s->store, NULL), 0);
	}
	while (!merges(s))
		usleep(5000);
	assert_int_equal(temp_close(s), 0);
	s->options.background_bytes_s = 0;
	assert_int_equal(temp_open(s), 0);
	assert_string_equal(temp_get(s, "9", "f", "q"), value);
}

static void
what_was_written_before_a_snapshot_goes_is_there_without_it(void **state)
{
	struct temp_store s = {.path = "/store",
			       .options.inline_background = true};
	struct os *os = sim_new(1), *after;

	(void)state;
	s.options.os = os;
	assert_int_equal(temp_open(&s), 0);
	assert_int_equal(store_snapshot_create(s.store, NULL, bytes_str("n")),
			 0);
	assert_int_equal(temp_put(&s, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_snapshot_drop(s.store, NULL, bytes_str("n")), 0);
	after = sim_after_power_loss(os);
	assert_int_equal(temp_close(&s), 0);
	s.options.os = after;
	assert_int_equal(temp_open(&s), 0);
	assert_string_equal(temp_get(&s, "r", "f", "q"), "v");
	assert_int_equal(temp_close(&s), 0);
	sim_free(after);
	sim_free(os);
}

static void each_put_is_seen_at_once(void **state)
{
	struct temp_store *s = store_of(state);
	char value[256];

	for (int i = 0; i < 3000; i++) {
		snprintf(value, sizeof(value), "%0200d", i);
		assert_int_equal(temp_put(s, "r", "f", "q", i + 1, value), 1);
		assert_string_equal(temp_get(s, "r", "f", "q"), value);
	}
}

static void a_ttl_of_a_cell_is_known_in_memory_and_in_files(void **state)
{
	struct temp_store *s = store_of(state);
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO,
			   .value = bytes_str("v"),
			   .ttl_ms = 1000000};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};
	struct table_info info;

	assert_int_equal(temp_put(s, "r", "f", "p", TS_AUTO, "v"), 1);
	assert_int_equal(table_info(s->table, &info), 0);
	assert_false(info.has_ttl);
	assert_int_equal(table_has_ttl(s->table), 0);
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(table_info(s->table, &info), 0);
		assert_true(info.has_ttl);
		assert_int_equal(table_has_ttl(s->table), 1);
		if (i == 0) {
			assert_int_equal(temp_close(s), 0);
			assert_int_equal(temp_open(s), 0);
		} else {
			assert_int_equal(store_flush(s->store, NULL), 0);
		}
	}
}

static int count_table_file(void *arg, const char *name)
{
	size_t n = strlen(name);

	*(int *)arg += n > 4 && !strcmp(name + n - 4, ".sst");
	return 0;
}

/* A thread keeps the view of its last read. */
static void what_a_thread_read_last_holds_no_file(void **state)
{
	struct temp_store *s = store_of(state);
	struct os *os = os_posix();
	struct os_dir *d;
	int files = 0;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(temp_put(s, "r", "f", "q", TS_AUTO, "v"), 1);
		assert_int_equal(store_flush(s->store, NULL), 0);
		assert_string_equal(temp_get(s, "r", "f", "q"), "v");
	}
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_int_equal(os_dir_open(os, s->path, false, &d), 0);
	assert_int_equal(os_dir_list(d, count_table_file, &files), 0);
	os_dir_close(d);
	assert_int_equal(files, 1);
}

/*
 * Who finds one row looks for the next without asking a filter: in blocks that
 * are in memory, and in no other.
 */
static void a_read_after_a_find_reads_no_block_in_vain(void **state)
{
	struct temp_store *s = store_of(state);
	uint64_t misses;
	char row[16];

	rewrite(s);
	assert_int_equal(store_compact(s->store, NULL), 0);
	assert_int_equal(temp_close(s), 0);
	assert_int_equal(temp_open(s), 0);
	assert_non_null(temp_get(s, "r0003", "f", "q"));
	misses = stat_of(s->store, "cache_misses_total");
	assert_true(misses > 0);
	for (int i = 500; i < 520; i++) {
		snprintf(row, sizeof(row), "r%04dx", i);
		assert_null(temp_get(s, row, "f", "q"));
		assert_non_null(temp_get(s, "r0003", "f", "q"));
		assert_null(temp_get(s, "r0003x", "f", "q"));
		assert_non_null(temp_get(s, "r0003", "f", "q"));
		assert_null(temp_get(s, "r0003", "f", "qq"));
		assert_int_equal(table_has_row(s->table, bytes_str("r0003")),
				 1);
		assert_int_equal(table_has_family(s->table, bytes_str(row),
						  bytes_str("f")),
				 0);
		assert_int_equal(table_has_family(s->table, bytes_str("r0003"),
						  bytes_str("f")),
				 1);
		assert_int_equal(table_has_family(s->table, bytes_str("r0003x"),
						  bytes_str("f")),
				 0);
		assert_non_null(temp_get(s, "r0003", "f", "q"));
	}
	assert_true(stat_of(s->store, "cache_misses_total") <= misses + 1);
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "r%04d", i);
		assert_non_null(temp_get(s, row, "f", "q"));
	}
}

static void a_row_of_many_columns_gives_its_memory_back(void **state)
{
	enum {
		COLUMNS = 100000
	};
	struct temp_store *s = store_of(state);
	struct change *c = calloc(COLUMNS, sizeof(*c));
	uint8_t *names = malloc(4 * COLUMNS);
	struct mutation m = {
		.row = bytes_str("r"), .changes = c, .nchanges = COLUMNS};

	assert_non_null(c);
	assert_non_null(names);
	assert_int_equal(temp_put(s, "r", "f", "q", 1, "v"), 1);
	for (uint32_t i = 0; i < COLUMNS; i++) {
		memcpy(names + 4 * i, &i, 4);
		c[i] = (struct change){.op = CHANGE_PUT,
				       .family = bytes_str("f"),
				       .qualifier = bytes_of(names + 4 * i, 4),
				       .ts = 1};
	}
	assert_int_equal(table_mutate(s->table, &m, 0), 1);
	assert_true(lsm_of(s->store)->entries_cap < COLUMNS);
	assert_int_equal(temp_put(s, "r", "f", "q", 2, "after"), 1);
	assert_string_equal(temp_get(s, "r", "f", "q"), "after");
	free(names);
	free(c);
}

static void what_a_table_holds_is_counted_or_estimated(void **state)
{
	struct temp_store *s = store_of(state);
	struct table_info i;
	char row[16];

	assert_int_equal(table_info(s->table, &i), 0);
	assert_true(i.exact);
	assert_int_equal(i.rows + i.cells + i.entries + i.files, 0);
	temp_put(s, "a", "f", "q", 7, "x");
	temp_put(s, "a", "g", "q", 5, "x");
	for (int ts = 10; ts < 14; ts++) /* the family keeps three */
		temp_put(s, "b", "f", "q", ts, "x");
	for (int step = 0; step < 2; step++) {
		assert_int_equal(table_info(s->table, &i), 0);
		assert_true(i.exact);
		assert_int_equal(i.rows, 2);
		assert_int_equal(i.cells, 5);
		assert_int_equal(i.oldest, 5);
		assert_int_equal(i.newest, 13);
		assert_int_equal(store_compact(s->store, NULL), 0);
	}
	assert_int_equal(i.files, 2);
	for (int k = 0; k < TABLE_INFO_COUNTED; k++) {
		snprintf(row, sizeof(row), "r%05d", k);
		temp_put(s, row, "f", "q", 100, "x");
	}
	for (int step = 0; step < 3; step++) {
		assert_int_equal(table_info(s->table, &i), 0);
		assert_false(i.exact);
		assert_int_equal(i.cells, TABLE_INFO_COUNTED + 5);
		assert_int_equal(i.entries, i.cells);
		/* A row can be in several files. */
		assert_in_range(i.rows, TABLE_INFO_COUNTED + 2,
				TABLE_INFO_COUNTED + 40);
		assert_int_equal(i.oldest, 5);
		assert_int_equal(i.newest, 100);
		if (step == 0)
			assert_int_equal(store_flush(s->store, NULL), 0);
		else
			assert_int_equal(store_compact(s->store, NULL), 0);
	}
	assert_true(i.files >= 2 && i.bytes > 0);
}

/* Writers wait for the flush, whoever does it. */
static void unflushed_cells_take_no_more_than_was_configured(void **state)
{
	struct temp_store *s = store_of(state);
	char row[16], value[256] = "";
	uint64_t most = 0;

	assert_int_equal(temp_close(s), 0);
	s->options.write_buffer_bytes = 128 << 10;
	assert_int_equal(temp_open(s), 0);
	memset(value, 'v', sizeof(value) - 1);
	for (int i = 0; i < 4000; i++) {
		uint64_t now;

		snprintf(row, sizeof(row), "r%05d", i * 7 % 4000);
		assert_int_equal(temp_put(s, row, "f", "q", TS_AUTO, value), 1);
		now = stat_of(s->store, "memtable_bytes");
		most = now > most ? now : most;
	}
	/* The last one may bring a larger map of the rows with it. */
	assert_true(most <= (128 << 10) + (16 << 10));
	assert_true(most > (128 << 10) / 4 * 3);
	assert_string_equal(temp_get(s, "r00000", "f", "q"), value);
}

int main(void)
{
#define BOTH(f)                                                     \
	cmocka_unit_test_setup_teardown(f, setup, teardown),        \
	{                                                           \
#f " (small files)", f, setup_small, teardown, NULL \
	}
#define SMALL(f) cmocka_unit_test_setup_teardown(f, setup_small, teardown)
	const struct CMUnitTest tests[] = {
		BOTH(a_row_of_many_columns_gives_its_memory_back),
		BOTH(a_put_is_read_back_and_survives_a_reopen),
		BOTH(what_is_only_tried_is_judged_and_changes_nothing),
		BOTH(a_put_survives_the_death_of_the_process),
		BOTH(flush_and_compaction_change_no_answer),
		BOTH(a_scan_sees_each_row_once_at_every_granularity),
		BOTH(a_row_that_a_snapshot_lacks_is_not_its_neighbour),
		BOTH(two_writes_in_one_millisecond_are_two_versions),
		BOTH(a_delete_hides_what_was_before_and_not_what_comes),
		BOTH(at_one_timestamp_the_last_one_counts),
		BOTH(an_older_marker_hides_a_put_of_its_time_in_old_tables),
		BOTH(a_check_that_does_not_hold_changes_nothing),
		BOTH(a_check_of_a_version_looks_at_that_version),
		cmocka_unit_test(
			a_clock_set_ahead_takes_no_version_of_a_new_table),
		BOTH(a_schema_that_would_hide_a_put_just_made_is_refused),
		BOTH(a_snapshot_keeps_what_compaction_would_drop),
		BOTH(a_named_snapshot_survives_restart_and_compaction),
		BOTH(what_a_snapshot_shows_is_not_dropped),
		BOTH(a_snapshot_remembers_names_and_schemas),
		cmocka_unit_test_setup_teardown(
			new_files_come_with_their_blocks_to_who_reads, setup,
			teardown),
		BOTH(dropping_a_snapshot_frees_the_space),
		SMALL(what_a_snapshot_frees_waits_for_a_tree_that_may_be_merged),
		cmocka_unit_test_setup_teardown(
			flush_and_compaction_give_way_to_callers, setup,
			teardown),
		BOTH(a_second_opener_is_told_the_pid),
		BOTH(a_directory_with_other_files_is_left_alone),
		BOTH(a_dropped_table_is_gone_and_its_files_too),
		BOTH(an_id_opens_its_table_and_no_other),
		BOTH(a_table_that_is_dropped_says_so),
		BOTH(a_scan_outlives_its_table),
		BOTH(families_come_change_and_go),
		BOTH(a_batch_is_as_its_mutations_one_by_one),
		BOTH(a_batch_reads_what_it_wrote_before),
		BOTH(named_columns_are_held_to_the_range_of_qualifiers),
		SMALL(what_is_written_in_order_is_not_merged),
		SMALL(a_new_table_keeps_all_versions_until_it_has_a_schema),
		SMALL(a_new_table_loses_versions_when_asked_to_compact),
		cmocka_unit_test_setup_teardown(
			what_was_flushed_is_merged_when_nobody_writes, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_store_that_closes_waits_for_no_merge, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_store_that_nobody_uses_sleeps,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			level_0_may_be_deep_until_somebody_reads, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_scans_step_over_is_merged_away, setup, teardown),
		cmocka_unit_test_setup_teardown(
			who_freezes_keeps_no_writer_waiting, setup, teardown),
		cmocka_unit_test(
			a_calm_store_is_flushed_when_its_disk_is_nearly_full),
		cmocka_unit_test_setup_teardown(
			what_the_log_keeps_for_a_full_disk_is_lent_until_repaid,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_store_that_is_only_opened_is_merged_too, setup,
			teardown),
		SMALL(a_row_without_end_is_flushed_all_the_same),
		BOTH(unflushed_cells_take_no_more_than_was_configured),
		BOTH(a_creation_that_a_crash_cut_short_is_done_again),
		BOTH(each_put_is_seen_at_once),
		BOTH(a_ttl_of_a_cell_is_known_in_memory_and_in_files),
		BOTH(what_a_thread_read_last_holds_no_file),
		BOTH(a_read_after_a_find_reads_no_block_in_vain),
		BOTH(what_a_table_holds_is_counted_or_estimated),
		cmocka_unit_test(
			what_was_written_before_a_table_change_is_there_with_it),
		cmocka_unit_test(
			what_was_written_before_a_snapshot_goes_is_there_without_it),
		cmocka_unit_test(a_compaction_writes_no_faster_than_it_may),
		BOTH(a_table_over_its_quota_takes_deletes_only),
		BOTH(each_change_of_a_quota_counts_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
