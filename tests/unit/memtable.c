/*
 * What a memtable finds of the cells that were put into it, what it refuses, and
 * what becomes of one for which there is no memory.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/child.h"
#include "tests/unit/memtable.h"

TEST(empty_memtable_holds_nothing)
{
	struct memtable *mt = fresh();
	struct memtree_stat st;
	struct mem_cursor c;
	int64_t ts;

	assert_true(memtable_empty(mt));
	assert_int_equal(memtable_bytes(mt), 0);
	assert_int_equal(memtable_next_tree(mt, -1), -1);
	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 0);
	assert_false(memtable_column_newest(mt, TREE, bytes_str("a"),
					    bytes_str("q"), &ts));
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 0);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("a")), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str(""), true), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("a"), true), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("a")), 0);
	/* The cursor sees a tree that comes later. */
	add(mt, "a", put("q", 1, 1));
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	assert_row(&c, "a");
	assert_false(memtable_empty(mt));
	cursor_close(&c.base);
	memtable_unref(mt);
	memtable_unref(NULL);
}

TEST(seeks_stand_on_the_right_row)
{
	struct memtable *mt = fresh();
	struct mem_cursor c;

	add(mt, "b", put("q", 1, 1));
	add(mt, "d", put("q", 1, 2));
	add(mt, "dd", put("q", 1, 3));
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("c")), 1);
	assert_row(&c, "d");
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("d")), 1);
	assert_row(&c, "d");
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("e")), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("c")), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("d")), 1);
	assert_int_equal(cursor_next_row(&c.base), 1);
	assert_row(&c, "dd");
	assert_int_equal(cursor_next_row(&c.base), 0);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("d")), 1);
	assert_int_equal(cursor_prev_row(&c.base), 1);
	assert_row(&c, "b");
	assert_int_equal(cursor_prev_row(&c.base), 0);
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("d"), false), 1);
	assert_row(&c, "b");
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("d"), true), 1);
	assert_row(&c, "d");
	assert_int_equal(cursor_seek_back(&c.base, bytes_str(""), false), 1);
	assert_row(&c, "dd");
	assert_int_equal(cursor_seek_back(&c.base, bytes_str("b"), false), 0);
	memtable_unref(mt);
}

TEST(keys_are_any_bytes)
{
	static const struct bytes rows[] = {
		{(const uint8_t *)"a", 1},
		{(const uint8_t *)"a\0", 2},
		{(const uint8_t *)"a\0\0", 3},
		{(const uint8_t *)"a\0b", 3},
		{(const uint8_t *)"a\1", 2},
		{(const uint8_t *)"aaaaaaaa", 8},
		{(const uint8_t *)"aaaaaaaa\0", 9},
		{(const uint8_t *)"\xff\xff", 2},
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	struct memtable *mt = fresh();
	struct mem_cursor c;

	for (size_t i = n; i-- > 0;) {
		struct entry e = {.qualifier = rows[n - 1 - i],
				  .value = rows[i],
				  .ts = 1,
				  .kind = CELL_PUT};

		assert_int_equal(memtable_insert(mt, TREE, rows[i], &e, 1), 0);
	}
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
	for (size_t i = 0; i < n; i++) {
		assert_bytes(c.base.row, rows[i]);
		assert_bytes(c.base.at.value, rows[i]);
		assert_bytes(c.base.at.qualifier, rows[n - 1 - i]);
		assert_int_equal(cursor_next(&c.base), 0);
		assert_int_equal(cursor_next_row(&c.base), i + 1 < n);
	}
	memtable_unref(mt);
}

/*
 *	family markers 9, 5 | "" 4 | p 30 20(DELETE) 20(s8) 20(s7) | q 1
 */
TEST(row_sorts_markers_then_columns_newest_first)
{
	struct entry e[] = {
		put("q", 1, 1),	 put("p", 20, 7), put("", 4, 1),
		put("p", 30, 2), put("p", 20, 8), put("p", 20, 3),
		put("", 5, 1),	 put("", 9, 1),
	};
	static const struct {
		const char *q;
		int64_t ts;
		uint64_t seq;
	} want[] = {{"", 9, 1},	  {"", 5, 1},	{"", 4, 1},   {"p", 30, 2},
		    {"p", 20, 3}, {"p", 20, 8}, {"p", 20, 7}, {"q", 1, 1}};
	struct memtable *mt = fresh();
	struct memtree_stat st;
	struct mem_cursor c;
	int64_t ts;

	e[5].kind = CELL_DELETE;
	e[6].kind = CELL_DELETE_FAMILY;
	e[7].kind = CELL_DELETE_FAMILY_VERSION;
	assert_int_equal(memtable_insert(mt, TREE, bytes_str("r"), e, 8), 0);
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	for (size_t i = 0; i < 8; i++) {
		assert_bytes(c.base.at.qualifier, bytes_str(want[i].q));
		assert_int_equal(c.base.at.ts, want[i].ts);
		assert_int_equal(c.base.at.seq, want[i].seq);
		assert_int_equal(cursor_next(&c.base), i < 7);
	}
	assert_int_equal(cursor_next_row(&c.base), 0);

	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	assert_int_equal(cursor_seek_column(&c.base, bytes_str(""), TS_MAX), 1);
	assert_int_equal(c.base.at.ts, 4);
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("p"), 20), 1);
	assert_int_equal(c.base.at.kind, CELL_DELETE);
	/* Never backwards. */
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("a"), 20), 1);
	assert_int_equal(c.base.at.kind, CELL_DELETE);
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("p"), 19), 1);
	assert_bytes(c.base.at.qualifier, bytes_str("q"));
	assert_int_equal(cursor_seek_column(&c.base, bytes_str("q"), 0), 0);

	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 1);
	assert_int_equal(st.entries, 8);
	assert_int_equal(st.markers, 3);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.ts_max, 30);
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("p"), &ts));
	assert_int_equal(ts, 30);
	/* The family marker is newer than the column, or all there is. */
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("q"), &ts));
	assert_int_equal(ts, 9);
	assert_true(memtable_column_newest(mt, TREE, bytes_str("r"),
					   bytes_str("none"), &ts));
	assert_int_equal(ts, 9);
	assert_true(memtable_row_newest(mt, TREE, bytes_str("r"), &ts));
	assert_int_equal(ts, 30);
	assert_false(memtable_row_newest(mt, TREE, bytes_str("s"), &ts));
	memtable_unref(mt);
}

TEST(column_without_entries_has_no_newest)
{
	struct memtable *mt = fresh();
	int64_t ts;

	add(mt, "r", put("a", 5, 1));
	add(mt, "r", put("c", 5, 2));
	assert_false(memtable_column_newest(mt, TREE, bytes_str("r"),
					    bytes_str("b"), &ts));
	assert_false(memtable_column_newest(mt, TREE, bytes_str("x"),
					    bytes_str("a"), &ts));
	assert_false(memtable_column_newest(mt, TREE + 1, bytes_str("r"),
					    bytes_str("a"), &ts));
	memtable_unref(mt);
}

TEST(trees_are_apart)
{
	struct memtable *mt = fresh();
	int64_t id = -1;

	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t tree = i * 7919 % 1000 * 3;
		struct entry e = put("q", tree, 1);

		assert_int_equal(
			memtable_insert(mt, tree, bytes_str("r"), &e, 1), 0);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		struct mem_cursor c;

		id = memtable_next_tree(mt, id);
		assert_int_equal(id, i * 3);
		memtable_cursor(mt, (uint32_t)id, &c);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
		assert_int_equal(c.base.at.ts, id);
		assert_int_equal(cursor_seek_row(&c.base, bytes_str("")), 1);
		assert_int_equal(c.base.at.ts, id);
		assert_int_equal(cursor_next_row(&c.base), 0);
		memtable_cursor(mt, (uint32_t)id + 1, &c);
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 0);
	}
	assert_int_equal(memtable_next_tree(mt, id), -1);
	memtable_unref(mt);
}

TEST(greatest_tree_is_found)
{
	struct memtable *mt = fresh();
	struct entry e = put("q", 1, 1);

	assert_int_equal(memtable_insert(mt, UINT32_MAX, bytes_str("r"), &e, 1),
			 0);
	assert_int_equal(memtable_next_tree(mt, -1), UINT32_MAX);
	assert_int_equal(memtable_next_tree(mt, UINT32_MAX), -1);
	memtable_unref(mt);
}

TEST(repeated_entry_is_left_alone)
{
	struct memtable *mt = fresh();
	struct memtree_stat st;
	struct mem_cursor c;

	for (int i = 0; i < 100; i++)
		for (int j = 0; j < 3; j++)
			add(mt, "r", put("q", i, 1));
	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 1);
	assert_int_equal(st.entries, 100);
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	for (int i = 99; i >= 0; i--) {
		assert_int_equal(c.base.at.ts, i);
		assert_int_equal(cursor_next(&c.base), i > 0);
	}
	memtable_unref(mt);
}

TEST(large_values_come_back)
{
	size_t len = (size_t)5 << 20;
	uint8_t *value = malloc(len);
	struct memtable *mt = fresh();
	struct entry e = put("q", 1, 1);
	struct mem_cursor c;

	assert_non_null(value);
	for (size_t i = 0; i < len; i++)
		value[i] = (uint8_t)(i * 31 >> 3);
	e.value = bytes_of(value, len);
	add(mt, "r", e);
	assert_true(memtable_bytes(mt) >= len);
	memtable_cursor(mt, TREE, &c);
	assert_int_equal(cursor_seek_exact(&c.base, bytes_str("r")), 1);
	assert_bytes(c.base.at.value, e.value);
	memtable_unref(mt);
	free(value);
}

TEST(oversized_keys_are_refused)
{
	static const uint8_t key[70000];
	struct memtable *mt = fresh();
	struct entry e[2] = {put("q", 1, 1), put("q", 2, 1)};

	assert_int_equal(memtable_insert(mt, TREE, bytes_of(key, 70000), e, 1),
			 -E2BIG);
	e[1].qualifier = bytes_of(key, 70000);
	assert_int_equal(memtable_insert(mt, TREE, bytes_str("r"), e, 2),
			 -E2BIG);
	assert_true(memtable_empty(mt));
	memtable_unref(mt);
}

TEST(a_memtable_ends_with_its_last_row)
{
	struct memtable *mt = fresh();

	assert_false(memtable_ends_with(mt, bytes_str("a")));
	add(mt, "a", put("q", 1, 1));
	assert_true(memtable_ends_with(mt, bytes_str("a")));
	add(mt, "b", put("q", 1, 2));
	assert_false(memtable_ends_with(mt, bytes_str("a")));
	add(mt, "a", put("q", 2, 3));
	assert_true(memtable_ends_with(mt, bytes_str("a")));
	memtable_unref(mt);
}

TEST(the_last_row_is_one_of_one_tree)
{
	struct memtable *mt = fresh();
	struct entry e[3] = {put("q", 1, 1), put("q", 2, 2), put("q", 3, 3)};
	struct memtree_stat st;

	assert_false(memtable_at(mt, TREE, bytes_str("a")));
	add(mt, "a", e[0]);
	assert_true(memtable_at(mt, TREE, bytes_str("a")));
	assert_false(memtable_at(mt, TREE + 1, bytes_str("a")));
	assert_int_equal(
		memtable_insert(mt, TREE + 1, bytes_str("a"), &e[1], 1), 0);
	assert_false(memtable_at(mt, TREE, bytes_str("a")));
	assert_true(memtable_at(mt, TREE + 1, bytes_str("a")));
	/* At once, and by way of another tree. */
	assert_int_equal(
		memtable_insert(mt, TREE + 1, bytes_str("a"), &e[2], 1), 0);
	add(mt, "a", e[1]);
	assert_int_equal(memtable_tree_stat(mt, TREE, &st), 1);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.entries, 2);
	assert_int_equal(memtable_tree_stat(mt, TREE + 1, &st), 1);
	assert_int_equal(st.rows, 1);
	assert_int_equal(st.entries, 2);
	memtable_unref(mt);
}

/* Bytes of addresses that the process has: what threads left behind varies. */
static size_t address_space(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	if (f && fscanf(f, "%zu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* In a child: what it does to its memory stays with it. */
static int exhaust(void)
{
	struct rlimit limit = {.rlim_max = RLIM_INFINITY};
	size_t len = (size_t)96 << 20;
	void *value = calloc(1, len);
	struct memtree_stat st;
	struct entry e[3] = {put("a", 1, 1), put("b", 1, 1), put("c", 1, 1)};
	struct memtable *mt = fresh();
	struct mem_cursor c;
	int r;

	add(mt, "r", put("z", 1, 1));
	/* Room for chunks, and for no copy of the value. */
	limit.rlim_cur = address_space() + len / 2;
	if (!value || limit.rlim_cur == len / 2 ||
	    setrlimit(RLIMIT_AS, &limit) < 0)
		return 1;
	e[1].value = e[2].value = bytes_of(value, len);
	r = memtable_insert(mt, TREE, bytes_str("r"), e, 3);
	if (r != -ENOMEM)
		return 2;
	r = memtable_insert(mt, TREE, bytes_str("s"), e, 3);
	if (r != -ENOMEM)
		return 3;
	memtable_tree_stat(mt, TREE, &st);
	if (st.entries != 1 || st.rows != 1)
		return 4;
	memtable_cursor(mt, TREE, &c);
	if (cursor_seek_row(&c.base, bytes_str("")) != 1 ||
	    !bytes_eq(c.base.at.qualifier, bytes_str("z")) ||
	    cursor_next(&c.base) != 0 || cursor_next_row(&c.base) != 0)
		return 5;
	/* Small ones until there is no chunk left: every one whole. */
	for (uint32_t i = 0;; i++) {
		char row[32];

		sprintf(row, "row-%u", i * 2654435761u);
		e[1] = put("b", 1, 1);
		e[2] = put("c", 1, 1);
		r = memtable_insert(mt, TREE, bytes_str(row), e, 3);
		if (r == -ENOMEM)
			break;
		if (r < 0)
			return 6;
	}
	/* Their order takes memory too, and goes on where it was cut short. */
	do {
		limit.rlim_cur += ARENA_CHUNK;
		if (setrlimit(RLIMIT_AS, &limit) < 0)
			return 8;
		r = cursor_seek_row(&c.base, bytes_str(""));
	} while (r == -ENOMEM);
	memtable_tree_stat(mt, TREE, &st);
	r = cursor_seek_row(&c.base, bytes_str(""));
	for (; r == 1; r = cursor_next_row(&c.base)) {
		st.rows--;
		do
			st.entries--;
		while (cursor_next(&c.base) == 1);
	}
	return r || st.rows || st.entries ? 7 : 0;
}

/* The map is made for them at once, and not outgrown. */
TEST(rows_that_were_announced_take_less_memory)
{
	struct memtable *mt[2];
	struct entry e = put("q", 1, 1);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(memtable_new(i ? 20000 : 0, &mt[i]), 0);
		for (uint32_t r = 0; r < 20000; r++) {
			char row[16];

			sprintf(row, "%08x", r * 2654435761u);
			assert_int_equal(memtable_insert(mt[i], TREE,
							 bytes_str(row), &e, 1),
					 0);
		}
		assert_int_equal(memtable_rows(mt[i]), 20000);
	}
	assert_true(memtable_bytes(mt[1]) < memtable_bytes(mt[0]));
	/* Three slots of four are taken, with a row in eight to spare. */
	assert_true(memtable_bytes(mt[0]) - memtable_bytes(mt[1]) >
		    20000 * sizeof(uint64_t));
	memtable_unref(mt[0]);
	memtable_unref(mt[1]);
}

TEST(insert_without_memory_adds_nothing)
{
#if SANITIZED_THREAD || SANITIZED_ADDRESS
	skip(); /* their shadow does not live in little memory */
#endif
	if (in_child())
		_exit(exhaust());
}
