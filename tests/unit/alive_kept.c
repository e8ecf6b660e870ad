/*
 * What is kept of columns and rows of which much is hidden, asked directly: sets as
 * they were, changes while one is learned, and what is not kept.
 */
#include "tests/unit/unit.h"
#include "store/lsm/rules/alive_inside.h"
#include "tests/unit/alloc_fault.h"

/* The most runs of a row, of a patience of 1. */
#define RUNS 256
/* Changes that are logged while a reader learns. */
#define LOGGED 65536

static struct {
	struct alive a;
	_Atomic uint64_t seq;
	struct alive_place p;
	uint64_t token, as_of, max; /* of the reader that learns */
} the;

static void new_world(unsigned patience)
{
	memset(&the, 0, sizeof(the));
	the.seq = 10;
	the.p = (struct alive_place){1, 5, bytes_str("row")};
	assert_int_equal(alive_init(&the.a, &the.seq, 16 << 20, patience), 0);
}

static void end_world(void)
{
	alive_free(&the.a);
	assert_int_equal(the.a.bytes, 0);
}

static int setup(void **state)
{
	new_world(1);
	return 0;
}

static int teardown(void **state)
{
	end_world();
	return 0;
}

EACH_TEST_IN(setup, teardown);

/* A reader walked over much of column q: whether it may learn. */
static bool begin_learning(void)
{
	return alive_learn(&the.a, &the.p, bytes_str("q"), 1000, &the.token,
			   &the.as_of, &the.max);
}

static void end_learning(uint32_t versions, const int64_t *descending, size_t n,
			 bool known)
{
	alive_learnt(&the.a, &the.p, bytes_str("q"), the.token, versions,
		     descending, n, known, 1000);
}

/* Column q has 3, 2 and 1, and keeps @versions. */
static void learn_three(uint32_t versions)
{
	static const int64_t three[] = {3, 2, 1};

	assert_true(begin_learning());
	assert_int_equal(the.as_of, the.seq);
	end_learning(versions, three, 3, true);
}

/* A writer's change of column @qualifier; its sequence. */
static uint64_t change(const char *qualifier, uint8_t kind, int64_t ts)
{
	const struct entry e = {.qualifier = bytes_str(qualifier),
				.ts = ts,
				.seq = the.seq + 1,
				.kind = kind};

	alive_begin(&the.a);
	alive_change(&the.a, &the.p, &e);
	the.seq = e.seq;
	alive_end(&the.a);
	return e.seq;
}

/* The versions of column q, as of @seq, from @ts on; "?" is not known. */
static const char *versions(uint64_t seq, int64_t ts)
{
	static char text[256];
	int64_t out[8];
	uint64_t above = 0;
	int n = alive_versions(&the.a, &the.p, bytes_str("q"), seq, ts, out, 8,
			       &above);

	if (n < 0)
		return "?";
	snprintf(text, sizeof(text), "%d above", (int)above);
	for (int i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 " %lld", (long long)out[i]);
	return text;
}

#define ARE(seq, ts, expected) assert_string_equal(versions(seq, ts), expected)

TEST(a_set_is_as_of_any_sequence_whose_changes_are_kept)
{
	uint64_t before = the.seq, put, deleted;

	learn_three(UINT32_MAX);
	put = change("q", CELL_PUT, 9);
	deleted = change("q", CELL_DELETE, 2);
	ARE(deleted, 9, "0 above 9 3 1");
	ARE(deleted, 2, "2 above 1");
	ARE(put, 2, "2 above 2 1");
	ARE(put, 9, "0 above 9 3 2 1");
	ARE(before, 9, "0 above 3 2 1");
	ARE(before, 1, "2 above 1");
	/* Two are kept, of a patience of 1. */
	change("q", CELL_PUT, 8);
	ARE(before, 9, "?");
	ARE(the.seq, 9, "0 above 9 8 3 1");
	/* No count was asked for. */
	assert_int_equal(alive_versions(&the.a, &the.p, bytes_str("q"), the.seq,
					9, (int64_t[]){0}, 1, NULL),
			 1);
}

TEST(the_oldest_timestamp_is_one_as_any)
{
	uint64_t before = the.seq;

	learn_three(UINT32_MAX);
	change("q", CELL_PUT, INT64_MIN);
	ARE(the.seq, 1, "2 above 1 -9223372036854775808");
	ARE(before, 1, "2 above 1");
	ARE(before, INT64_MIN, "3 above");
}

TEST(a_put_beyond_the_versions_has_the_oldest_go)
{
	uint64_t before = the.seq;

	learn_three(3);
	change("q", CELL_PUT, 9);
	ARE(the.seq, 9, "0 above 9 3 2");
	ARE(before, 9, "0 above 3 2 1");
	/* It is there already. */
	change("q", CELL_PUT, 9);
	ARE(the.seq, 9, "0 above 9 3 2");
}

TEST(a_marker_has_all_below_it_go)
{
	uint64_t before = the.seq;

	learn_three(UINT32_MAX);
	change("q", CELL_DELETE_COLUMN, 1);
	ARE(the.seq, 9, "0 above 3 2");
	ARE(before, 9, "0 above 3 2 1");
	/* More than are kept to be undone. */
	change("q", CELL_DELETE_FAMILY, 3);
	ARE(the.seq, 9, "0 above");
	ARE(before, 9, "?");
}

TEST(changes_while_it_is_learned_are_of_the_set)
{
	const int64_t three[] = {3, 2, 1};

	assert_true(begin_learning());
	/* One at a time. */
	assert_false(begin_learning());
	for (int i = 0; i < 100; i++)
		change("q", CELL_PUT, 1000 + i);
	change("q", CELL_DELETE_COLUMN, 1097);
	ARE(the.seq, 1099, "?");
	end_learning(UINT32_MAX, three, 3, true);
	ARE(the.seq, 1099, "0 above 1099 1098");
}

TEST(what_was_learned_beside_too_many_changes_is_dropped)
{
	const int64_t three[] = {3, 2, 1};

	assert_true(begin_learning());
	for (int i = 0; i < LOGGED + 1; i++)
		change("q", CELL_PUT, 9);
	end_learning(UINT32_MAX, three, 3, true);
	ARE(the.seq, 9, "?");
	/* Somebody else may. */
	assert_true(begin_learning());
}

TEST(a_walk_that_was_not_finished_leaves_nothing)
{
	assert_true(begin_learning());
	change("q", CELL_PUT, 9);
	end_learning(3, NULL, 0, false);
	ARE(the.seq, 9, "?");
	/* Of a column, and of a walk, that it does not have. */
	alive_learnt(&the.a, &the.p, bytes_str("other"), 77, 3, NULL, 0, true,
		     1);
	alive_learnt(&the.a, &the.p, bytes_str("q"), 77, 3, NULL, 0, true, 1);
	ARE(the.seq, 9, "?");
}

/* What it has written is not in the sequence that the reader would walk as of. */
TEST(nothing_is_learned_beside_a_writer)
{
	alive_begin(&the.a);
	assert_false(begin_learning());
	alive_end(&the.a);
	assert_true(begin_learning());
}

TEST(a_reader_of_an_older_schema_finds_and_leaves_nothing)
{
	struct buf to = {0};

	learn_three(UINT32_MAX);
	the.p.schema--;
	ARE(the.seq, 9, "?");
	assert_false(begin_learning());
	alive_found_hidden(&the.a, &the.p, bytes_str(""), NULL, the.seq, 1000);
	assert_int_equal(
		alive_hidden(&the.a, &the.p, bytes_str("x"), the.seq, &to), -1);
	alive_learnt(&the.a, &the.p, bytes_str("q"), 1, 3, NULL, 0, true, 1);
	the.p.schema++;
	ARE(the.seq, 9, "0 above 3 2 1");
	/* One of a newer has it forgotten. */
	the.p.schema++;
	ARE(the.seq, 9, "?");
	the.p.schema--;
	ARE(the.seq, 9, "?");
}

TEST(a_store_of_much_patience_undoes_no_more_than_64)
{
	uint64_t before = the.seq;

	end_world();
	new_world(1000);
	assert_true(begin_learning());
	end_learning(UINT32_MAX, (int64_t[]){1}, 1, true);
	for (int i = 0; i < 64; i++)
		change("q", CELL_PUT, 100 + i);
	ARE(before, 100, "0 above 1");
	change("q", CELL_PUT, 99);
	ARE(before, 100, "?");
}

/* Is the column in a run? "open", where the run ends, or "?". */
static const char *hidden(const char *qualifier)
{
	static char text[32];
	struct buf to = {0};
	int r = alive_hidden(&the.a, &the.p, bytes_str(qualifier), the.seq,
			     &to);

	snprintf(text, sizeof(text), "%.*s", (int)to.len,
		 (const char *)to.data);
	buf_free(&to);
	return r < 0 ? "?" : r ? text : "open";
}

static void found_hidden(const char *from, const char *to)
{
	const struct bytes end = bytes_str(to ? to : "");

	alive_found_hidden(&the.a, &the.p, bytes_str(from), to ? &end : NULL,
			   the.seq, 1000);
}

TEST(a_put_cuts_a_run_in_two)
{
	found_hidden("c", "g");
	assert_string_equal(hidden("c"), "g");
	change("e", CELL_PUT, 1);
	assert_string_equal(hidden("d"), "e");
	assert_string_equal(hidden("e"), "?");
	assert_string_equal(hidden("f"), "g");
	/* At the begin, and outside. */
	change("c", CELL_PUT, 1);
	change("g", CELL_PUT, 1);
	assert_string_equal(hidden("c"), "?");
	assert_string_equal(hidden("d"), "e");
	assert_string_equal(hidden("f"), "g");
	/* A marker changes none. */
	change("f", CELL_DELETE, 1);
	assert_string_equal(hidden("f"), "g");
}

TEST(a_run_of_one_column_goes_with_a_put)
{
	const char after_c[] = {'c', '\0'};
	const struct bytes end = bytes_of(after_c, 2);

	alive_found_hidden(&the.a, &the.p, bytes_str("c"), &end, the.seq, 1000);
	assert_string_equal(hidden("c"), "c");
	change("c", CELL_PUT, 1);
	assert_string_equal(hidden("c"), "?");
	/* And the last one of a run. */
	alive_found_hidden(&the.a, &the.p, bytes_str("b"), &end, the.seq, 1000);
	change("c", CELL_PUT, 2);
	assert_string_equal(hidden("b"), "c");
	assert_string_equal(hidden("c"), "?");
}

TEST(an_open_run_stays_open_behind_a_put)
{
	found_hidden("c", NULL);
	change("x", CELL_PUT, 1);
	assert_string_equal(hidden("d"), "x");
	assert_string_equal(hidden("y"), "open");
}

TEST(of_too_many_runs_no_more_are_kept)
{
	char from[8], to[8];

	for (int i = 0; i < RUNS + 1; i++) {
		snprintf(from, sizeof(from), "%03d", i);
		snprintf(to, sizeof(to), "%03d5", i);
		found_hidden(from, to);
		assert_string_equal(hidden(from), i < RUNS ? to : "?");
	}
	/* One that is cut in two would be one more: none is left. */
	change("0003", CELL_PUT, 1);
	assert_string_equal(hidden("000"), "?");
	assert_string_equal(hidden("100"), "?");
	found_hidden("100", "101");
	assert_string_equal(hidden("100"), "101");
}

/* What it puts may be among the columns that showed nothing. */
TEST(a_row_that_is_first_met_beside_a_writer_keeps_no_run)
{
	alive_begin(&the.a);
	found_hidden("c", "g");
	assert_string_equal(hidden("c"), "?");
	alive_end(&the.a);
	found_hidden("c", "g");
	assert_string_equal(hidden("c"), "g");
}

/* A scan that began before the put has not seen it. */
TEST(a_reader_from_before_a_put_leaves_no_run)
{
	const struct bytes g = bytes_str("g");
	uint64_t before = the.seq;

	found_hidden("x", "z");
	change("d", CELL_PUT, 1);
	alive_found_hidden(&the.a, &the.p, bytes_str("c"), &g, before, 1000);
	assert_string_equal(hidden("d"), "?");
	found_hidden("e", "g");
	assert_string_equal(hidden("e"), "g");
}

/* Each by what grows with it, or the memory that it may have would not hold. */
TEST(all_that_is_kept_is_weighed)
{
	static int64_t many[10000];
	static char text[5000];
	const struct bytes name = bytes_of(text, sizeof(text));
	const struct bytes short_of = bytes_of(text, sizeof(text) - 1);
	size_t was;

	for (int i = 0; i < 10000; i++)
		many[i] = 10 * (10000 - i);
	assert_true(begin_learning());
	was = the.a.bytes;
	change("q", CELL_PUT, 9);
	assert_true(the.a.bytes >= was + sizeof(struct alive_logged));
	was = the.a.bytes;
	end_learning(UINT32_MAX, many, 10000, true);
	assert_true(the.a.bytes >= was + sizeof(many));
	was = the.a.bytes;
	assert_true(alive_learn(&the.a, &the.p, name, 1000, &the.token,
				&the.as_of, &the.max));
	assert_true(the.a.bytes >= was + sizeof(text));
	was = the.a.bytes;
	alive_learnt(&the.a, &the.p, name, the.token, 1, NULL, 0, true, 1);
	assert_true(the.a.bytes >= was + sizeof(struct alive_undo));
	was = the.a.bytes;
	alive_found_hidden(&the.a, &the.p, short_of, &name, the.seq, 1000);
	assert_true(the.a.bytes >= was + 2 * sizeof(text) - 1);
	was = the.a.bytes;
	the.p.row = name;
	begin_learning();
	assert_true(the.a.bytes >= was + sizeof(text));
}

TEST(what_was_never_begun_is_freed)
{
	static struct alive none;

	alive_free(&none);
	assert_null(none.seq);
}

/* The text, or that nothing is known. */
static void is_right_or_unknown(const char *is, const char *right)
{
	if (strcmp(is, "?") != 0)
		assert_string_equal(is, right);
}

/* Readers and writers of a row without memory for a part of it. */
static void read_and_write(void)
{
	const int64_t three[] = {3, 2, 1};

	found_hidden("v", "x");
	found_hidden("w", "z");
	change("wx", CELL_PUT, 1);
	is_right_or_unknown(hidden("v"), "wx");
	is_right_or_unknown(hidden("y"), "z");
	if (begin_learning()) {
		change("q", CELL_PUT, 9);
		change("q", CELL_DELETE, 2);
		end_learning(UINT32_MAX, three, 3, true);
	}
	is_right_or_unknown(versions(the.seq, 9), "0 above 9 3 1");
	change("q", CELL_PUT, 8);
	is_right_or_unknown(versions(the.seq, 9), "0 above 9 8 3 1");
}

TEST(what_there_is_no_memory_for_is_not_known)
{
	uint64_t failed = 1, n;

	for (n = 1; failed; n++) {
		end_world();
		new_world(1);
		alloc_arm(n, 0);
		read_and_write();
		failed = alloc_disarm();
		if (!failed) {
			assert_string_equal(hidden("y"), "z");
			ARE(the.seq, 9, "0 above 9 8 3 1");
		}
	}
	assert_true(n > 10);
}
