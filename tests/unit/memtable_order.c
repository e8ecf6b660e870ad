/* Rows in order: what a flush runs over, and what comes between two seeks. */
#include "tests/unit/memtable.h"
#include "store/lsm/mem/memtree.h"

/* Keys that share their first bytes, more of them than eight, or none. */
static void insert_some(struct memtable *mt, unsigned n)
{
	static const char *const begin[] = {"", "common/", "common/and-long/"};

	for (unsigned i = 0; i < n; i++) {
		char row[40];

		snprintf(row, sizeof(row), "%s%u", begin[i % 3],
			 i * 2654435761u % 1000);
		add(mt, row, put(i % 2 ? "a" : "b", (int64_t)i, i));
	}
}

TEST(a_run_passes_over_what_a_cursor_does)
{
	static const unsigned sizes[] = {0, 1, 2, 255, 256, 3000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct memtable *mt = fresh();
		struct mem_cursor c;
		struct flush_cursor run;
		int r, q;

		insert_some(mt, sizes[i]);
		memtable_cursor(mt, TREE, &c);
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		r = cursor_seek_row(&c.base, bytes_str(""));
		q = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&c.base)) {
			assert_int_equal(q, 1);
			assert_bytes(run.base.row, c.base.row);
			do {
				assert_int_equal(
					entry_cmp(&run.base.at, &c.base.at), 0);
				q = cursor_next(&run.base);
			} while ((r = cursor_next(&c.base)) == 1 && q == 1);
			assert_int_equal(q, r);
			q = cursor_next_row(&run.base);
		}
		assert_int_equal(q, 0);
		assert_int_equal(cursor_next_row(&run.base), 0);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

/* Row @i of many, which have more than a head in common. */
static void add_numbered(struct memtable *mt, unsigned i)
{
	char row[32];

	snprintf(row, sizeof(row), "common/%03u/and-so-on/%02u", i / 20,
		 i % 20);
	add(mt, row, put("a", 1, i + 1));
}

TEST(rows_are_sorted_whether_they_came_in_order_or_not)
{
	enum {
		ROWS = 600
	};
	/* In order but for two. */
	static const struct {
		unsigned first, last;
	} come[] = {
		{0, ROWS - 1}, {1, ROWS - 1}, {300, ROWS - 1}, {ROWS - 1, 0},
		{0, 1},	       {0, 300},      {0, ROWS - 2},   {300, 2},
	};

	for (size_t i = 0; i < sizeof(come) / sizeof(come[0]); i++) {
		struct memtable *mt = fresh();
		struct flush_cursor run;
		unsigned n = 0;
		int r;

		add_numbered(mt, come[i].first);
		for (unsigned k = 0; k < ROWS; k++)
			if (k != come[i].first && k != come[i].last)
				add_numbered(mt, k);
		add_numbered(mt, come[i].last);
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		r = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&run.base))
			assert_int_equal(run.base.at.seq, ++n);
		assert_int_equal(r, 0);
		assert_int_equal(n, ROWS);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

/*
 * So many rows that their list ends with its memory: what is behind is nobody's,
 * for the sort as for the run.
 */
TEST(a_run_reads_nothing_behind_its_last_row)
{
	const size_t rows = (ARENA_CHUNK - 64) / sizeof(struct sorted_row);

	for (int down = 0; down < 2; down++) {
		struct memtable *mt = fresh();
		struct flush_cursor run;
		size_t n = 0;
		int r;

		for (size_t i = 0; i < rows; i++) {
			size_t k = down ? rows - 1 - i : i;
			char row[32];

			snprintf(row, sizeof(row), "%08zu", k);
			add(mt, row, put("q", 1, k + 1));
		}
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		assert_int_equal(run.n, rows);
		assert_int_equal((uintptr_t)(run.rows + rows) % ARENA_CHUNK, 0);
		r = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&run.base))
			assert_int_equal(run.base.at.seq, ++n);
		assert_int_equal(r, 0);
		assert_int_equal(n, rows);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

/* Two, and three, that differ behind what a sort looks at first. */
TEST(rows_with_long_prefixes_in_common_are_sorted)
{
	enum {
		PREFIXES = 256
	};

	for (unsigned like = 1; like <= 3; like++) {
		struct memtable *mt = fresh();
		struct flush_cursor run;
		unsigned n = 0;
		int r;

		for (unsigned i = 0; i < PREFIXES * like; i++) {
			unsigned k = PREFIXES * like - i;
			char row[32];

			snprintf(row, sizeof(row), "%03u/these-share/%u",
				 (k - 1) / like, (k - 1) % like);
			add(mt, row, put("q", 1, k));
		}
		assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
		r = cursor_seek_row(&run.base, bytes_str(""));
		for (; r == 1; r = cursor_next_row(&run.base))
			assert_int_equal(run.base.at.seq, ++n);
		assert_int_equal(r, 0);
		assert_int_equal(n, PREFIXES * like);
		cursor_close(&run.base);
		memtable_unref(mt);
	}
}

TEST(a_run_seeks_columns_of_a_row)
{
	struct memtable *mt = fresh();
	struct flush_cursor run;

	add(mt, "r", put("a", 3, 1));
	add(mt, "r", put("a", 2, 2));
	add(mt, "r", put("c", 1, 3));
	assert_int_equal(flush_cursor_open(mt, TREE, &run), 0);
	assert_int_equal(cursor_seek_row(&run.base, bytes_str("")), 1);
	assert_int_equal(cursor_seek_column(&run.base, bytes_str("a"), 2), 1);
	assert_int_equal(run.base.at.ts, 2);
	assert_int_equal(cursor_seek_column(&run.base, bytes_str("b"), 9), 1);
	assert_bytes(run.base.at.qualifier, bytes_str("c"));
	assert_int_equal(cursor_seek_column(&run.base, bytes_str("d"), 9), 0);
	assert_int_equal(cursor_next_row(&run.base), 0);
	assert_int_equal(cursor_seek_row(&run.base, bytes_str("r")), -EINVAL);
	cursor_close(&run.base);
	memtable_unref(mt);
}

/* What came between two seeks is put in order beside what was. */
TEST(rows_that_come_between_seeks_are_found)
{
	struct memtable *mt = fresh();
	struct mem_cursor c;
	unsigned n = 0;

	memtable_cursor(mt, TREE, &c);
	for (unsigned step = 1; step < 400; step = step * 3 / 2 + 1) {
		char row[32], least[32] = "z";

		for (unsigned i = 0; i < step; i++, n++) {
			snprintf(row, sizeof(row), "%08u",
				 n * 2654435761u % 100000000);
			add(mt, row, put("q", 1, 1));
			if (strcmp(row, least) < 0)
				strcpy(least, row);
		}
		/* One that is only in the heap, and on from it. */
		assert_int_equal(cursor_seek_exact(&c.base, bytes_str(row)), 1);
		assert_true(cursor_prev_row(&c.base) >= 0);
		assert_int_equal(cursor_seek_row(&c.base, bytes_str(least)), 1);
		assert_row(&c, least);
	}
	for (int r = cursor_seek_row(&c.base, bytes_str("")); r == 1;
	     r = cursor_next_row(&c.base))
		n--;
	assert_int_equal(n, 0);
	memtable_unref(mt);
}
