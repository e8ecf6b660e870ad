/* What the engine answers: puts, deletes, checks, batches, gets and scans. */
#include <dirent.h>

#include "store/lsm/state/tombstone_stats.h"
#include "tests/unit/engine.h"

BOTH(a_put_is_read_back_and_survives_a_reopen)
{
	assert_int_equal(temp_put(&the, "r", "f", "q", 5, "five"), 1);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "five");
	assert_null(temp_get(&the, "r", "f", "x"));
	assert_null(temp_get(&the, "r", "g", "q"));
	assert_null(temp_get(&the, "s", "f", "q"));
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "five");
}

static int try_one(const char *family, uint8_t op, int64_t ts,
		   const char *value)
{
	struct change c = {.op = op,
			   .family = bytes_str(family),
			   .qualifier = bytes_str("q"),
			   .ts = ts,
			   .value = bytes_str(value)};
	struct mutation m = change_of("r", &c);

	return table_mutate_try(the.table, &m);
}

BOTH(what_is_only_tried_is_judged_and_changes_nothing)
{
	assert_int_equal(try_one("f", CHANGE_PUT, 5, "v"), 1);
	assert_null(temp_get(&the, "r", "f", "q"));
	assert_int_equal(temp_put(&the, "r", "f", "q", TS_MAX, "text"), 1);
	assert_int_equal(try_one("f", CHANGE_INCREMENT, TS_AUTO, ""), -EINVAL);
	assert_int_equal(try_one("f", CHANGE_PUT, TS_AUTO, "v"), -EOVERFLOW);
	assert_int_equal(try_one("none", CHANGE_PUT, 5, "v"), -EPERM);
	assert_int_equal(try_one("f", CHANGE_DELETE, TS_AUTO, "v"), -EINVAL);
	assert_int_equal(try_one("f", CHANGE_DELETE, TS_AUTO, ""), 1);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "text");
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "text");
}

BOTH(a_put_survives_the_death_of_the_process)
{
	for (int i = 0; i < 100; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%03d", i);
		assert_int_equal(temp_put(&the, row, "f", "q", TS_AUTO, row),
				 1);
	}
	table_unref(the.table);
	lsm_abandon(the.store);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(temp_get(&the, "r000", "f", "q"), "r000");
	assert_string_equal(temp_get(&the, "r099", "f", "q"), "r099");
}

BOTH(flush_and_compaction_change_no_answer)
{
	char row[16], value[16];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 2000; i++) {
			snprintf(row, sizeof(row), "r%05d", i * 7 % 2000);
			snprintf(value, sizeof(value), "%d", round * 10000 + i);
			assert_int_equal(temp_put(&the, row, i % 2 ? "f" : "g",
						  "q", TS_AUTO, value),
					 1);
		}
	for (int step = 0; step < 3; step++) {
		for (int i = 0; i < 2000; i += 13) {
			snprintf(row, sizeof(row), "r%05d", i * 7 % 2000);
			snprintf(value, sizeof(value), "%d", 20000 + i);
			assert_string_equal(
				temp_get(&the, row, i % 2 ? "f" : "g", "q"),
				value);
			assert_null(
				temp_get(&the, row, i % 2 ? "g" : "f", "q"));
		}
		if (step == 0)
			assert_int_equal(store_flush(the.store, NULL), 0);
		if (step == 1)
			assert_int_equal(store_compact(the.store, NULL), 0);
	}
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(temp_get(&the, "r00000", "g", "q"), "20000");
}

BOTH(a_scan_sees_each_row_once_at_every_granularity)
{
	struct scan_spec spec = {0};
	char row[16];

	for (int v = 0; v < 5; v++)
		for (int i = 0; i < 300; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			temp_put(&the, row, "f", "a", TS_AUTO, "x");
			temp_put(&the, row, "f", "b", TS_AUTO, "x");
			temp_put(&the, row, "g", "c", TS_AUTO, "x");
		}
	for (int step = 0; step < 2; step++) {
		spec = (struct scan_spec){.granularity = SCAN_ROWS};
		assert_int_equal(count(&spec), 300);
		spec.reversed = true;
		assert_int_equal(count(&spec), 300);
		spec = (struct scan_spec){.granularity = SCAN_FAMILIES};
		assert_int_equal(count(&spec), 600);
		spec.granularity = SCAN_COLUMNS;
		assert_int_equal(count(&spec), 900);
		spec.granularity = SCAN_CELLS;
		assert_int_equal(count(&spec), 2700);
		spec.versions = 2;
		assert_int_equal(count(&spec), 1800);
		spec.row_start = bytes_str("r00010");
		spec.row_stop = bytes_str("r00020");
		assert_int_equal(count(&spec), 60);
		spec.limit_rows = 3;
		assert_int_equal(count(&spec), 18);
		assert_int_equal(store_compact(the.store, NULL), 0);
	}
}

/* Of a row that is all newer the scan must not go on to the next one. */
BOTH(a_row_that_a_snapshot_lacks_is_not_its_neighbour)
{
	struct column_name f = {.family = bytes_str("f"), .whole_family = true};
	struct scan_spec spec = {.row_start = bytes_str("b"),
				 .row_stop = bytes_str("b"),
				 .row_stop_inclusive = true,
				 .columns = &f,
				 .ncolumns = 1};
	struct snapshot *snap;

	temp_put(&the, "a", "f", "q", TS_AUTO, "old");
	temp_put(&the, "c", "f", "q", TS_AUTO, "old");
	assert_int_equal(
		store_snapshot_create(the.store, the.table, bytes_str("n")), 0);
	temp_put(&the, "b", "f", "q", TS_AUTO, "new");
	assert_int_equal(store_snapshot_open(the.store, the.table,
					     bytes_str("n"), &snap),
			 0);
	for (int step = 0; step < 2; step++) {
		for (int g = SCAN_ROWS; g <= SCAN_CELLS; g++) {
			spec.granularity = (uint8_t)g;
			spec.snapshot = snap;
			assert_int_equal(count(&spec), 0);
			spec.snapshot = NULL;
			assert_int_equal(count(&spec), 1);
		}
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	snapshot_release(snap);
}

BOTH(two_writes_in_one_millisecond_are_two_versions)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};

	for (int i = 0; i < 3; i++)
		assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "v"),
				 1);
	assert_int_equal(count(&spec), 3);
	/* A future version does not hide what is put next. */
	assert_int_equal(temp_put(&the, "r", "f", "q", 4102444800000, "future"),
			 1);
	assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "next"), 1);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "next");
}

BOTH(a_delete_hides_what_was_before_and_not_what_comes)
{
	struct change c = {.op = CHANGE_DELETE_COLUMN,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO};
	struct mutation m = change_of("r", &c);

	temp_put(&the, "r", "f", "q", 7, "seven");
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_null(temp_get(&the, "r", "f", "q"));
	temp_put(&the, "r", "f", "q", 7, "again");
	assert_string_equal(temp_get(&the, "r", "f", "q"), "again");
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "again");
	c = (struct change){.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_int_equal(table_has_row(the.table, bytes_str("r")), 0);
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_int_equal(table_has_row(the.table, bytes_str("r")), 0);
}

/* Wherever they lie: a bit of @i is a flush behind a step. */
BOTH(at_one_timestamp_the_last_one_counts)
{
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
				assert_int_equal(table_mutate(the.table, &m, 0),
						 1);
			else
				assert_int_equal(temp_put(&the, row, "f", "q",
							  step == 4 ? 4 : 5,
							  value),
						 1);
			if (i >> step & 1)
				assert_int_equal(store_flush(the.store, NULL),
						 0);
			if (step == 2)
				assert_null(temp_get(&the, row, "f", "q"));
			else
				assert_string_equal(
					temp_get(&the, row, "f", "q"), value);
		}
	}
}

BOTH(an_older_marker_hides_a_put_of_its_time_in_old_tables)
{
	struct change c = {
		.op = CHANGE_DELETE_FAMILY, .family = bytes_str("f"), .ts = 5};
	struct mutation m = change_of("r", &c);
	struct schema schema;

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.new_version_behavior = false;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 5, "hidden"), 1);
	assert_null(temp_get(&the, "r", "f", "q"));
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_null(temp_get(&the, "r", "f", "q"));
	assert_int_equal(temp_put(&the, "r", "f", "q", 6, "seen"), 1);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "seen");
}

BOTH(a_check_that_does_not_hold_changes_nothing)
{
	struct change c = a_put("f", "q", TS_AUTO, "new");
	struct check k = {.op = CHECK_ABSENT,
			  .family = bytes_str("f"),
			  .qualifier = bytes_str("q")};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &c,
			     .nchanges = 1,
			     .checks = &k,
			     .nchecks = 1};

	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_int_equal(table_mutate(the.table, &m, 0), 0);
	k.op = CHECK_EQUAL;
	k.value = bytes_str("other");
	assert_int_equal(table_mutate(the.table, &m, 0), 0);
	k.value = bytes_str("new");
	c.value = bytes_str("newer");
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "newer");
}

BOTH(a_check_of_a_version_looks_at_that_version)
{
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

	temp_put(&the, "r", "f", "q", 5, "anew");
	temp_put(&the, "r", "f", "q", 6, "five");
	assert_int_equal(table_mutate(the.table, &m, 0), 0);
	temp_put(&the, "r", "f", "q", 5, "five");
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_int_equal(table_mutate(the.table, &m, 0), 0);
	temp_put(&the, "r", "f", "q", 5, "");
	assert_int_equal(table_mutate(the.table, &m, 0), 0);
	k.value = bytes_str("");
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	/* An empty value is no absent one. */
	assert_int_equal(table_mutate(the.table, &m, 0), 0);
	k.op = CHECKS;
	assert_int_equal(table_mutate(the.table, &m, 0), -EINVAL);
}

BOTH(a_second_opener_is_told_the_pid)
{
	struct store_options o = {0};
	struct store *other;
	char pid[16];

	assert_int_equal(store_open(the.path, &o, &other), -EBUSY);
	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_non_null(strstr(store_why(), pid));
}

BOTH(a_directory_with_other_files_is_left_alone)
{
	struct store_options o = {.create = true};
	struct store *other;
	char dir[80], file[200];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s/sub", the.path);
	assert_int_equal(store_open(dir, &(struct store_options){0}, &other),
			 -ENOENT);
	snprintf(file, sizeof(file), "mkdir '%s' && touch '%s/x'", dir, dir);
	assert_int_equal(system(file), 0);
	assert_int_equal(store_open(dir, &o, &other), -ENOTEMPTY);
	snprintf(file, sizeof(file), "%s/LOCK", dir);
	f = fopen(file, "r");
	assert_null(f);
}

BOTH(a_batch_is_as_its_mutations_one_by_one)
{
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
	assert_int_equal(table_mutate_many(the.table, m, 3000, 0, &done), 0);
	assert_int_equal(done, 3000);
	assert_int_equal(count(&spec), 3000);
}

BOTH(a_batch_reads_what_it_wrote_before)
{
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
	assert_int_equal(table_mutate_many(the.table, m, 4, 0, &done), 0);
	assert_int_equal(done, 4);
	assert_int_equal(c[2].ts_given, late + 2);
	assert_int_equal(c[3].ts_given, late + 2);
	c[3].ts = TS_AUTO;
	m[3].row = bytes_str("c");
	assert_int_equal(table_mutate_many(the.table, m, 4, 0, &done), 0);
	assert_true(c[3].ts_given < late);
}

BOTH(a_batch_sums_and_appends)
{
	struct change c[4];
	struct mutation m[4];
	size_t done;

	for (int i = 0; i < 4; i++) {
		c[i] = a_put("f", i % 2 ? "text" : "n", TS_AUTO,
			     i % 2 ? "ab" : "");
		c[i].op = i % 2 ? CHANGE_APPEND : CHANGE_INCREMENT;
		c[i].delta = i % 2 ? 0 : 3;
		m[i] = change_of(i < 2 ? "a" : "b", &c[i]);
	}
	for (int i = 1; i < 3; i++) {
		assert_int_equal(table_mutate_many(the.table, m, 4, 0, &done),
				 0);
		assert_int_equal(done, 4);
		for (int row = 0; row < 2; row++) {
			const char *name = row ? "b" : "a";
			const char *n = temp_get(&the, name, "f", "n");

			assert_memory_equal(n, "\0\0\0\0\0\0\0", 7);
			assert_int_equal(n[7], 3 * i);
			assert_string_equal(temp_get(&the, name, "f", "text"),
					    i == 1 ? "ab" : "abab");
		}
	}
}

BOTH(named_columns_are_held_to_the_range_of_qualifiers)
{
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
		assert_int_equal(
			temp_put(&the, "r", "f", (char[2]){*q}, 1, "v"), 1);
	assert_int_equal(count(&spec), 1);
	/* Nothing that is named lies in it. */
	spec.qual_start = bytes_str("f");
	spec.has_qual_stop = false;
	assert_int_equal(count(&spec), 0);
}

BOTH(each_put_is_seen_at_once)
{
	char value[256];

	for (int i = 0; i < 3000; i++) {
		snprintf(value, sizeof(value), "%0200d", i);
		assert_int_equal(temp_put(&the, "r", "f", "q", i + 1, value),
				 1);
		assert_string_equal(temp_get(&the, "r", "f", "q"), value);
	}
}

BOTH(a_ttl_of_a_cell_is_known_in_memory_and_in_files)
{
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = TS_AUTO,
			   .value = bytes_str("v"),
			   .ttl_ms = 1000000};
	struct mutation m = change_of("r", &c);
	struct table_info info;

	assert_int_equal(temp_put(&the, "r", "f", "p", TS_AUTO, "v"), 1);
	assert_int_equal(table_info(the.table, &info), 0);
	assert_false(info.has_ttl);
	assert_int_equal(table_has_ttl(the.table), 0);
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(table_info(the.table, &info), 0);
		assert_true(info.has_ttl);
		assert_int_equal(table_has_ttl(the.table), 1);
		if (i == 0) {
			assert_int_equal(temp_close(&the), 0);
			assert_int_equal(temp_open(&the), 0);
		} else {
			assert_int_equal(store_flush(the.store, NULL), 0);
		}
	}
}

static int count_table_file(void *arg, const char *name)
{
	size_t n = strlen(name);

	*(int *)arg += n > 4 && !strcmp(name + n - 4, ".sst");
	return 0;
}

static int table_files(void)
{
	struct os_dir *d;
	int n = 0;

	assert_int_equal(os_dir_open(os_posix(), the.path, false, &d), 0);
	assert_int_equal(os_dir_list(d, count_table_file, &n), 0);
	os_dir_close(d);
	return n;
}

/* A thread keeps the view of its last read. */
BOTH(what_a_thread_read_last_holds_no_file)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "v"),
				 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
		assert_string_equal(temp_get(&the, "r", "f", "q"), "v");
	}
	assert_int_equal(store_compact(the.store, NULL), 0);
	/* The thread that flushed may let go of its file a moment later. */
	for (int i = 0; i < 12000 && table_files() != 1; i++)
		usleep(5000);
	assert_int_equal(table_files(), 1);
}

/* Nor the view of one that ended when its files were gone: by either way. */
SMALL(what_a_scan_gives_back_late_holds_no_file)
{
	const struct scan_spec spec = {.granularity = SCAN_CELLS};

	for (int shared = 0; shared < 2; shared++) {
		struct scan *sc;

		if (shared)
			lsm_of(the.store)->own_slots = false;
		for (int i = 0; i < 2; i++) {
			assert_int_equal(
				temp_put(&the, "r", "f", "q", TS_AUTO, "v"), 1);
			assert_int_equal(store_flush(the.store, NULL), 0);
		}
		assert_int_equal(scan_open(the.table, &spec, &sc), 0);
		assert_int_equal(store_compact(the.store, NULL), 0);
		assert_true(table_files() > 1);
		scan_close(sc);
		assert_int_equal(table_files(), 1);
	}
}

/*
 * Who finds one row looks for the next without asking a filter: in blocks that
 * are in memory, and in no other.
 */
BOTH(a_read_after_a_find_reads_no_block_in_vain)
{
	uint64_t misses;
	char row[16];

	rewrite();
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_non_null(temp_get(&the, "r0003", "f", "q"));
	misses = stat_of(the.store, "cache_misses_total");
	assert_true(misses > 0);
	for (int i = 500; i < 520; i++) {
		snprintf(row, sizeof(row), "r%04dx", i);
		assert_null(temp_get(&the, row, "f", "q"));
		assert_non_null(temp_get(&the, "r0003", "f", "q"));
		assert_null(temp_get(&the, "r0003x", "f", "q"));
		assert_non_null(temp_get(&the, "r0003", "f", "q"));
		assert_null(temp_get(&the, "r0003", "f", "qq"));
		assert_int_equal(table_has_row(the.table, bytes_str("r0003")),
				 1);
		assert_int_equal(table_has_family(the.table, bytes_str(row),
						  bytes_str("f")),
				 0);
		assert_int_equal(table_has_family(the.table, bytes_str("r0003"),
						  bytes_str("f")),
				 1);
		assert_int_equal(table_has_family(the.table,
						  bytes_str("r0003x"),
						  bytes_str("f")),
				 0);
		assert_non_null(temp_get(&the, "r0003", "f", "q"));
	}
	assert_true(stat_of(the.store, "cache_misses_total") <= misses + 1);
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "r%04d", i);
		assert_non_null(temp_get(&the, row, "f", "q"));
	}
}

BOTH(a_row_of_many_columns_gives_its_memory_back)
{
	enum {
		COLUMNS = 100000
	};
	struct change *c = calloc(COLUMNS, sizeof(*c));
	uint8_t *names = malloc(4 * COLUMNS);
	struct mutation m = {
		.row = bytes_str("r"), .changes = c, .nchanges = COLUMNS};

	assert_non_null(c);
	assert_non_null(names);
	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	for (uint32_t i = 0; i < COLUMNS; i++) {
		memcpy(names + 4 * i, &i, 4);
		c[i] = (struct change){.op = CHANGE_PUT,
				       .family = bytes_str("f"),
				       .qualifier = bytes_of(names + 4 * i, 4),
				       .ts = 1};
	}
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_true(lsm_of(the.store)->entries_cap < COLUMNS);
	assert_int_equal(temp_put(&the, "r", "f", "q", 2, "after"), 1);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "after");
	free(names);
	free(c);
}

/* Eight versions of a row each, of values of many lengths, in one file. */
static void put_long_columns(void)
{
	char row[16], *value = calloc(1, 40001);
	struct schema schema;

	assert_non_null(value);
	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.versions = 20;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	for (int len = 40000; len >= 1000; len /= 2) {
		snprintf(row, sizeof(row), "r%d", len);
		memset(value, 'v', (size_t)len);
		value[len] = '\0';
		for (int ts = 10; ts < 18; ts++)
			assert_int_equal(
				temp_put(&the, row, "f", "q", ts, value), 1);
	}
	free(value);
	assert_int_equal(store_compact(the.store, NULL), 0);
}

BOTH(a_version_is_found_by_its_time_in_whichever_block)
{
	struct bytes row, f = bytes_str("f"), q = bytes_str("q");
	char name[16];
	struct buf hold = {0};
	struct cell c;

	put_long_columns();
	for (int len = 40000; len >= 1000; len /= 2) {
		snprintf(name, sizeof(name), "r%d", len);
		row = bytes_str(name);
		for (int ts = 10; ts < 18; ts++) {
			assert_int_equal(table_get_version(the.table, row, f, q,
							   ts, NULL, &c, &hold),
					 1);
			assert_int_equal(c.ts, ts);
			assert_int_equal(table_get(the.table, row, f, q, ts,
						   NULL, &c, &hold),
					 1);
			assert_int_equal(c.ts, ts);
		}
	}
	buf_free(&hold);
}

enum {
	LONG = 300 << 10
};

/* Two gets by columns of one row, whose values are c and d. */
static void get_shared(struct shared_buf hold[2])
{
	struct cell c;

	for (int i = 0; i < 2; i++) {
		shared_open(&hold[i]);
		assert_int_equal(table_get(the.table, bytes_str("r"),
					   bytes_str("f"),
					   bytes_of(&"cd"[i], 1), TS_MAX, NULL,
					   &c, &hold[i].buf),
				 1);
		assert_int_equal(c.value.len, LONG);
		assert_non_null(hold[i].piece);
	}
}

/* Both files have times above it, so each is asked for the newest. */
BOTH(a_version_is_found_by_its_time_in_whichever_file)
{
	static const int64_t times[] = {10, 20};
	struct buf hold = {0};
	struct cell c;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(temp_put(&the, "r", "f", "q", times[i], "v"),
				 1);
		assert_int_equal(temp_put(&the, "s", "f", "q", 1000, "w"), 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	for (int64_t ts = 0; ts < 30; ts++) {
		int r = table_get(the.table, bytes_str("r"), bytes_str("f"),
				  bytes_str("q"), ts, NULL, &c, &hold);

		assert_int_equal(r, ts >= 10);
		if (r)
			assert_int_equal(c.ts, ts / 10 * 10);
	}
	buf_free(&hold);
}

BOTH(a_long_value_is_read_where_it_lies_and_stays)
{
	char value[LONG + 1] = {0};
	struct shared_buf hold[3][2];

	for (int i = 0; i < 2; i++) {
		memset(value, "cd"[i], LONG);
		assert_int_equal(temp_put(&the, "r", "f", (char[]){"cd"[i], 0},
					  7, value),
				 1);
	}
	get_shared(hold[0]);
	assert_int_equal(store_compact(the.store, NULL), 0);
	get_shared(hold[1]);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	get_shared(hold[2]);
	assert_int_equal(temp_close(&the), 0);
	for (int i = 0; i < 6; i++) {
		struct shared_buf *b = &hold[i / 2][i % 2];

		memset(value, "cd"[i % 2], LONG);
		assert_memory_equal(b->buf.data, value, LONG);
		shared_free(b);
	}
}

static void not_freed(struct piece *p)
{
	fail();
}

BOTH(a_long_value_is_kept_where_it_was_given)
{
	struct piece p = {.refs = 1, .free = not_freed};
	static uint8_t value[LONG];
	struct change ch = {.op = CHANGE_PUT,
			    .family = bytes_str("f"),
			    .qualifier = bytes_str("c"),
			    .ts = TS_AUTO,
			    .ttl_ms = 3600000,
			    .value = bytes_of(value, LONG),
			    .piece = &p};
	struct mutation m = change_of("r", &ch);
	struct shared_buf hold;
	struct cell c;

	memset(value, 'c', LONG);
	assert_int_equal(table_mutate(the.table, &m, 0), 1);
	assert_int_equal(p.refs, 2);
	for (int i = 0; i < 2; i++) {
		shared_open(&hold);
		assert_int_equal(table_get(the.table, m.row, ch.family,
					   ch.qualifier, TS_MAX, NULL, &c,
					   &hold.buf),
				 1);
		assert_int_equal(c.ttl_ms, 3600000);
		assert_true(bytes_eq(c.value, ch.value));
		if (i == 0)
			assert_ptr_equal(hold.piece, &p);
		shared_free(&hold);
		assert_int_equal(store_compact(the.store, NULL), 0);
	}
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(p.refs, 1);
}

/* The figures of what background work writes and reads. */
static void wrote(uint64_t flushed, uint64_t in, uint64_t out)
{
	assert_int_equal(stat_of(the.store, "flush_bytes_total"), flushed);
	assert_int_equal(stat_of(the.store, "compaction_read_bytes_total"), in);
	assert_int_equal(stat_of(the.store, "compaction_write_bytes_total"),
			 out);
}

SMALL(each_byte_that_flushes_and_merges_write_is_counted)
{
	uint64_t flushed = 0;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, filler),
				 1);
		assert_int_equal(temp_put(&the, "r", "g", "q", TS_AUTO, filler),
				 1);
		assert_int_equal(store_flush(the.store, NULL), 0);
		assert_true(stat_of(the.store, "sstable_bytes") > flushed);
		flushed = stat_of(the.store, "sstable_bytes");
		wrote(flushed, 0, 0);
	}
	assert_int_equal(stat_of(the.store, "flushes_total"), 2);
	assert_int_equal(stat_of(the.store, "sstables"), 4);
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_int_equal(stat_of(the.store, "sstables"), 2);
	wrote(flushed, flushed, stat_of(the.store, "sstable_bytes"));
}

USUAL(what_is_tried_sees_the_last_change_and_makes_none)
{
	struct change add = {.op = CHANGE_INCREMENT,
			     .family = bytes_str("f"),
			     .qualifier = bytes_str("n"),
			     .ts = TS_AUTO,
			     .delta = 1};
	struct mutation m = change_of("r", &add);

	assert_int_equal(table_mutate_try(the.table, &m), 1);
	assert_null(temp_get(&the, "r", "f", "n"));
	assert_int_equal(temp_put(&the, "r", "f", "n", TS_AUTO, "text"), 1);
	assert_int_equal(table_mutate_try(the.table, &m), -EINVAL);
}

/* Bytes of addresses that the process has. */
static uint64_t addresses(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Each takes chunks of 2 MiB while it sorts and writes rows. */
SMALL(a_list_and_a_flush_give_their_memory_back)
{
	struct scan_spec rows = {.granularity = SCAN_ROWS};
	uint64_t before = 0;

	for (int i = 0; i < 60; i++) {
		if (i == 20)
			before = addresses();
		assert_int_equal(temp_put(&the, "r", "f", "q", TS_AUTO, "v"),
				 1);
		assert_int_equal(temp_put(&the, "s", "f", "q", TS_AUTO, "v"),
				 1);
		assert_int_equal(count(&rows), 2);
		assert_int_equal(store_flush(the.store, NULL), 0);
	}
	assert_true(addresses() < before + (32 << 20));
}

/* The greatest number of a table file. */
static unsigned long last_file(void)
{
	unsigned long last = 0, n;
	DIR *d = opendir(the.path);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (sscanf(e->d_name, "%lu.sst", &n) == 1 && n > last)
			last = n;
	closedir(d);
	return last;
}

/* Its removal may not last, and then it would be taken for the later file. */
USUAL(the_number_of_a_file_that_a_crash_left_is_not_given_again)
{
	unsigned long left;
	char path[96];
	FILE *f;

	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(temp_close(&the), 0);
	left = last_file() + 1;
	snprintf(path, sizeof(path), "%s/%lu.sst", the.path, left);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(temp_open(&the), 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 2, "w"), 1);
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(last_file(), left + 1);
}
