#include "tests/unit/unit.h"
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

TEST(rows_and_cells_come_in_order)
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

TEST(later_entries_are_not_seen_nor_rows_of_only_such)
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

TEST(backwards_turns_rows_but_not_cells)
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

TEST(a_walk_seeks_its_sources_once_either_way)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	show(&f.m, cursor_seek_row(&f.m.base, bytes_str("")), false);
	for (int i = 0; i < 3; i++)
		assert_int_equal(f.in[i].row_seeks, 1);
	show(&f.m, cursor_seek_back(&f.m.base, bytes_str(""), false), true);
	for (int i = 0; i < 3; i++)
		assert_int_equal(f.in[i].row_seeks, 2);
	cursor_close(&f.m.base);
}

TEST(a_row_begun_anew_is_left_backwards)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	assert_int_equal(cursor_seek_back(&f.m.base, bytes_str("c"), true), 1);
	assert_int_equal(cursor_next(&f.m.base), 1);
	assert_int_equal(cursor_seek_exact(&f.m.base, bytes_str("c")), 1);
	assert_int_equal(f.m.base.at.seq, 12);
	assert_string_equal(show(&f.m, cursor_prev_row(&f.m.base), true),
			    "b:6 a:9,1,2");
	cursor_close(&f.m.base);
}

TEST(one_row_is_found_exactly_or_not)
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

TEST(a_column_is_sought_in_all_sources)
{
	struct fixture f;

	open_merge(&f, UINT64_MAX);
	assert_int_equal(cursor_seek_row(&f.m.base, bytes_str("c")), 1);
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

TEST(next_row_does_not_walk_cells)
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

TEST(rows_with_equal_heads_compare_their_tails)
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
TEST(many_sources_come_in_order_both_ways)
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

TEST(no_source_is_an_empty_tree)
{
	struct merge m;

	merge_init(&m, NULL, 0, UINT64_MAX);
	assert_int_equal(cursor_seek_row(&m.base, bytes_str("")), 0);
	assert_int_equal(cursor_seek_exact(&m.base, bytes_str("a")), 0);
	assert_int_equal(cursor_seek_back(&m.base, bytes_str(""), true), 0);
	cursor_close(&m.base);
}

/*
 * A scan enters one row of cursors that it moves itself: source 0 waits at "c".
 * To seek that row again leaves such a cursor alone.
 */
TEST(a_row_entered_is_sought_again_in_its_sources_alone)
{
	static const struct array_cell waits[] = {{"c", "p", 10, PUT, 1}};
	static const struct array_cell has[] = {{"b", "p", 20, PUT, 2},
						{"b", "q", 20, PUT, 3}};
	struct array_cursor in[2];
	struct merge_source s[2] = {{.cursor = &in[0].base},
				    {.cursor = &in[1].base}};
	struct merge m;

	array_cursor(&in[0], waits, 1);
	array_cursor(&in[1], has, 2);
	merge_init(&m, s, 2, UINT64_MAX);
	assert_int_equal(cursor_seek_row(&in[0].base, bytes_str("")), 1);
	assert_int_equal(cursor_seek_row(&in[1].base, bytes_str("")), 1);
	s[1].in_row = true;
	assert_int_equal(merge_enter(&m), 1);
	assert_int_equal(m.base.at.seq, 2);
	assert_int_equal(cursor_next(&m.base), 1);
	assert_int_equal(cursor_next(&m.base), 0);
	assert_int_equal(cursor_seek_exact(&m.base, bytes_str("b")), 1);
	assert_int_equal(m.base.at.seq, 2);
	assert_true(in[0].placed);
	assert_int_equal(cursor_next(&m.base), 1);
	assert_int_equal(m.base.at.seq, 3);
	cursor_close(&m.base);
}
