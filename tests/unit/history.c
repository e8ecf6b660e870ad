/* What a tree has lost: gaps add up, stay few, and never shrink. */
#include "tests/unit/unit.h"
#include "store/lsm/base/history.h"
#include "store/value/why.h"

static void lose(struct history *h, const char *min, const char *max,
		 int64_t from, int64_t to)
{
	assert_int_equal(
		history_lose(h, bytes_str(min), bytes_str(max), from, to), 0);
}

static bool tells(const struct history *h, const char *min, const char *max,
		  bool inclusive, int64_t when)
{
	const struct history_rows rows = {bytes_str(min), bytes_str(max),
					  inclusive};
	int r = history_tells(h, &rows, when);

	assert_true(r == 0 || r == -ENODATA);
	return r == 0;
}

TEST(a_gap_is_of_its_rows_and_times)
{
	struct history h = {0};

	assert_true(history_is_whole(&h));
	lose(&h, "d", "f", 10, 30);
	assert_false(history_is_whole(&h));
	assert_false(tells(&h, "", "", false, 10));
	assert_false(tells(&h, "e", "e", true, 29));
	assert_false(tells(&h, "a", "d", true, 20));
	assert_true(tells(&h, "a", "d", false, 20));
	assert_true(tells(&h, "g", "", false, 20));
	assert_true(tells(&h, "", "", false, 9));
	assert_true(tells(&h, "", "", false, 30));
	h.before = 5;
	assert_false(tells(&h, "x", "x", true, 4));
	assert_non_null(strstr(store_why(), "expired"));
	assert_true(tells(&h, "x", "x", true, 5));
	history_free(&h);
}

TEST(gaps_with_common_rows_become_one)
{
	struct history h = {0}, copy;

	lose(&h, "m", "p", 10, 20);
	lose(&h, "c", "d", 30, 40);
	lose(&h, "x", "x", 1, 2);
	lose(&h, "x", "x", 4, 5);
	assert_int_equal(h.ngaps, 3);
	assert_int_equal(h.gaps[2].from, 1);
	assert_int_equal(h.gaps[2].to, 5);
	/* From within one to within the next. */
	lose(&h, "d", "n", 15, 50);
	assert_int_equal(h.ngaps, 2);
	assert_true(bytes_eq(buf_bytes(&h.gaps[0].row_min), bytes_str("c")));
	assert_true(bytes_eq(buf_bytes(&h.gaps[0].row_max), bytes_str("p")));
	assert_int_equal(h.gaps[0].from, 10);
	assert_int_equal(h.gaps[0].to, 50);
	/* Inside of one that is there. */
	lose(&h, "e", "f", 60, 70);
	assert_int_equal(h.ngaps, 2);
	assert_int_equal(h.gaps[0].to, 70);
	assert_int_equal(history_copy(&copy, &h), 0);
	assert_int_equal(copy.ngaps, 2);
	history_free(&copy);
	history_free(&h);
}

TEST(many_gaps_are_joined_and_hide_no_less)
{
	static const int order[] = {7, 3, 9, 1, 5, 0, 8, 2, 6, 4};
	struct history h = {0};
	char row[8];

	for (int tens = 0; tens < 50; tens++)
		for (int i = 0; i < 10; i++) {
			int n = 10 * tens + order[i];

			snprintf(row, sizeof(row), "%05d", n);
			lose(&h, row, row, n, n + 3);
			assert_true(h.ngaps <= HISTORY_GAPS_MAX);
		}
	for (size_t i = 1; i < h.ngaps; i++)
		assert_true(bytes_cmp(buf_bytes(&h.gaps[i - 1].row_max),
				      buf_bytes(&h.gaps[i].row_min)) < 0);
	for (int n = 0; n < 500; n++) {
		snprintf(row, sizeof(row), "%05d", n);
		for (int when = n; when < n + 3; when++)
			assert_false(tells(&h, row, row, true, when));
		assert_true(tells(&h, row, row, true, n + 300));
	}
	history_free(&h);
}
