#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "array_cursor.h"
#include "store/lsm/merge/merge.h"

#define PUT CELL_PUT

static const struct array_cell newer[] = {
	{"a", "p", 30, PUT, 9},	 {"c", "", 50, CELL_DELETE_FAMILY, 12},
	{"c", "p", 20, PUT, 11}, {"c", "q", 20, PUT, 10},
	{"f", "p", 20, PUT, 13},
};
static const struct array_cell middle[] = {
	{"b", "p", 30, PUT, 6},
	{"d", "p", 20, PUT, 7},
};
static const struct array_cell older[] = {
	{"a", "p", 30, PUT, 1}, {"a", "p", 10, PUT, 2},
	{"c", "p", 40, PUT, 3}, {"c", "p", 20, CELL_DELETE, 4},
	{"c", "p", 20, PUT, 5}, {"e", "p", 20, PUT, 8},
};

struct fixture {
	struct array_cursor in[3];
	struct merge_source sources[3];
	struct merge m;
};

static void open_merge(struct fixture *f, uint64_t seq_max)
{
	array_cursor(&f->in[0], newer, 5);
	array_cursor(&f->in[1], middle, 2);
	array_cursor(&f->in[2], older, 6);
	for (int i = 0; i < 3; i++)
		f->sources[i].cursor = &f->in[i].base;
	merge_init(&f->m, f->sources, 3, seq_max);
}

/* All that the merge shows from where it stands: "row:seq,seq row:seq". */
static const char *show(struct merge *m, int r, bool back)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	while (r == 1) {
		n += (size_t)sprintf(text + n, "%s%.*s:", n ? " " : "",
				     (int)m->base.row.len, m->base.row.data);
		for (const char *sep = ""; r == 1; sep = ",") {
			n += (size_t)sprintf(text + n, "%s%d", sep,
					     (int)m->base.at.seq);
			r = cursor_next(&m->base);
		}
		assert_int_equal(r, 0);
		r = back ? cursor_prev_row(&m->base)
			 : cursor_next_row(&m->base);
	}
	assert_int_equal(r, 0);
	return text;
}

static void rows_and_cells_come_in_order(void **state)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	assert_string_equal(
		show(&f.m, cursor_seek_row(&f.m.base, bytes_str("")), false),
		"a:9,1,2 b:6 c:12,3,4,11,5,10 d:7 e:8 f:13");
	assert_string_equal(
		show(&f.m, cursor_seek_row(&f.m.base, bytes_str("bb")), false),
		"c:12,3,4,11,5,10 d:7 e:8 f:13");
	cursor_close(&f.m.base);
}

static void later_entries_are_not_seen_nor_rows_of_only_such(void **state)
{
	struct fixture f;

	open_merge(&f, 7);
	assert_string_equal(
		show(&f.m, cursor_seek_row(&f.m.base, bytes_str("")), false),
		"a:1,2 b:6 c:3,4,5 d:7");
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("e")), 0);
	assert_int_equal(cursor_seek_row(&f.m.base, bytes_str("e")), 0);
	assert_string_equal(
		show(&f.m, cursor_seek_back(&f.m.base, bytes_str(""), false),
		     true),
		"d:7 c:3,4,5 b:6 a:1,2");
	cursor_close(&f.m.base);
}

static void backwards_turns_rows_but_not_cells(void **state)
{
	struct fixture f;
	int r;

	open_merge(&f, UINT64_MAX);
	r = cursor_seek_back(&f.m.base, bytes_str(""), false);
	assert_string_equal(show(&f.m, r, true),
			    "f:13 e:8 d:7 c:12,3,4,11,5,10 b:6 a:9,1,2");
	r = cursor_seek_back(&f.m.base, bytes_str("c"), false);
	assert_string_equal(show(&f.m, r, true), "b:6 a:9,1,2");
	r = cursor_seek_back(&f.m.base, bytes_str("c"), true);
	assert_string_equal(show(&f.m, r, true),
			    "c:12,3,4,11,5,10 b:6 a:9,1,2");
	cursor_close(&f.m.base);
}

static void direction_can_change_on_any_row(void **state)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	assert_int_equal(cursor_seek_row(&f.m.base, bytes_str("c")), 1);
	assert_int_equal(cursor_prev_row(&f.m.base), 1);
	assert_int_equal(f.m.base.at.seq, 6);
	assert_int_equal(cursor_next_row(&f.m.base), 1);
	assert_int_equal(f.m.base.at.seq, 12);
	assert_string_equal(show(&f.m, cursor_next_row(&f.m.base), false),
			    "d:7 e:8 f:13");
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("c")), 1);
	assert_string_equal(show(&f.m, cursor_next_row(&f.m.base), false),
			    "d:7 e:8 f:13");
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("c")), 1);
	assert_string_equal(show(&f.m, cursor_prev_row(&f.m.base), true),
			    "b:6 a:9,1,2");
	cursor_close(&f.m.base);
}

static void one_row_is_found_exactly_or_not(void **state)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("bb")), 0);
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("a")), 1);
	assert_int_equal(f.m.base.at.seq, 9);
	assert_int_equal(cursor_next(&f.m.base), 1);
	assert_int_equal(f.m.base.at.seq, 1);
	cursor_close(&f.m.base);
}

static void a_column_is_sought_in_all_sources(void **state)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("c")), 1);
	assert_int_equal(cursor_seek_column(&f.m.base, bytes_str("p"), 39), 1);
	assert_int_equal(f.m.base.at.seq, 4);
	assert_int_equal(cursor_seek_column(&f.m.base, bytes_str("p"), 90), 1);
	assert_int_equal(f.m.base.at.seq, 4);
	assert_int_equal(cursor_seek_column(&f.m.base, bytes_str("q"), 30), 1);
	assert_int_equal(f.m.base.at.seq, 10);
	assert_int_equal(cursor_seek_column(&f.m.base, bytes_str("q"), 10), 0);
	assert_int_equal(cursor_next_row(&f.m.base), 1);
	assert_int_equal(f.m.base.at.seq, 7);
	cursor_close(&f.m.base);
}

static void next_row_does_not_walk_cells(void **state)
{
	struct fixture f;
	int r;

	open_merge(&f, UINT64_MAX);
	r = cursor_seek_row(&f.m.base, bytes_str(""));
	while (r == 1)
		r = cursor_next_row(&f.m.base);
	assert_int_equal(r, 0);
	assert_int_equal(f.in[0].steps + f.in[1].steps + f.in[2].steps, 0);
	cursor_close(&f.m.base);
}

static void rows_with_equal_heads_compare_their_tails(void **state)
{
	static const struct array_cell x[] = {{"longhead-b", "p", 1, PUT, 1},
					      {"longhead-d", "p", 1, PUT, 2}};
	static const struct array_cell y[] = {{"longhead", "p", 1, PUT, 3},
					      {"longhead-a", "p", 1, PUT, 4},
					      {"longhead-c", "p", 1, PUT, 5}};
	struct array_cursor in[2];
	struct merge_source s[2] = {{.cursor = &in[0].base},
				    {.cursor = &in[1].base}};
	struct merge m;

	array_cursor(&in[0], x, 2);
	array_cursor(&in[1], y, 3);
	merge_init(&m, s, 2, UINT64_MAX);
	assert_string_equal(
		show(&m, cursor_seek_row(&m.base, bytes_str("l")), false),
		"longhead:3 longhead-a:4 longhead-b:1 longhead-c:5 "
		"longhead-d:2");
	assert_string_equal(
		show(&m, cursor_seek_back(&m.base, bytes_str(""), true), true),
		"longhead-d:2 longhead-c:5 longhead-b:1 longhead-a:4 "
		"longhead:3");
	cursor_close(&m.base);
}

/*
 * Sources of a few rows each, of names that are alike for 8, 16 and more bytes
 * and that end in each other; against all cells sorted.
 */
static void many_sources_come_in_order_both_ways(void **state)
{
	static const char *const names[] = {"a",
					    "user0000",
					    "user00000000000",
					    "user000000000000",
					    "user0000000000001",
					    "user00000000000012",
					    "user0000000000002",
					    "user1",
					    "user10000000000012x",
					    "user10000000000012y",
					    "z"};
	enum {
		SOURCES = 40,
		ROWS = sizeof(names) / sizeof(names[0])
	};
	struct array_cell cells[SOURCES][ROWS], all[SOURCES * ROWS];
	struct array_cursor in[SOURCES];
	struct merge_source sources[SOURCES];
	struct merge m;

	for (unsigned run = 0; run < 50; run++) {
		uint64_t dice = run * 7919 + 1, seq = 1;
		size_t total = 0, at;
		int r;

		for (int i = SOURCES - 1; i >= 0; i--) {
			size_t n = 0;

			for (int k = 0; k < ROWS; k++) {
				dice = dice * 6364136223846793005u + 1;
				if (dice >> 61)
					continue;
				cells[i][n] = (struct array_cell){
					names[k], "q", 1, PUT, seq++};
				all[total++] = cells[i][n++];
			}
			array_cursor(&in[i], cells[i], n);
			sources[i].cursor = &in[i].base;
		}
		array_sort(all, total);
		merge_init(&m, sources, SOURCES, UINT64_MAX);
		r = cursor_seek_row(&m.base, bytes_str(""));
		for (at = 0; at < total; r = cursor_next_row(&m.base)) {
			assert_int_equal(r, 1);
			assert_true(
				bytes_eq(m.base.row, bytes_str(all[at].row)));
			for (int more = 1; more == 1;
			     more = cursor_next(&m.base))
				assert_int_equal(m.base.at.seq, all[at++].seq);
		}
		assert_int_equal(r, 0);
		r = cursor_seek_back(&m.base, bytes_str(""), false);
		for (; at; r = cursor_prev_row(&m.base)) {
			size_t first = at - 1;

			while (first &&
			       !strcmp(all[first - 1].row, all[at - 1].row))
				first--;
			assert_int_equal(r, 1);
			assert_int_equal(m.base.at.seq, all[first].seq);
			at = first;
		}
		assert_int_equal(r, 0);
		cursor_close(&m.base);
	}
}

static void no_source_is_an_empty_tree(void **state)
{
	struct merge m;

	merge_init(&m, NULL, 0, UINT64_MAX);
	assert_int_equal(cursor_seek_row(&m.base, bytes_str("")), 0);
	assert_int_equal(cursor_seek_exact(&m.base, bytes_str("a")), 0);
	assert_int_equal(cursor_seek_back(&m.base, bytes_str(""), true), 0);
	cursor_close(&m.base);
}

#define FAMILY CELL_DELETE_FAMILY

/* a, b and d are dead, and in the classic order c is. */
static const struct array_cell markers[] = {
	{"a", "", 50, FAMILY, 21}, {"b", "", 30, FAMILY, 22},
	{"b", "p", 30, PUT, 20},   {"c", "", 30, FAMILY, 23},
	{"d", "", 30, FAMILY, 24}, {"f", "", 30, FAMILY, 25},
};
static const struct array_cell covered[] = {
	{"a", "p", 30, PUT, 1}, {"a", "p", 20, CELL_DELETE, 2},
	{"b", "p", 20, PUT, 3}, {"c", "p", 30, PUT, 26},
	{"e", "p", 10, PUT, 5}, {"f", "p", 30, PUT, 6},
};

/* The row that comes after the dead ones, and how many they were. */
static const char *alive_from(const char *from, uint64_t seq_max,
			      const struct dead_rows *d)
{
	static char text[16];
	struct array_cursor in[2];
	struct merge_source s[2] = {{.cursor = &in[0].base},
				    {.cursor = &in[1].base}};
	struct merge m;
	uint64_t n = 0;
	int r;

	/* The greater source stands first, as a newer file of puts may. */
	array_cursor(&in[0], covered, 6);
	array_cursor(&in[1], markers, 6);
	merge_init(&m, s, 2, seq_max);
	r = cursor_seek_row(&m.base, bytes_str(from));
	assert_int_equal(r, 1);
	r = merge_pass_dead(&m, d, &n);
	assert_true(r >= 0);
	/* But over what is of later the merge steps. */
	if (seq_max == UINT64_MAX)
		assert_int_equal(in[0].steps + in[1].steps, 0);
	snprintf(text, sizeof(text), "%.*s:%d %d", r ? (int)m.base.row.len : 0,
		 m.base.row.data, r ? (int)m.base.at.seq : 0, (int)n);
	cursor_close(&m.base);
	return text;
}

static void dead_rows_are_passed_over_without_a_walk(void **state)
{
	const struct dead_rows in_order = {.by_sequence = true};
	const struct dead_rows classic = {.by_sequence = false};

	/* The put of c was written behind its marker. */
	assert_string_equal(alive_from("", UINT64_MAX, &in_order), "c:23 2");
	assert_string_equal(alive_from("d", UINT64_MAX, &in_order), "e:5 1");
	assert_string_equal(alive_from("", UINT64_MAX, &classic), "e:5 4");
	assert_string_equal(alive_from("f", UINT64_MAX, &in_order), ":0 1");
}

static void no_dead_row_is_passed_over_beyond_the_stop(void **state)
{
	const struct dead_rows d = {.by_sequence = true,
				    .stop = bytes_str("b")};

	assert_string_equal(alive_from("", UINT64_MAX, &d), "b:22 1");
	assert_string_equal(alive_from("d", UINT64_MAX, &d), "d:24 0");
}

static void markers_of_later_cover_nothing(void **state)
{
	const struct dead_rows d = {.by_sequence = true};

	assert_string_equal(alive_from("", 20, &d), "a:1 0");
	assert_string_equal(alive_from("", 21, &d), "b:20 1");
	assert_string_equal(alive_from("d", 24, &d), "e:5 1");
	assert_string_equal(alive_from("f", 24, &d), "f:6 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_and_cells_come_in_order),
		cmocka_unit_test(
			later_entries_are_not_seen_nor_rows_of_only_such),
		cmocka_unit_test(backwards_turns_rows_but_not_cells),
		cmocka_unit_test(direction_can_change_on_any_row),
		cmocka_unit_test(one_row_is_found_exactly_or_not),
		cmocka_unit_test(a_column_is_sought_in_all_sources),
		cmocka_unit_test(next_row_does_not_walk_cells),
		cmocka_unit_test(rows_with_equal_heads_compare_their_tails),
		cmocka_unit_test(many_sources_come_in_order_both_ways),
		cmocka_unit_test(no_source_is_an_empty_tree),
		cmocka_unit_test(dead_rows_are_passed_over_without_a_walk),
		cmocka_unit_test(no_dead_row_is_passed_over_beyond_the_stop),
		cmocka_unit_test(markers_of_later_cover_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
