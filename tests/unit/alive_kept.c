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

struct world {
	struct alive a;
	_Atomic uint64_t seq;
	struct alive_place p;
	uint64_t token, as_of, max; /* of the reader that learns */
};

static struct world *new_world(unsigned patience)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->seq = 10;
	w->p = (struct alive_place){1, 5, bytes_str("row")};
	assert_int_equal(alive_init(&w->a, &w->seq, 16 << 20, patience), 0);
	return w;
}

static void end_world(struct world *w)
{
	alive_free(&w->a);
	assert_int_equal(w->a.bytes, 0);
	free(w);
}

static int setup(void **state)
{
	*state = new_world(1);
	return 0;
}

static int teardown(void **state)
{
	end_world(*state);
	return 0;
}

/* A reader walked over much of column q: whether it may learn. */
static bool begin_learning(struct world *w)
{
	return alive_learn(&w->a, &w->p, bytes_str("q"), 1000, &w->token,
			   &w->as_of, &w->max);
}

static void end_learning(struct world *w, uint32_t versions,
			 const int64_t *descending, size_t n, bool known)
{
	alive_learnt(&w->a, &w->p, bytes_str("q"), w->token, versions,
		     descending, n, known, 1000);
}

/* Column q has 3, 2 and 1, and keeps @versions. */
static void learn_three(struct world *w, uint32_t versions)
{
	static const int64_t three[] = {3, 2, 1};

	assert_true(begin_learning(w));
	assert_int_equal(w->as_of, w->seq);
	end_learning(w, versions, three, 3, true);
}

/* A writer's change of column @qualifier; its sequence. */
static uint64_t change(struct world *w, const char *qualifier, uint8_t kind,
		       int64_t ts)
{
	const struct entry e = {.qualifier = bytes_str(qualifier),
				.ts = ts,
				.seq = w->seq + 1,
				.kind = kind};

	alive_begin(&w->a);
	alive_change(&w->a, &w->p, &e);
	w->seq = e.seq;
	alive_end(&w->a);
	return e.seq;
}

/* The versions of column q, as of @seq, from @ts on; "?" is not known. */
static const char *versions(struct world *w, uint64_t seq, int64_t ts)
{
	static char text[256];
	int64_t out[8];
	uint64_t above = 0;
	int n = alive_versions(&w->a, &w->p, bytes_str("q"), seq, ts, out, 8,
			       &above);

	if (n < 0)
		return "?";
	snprintf(text, sizeof(text), "%d above", (int)above);
	for (int i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 " %lld", (long long)out[i]);
	return text;
}

#define ARE(seq, ts, expected) \
	assert_string_equal(versions(w, seq, ts), expected)

TEST_IN(a_set_is_as_of_any_sequence_whose_changes_are_kept, setup, teardown)
{
	struct world *w = *state;
	uint64_t before = w->seq, put, deleted;

	learn_three(w, UINT32_MAX);
	put = change(w, "q", CELL_PUT, 9);
	deleted = change(w, "q", CELL_DELETE, 2);
	ARE(deleted, 9, "0 above 9 3 1");
	ARE(deleted, 2, "2 above 1");
	ARE(put, 2, "2 above 2 1");
	ARE(put, 9, "0 above 9 3 2 1");
	ARE(before, 9, "0 above 3 2 1");
	ARE(before, 1, "2 above 1");
	/* Two are kept, of a patience of 1. */
	change(w, "q", CELL_PUT, 8);
	ARE(before, 9, "?");
	ARE(w->seq, 9, "0 above 9 8 3 1");
	/* No count was asked for. */
	assert_int_equal(alive_versions(&w->a, &w->p, bytes_str("q"), w->seq, 9,
					(int64_t[]){0}, 1, NULL),
			 1);
}

TEST_IN(the_oldest_timestamp_is_one_as_any, setup, teardown)
{
	struct world *w = *state;
	uint64_t before = w->seq;

	learn_three(w, UINT32_MAX);
	change(w, "q", CELL_PUT, INT64_MIN);
	ARE(w->seq, 1, "2 above 1 -9223372036854775808");
	ARE(before, 1, "2 above 1");
	ARE(before, INT64_MIN, "3 above");
}

TEST_IN(a_put_beyond_the_versions_has_the_oldest_go, setup, teardown)
{
	struct world *w = *state;
	uint64_t before = w->seq;

	learn_three(w, 3);
	change(w, "q", CELL_PUT, 9);
	ARE(w->seq, 9, "0 above 9 3 2");
	ARE(before, 9, "0 above 3 2 1");
	/* It is there already. */
	change(w, "q", CELL_PUT, 9);
	ARE(w->seq, 9, "0 above 9 3 2");
}

TEST_IN(a_marker_has_all_below_it_go, setup, teardown)
{
	struct world *w = *state;
	uint64_t before = w->seq;

	learn_three(w, UINT32_MAX);
	change(w, "q", CELL_DELETE_COLUMN, 1);
	ARE(w->seq, 9, "0 above 3 2");
	ARE(before, 9, "0 above 3 2 1");
	/* More than are kept to be undone. */
	change(w, "q", CELL_DELETE_FAMILY, 3);
	ARE(w->seq, 9, "0 above");
	ARE(before, 9, "?");
}

TEST_IN(changes_while_it_is_learned_are_of_the_set, setup, teardown)
{
	const int64_t three[] = {3, 2, 1};
	struct world *w = *state;

	assert_true(begin_learning(w));
	/* One at a time. */
	assert_false(begin_learning(w));
	for (int i = 0; i < 100; i++)
		change(w, "q", CELL_PUT, 1000 + i);
	change(w, "q", CELL_DELETE_COLUMN, 1097);
	ARE(w->seq, 1099, "?");
	end_learning(w, UINT32_MAX, three, 3, true);
	ARE(w->seq, 1099, "0 above 1099 1098");
}

TEST_IN(what_was_learned_beside_too_many_changes_is_dropped, setup, teardown)
{
	const int64_t three[] = {3, 2, 1};
	struct world *w = *state;

	assert_true(begin_learning(w));
	for (int i = 0; i < LOGGED + 1; i++)
		change(w, "q", CELL_PUT, 9);
	end_learning(w, UINT32_MAX, three, 3, true);
	ARE(w->seq, 9, "?");
	/* Somebody else may. */
	assert_true(begin_learning(w));
}

TEST_IN(a_walk_that_was_not_finished_leaves_nothing, setup, teardown)
{
	struct world *w = *state;

	assert_true(begin_learning(w));
	change(w, "q", CELL_PUT, 9);
	end_learning(w, 3, NULL, 0, false);
	ARE(w->seq, 9, "?");
	/* Of a column, and of a walk, that it does not have. */
	alive_learnt(&w->a, &w->p, bytes_str("other"), 77, 3, NULL, 0, true, 1);
	alive_learnt(&w->a, &w->p, bytes_str("q"), 77, 3, NULL, 0, true, 1);
	ARE(w->seq, 9, "?");
}

/* What it has written is not in the sequence that the reader would walk as of. */
TEST_IN(nothing_is_learned_beside_a_writer, setup, teardown)
{
	struct world *w = *state;

	alive_begin(&w->a);
	assert_false(begin_learning(w));
	alive_end(&w->a);
	assert_true(begin_learning(w));
}

TEST_IN(a_reader_of_an_older_schema_finds_and_leaves_nothing, setup, teardown)
{
	struct world *w = *state;
	struct buf to = {0};

	learn_three(w, UINT32_MAX);
	w->p.schema--;
	ARE(w->seq, 9, "?");
	assert_false(begin_learning(w));
	alive_found_hidden(&w->a, &w->p, bytes_str(""), NULL, w->seq, 1000);
	assert_int_equal(
		alive_hidden(&w->a, &w->p, bytes_str("x"), w->seq, &to), -1);
	alive_learnt(&w->a, &w->p, bytes_str("q"), 1, 3, NULL, 0, true, 1);
	w->p.schema++;
	ARE(w->seq, 9, "0 above 3 2 1");
	/* One of a newer has it forgotten. */
	w->p.schema++;
	ARE(w->seq, 9, "?");
	w->p.schema--;
	ARE(w->seq, 9, "?");
}

TEST(a_store_of_much_patience_undoes_no_more_than_64)
{
	struct world *w = new_world(1000);
	uint64_t before = w->seq;

	assert_true(begin_learning(w));
	end_learning(w, UINT32_MAX, (int64_t[]){1}, 1, true);
	for (int i = 0; i < 64; i++)
		change(w, "q", CELL_PUT, 100 + i);
	ARE(before, 100, "0 above 1");
	change(w, "q", CELL_PUT, 99);
	ARE(before, 100, "?");
	end_world(w);
}

/* Is the column in a run? "open", where the run ends, or "?". */
static const char *hidden(struct world *w, const char *qualifier)
{
	static char text[32];
	struct buf to = {0};
	int r = alive_hidden(&w->a, &w->p, bytes_str(qualifier), w->seq, &to);

	snprintf(text, sizeof(text), "%.*s", (int)to.len,
		 (const char *)to.data);
	buf_free(&to);
	return r < 0 ? "?" : r ? text : "open";
}

static void found_hidden(struct world *w, const char *from, const char *to)
{
	const struct bytes end = bytes_str(to ? to : "");

	alive_found_hidden(&w->a, &w->p, bytes_str(from), to ? &end : NULL,
			   w->seq, 1000);
}

TEST_IN(a_put_cuts_a_run_in_two, setup, teardown)
{
	struct world *w = *state;

	found_hidden(w, "c", "g");
	assert_string_equal(hidden(w, "c"), "g");
	change(w, "e", CELL_PUT, 1);
	assert_string_equal(hidden(w, "d"), "e");
	assert_string_equal(hidden(w, "e"), "?");
	assert_string_equal(hidden(w, "f"), "g");
	/* At the begin, and outside. */
	change(w, "c", CELL_PUT, 1);
	change(w, "g", CELL_PUT, 1);
	assert_string_equal(hidden(w, "c"), "?");
	assert_string_equal(hidden(w, "d"), "e");
	assert_string_equal(hidden(w, "f"), "g");
	/* A marker changes none. */
	change(w, "f", CELL_DELETE, 1);
	assert_string_equal(hidden(w, "f"), "g");
}

TEST_IN(a_run_of_one_column_goes_with_a_put, setup, teardown)
{
	const char after_c[] = {'c', '\0'};
	const struct bytes end = bytes_of(after_c, 2);
	struct world *w = *state;

	alive_found_hidden(&w->a, &w->p, bytes_str("c"), &end, w->seq, 1000);
	assert_string_equal(hidden(w, "c"), "c");
	change(w, "c", CELL_PUT, 1);
	assert_string_equal(hidden(w, "c"), "?");
	/* And the last one of a run. */
	alive_found_hidden(&w->a, &w->p, bytes_str("b"), &end, w->seq, 1000);
	change(w, "c", CELL_PUT, 2);
	assert_string_equal(hidden(w, "b"), "c");
	assert_string_equal(hidden(w, "c"), "?");
}

TEST_IN(an_open_run_stays_open_behind_a_put, setup, teardown)
{
	struct world *w = *state;

	found_hidden(w, "c", NULL);
	change(w, "x", CELL_PUT, 1);
	assert_string_equal(hidden(w, "d"), "x");
	assert_string_equal(hidden(w, "y"), "open");
}

TEST_IN(of_too_many_runs_no_more_are_kept, setup, teardown)
{
	struct world *w = *state;
	char from[8], to[8];

	for (int i = 0; i < RUNS + 1; i++) {
		snprintf(from, sizeof(from), "%03d", i);
		snprintf(to, sizeof(to), "%03d5", i);
		found_hidden(w, from, to);
		assert_string_equal(hidden(w, from), i < RUNS ? to : "?");
	}
	/* One that is cut in two would be one more: none is left. */
	change(w, "0003", CELL_PUT, 1);
	assert_string_equal(hidden(w, "000"), "?");
	assert_string_equal(hidden(w, "100"), "?");
	found_hidden(w, "100", "101");
	assert_string_equal(hidden(w, "100"), "101");
}

/* What it puts may be among the columns that showed nothing. */
TEST_IN(a_row_that_is_first_met_beside_a_writer_keeps_no_run, setup, teardown)
{
	struct world *w = *state;

	alive_begin(&w->a);
	found_hidden(w, "c", "g");
	assert_string_equal(hidden(w, "c"), "?");
	alive_end(&w->a);
	found_hidden(w, "c", "g");
	assert_string_equal(hidden(w, "c"), "g");
}

/* A scan that began before the put has not seen it. */
TEST_IN(a_reader_from_before_a_put_leaves_no_run, setup, teardown)
{
	const struct bytes g = bytes_str("g");
	struct world *w = *state;
	uint64_t before = w->seq;

	found_hidden(w, "x", "z");
	change(w, "d", CELL_PUT, 1);
	alive_found_hidden(&w->a, &w->p, bytes_str("c"), &g, before, 1000);
	assert_string_equal(hidden(w, "d"), "?");
	found_hidden(w, "e", "g");
	assert_string_equal(hidden(w, "e"), "g");
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
static void read_and_write(struct world *w)
{
	const int64_t three[] = {3, 2, 1};

	found_hidden(w, "v", "x");
	found_hidden(w, "w", "z");
	change(w, "wx", CELL_PUT, 1);
	is_right_or_unknown(hidden(w, "v"), "wx");
	is_right_or_unknown(hidden(w, "y"), "z");
	if (begin_learning(w)) {
		change(w, "q", CELL_PUT, 9);
		change(w, "q", CELL_DELETE, 2);
		end_learning(w, UINT32_MAX, three, 3, true);
	}
	is_right_or_unknown(versions(w, w->seq, 9), "0 above 9 3 1");
	change(w, "q", CELL_PUT, 8);
	is_right_or_unknown(versions(w, w->seq, 9), "0 above 9 8 3 1");
}

TEST(what_there_is_no_memory_for_is_not_known)
{
	uint64_t failed = 1, n;

	for (n = 1; failed; n++) {
		struct world *w = new_world(1);

		alloc_arm(n, 0);
		read_and_write(w);
		failed = alloc_disarm();
		if (!failed) {
			assert_string_equal(hidden(w, "y"), "z");
			ARE(w->seq, 9, "0 above 9 8 3 1");
		}
		end_world(w);
	}
	assert_true(n > 10);
}
