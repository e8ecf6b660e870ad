#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/bytes.h"
#include "store/lsm/cursor.h"

static void prefix_sorts_before_longer(void **state)
{
	(void)state;
	assert_true(bytes_cmp(bytes_str("a"), bytes_str("ab")) < 0);
	assert_true(bytes_cmp(bytes_str("ab"), bytes_str("b")) < 0);
	assert_true(bytes_cmp(bytes_str("\xff"), bytes_str("a")) > 0);
	assert_true(bytes_cmp(bytes_of("a\0", 2), bytes_str("a")) > 0);
	assert_int_equal(bytes_cmp(bytes_str(""), bytes_of(NULL, 0)), 0);
}

static void buffer_grows_and_refuses_overflow(void **state)
{
	struct buf b = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(buf_append(&b, "0123456789", 10), 0);
	assert_int_equal(b.len, 10000);
	assert_int_equal(b.data[9999], '9');
	assert_int_equal(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	assert_int_equal(b.len, 10000);
	buf_free(&b);
	assert_null(b.data);
}

static void text_is_appended_however_long(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_int_equal(buf_append(&b, "a", 1), 0);
	assert_int_equal(buf_printf(&b, "%d%s", 12, "b"), 0);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "a12b", 4);
	assert_int_equal(buf_printf(&b, "%1000d", 7), 0);
	assert_int_equal(b.len, 1004);
	assert_memory_equal(b.data, "a12b   ", 7);
	assert_int_equal(b.data[1003], '7');
	assert_int_equal(buf_printf(&b, "%s", ""), 0);
	assert_int_equal(b.len, 1004);
	buf_free(&b);
}

static void entries_sort_markers_first_then_newest(void **state)
{
	struct entry family = {.ts = 1, .seq = 1, .kind = CELL_DELETE_FAMILY};
	struct entry put = {.qualifier = bytes_str("q"),
			    .ts = 5,
			    .seq = 2,
			    .kind = CELL_PUT};
	struct entry marker = {.qualifier = bytes_str("q"),
			       .ts = 5,
			       .seq = 1,
			       .kind = CELL_DELETE_COLUMN};
	struct entry newer = {.qualifier = bytes_str("q"),
			      .ts = 6,
			      .seq = 1,
			      .kind = CELL_PUT};
	struct entry empty = {.ts = 9, .seq = 9, .kind = CELL_PUT};

	(void)state;
	assert_true(entry_cmp(&family, &empty) < 0);
	assert_true(entry_cmp(&empty, &put) < 0);
	assert_true(entry_cmp(&newer, &marker) < 0);
	assert_true(entry_cmp(&marker, &put) < 0);
	assert_int_equal(entry_cmp(&put, &put), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prefix_sorts_before_longer),
		cmocka_unit_test(buffer_grows_and_refuses_overflow),
		cmocka_unit_test(text_is_appended_however_long),
		cmocka_unit_test(entries_sort_markers_first_then_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
