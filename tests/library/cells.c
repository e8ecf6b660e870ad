/* Changes, gets and scans by libcellfs. */
#include "fixture.h"

TEST(newest_value_is_read_back)
{
	struct cellfs_buffer value = {0};

	assert_int_equal(put(&the, "r", "q", "old"), 0);
	assert_int_equal(put(&the, "r", "q", "new"), 0);
	assert_string_equal(get(&the, "r", "q"), "new");
	assert_int_equal(cellfs_get(the.t, str("r"), str("f"), str("q"), NULL),
			 1);
	assert_int_equal(cellfs_get(the.t, str("r"), str("f"), str("p"), NULL),
			 0);
	/* Keys and values hold any bytes; the empty qualifier is a name. */
	assert_int_equal(cellfs_put(the.t, cellfs_bytes_of("\0r", 2), str("g"),
				    str(""), cellfs_bytes_of("a\0b", 3)),
			 0);
	assert_int_equal(cellfs_get(the.t, cellfs_bytes_of("\0r", 2), str("g"),
				    str(""), &value),
			 1);
	assert_int_equal(value.len, 3);
	assert_memory_equal(value.data, "a\0b", 3);
	cellfs_buffer_free(&value);
}

/* However many of them fall into one millisecond. */
TEST(each_put_is_a_version_of_its_own)
{
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;
	char row[8];

	for (int i = 0; i < 100; i++) {
		snprintf(row, sizeof(row), "%03d", i);
		for (int n = 0; n < 3; n++)
			assert_int_equal(put(&the, row, "q", ""), 0);
	}
	assert_int_equal(cellfs_scan_open(the.t, NULL, &sc), 0);
	for (int i = 0; i < 300; i++)
		assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_int_equal(cellfs_scan_next(sc, &c), 0);
	cellfs_scan_close(sc);
}

TEST(put_and_delete_reach_beyond_the_clock)
{
	struct cellfs_cell c;

	put_at(&the, "r", "q", CELLFS_TS_MAX - 1000, "future");
	assert_int_equal(put(&the, "r", "q", "newest"), 0);
	assert_string_equal(get(&the, "r", "q"), "newest");
	assert_int_equal(cellfs_get_cell(the.t, str("r"), str("f"), str("q"),
					 NULL, &c, NULL),
			 1);
	assert_true(c.ts_ms > CELLFS_TS_MAX - 1000);
	assert_int_equal(cellfs_delete(the.t, str("r"), str("f"), str("q")), 0);
	assert_string_equal(scan(&the, NULL), "");
	put_at(&the, "r", "q", CELLFS_TS_MAX - 1000, "future");
	assert_int_equal(cellfs_delete_row(the.t, str("r")), 0);
	assert_string_equal(scan(&the, NULL), "");
	/* Nothing is newer than the end of time. */
	assert_int_equal(put_at(&the, "s", "q", CELLFS_TS_MAX, "last"), 1);
	assert_refused(put(&the, "s", "q", "v"), -EOVERFLOW, "no timestamp");
	assert_string_equal(get(&the, "s", "q"), "last");
	assert_int_equal(cellfs_delete(the.t, str("s"), str("f"), str("q")), 0);
	assert_refused(put(&the, "s", "q", "v"), -EOVERFLOW, "no timestamp");
}

/* Neither an absent value nor a failure touches what the caller has. */
TEST(what_is_not_found_is_not_written)
{
	struct cellfs_bytes r = str("r"), g = str("f"), q = str("q");
	struct cellfs_buffer value = {0};
	struct cellfs_cell cell = {.ts_ms = 77};

	put(&the, "r", "q", "kept");
	assert_int_equal(cellfs_get(the.t, r, g, q, &value), 1);
	assert_int_equal(cellfs_get(the.t, r, g, str("x"), &value), 0);
	assert_int_equal(
		cellfs_get_cell(the.t, r, g, str("x"), NULL, &cell, &value), 0);
	assert_refused(cellfs_get(the.t, str(""), g, q, &value), -EINVAL,
		       "empty");
	assert_refused(
		cellfs_get_cell(the.t, r, str(""), q, NULL, &cell, &value),
		-EINVAL, "empty");
	assert_int_equal(cell.ts_ms, 77);
	assert_int_equal(value.len, 4);
	assert_memory_equal(value.data, "kept", 4);
	cellfs_buffer_free(&value);
	cellfs_buffer_free(&value);
	cellfs_buffer_free(NULL);
}

TEST(deletes_hide_the_column_or_the_row)
{
	put_at(&the, "r", "a", 1, "1");
	put_at(&the, "r", "a", 2, "2");
	put_at(&the, "r", "b", 3, "3");
	assert_int_equal(cellfs_delete(the.t, str("r"), str("f"), str("a")), 0);
	assert_string_equal(scan(&the, NULL), "r/f:b@3=3");
	assert_int_equal(cellfs_delete_row(the.t, str("r")), 0);
	assert_string_equal(scan(&the, NULL), "");
	/* What is absent is deleted without an error. */
	assert_int_equal(cellfs_delete(the.t, str("r"), str("f"), str("a")), 0);
	assert_int_equal(cellfs_delete_row(the.t, str("r")), 0);
	assert_int_equal(put(&the, "r", "a", "again"), 0);
	assert_string_equal(get(&the, "r", "a"), "again");
}

TEST(increments_add_and_appends_append)
{
	struct cellfs_bytes r = str("r"), g = str("f"), q = str("n");
	int64_t sum = 0;

	assert_int_equal(cellfs_increment(the.t, r, g, q, 5, &sum), 0);
	assert_int_equal(sum, 5);
	assert_int_equal(cellfs_increment(the.t, r, g, q, -7, NULL), 0);
	assert_int_equal(cellfs_increment(the.t, r, g, q, 0, &sum), 0);
	assert_int_equal(sum, -2);
	assert_int_equal(cellfs_append(the.t, r, g, str("s"), str("one")), 0);
	assert_int_equal(cellfs_append(the.t, r, g, str("s"), str(" two")), 0);
	assert_string_equal(get(&the, "r", "s"), "one two");
	sum = 77;
	assert_refused(cellfs_increment(the.t, r, g, str("s"), 1, &sum),
		       -EINVAL, "8");
	assert_int_equal(sum, 77);
	/* Beyond 64 bits it wraps round. */
	assert_int_equal(
		cellfs_increment(the.t, r, g, str("w"), INT64_MAX, NULL), 0);
	assert_int_equal(cellfs_increment(the.t, r, g, str("w"), 1, &sum), 0);
	assert_true(sum == INT64_MIN);
}

TEST(wrong_changes_are_refused_with_a_sentence)
{
	struct cellfs_change c = {.kind = CELLFS_PUT, .family = str("f")};
	struct cellfs_check k = {.kind = CELLFS_CHECK_ABSENT};
	struct cellfs_mutation m = {
		.row = str("r"), .changes = &c, .nchanges = 1};
	struct cellfs_change much[3];
	char big[200];

	memset(big, 'x', sizeof(big));
	assert_refused(put(&the, "", "q", "v"), -EINVAL, "row key is empty");
	assert_refused(
		cellfs_put(the.t, str("r"), str("x"), str("q"), str("v")),
		-EPERM, "'x': declare it in the table's schema");
	assert_refused(cellfs_put(the.t, str("r"), str("g"), str("q"),
				  cellfs_bytes_of(big, 101)),
		       -EFBIG, "max_value 100");
	assert_refused(cellfs_delete(the.t, str("r"), str(""), str("q")),
		       -EINVAL, "family name is empty");
	assert_refused(
		cellfs_append(the.t, str("r"), str("x"), str(""), str("")),
		-EPERM, "x");
	assert_refused(cellfs_delete_row(the.t, str("")), -EINVAL, "empty");
	/* No timestamp means another one, and no kind another one. */
	c.ts = cellfs_ms(INT64_MAX);
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EINVAL,
		       "is no timestamp");
	c.ts = cellfs_ms(INT64_MAX - 1);
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EINVAL,
		       "is no timestamp");
	c.ts = cellfs_ms(-1);
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EINVAL,
		       "is no timestamp");
	c.ts.set = false;
	c.kind = (enum cellfs_kind)(256 + CELLFS_PUT);
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EINVAL,
		       "unknown operation");
	c.kind = CELLFS_PUT;
	m.checks = &k;
	m.nchecks = 1;
	k.family = str("f");
	k.kind = (enum cellfs_check_kind)(CELLFS_CHECK_VERSION_EQUAL + 1);
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EINVAL,
		       "unknown operator");
	m.nchecks = 0;
	assert_refused(cellfs_mutate(the.t, &m, NULL, CELLFS_SYNC | 2), -EINVAL,
		       "flags");
	assert_refused(cellfs_mutate_many(the.t, &m, 1, 4, NULL), -EINVAL,
		       "flags");
	/* None of these bytes is looked at. */
	for (int i = 0; i < 3; i++)
		much[i] = (struct cellfs_change){
			.kind = CELLFS_PUT,
			.family = str("f"),
			.value = cellfs_bytes_of(big, CELLFS_VALUE_MAX)};
	m.changes = much;
	m.nchanges = 3;
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EFBIG, "mutation");
	m.nchanges = 0;
	assert_refused(cellfs_mutate(the.t, &m, NULL, 0), -EINVAL, "nothing");
	assert_string_equal(scan(&the, NULL), "");
}

TEST(keys_and_values_are_as_long_as_the_header_says)
{
	static char x[CELLFS_ROW_MAX + 1];
	struct cellfs_bytes r = str("r"), g = str("g"), q = str("q");
	char text[200];

	memset(x, 'x', sizeof(x));
	snprintf(text, sizeof(text), "family g\n\tmax_value 100\nfamily %.*s",
		 CELLFS_FAMILY_MAX, x);
	assert_int_equal(cellfs_table_alter(the.t, text), 0);
	assert_int_equal(cellfs_put(the.t, cellfs_bytes_of(x, CELLFS_ROW_MAX),
				    cellfs_bytes_of(x, CELLFS_FAMILY_MAX),
				    cellfs_bytes_of(x, CELLFS_QUALIFIER_MAX),
				    q),
			 0);
	assert_refused(cellfs_put(the.t, cellfs_bytes_of(x, CELLFS_ROW_MAX + 1),
				  g, q, q),
		       -EINVAL, "row");
	assert_refused(cellfs_put(the.t, r,
				  cellfs_bytes_of(x, CELLFS_FAMILY_MAX + 1), q,
				  q),
		       -EINVAL, "family");
	assert_refused(cellfs_put(the.t, r, g,
				  cellfs_bytes_of(x, CELLFS_QUALIFIER_MAX + 1),
				  q),
		       -EINVAL, "qualifier");
	/* What is appended counts with what is there. */
	assert_int_equal(cellfs_append(the.t, r, g, q, cellfs_bytes_of(x, 100)),
			 0);
	assert_refused(cellfs_append(the.t, r, g, q, q), -EFBIG,
		       "max_value 100");
	snprintf(text, sizeof(text), "family g\n\tmax_value %u\n",
		 CELLFS_VALUE_MAX);
	assert_int_equal(cellfs_table_alter(the.t, text), 0);
	snprintf(text, sizeof(text), "family g\n\tmax_value %u\n",
		 CELLFS_VALUE_MAX + 1);
	assert_refused(cellfs_table_alter(the.t, text), -EINVAL, "line 2");
}

TEST(a_mutation_is_const_and_can_be_used_again)
{
	const struct cellfs_change c[] = {
		{.kind = CELLFS_PUT,
		 .family = str("f"),
		 .qualifier = str("a"),
		 .value = str("v")},
		{.kind = CELLFS_INCREMENT,
		 .family = str("f"),
		 .qualifier = str("n"),
		 .delta = 2},
		{.kind = CELLFS_APPEND,
		 .family = str("g"),
		 .qualifier = str("s"),
		 .value = str("x")},
		{.kind = CELLFS_PUT,
		 .family = str("g"),
		 .qualifier = str("p"),
		 .ts = cellfs_ms(50),
		 .value = str("w")},
		{.kind = CELLFS_PUT,
		 .family = str("g"),
		 .qualifier = str("z"),
		 .ts = cellfs_ms(60)},
	};
	struct cellfs_mutation m = {
		.row = str("r"), .changes = c, .nchanges = 5};
	struct cellfs_result first[5], second[5];

	/* All of it, then no more than needs no memory. */
	assert_int_equal(cellfs_mutate(the.t, &m, first, 0), 1);
	m.nchanges = 4;
	assert_int_equal(cellfs_mutate(the.t, &m, second, CELLFS_SYNC), 1);
	assert_int_equal(first[1].number, 2);
	assert_int_equal(second[1].number, 4);
	assert_true(first[0].ts_ms > 1600000000000);
	assert_true(second[0].ts_ms > first[0].ts_ms);
	assert_int_equal(second[3].ts_ms, 50);
	assert_int_equal(first[4].ts_ms, 60);
}

TEST(changes_of_a_mutation_depend_on_what_was_there_before)
{
	const struct cellfs_change add = {.kind = CELLFS_INCREMENT,
					  .family = str("f"),
					  .qualifier = str("n"),
					  .delta = 1};
	const struct cellfs_change both[] = {add, add};
	const struct cellfs_check k = {.kind = CELLFS_CHECK_ABSENT,
				       .family = str("f"),
				       .qualifier = str("n")};
	struct cellfs_mutation m = {
		.row = str("r"), .changes = both, .nchanges = 2};
	struct cellfs_result results[2] = {{5, 5}, {5, 5}};

	assert_int_equal(
		cellfs_increment(the.t, str("r"), str("f"), str("n"), 7, NULL),
		0);
	assert_int_equal(cellfs_mutate(the.t, &m, results, 0), 1);
	assert_int_equal(results[0].number, 8);
	assert_int_equal(results[1].number, 8);
	/* Without an application there are no results. */
	results[0].number = results[1].number = 5;
	m.checks = &k;
	m.nchecks = 1;
	assert_int_equal(cellfs_mutate(the.t, &m, results, 0), 0);
	m.row = str("");
	assert_refused(cellfs_mutate(the.t, &m, results, 0), -EINVAL, "empty");
	assert_int_equal(results[0].number, 5);
	assert_int_equal(results[1].number, 5);
}

TEST(each_kind_of_delete_hides_what_it_names)
{
	struct cellfs_change c = {.kind = CELLFS_DELETE_VERSION,
				  .family = str("f"),
				  .qualifier = str("a")};
	const struct cellfs_mutation m = {
		.row = str("r"), .changes = &c, .nchanges = 1};

	for (int ts = 1; ts <= 3; ts++) {
		put_at(&the, "r", "a", ts, "v");
		put_at(&the, "r", "b", ts, "v");
	}
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, NULL), "r/f:a@2=v r/f:a@1=v r/f:b@3=v "
					      "r/f:b@2=v r/f:b@1=v");
	c.ts = cellfs_ms(1);
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	c.qualifier = str("");
	c.kind = CELLFS_DELETE_FAMILY_VERSION;
	c.ts = cellfs_ms(2);
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, NULL), "r/f:b@3=v r/f:b@1=v");
	/* Of one timestamp: without any it is the clock's, of which none is. */
	c.ts.set = false;
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, NULL), "r/f:b@3=v r/f:b@1=v");
	c.ts = cellfs_ms(2);
	c.kind = CELLFS_DELETE_COLUMN;
	c.qualifier = str("b");
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, NULL), "r/f:b@3=v");
	c.kind = CELLFS_DELETE_FAMILY;
	c.qualifier = str("");
	c.ts.set = false;
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, NULL), "");
	c.family = str("");
	c.kind = CELLFS_DELETE_ROW;
	put(&the, "r", "a", "v");
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, NULL), "");
}

static int checked(struct fixture *f, enum cellfs_check_kind kind,
		   const char *qualifier, const char *value, int64_t ms)
{
	const struct cellfs_change c = {.kind = CELLFS_PUT,
					.family = str("f"),
					.qualifier = str("done"),
					.ts = cellfs_ms(1)};
	const struct cellfs_check k = {.kind = kind,
				       .family = str("f"),
				       .qualifier = str(qualifier),
				       .value = str(value),
				       .ts_ms = ms};
	const struct cellfs_mutation m = {.row = str("r"),
					  .changes = &c,
					  .nchanges = 1,
					  .checks = &k,
					  .nchecks = 1};
	int r = cellfs_mutate(f->t, &m, NULL, 0);

	assert_int_equal(
		cellfs_get(f->t, str("r"), str("f"), str("done"), NULL), r);
	cellfs_delete(f->t, str("r"), str("f"), str("done"));
	return r;
}

TEST(a_mutation_is_applied_only_if_its_check_holds)
{
	static const struct {
		enum cellfs_check_kind kind;
		const char *qualifier, *value;
		int64_t ms;
		int holds;
	} cases[] = {
		{CELLFS_CHECK_ABSENT, "q", "", 0, 0},
		{CELLFS_CHECK_ABSENT, "x", "", 0, 1},
		{CELLFS_CHECK_PRESENT, "q", "", 0, 1},
		{CELLFS_CHECK_PRESENT, "x", "", 0, 0},
		{CELLFS_CHECK_NEWEST, "q", "", 20, 1},
		{CELLFS_CHECK_NEWEST, "q", "", 10, 0},
		{CELLFS_CHECK_VERSION_ABSENT, "q", "", 10, 0},
		{CELLFS_CHECK_VERSION_ABSENT, "q", "", 11, 1},
		{CELLFS_CHECK_VERSION_PRESENT, "q", "", 10, 1},
		{CELLFS_CHECK_VERSION_PRESENT, "q", "", 11, 0},
		{CELLFS_CHECK_VERSION_EQUAL, "q", "old", 10, 1},
		{CELLFS_CHECK_VERSION_EQUAL, "q", "m", 10, 0},
		{CELLFS_CHECK_EQUAL, "q", "m", 0, 1},
		{CELLFS_CHECK_EQUAL, "q", "n", 0, 0},
		{CELLFS_CHECK_EQUAL, "x", "n", 0, 0},
		{CELLFS_CHECK_EQUAL, "x", "", 0, 1},
		{CELLFS_CHECK_NOT_EQUAL, "q", "n", 0, 1},
		{CELLFS_CHECK_NOT_EQUAL, "q", "", 0, 1},
		{CELLFS_CHECK_NOT_EQUAL, "x", "n", 0, 0},
		{CELLFS_CHECK_LESS, "q", "l", 0, 1},
		{CELLFS_CHECK_LESS, "q", "m", 0, 0},
		{CELLFS_CHECK_LESS, "q", "", 0, 0},
		{CELLFS_CHECK_LESS_OR_EQUAL, "q", "m", 0, 1},
		{CELLFS_CHECK_LESS_OR_EQUAL, "q", "n", 0, 0},
		{CELLFS_CHECK_GREATER, "q", "n", 0, 1},
		{CELLFS_CHECK_GREATER, "q", "m", 0, 0},
		{CELLFS_CHECK_GREATER_OR_EQUAL, "q", "m", 0, 1},
		{CELLFS_CHECK_GREATER_OR_EQUAL, "q", "l", 0, 0},
	};

	put_at(&the, "r", "q", 10, "old");
	put_at(&the, "r", "q", 20, "m");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (checked(&the, cases[i].kind, cases[i].qualifier,
			    cases[i].value, cases[i].ms) != cases[i].holds)
			fail_msg("case %zu", i);
}

TEST(all_checks_of_a_mutation_must_hold)
{
	const struct cellfs_change c = {
		.kind = CELLFS_PUT, .family = str("f"), .qualifier = str("q")};
	const struct cellfs_check checks[] = {
		{.kind = CELLFS_CHECK_ABSENT, .family = str("f")},
		{.kind = CELLFS_CHECK_ABSENT, .family = str("g")},
		{.kind = CELLFS_CHECK_PRESENT, .family = str("f")},
	};
	struct cellfs_mutation m = {.row = str("r"),
				    .changes = &c,
				    .nchanges = 1,
				    .checks = checks,
				    .nchecks = 3};

	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 0);
	assert_string_equal(get(&the, "r", "q"), "(none)");
	m.nchecks = 2;
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(get(&the, "r", "q"), "");
}

TEST(many_mutations_are_applied_up_to_the_one_that_fails)
{
	const struct cellfs_change c = {.kind = CELLFS_PUT,
					.family = str("f"),
					.qualifier = str("q"),
					.ts = cellfs_ms(1),
					.value = str("v")};
	const struct cellfs_change bad = {.kind = CELLFS_PUT,
					  .family = str("x")};
	const struct cellfs_check k = {.kind = CELLFS_CHECK_ABSENT,
				       .family = str("f")};
	struct cellfs_mutation m[3] = {
		{.row = str("a"), .changes = &c, .nchanges = 1},
		{.row = str("b"), .changes = &c, .nchanges = 1},
		{.row = str("c"), .changes = &c, .nchanges = 1},
	};
	size_t done = 9;

	assert_int_equal(cellfs_mutate_many(the.t, m, 0, 0, &done), 0);
	assert_int_equal(done, 0);
	assert_int_equal(cellfs_mutate_many(the.t, m, 3, CELLFS_SYNC, &done),
			 0);
	assert_int_equal(done, 3);
	assert_string_equal(scan(&the, NULL), "a/f:q@1=v b/f:q@1=v c/f:q@1=v");
	m[0].row = str("d");
	m[1].changes = &bad;
	assert_refused(cellfs_mutate_many(the.t, m, 3, 0, &done), -EPERM, "x");
	assert_int_equal(done, 1);
	assert_int_equal(cellfs_get(the.t, str("d"), str("f"), str("q"), NULL),
			 1);
	m[1].changes = &c;
	m[2].checks = &k;
	m[2].nchecks = 1;
	assert_refused(cellfs_mutate_many(the.t, m, 3, 0, NULL), -EINVAL,
		       "condition");
}

TEST(a_get_finds_the_version_that_is_asked_for)
{
	struct cellfs_bytes r = str("r"), g = str("f"), q = str("q");
	struct cellfs_buffer value = {0};
	struct cellfs_which which = {0};
	struct cellfs_cell c;

	put_at(&the, "r", "q", 10, "ten");
	put_at(&the, "r", "q", 20, "twenty");
	assert_int_equal(cellfs_get_cell(the.t, r, g, q, NULL, &c, &value), 1);
	assert_int_equal(c.ts_ms, 20);
	assert_ptr_equal(c.value.data, value.data);
	assert_int_equal(c.value.len, 6);
	assert_ptr_equal(c.row.data, r.data);
	assert_int_equal(c.kind, CELLFS_PUT);
	/* @exact says nothing without a timestamp. */
	which.exact = true;
	assert_int_equal(cellfs_get_cell(the.t, r, g, q, &which, &c, NULL), 1);
	assert_int_equal(c.ts_ms, 20);
	assert_null(c.value.data);
	assert_int_equal(c.value.len, 6);
	which.ts = cellfs_ms(19);
	assert_int_equal(cellfs_get_cell(the.t, r, g, q, &which, &c, NULL), 0);
	which.exact = false;
	assert_int_equal(cellfs_get_cell(the.t, r, g, q, &which, &c, NULL), 1);
	assert_int_equal(c.ts_ms, 10);
	which.ts = cellfs_ms(9);
	assert_int_equal(cellfs_get_cell(the.t, r, g, q, &which, &c, NULL), 0);
	which.ts = cellfs_ms(-1);
	assert_refused(cellfs_get_cell(the.t, r, g, q, &which, &c, NULL),
		       -EINVAL, "is no timestamp");
	assert_refused(cellfs_get(the.t, str(""), g, q, NULL), -EINVAL,
		       "empty");
	cellfs_buffer_free(&value);
}

TEST(a_cell_may_have_a_ttl_of_its_own)
{
	const struct cellfs_change c = {.kind = CELLFS_PUT,
					.family = str("f"),
					.qualifier = str("q"),
					.ttl_ms = 1000000};
	const struct cellfs_mutation m = {
		.row = str("r"), .changes = &c, .nchanges = 1};
	struct cellfs_cell cell;

	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_int_equal(cellfs_get_cell(the.t, str("r"), str("f"), str("q"),
					 NULL, &cell, NULL),
			 1);
	assert_int_equal(cell.ttl_ms, 1000000);
}

/* Rows a, b, bb, c with one column each, "f:a" and "f:b" in row b. */
static struct fixture rows(void)
{
	struct fixture f = begin();

	put_at(&f, "a", "a", 1, "1");
	put_at(&f, "b", "a", 1, "old");
	put_at(&f, "b", "a", 2, "2");
	put_at(&f, "b", "b", 3, "3");
	put_at(&f, "bb", "a", 4, "4");
	put_at(&f, "c", "c", 5, "5");
	return f;
}

TEST(a_scan_gives_what_its_granularity_says)
{
	struct fixture f = rows();
	struct cellfs_scan_spec s = {0};

	assert_string_equal(scan(&f, &s),
			    "a/f:a@1=1 b/f:a@2=2 b/f:a@1=old b/f:b@3=3 "
			    "bb/f:a@4=4 c/f:c@5=5");
	s.granularity = CELLFS_COLUMNS;
	assert_string_equal(scan(&f, &s), "a/f:a@1=1 b/f:a@2=2 b/f:b@3=3 "
					  "bb/f:a@4=4 c/f:c@5=5");
	s.granularity = CELLFS_FAMILIES;
	assert_string_equal(scan(&f, &s), "a/f b/f bb/f c/f");
	s.granularity = CELLFS_ROWS;
	assert_string_equal(scan(&f, &s), "a b bb c");
	s.limit_rows = 3;
	s.reversed = true;
	assert_string_equal(scan(&f, &s), "c bb b");
	end(&f);
}

TEST(results_are_in_the_order_of_unsigned_bytes)
{
	static const struct {
		const char *key;
		size_t len;
	} keys[] = {{"\0", 1},	{"\0\0", 2}, {"a", 1},	  {"a\0", 2},
		    {"a\1", 2}, {"b", 1},    {"\x80", 1}, {"\xff", 1}};
	enum {
		N = sizeof(keys) / sizeof(*keys)
	};
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;

	for (int row = N; row--;)
		for (int q = N; q--;)
			assert_int_equal(
				cellfs_put(the.t,
					   cellfs_bytes_of(keys[row].key,
							   keys[row].len),
					   str("f"),
					   cellfs_bytes_of(keys[q].key,
							   keys[q].len),
					   str("")),
				0);
	for (int reversed = 0; reversed < 2; reversed++) {
		const struct cellfs_scan_spec s = {.reversed = reversed};

		assert_int_equal(cellfs_scan_open(the.t, &s, &sc), 0);
		for (int i = 0; i < N * N; i++) {
			int row = reversed ? N - 1 - i / N : i / N;

			assert_int_equal(cellfs_scan_next(sc, &c), 1);
			assert_int_equal(c->row.len, keys[row].len);
			assert_memory_equal(c->row.data, keys[row].key,
					    keys[row].len);
			assert_int_equal(c->qualifier.len, keys[i % N].len);
			assert_memory_equal(c->qualifier.data, keys[i % N].key,
					    keys[i % N].len);
		}
		assert_int_equal(cellfs_scan_next(sc, &c), 0);
		cellfs_scan_close(sc);
	}
}

/* A result has the fields of its granularity, and of a value what was asked. */
TEST(a_result_has_no_other_field)
{
	struct fixture f = rows();
	struct cellfs_scan_spec s = {.keys_only = true,
				     .row_start = cellfs_inclusive(str("b")),
				     .granularity = CELLFS_COLUMNS};
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;

	put_at(&f, "b", "a", 9, "five!");
	assert_int_equal(cellfs_scan_open(f.t, &s, &sc), 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_null(c->value.data);
	assert_int_equal(c->value.len, 5);
	cellfs_scan_close(sc);
	s.keys_only = false;
	s.granularity = CELLFS_FAMILIES;
	assert_int_equal(cellfs_scan_open(f.t, &s, &sc), 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_int_equal(c->family.len, 1);
	assert_int_equal(c->qualifier.len + c->value.len + c->ts_ms, 0);
	cellfs_scan_close(sc);
	s.granularity = CELLFS_ROWS;
	assert_int_equal(cellfs_scan_open(f.t, &s, &sc), 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_int_equal(c->row.len, 1);
	assert_int_equal(
		c->family.len + c->qualifier.len + c->value.len + c->ts_ms, 0);
	cellfs_scan_close(sc);
	end(&f);
}

TEST(bounds_are_values_that_are_set_or_open)
{
	struct fixture f = rows();
	struct cellfs_scan_spec s = {.granularity = CELLFS_ROWS};
	char room[8];

	s.row_start = cellfs_inclusive(str("b"));
	assert_string_equal(scan(&f, &s), "b bb c");
	s.row_start = cellfs_exclusive(str("b"));
	assert_string_equal(scan(&f, &s), "bb c");
	s.row_stop = cellfs_exclusive(str("c"));
	assert_string_equal(scan(&f, &s), "bb");
	s.row_stop = cellfs_inclusive(str("c"));
	assert_string_equal(scan(&f, &s), "bb c");
	s.reversed = true;
	s.row_start = cellfs_exclusive(str("c"));
	s.row_stop = cellfs_exclusive(str("a"));
	assert_string_equal(scan(&f, &s), "bb b");
	/* All rows are greater than the empty key, which is no open bound. */
	s.row_stop = cellfs_inclusive(str(""));
	assert_string_equal(scan(&f, &s), "bb b a");
	s.row_start = cellfs_inclusive(str(""));
	assert_string_equal(scan(&f, &s), "");
	s.reversed = false;
	s.row_stop.set = false;
	assert_string_equal(scan(&f, &s), "a b bb c");
	s.row_stop = cellfs_inclusive(str(""));
	assert_string_equal(scan(&f, &s), "");
	s.row_start = cellfs_inclusive(str("b"));
	s.row_stop = cellfs_prefix_end(str("b"), room);
	assert_string_equal(scan(&f, &s), "b bb");
	s = (struct cellfs_scan_spec){0};
	s.qualifier_start = cellfs_exclusive(str("a"));
	s.qualifier_stop = cellfs_exclusive(str("c"));
	assert_string_equal(scan(&f, &s), "b/f:b@3=3");
	s.qualifier_stop = cellfs_inclusive(str("c"));
	assert_string_equal(scan(&f, &s), "b/f:b@3=3 c/f:c@5=5");
	s.qualifier_start.set = false;
	s.qualifier_stop = cellfs_exclusive(str(""));
	assert_string_equal(scan(&f, &s), "");
	end(&f);
}

TEST(the_end_of_a_prefix_lies_behind_all_of_its_keys)
{
	char room[4];
	struct cellfs_bound b = cellfs_prefix_end(str("a\xff\xff"), room);

	assert_true(b.set && !b.inclusive && b.at.len == 1);
	assert_memory_equal(b.at.data, "b", 1);
	assert_false(cellfs_prefix_end(str("\xff\xff"), room).set);
	assert_false(cellfs_prefix_end(str(""), room).set);
}

TEST(a_scan_is_of_columns_times_and_versions)
{
	struct fixture f = rows();
	const struct cellfs_column columns[] = {
		{.family = str("f"), .qualifier = str("c")},
		{.family = str("g"), .whole_family = true},
	};
	struct cellfs_scan_spec s = {.columns = columns, .ncolumns = 2};

	assert_int_equal(cellfs_put(f.t, str("a"), str("g"), str("x"), str("")),
			 0);
	assert_string_equal(
		scan(&f, &(struct cellfs_scan_spec){.granularity = CELLFS_ROWS,
						    .columns = columns,
						    .ncolumns = 2}),
		"a c");
	s = (struct cellfs_scan_spec){.columns = columns, .ncolumns = 1};
	assert_string_equal(scan(&f, &s), "c/f:c@5=5");
	s = (struct cellfs_scan_spec){.ts_start = cellfs_ms(2),
				      .ts_stop = cellfs_ms(4)};
	assert_string_equal(scan(&f, &s), "b/f:a@2=2 b/f:b@3=3");
	s.ts_start.set = false;
	assert_string_equal(scan(&f, &s),
			    "a/f:a@1=1 b/f:a@2=2 b/f:a@1=old b/f:b@3=3");
	s.versions = 1;
	assert_string_equal(scan(&f, &s), "a/f:a@1=1 b/f:a@2=2 b/f:b@3=3");
	s.keys_only = true;
	assert_string_equal(scan(&f, &s), "a/f:a@1=? b/f:a@2=? b/f:b@3=?");
	/* No timestamp is less than 0. */
	s.ts_stop = cellfs_ms(0);
	assert_string_equal(scan(&f, &s), "");
	s = (struct cellfs_scan_spec){.family_limit = 1,
				      .family_offset = 1,
				      .granularity = CELLFS_COLUMNS};
	assert_string_equal(scan(&f, &s), "b/f:b@3=3");
	s.family_offset = 0;
	s.row_start = cellfs_inclusive(str("b"));
	assert_string_equal(scan(&f, &s), "b/f:a@2=2 bb/f:a@4=4 c/f:c@5=5");
	end(&f);
}

/* Bytes in memory of their own, of which nothing is left behind forget_all(). */
struct lent {
	char *bytes[8];
	size_t n;
};

static struct cellfs_bytes lend(struct lent *l, const char *s)
{
	l->bytes[l->n] = strdup(s);
	assert_non_null(l->bytes[l->n]);
	return str(l->bytes[l->n++]);
}

static void forget_all(struct lent *l)
{
	while (l->n) {
		char *s = l->bytes[--l->n];

		memset(s, '!', strlen(s));
		free(s);
	}
}

TEST(arguments_are_needed_during_the_call_only)
{
	struct fixture f = rows();
	struct cellfs_column *column = calloc(1, sizeof(*column));
	struct cellfs_scan_spec *s = calloc(1, sizeof(*s));
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;
	struct lent l = {0};

	assert_true(s && column);
	assert_int_equal(cellfs_put(f.t, lend(&l, "b"), lend(&l, "f"),
				    lend(&l, "z"), lend(&l, "put")),
			 0);
	forget_all(&l);
	assert_string_equal(get(&f, "b", "z"), "put");
	*column = (struct cellfs_column){lend(&l, "f"), lend(&l, "z"), false};
	s->columns = column;
	s->ncolumns = 1;
	s->row_start = cellfs_inclusive(lend(&l, "a"));
	s->row_stop = cellfs_exclusive(lend(&l, "bb"));
	s->qualifier_start = cellfs_inclusive(lend(&l, "b"));
	s->qualifier_stop = cellfs_inclusive(lend(&l, "z"));
	s->filter = lend(&l, "ValueFilter(=, 'substring:pu')");
	assert_int_equal(cellfs_scan_open(f.t, s, &sc), 0);
	forget_all(&l);
	memset(column, 0xff, sizeof(*column));
	memset(s, 0xff, sizeof(*s));
	free(column);
	free(s);
	assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_int_equal(c->row.len, 1);
	assert_memory_equal(c->row.data, "b", 1);
	assert_memory_equal(c->value.data, "put", 3);
	assert_int_equal(cellfs_scan_next(sc, &c), 0);
	cellfs_scan_close(sc);
	end(&f);
}

TEST(a_scan_takes_a_filter_of_hbase)
{
	struct fixture f = rows();
	struct cellfs_scan_spec s = {.filter =
					     str("PrefixFilter('b') AND "
						 "ValueFilter(>, 'binary:2')")};

	assert_string_equal(scan(&f, &s), "b/f:a@1=old b/f:b@3=3 bb/f:a@4=4");
	end(&f);
}

TEST(a_pattern_of_too_many_steps_ends_the_scan)
{
	const struct cellfs_scan_spec s = {
		.filter = str("ValueFilter(=, 'regexstring:(a+)+$')")};
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;

	put(&the, "r", "q", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac");
	assert_int_equal(cellfs_scan_open(the.t, &s, &sc), 0);
	assert_refused(cellfs_scan_next(sc, &c), -ETIME, "too many steps");
	assert_refused(cellfs_scan_next(sc, &c), -ETIME, "too many steps");
	cellfs_scan_close(sc);
}

TEST(a_raw_scan_shows_delete_markers)
{
	const struct cellfs_scan_spec s = {.raw = true};
	const struct cellfs_cell *c;
	struct cellfs_scan *sc = NULL;

	put_at(&the, "r", "q", 7, "v");
	cellfs_delete(the.t, str("r"), str("f"), str("q"));
	assert_int_equal(cellfs_scan_open(the.t, &s, &sc), 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_int_equal(c->kind, CELLFS_DELETE_COLUMN);
	assert_int_equal(cellfs_scan_next(sc, &c), 1);
	assert_int_equal(c->kind, CELLFS_PUT);
	assert_true(c->sequence > 0);
	assert_int_equal(cellfs_scan_next(sc, &c), 0);
	cellfs_scan_close(sc);
}

TEST(a_marker_comes_before_a_put_of_its_timestamp)
{
	const struct cellfs_change c = {.kind = CELLFS_DELETE_VERSION,
					.family = str("f"),
					.qualifier = str("q"),
					.ts = cellfs_ms(7)};
	const struct cellfs_mutation m = {
		.row = str("r"), .changes = &c, .nchanges = 1};
	const struct cellfs_scan_spec raw = {.raw = true};

	put_at(&the, "r", "q", 9, "newer");
	put_at(&the, "r", "q", 7, "v");
	assert_int_equal(cellfs_mutate(the.t, &m, NULL, 0), 1);
	assert_string_equal(scan(&the, &raw),
			    "r/f:q@9=newer r/f:q@7= r/f:q@7=v");
	/* Nothing of what is hidden stays behind a compaction. */
	assert_int_equal(cellfs_compact(the.s, the.t), 0);
	assert_string_equal(scan(&the, &raw), "r/f:q@9=newer");
}

TEST(a_scan_goes_on_without_its_table_and_snapshot)
{
	struct fixture f = rows();
	struct cellfs_scan_spec s = {0};
	struct cellfs_snapshot *snap;
	const struct cellfs_cell *c;
	struct cellfs_scan *sc;
	int n = 0;

	assert_int_equal(cellfs_snapshot_take(f.s, &snap), 0);
	s.snapshot = snap;
	assert_int_equal(cellfs_scan_open(f.t, &s, &sc), 0);
	cellfs_snapshot_close(snap);
	assert_int_equal(cellfs_delete_row(f.t, str("b")), 0);
	assert_int_equal(cellfs_compact(f.s, NULL), 0);
	assert_int_equal(cellfs_table_drop(f.s, "t"), 0);
	cellfs_table_close(f.t);
	f.t = NULL;
	while (cellfs_scan_next(sc, &c) > 0)
		n++;
	assert_int_equal(n, 6);
	cellfs_scan_close(sc);
	end(&f);
}

TEST(wrong_scans_are_refused_with_a_sentence)
{
	struct cellfs_scan *sc = NULL;
	struct cellfs_scan_spec s = {.filter = str("NoFilter()")};

	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL, "NoFilter");
	s.filter = str("PageFilter(1) AND ValueFilter(=)");
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL, "at byte");
	s = (struct cellfs_scan_spec){.filter = str("KeyOnlyFilter()"),
				      .granularity = CELLFS_ROWS};
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL, "filter");
	s = (struct cellfs_scan_spec){
		.granularity = (enum cellfs_granularity)(CELLFS_ROWS + 1)};
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL,
		       "granularity");
	s = (struct cellfs_scan_spec){.ts_start = cellfs_ms(5),
				      .ts_stop = cellfs_ms(4)};
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL, "time range");
	s = (struct cellfs_scan_spec){.granularity = CELLFS_FAMILIES,
				      .family_limit = 1};
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL,
		       "limit in a family");
	/* Also where nothing lies between the bounds. */
	s.row_stop = cellfs_exclusive(str(""));
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -EINVAL,
		       "limit in a family");
	s = (struct cellfs_scan_spec){.ts_stop = cellfs_ms(0)};
	assert_int_equal(cellfs_table_drop(the.s, "t"), 0);
	assert_refused(cellfs_scan_open(the.t, &s, &sc), -ENOENT, "dropped");
	assert_null(sc);
	cellfs_scan_close(NULL);
}

/* More than a batch, seen as of the opening, and not as of the reading. */
TEST(a_long_scan_shows_the_moment_of_its_opening)
{
	const struct cellfs_cell *c;
	struct cellfs_scan *sc = NULL;
	char row[8];

	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "%04d", i);
		put(&the, row, "q", row);
	}
	assert_int_equal(cellfs_scan_open(the.t, NULL, &sc), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(row, sizeof(row), "%04d", i);
		assert_int_equal(cellfs_scan_next(sc, &c), 1);
		assert_memory_equal(c->row.data, row, 4);
		assert_memory_equal(c->value.data, row, 4);
		assert_int_equal(cellfs_delete_row(the.t, str(row)), 0);
		put(&the, "zzzz", "q", "");
	}
	assert_int_equal(cellfs_scan_next(sc, &c), 0);
	cellfs_scan_close(sc);
	assert_int_equal(cellfs_table_truncate(the.s, "t"), 0);
}
