/*
 * What a store sends to a cluster (hbase_played.h) for reads and changes of rows.
 */
#include "store/filter/filter.h"
#include "tests/unit/unit.h"
#include "tests/unit/hbase_played.h"

#define FUTURE 9000000000000000

static const struct cell *sent_of(const struct played_cluster *c, uint8_t kind,
				  const char *family)
{
	for (size_t i = 0; i < c->nsent; i++)
		if (c->sent[i].kind == kind &&
		    bytes_eq(c->sent[i].family, bytes_str(family)))
			return &c->sent[i];
	fail_msg("nothing of family %s was sent", family);
	return NULL;
}

/*
 * Each family of the row is hidden up to what it holds itself, and the put behind
 * the delete is put behind the marker of its own family.
 */
static void assert_put_beside_delete(bool new_version_behavior)
{
	static const struct change cells[] = {
		{.op = CHANGE_PUT,
		 .family = {(const uint8_t *)"b", 1},
		 .qualifier = {(const uint8_t *)"q", 1},
		 .ts = FUTURE},
	};
	struct change changes[] = {
		{.op = CHANGE_DELETE_ROW, .ts = TS_AUTO},
		{.op = CHANGE_PUT,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("q"),
		 .ts = TS_AUTO},
	};
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 2};
	struct played_cluster c = {
		.new_version_behavior = new_version_behavior,
		.cells = cells,
		.ncells = 1,
	};
	const struct cell *put, *marker;

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_int_equal(c.nsent, 3);
	put = sent_of(&c, CELL_PUT, "a");
	marker = sent_of(&c, CELL_DELETE_FAMILY, "a");
	assert_true(put->ts == marker->ts + 1);
	assert_true(put->ts < FUTURE);
	assert_true(put->ts == changes[1].ts_given);
	assert_true(sent_of(&c, CELL_DELETE_FAMILY, "b")->ts == FUTURE);
	end(&c);
}

TEST(a_put_beside_a_delete_of_the_row_stays)
{
	assert_put_beside_delete(false);
	assert_put_beside_delete(true);
}

TEST(of_two_puts_into_one_column_the_second_is_newer)
{
	struct change changes[] = {a_put("a", "q", TS_AUTO, "one"),
				   a_put("a", "q", TS_AUTO, "two"),
				   a_put("b", "q", TS_AUTO, "other")};
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 3};
	struct played_cluster c = {.new_version_behavior = true};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_int_equal(c.nsent, 3);
	assert_true(c.sent[0].ts == changes[0].ts_given);
	assert_true(c.sent[1].ts == changes[1].ts_given);
	assert_true(changes[1].ts_given == changes[0].ts_given + 1);
	assert_true(changes[2].ts_given == changes[0].ts_given);
	end(&c);
}

/* What a delete of all times hides has no time behind it. */
TEST(nothing_is_put_behind_the_end_of_time)
{
	struct change changes[] = {
		{.op = CHANGE_DELETE_ROW, .ts = TS_MAX},
		{.op = CHANGE_PUT,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("q"),
		 .ts = TS_AUTO},
	};
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 2};
	struct played_cluster c = {.new_version_behavior = true};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_null(strstr(c.methods, " Multi"));
	end(&c);
}

/*
 * In the classic order markers of the column and of the family count. Of a row with
 * a million columns no other is read.
 */
TEST(a_put_looks_at_its_column_alone)
{
	const struct change cells[] = {
		{.op = CHANGE_DELETE_FAMILY,
		 .family = bytes_str("a"),
		 .ts = FUTURE + 5},
		{.op = CHANGE_PUT,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("p"),
		 .ts = FUTURE + 7},
		{.op = CHANGE_DELETE_COLUMN,
		 .family = bytes_str("a"),
		 .qualifier = bytes_str("q"),
		 .ts = FUTURE},
	};
	struct change change = a_put("a", "q", TS_AUTO, "");
	struct mutation m = change_of("r", &change);
	struct played_cluster c = {.cells = cells, .ncells = 3};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_true(change.ts_given == FUTURE + 6);
	change.qualifier = (struct bytes){0};
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_true(change.ts_given == FUTURE + 6);
	assert_int_equal(c.of_all, 0);
	end(&c);
}

/* Changes of three rows, of which the first has two, by many_of(). */
struct rows {
	struct change of_first[2], second, third;
	struct mutation m[3];
};

static void many_of(struct rows *rows)
{
	*rows = (struct rows){
		.of_first = {a_put("a", "p", TS_AUTO, "1"),
			     a_put("b", "q", TS_AUTO, "2")},
		.second = a_put("a", "q", TS_AUTO, "3"),
		.third = a_put("a", "q", TS_AUTO, "4"),
	};
	rows->m[0] = (struct mutation){.row = bytes_str("r1"),
				       .changes = rows->of_first,
				       .nchanges = 2};
	rows->m[1] = change_of("r2", &rows->second);
	rows->m[2] = change_of("r3", &rows->third);
}

/* One call asks for all columns, one puts into all rows, whatever the order. */
static void assert_asked_together(bool new_version_behavior)
{
	const struct change cells[] = {
		a_put("a", "p", FUTURE, ""),
		a_put("a", "q", FUTURE, ""),
	};
	struct played_cluster c = {.new_version_behavior = new_version_behavior,
				   .cells = cells,
				   .ncells = 2};
	struct rows rows;
	size_t done;

	many_of(&rows);
	begin(&c);
	assert_int_equal(table_mutate_many(c.t, rows.m, 3, 0, &done), 0);
	assert_int_equal(done, 3);
	assert_true(rows.of_first[0].ts_given == FUTURE + 1);
	assert_true(rows.of_first[1].ts_given < FUTURE);
	assert_true(rows.second.ts_given == FUTURE + 1);
	assert_true(rows.third.ts_given == FUTURE + 1);
	assert_int_equal(c.nsent, 4);
	assert_null(strstr(c.methods, " Get "));
	assert_non_null(strstr(c.methods, " Multi Multi"));
	assert_null(strstr(c.methods, " Multi Multi Multi"));
	/* Each column in the classic order, and in front of it the family. */
	assert_int_equal(c.raws, new_version_behavior ? 0 : 8);
	assert_int_equal(c.of_all, 0);
	end(&c);
}

TEST(puts_of_many_rows_are_asked_about_together)
{
	assert_asked_together(true);
	assert_asked_together(false);
}

/* In front of a column are the markers of its family, among what has no name. */
TEST(many_puts_look_at_their_columns_alone)
{
	const struct change cells[] = {
		{.op = CHANGE_DELETE_FAMILY,
		 .family = bytes_str("a"),
		 .ts = FUTURE + 3},
		a_put("a", "", FUTURE + 7, ""),
		a_put("b", "", TS_MAX, ""),
	};
	struct played_cluster c = {.cells = cells, .ncells = 3};
	struct rows rows;

	many_of(&rows);
	begin(&c);
	assert_int_equal(table_mutate_try(c.t, &rows.m[0]), 1);
	assert_int_equal(table_mutate(c.t, &rows.m[0], 0), 1);
	assert_true(rows.of_first[0].ts_given == FUTURE + 4);
	assert_true(rows.of_first[1].ts_given < FUTURE);
	end(&c);
}

/* It is put again behind what others have put in between. */
TEST(one_of_many_puts_that_is_overtaken_is_made_anew)
{
	struct played_cluster c = {.new_version_behavior = true,
				   .overtakes = 1};
	struct rows rows;
	size_t done;

	many_of(&rows);
	begin(&c);
	assert_int_equal(table_mutate_many(c.t, rows.m, 3, 0, &done), 0);
	assert_int_equal(done, 3);
	assert_int_equal(c.overtakes, 0);
	assert_non_null(strstr(c.methods, " Multi Multi Get Multi"));
	assert_int_equal(c.nsent, 1);
	assert_true(bytes_eq(c.sent[0].value, bytes_str("3")));
	end(&c);
}

/* Who tries the rest again makes no second version of what is there. */
TEST(rows_behind_one_that_is_refused_keep_their_times)
{
	struct played_cluster c = {.new_version_behavior = true,
				   .refused_row = "r2"};
	struct rows rows;
	size_t done;

	many_of(&rows);
	begin(&c);
	assert_int_equal(table_mutate_many(c.t, rows.m, 3, 0, &done), -EINVAL);
	assert_int_equal(done, 1);
	assert_true(rows.second.ts == TS_AUTO);
	assert_true(rows.third.ts == rows.third.ts_given);
	assert_true(rows.third.ts < TS_MAX);
	end(&c);
}

/* Who is to know it before there is a value asks so. */
TEST(that_no_time_is_left_is_known_before)
{
	const struct change last = a_put("a", "q", TS_MAX, "");
	struct change change = last;
	struct mutation m = change_of("r", &change);
	struct played_cluster c = {
		.new_version_behavior = true, .cells = &last, .ncells = 1};

	begin(&c);
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	change.ts = TS_AUTO;
	assert_int_equal(table_mutate_try(c.t, &m), -EOVERFLOW);
	assert_non_null(strstr(store_why(), "no timestamp is left"));
	change.op = CHANGE_APPEND;
	assert_int_equal(table_mutate_try(c.t, &m), -EOVERFLOW);
	c.ncells = 0;
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	change.family = bytes_str("c");
	assert_int_equal(table_mutate_try(c.t, &m), -EPERM);
	assert_int_equal(c.nsent, 0);
	end(&c);
}

/* Of all columns at once. */
TEST(that_no_time_is_left_is_asked_once)
{
	const struct change last = a_put("b", "q", TS_MAX, "");
	struct played_cluster c = {
		.new_version_behavior = true, .cells = &last, .ncells = 1};
	struct rows rows;

	many_of(&rows);
	begin(&c);
	assert_int_equal(table_mutate_try(c.t, &rows.m[0]), -EOVERFLOW);
	assert_non_null(strstr(store_why(), "no timestamp is left"));
	c.ncells = 0;
	assert_int_equal(table_mutate_try(c.t, &rows.m[0]), 1);
	assert_null(strstr(c.methods, " Get "));
	end(&c);
}

/* So is what the servers refuse, with nothing changed; for a second it is known. */
TEST(that_a_put_is_refused_is_known_before)
{
	struct change change = a_put("a", "q", 5, "");
	struct mutation m = change_of("r", &change);
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	assert_int_equal(c.nsent, 0);
	c.refusal = "exceeds limit of 5";
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	change.family = bytes_str("b");
	assert_int_equal(table_mutate_try(c.t, &m), -EFBIG);
	assert_non_null(strstr(store_why(), "HBase refused a change"));
	change.family = bytes_str("a");
	pass_seconds(2);
	assert_int_equal(table_mutate_try(c.t, &m), -EFBIG);
	change.op = CHANGE_DELETE;
	assert_int_equal(table_mutate_try(c.t, &m), 1);
	end(&c);
}

/* By a user who may not read what is there, as a condition takes. */
static void assert_unread(const char *writes, int result)
{
	struct change change = {.op = CHANGE_PUT,
				.family = bytes_str("a"),
				.qualifier = bytes_str("q"),
				.ts = 5};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &change, .nchanges = 1};
	struct played_cluster c = {.writes_unread = writes};

	begin(&c);
	assert_int_equal(table_mutate_try(c.t, &m), result);
	if (result < 0)
		assert_non_null(strstr(store_why(), "action=WRITE"));
	else
		assert_int_equal(table_mutate(c.t, &m, 0), result);
	end(&c);
}

TEST(who_may_put_and_not_read_puts)
{
	assert_unread("all", 1);
	assert_unread("a", 1);
	assert_unread("none", -EACCES);
}

/* HBase would make a version behind the end of time, which cannot be read. */
TEST(a_sum_is_not_put_behind_the_end_of_time)
{
	struct change last = a_put("a", "q", TS_MAX, "12345678");
	struct change changes[] = {
		{.op = CHANGE_APPEND,
		 .family = last.family,
		 .qualifier = last.qualifier,
		 .value = bytes_str("x"),
		 .ts = TS_CLOCK},
		{.op = CHANGE_INCREMENT,
		 .family = last.family,
		 .qualifier = last.qualifier,
		 .delta = 1,
		 .ts = TS_AUTO},
	};
	struct mutation m = change_of("r", changes);
	struct played_cluster c = {
		.cells = &last, .ncells = 1, .takes_sum = true};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_non_null(strstr(store_why(), "no timestamp is left"));
	m.changes = changes + 1;
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_null(strstr(c.methods, " Multi"));
	/* There is one for the first of two. */
	last.ts = TS_MAX - 1;
	assert_int_equal(table_mutate(c.t, &m, 0), 1);
	assert_non_null(strstr(c.methods, " Multi"));
	c.methods[0] = '\0';
	m.changes = changes;
	m.nchanges = 2;
	assert_int_equal(table_mutate(c.t, &m, 0), -EOVERFLOW);
	assert_null(strstr(c.methods, " Multi"));
	end(&c);
}

/*
 * The server gives a sum its timestamp: what is to hide it, or to be hidden by it or not,
 * by a timestamp that was chosen before may do the opposite.
 */
TEST(what_stands_beside_a_sum_of_its_column_is_refused)
{
	struct change sum = {.op = CHANGE_APPEND,
			     .family = bytes_str("a"),
			     .qualifier = bytes_str("q"),
			     .value = bytes_str("x"),
			     .ts = TS_AUTO};
	struct change column = sum, version = a_put("a", "q", TS_AUTO, "y");
	struct change family = {.op = CHANGE_DELETE_FAMILY,
				.family = sum.family,
				.ts = TS_AUTO};
	struct change row = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct change late = a_put("a", "q", TS_MAX - 1, "y");
	struct change old = a_put("a", "q", 1, "y");
	struct change other = a_put("a", "p", TS_AUTO, "y");
	struct change *refused[][2] = {
		{&sum, &column},  {&column, &sum},  {&sum, &family},
		{&family, &sum},  {&sum, &row},	    {&row, &sum},
		{&sum, &version}, {&version, &sum}, {&late, &sum}};
	struct change *taken[][2] = {{&sum, &old},
				     {&old, &sum},
				     {&sum, &other},
				     {&other, &sum},
				     {&sum, &late}};
	struct change changes[2];
	struct mutation m = {
		.row = bytes_str("r"), .changes = changes, .nchanges = 2};
	struct played_cluster c = {.new_version_behavior = true,
				   .takes_sum = true};

	column.op = CHANGE_DELETE_COLUMN;
	column.value = (struct bytes){0};
	begin(&c);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		changes[0] = *refused[i][0];
		changes[1] = *refused[i][1];
		assert_int_equal(table_mutate(c.t, &m, 0), -EOPNOTSUPP);
		assert_non_null(strstr(store_why(), "in one mutation"));
	}
	assert_null(strstr(c.methods, " Multi"));
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		changes[0] = *taken[i][0];
		changes[1] = *taken[i][1];
		assert_int_equal(table_mutate(c.t, &m, 0), 1);
	}
	end(&c);
}

/* And at an open, where every program looks. */
TEST(a_read_only_table_is_not_writable)
{
	struct played_cluster c = {.read_only = true};

	begin(&c);
	assert_int_equal(table_writable(c.t), -EROFS);
	assert_non_null(strstr(store_why(), "table t is READONLY"));
	end(&c);
	c = (struct played_cluster){0};
	begin(&c);
	assert_int_equal(table_writable(c.t), 0);
	end(&c);
}

static void assert_refused(const char *refusal, int err, const char *advice)
{
	struct change change = {
		.op = CHANGE_PUT, .family = bytes_str("a"), .ts = TS_CLOCK};
	struct mutation m = change_of("r", &change);
	struct played_cluster c = {.refusal = refusal};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), err);
	assert_non_null(strstr(store_why(), refusal));
	assert_non_null(strstr(store_why(), advice));
	end(&c);
}

TEST(what_a_server_says_in_words_alone_is_understood)
{
	assert_refused("region is read only", -EROFS, "READONLY");
	assert_refused("Cell[r/a:/1/Put/vlen=2] with size 30 exceeds limit of "
		       "20 bytes",
		       -EFBIG, "hbase.server.keyvalue.maxsize");
	assert_refused("it is Monday", -EINVAL, "refused a change");
}

/*
 * The first answer to the mutation is lost, and at the second try a condition does
 * not hold, where the test says so: what is told of it.
 */
static void assert_told(struct played_cluster c, struct change change,
			const struct check *check, int want)
{
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &change,
			     .nchanges = 1,
			     .checks = check,
			     .nchecks = check != NULL};

	change.family = bytes_str("a");
	change.qualifier = bytes_str("q");
	c.hangs_up = 1;
	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), want);
	if (want < 0)
		assert_non_null(strstr(store_why(), "it is not known whether"));
	assert_int_equal(c.hangs_up, 0);
	end(&c);
}

/*
 * Neither that the check did not hold, nor that it was applied, is known then; a
 * sum would be added twice by who tries again.
 */
TEST(a_change_whose_answer_is_lost_may_be_done)
{
	const struct change there = a_put("a", "q", 5, "12345678");
	const struct check absent = {.op = CHECK_ABSENT,
				     .family = bytes_str("b"),
				     .qualifier = bytes_str("q")};
	const struct check present = {.op = CHECK_PRESENT,
				      .family = there.family,
				      .qualifier = there.qualifier},
			   version_present = {.op = CHECK_VERSION_PRESENT,
					      .family = there.family,
					      .qualifier = there.qualifier,
					      .ts = 5},
			   newest = {.op = CHECK_NEWEST_TS,
				     .family = there.family,
				     .qualifier = there.qualifier,
				     .ts = 5};
	const struct played_cluster declined = {.declines = true},
				    taken = {.declines = true,
					     .cells = &there,
					     .ncells = 1},
				    refused = {.refusal = "it is Monday"};
	struct change put = {
		.op = CHANGE_PUT, .value = there.value, .ts = TS_CLOCK};
	const struct change other = {.op = CHANGE_PUT, .ts = TS_AUTO},
			    at = {.op = CHANGE_PUT,
				  .value = there.value,
				  .ts = 5},
			    delete = {.op = CHANGE_DELETE_COLUMN,
				      .ts = TS_CLOCK},
			    version = {.op = CHANGE_DELETE, .ts = 5},
			    sum = {.op = CHANGE_INCREMENT, .delta = 1, .ts = 9},
			    append = {.op = CHANGE_APPEND,
				      .value = bytes_str("x"),
				      .ts = 9};

	assert_told(declined, put, &absent, -ETIMEDOUT);
	assert_told(declined, other, NULL, -ETIMEDOUT);
	assert_told(taken, at, &absent, -ETIMEDOUT);
	assert_told(taken, delete, &absent, -ETIMEDOUT);
	assert_told(taken, version, &newest, -ETIMEDOUT);
	assert_told(taken, sum, NULL, -ETIMEDOUT);
	assert_told(taken, append, NULL, -ETIMEDOUT);
	assert_told(refused, put, NULL, -ETIMEDOUT);
	/* Of what is there at the moment that was chosen for it. */
	assert_told(taken, put, &absent, 1);
	put.ts = TS_AUTO;
	assert_told(taken, put, &absent, 1);
	/* Of what was there to be deleted, and is gone. */
	assert_told(taken, delete, &present, 1);
	assert_told(taken, version, &version_present, 1);
}

/* Of what cannot be there nobody can say whether a check of it holds. */
TEST(a_check_of_no_family_is_refused)
{
	const struct check check = {.op = CHECK_GREATER,
				    .family = bytes_str("c"),
				    .value = bytes_str("0")};
	struct change change = {
		.op = CHANGE_PUT, .family = bytes_str("a"), .ts = TS_CLOCK};
	struct mutation m = {.row = bytes_str("r"),
			     .changes = &change,
			     .nchanges = 1,
			     .checks = &check,
			     .nchecks = 1};
	struct played_cluster c = {0};

	begin(&c);
	assert_int_equal(table_mutate(c.t, &m, 0), -EPERM);
	assert_non_null(strstr(store_why(), "no family c"));
	end(&c);
}

/* Without a time between the bounds of the scan a family may have times. */
TEST(families_have_times_where_the_scan_has_none)
{
	static const struct change cells[] = {
		{.op = CHANGE_PUT,
		 .family = {(const uint8_t *)"a", 1},
		 .qualifier = {(const uint8_t *)"q", 1},
		 .ts = 5},
	};
	const struct family_range range = {
		.family = bytes_str("a"), .ts_min = 1, .ts_max = 9};
	struct scan_spec spec = {
		.granularity = SCAN_CELLS, .ts_min = 7, .ts_max = 7};
	struct played_cluster c = {.cells = cells, .ncells = 1};
	struct scan *sc;
	struct cell cell;

	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	spec.family_ranges = &range;
	spec.nfamily_ranges = 1;
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 1);
	assert_true(cell.ts == 5);
	scan_close(sc);
	end(&c);
}

/* What a scan gives where a family goes with, or before, its first cell. */
static void assert_lost(const struct change *cells, size_t ncells,
			size_t nfamilies, int want)
{
	const struct column_name columns[] = {
		{.family = bytes_str("a"), .whole_family = true},
		{.family = bytes_str("b"), .whole_family = true},
	};
	const struct scan_spec spec = {.granularity = SCAN_CELLS,
				       .columns = columns,
				       .ncolumns = nfamilies};
	struct played_cluster c = {
		.cells = cells, .ncells = ncells, .loses = true};
	struct scan *sc;
	struct cell cell;

	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	if (ncells)
		assert_int_equal(scan_next(sc, &cell), 1);
	assert_int_equal(scan_next(sc, &cell), want);
	if (want < 0)
		assert_non_null(strstr(store_why(), "a family was dropped"));
	scan_close(sc);
	end(&c);
}

/* Or an export would end with the mark that it is whole. */
TEST(what_loses_a_family_does_not_look_whole)
{
	static const struct change cell = {
		.op = CHANGE_PUT,
		.family = {(const uint8_t *)"a", 1},
		.qualifier = {(const uint8_t *)"q", 1},
		.ts = 5,
	};

	assert_lost(&cell, 1, 2, -EBUSY);
	assert_lost(&cell, 1, 1, -EBUSY);
	assert_lost(NULL, 0, 2, -EBUSY);
	assert_lost(NULL, 0, 1, 0);
}

static void assert_lengths(uint8_t granularity, bool has_mob, bool wanted)
{
	const struct scan_spec spec = {.granularity = granularity,
				       .keys_only = true};
	struct played_cluster c = {.wants_lengths = !wanted,
				   .has_mob = has_mob};
	struct scan *sc;
	struct cell cell;

	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	assert_true(c.wants_lengths == wanted);
	end(&c);
}

/* A server makes them one by one, and they are sent. */
TEST(lengths_are_asked_of_what_is_shown_with_them)
{
	assert_lengths(SCAN_ROWS, false, false);
	assert_lengths(SCAN_FAMILIES, false, false);
	assert_lengths(SCAN_COLUMNS, false, true);
	assert_lengths(SCAN_CELLS, false, true);
	/* A server would take them of references to values. */
	assert_lengths(SCAN_COLUMNS, true, false);
	assert_lengths(SCAN_CELLS, true, false);
}

/* Of a column that has its result a filter sees no more, as in the engine. */
TEST(a_filter_sees_no_versions_below_the_newest_of_a_scan_of_columns)
{
	const struct change cells[] = {a_put("a", "q", 3, "one"),
				       a_put("a", "q", 2, "two")};
	struct played_cluster c = {.cells = cells, .ncells = 2};
	struct scan_spec spec = {.granularity = SCAN_COLUMNS};
	struct filter *filter;
	struct scan *sc;
	struct cell cell;

	assert_int_equal(
		filter_parse(bytes_str("SKIP ValueFilter(!=,'binary:two')"),
			     &filter),
		0);
	spec.filter = filter;
	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 1);
	assert_true(cell.ts == 3);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	/* Of a scan of versions it sees all. */
	spec.granularity = SCAN_CELLS;
	spec.versions = 1;
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	filter_free(filter);
	end(&c);
}

/* A server that filters, as keys take it, counts markers too: it is asked for all. */
TEST(markers_are_no_versions_of_a_raw_scan_of_keys)
{
	struct change cells[] = {a_put("a", "q", 3, "1234"),
				 a_put("a", "q", 2, ""),
				 a_put("a", "q", 1, "1234")};
	struct played_cluster c = {.cells = cells, .ncells = 3};
	const struct scan_spec spec = {.granularity = SCAN_CELLS,
				       .versions = 1,
				       .raw = true,
				       .keys_only = true};
	struct scan *sc;
	struct cell cell;

	cells[1].op = CHANGE_DELETE;
	begin(&c);
	assert_int_equal(scan_open(c.t, &spec, &sc), 0);
	for (int64_t ts = 3; ts >= 2; ts--) {
		assert_int_equal(scan_next(sc, &cell), 1);
		assert_true(cell.ts == ts);
	}
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	end(&c);
}
