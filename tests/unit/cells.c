#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fs/cells.h"
#include "tests/model/ref_store.h"

static int64_t fixed_now(void)
{
	return 1000;
}

static void a_cell_comes_back_from_its_line(void **state)
{
	static const uint8_t row[] = {0xff, '/', 'a', 0, '\t'};
	struct cell c = {.row = bytes_of(row, sizeof(row)),
			 .family = bytes_str("f"),
			 .qualifier = bytes_str("-x.:y"),
			 .ts = 42,
			 .kind = CELL_PUT,
			 .value = bytes_str("1\n100%\tü/")};
	struct buf text = {0}, hold = {0};
	struct cells_line l;

	(void)state;
	assert_int_equal(cells_format(&c, &text), 0);
	assert_true(bytes_eq(buf_bytes(&text),
			     bytes_str("%FF/a%00%09\tf:%2Dx.:y\t42\t"
				       "1%0A100%25%09ü/\n")));
	text.len--;
	assert_int_equal(cells_parse(buf_bytes(&text), &hold, &l), 0);
	assert_true(bytes_eq(l.row, c.row));
	assert_true(bytes_eq(l.family, c.family));
	assert_true(bytes_eq(l.qualifier, c.qualifier));
	assert_true(bytes_eq(l.value, c.value));
	assert_int_equal(l.ts, 42);
	assert_int_equal(l.op, CHANGE_PUT);
	buf_free(&text);
	buf_free(&hold);
}

static void an_empty_qualifier_is_a_percent_sign(void **state)
{
	struct cell c = {.row = bytes_str("r"),
			 .family = bytes_str("f"),
			 .kind = CELL_DELETE_FAMILY};
	struct buf text = {0}, hold = {0};
	struct cells_line l;

	(void)state;
	assert_int_equal(cells_format(&c, &text), 0);
	assert_true(bytes_eq(buf_bytes(&text),
			     bytes_str("r\tf:%\t0\t\tdelete-family\n")));
	text.len--;
	assert_int_equal(cells_parse(buf_bytes(&text), &hold, &l), 0);
	assert_int_equal(l.qualifier.len, 0);
	assert_int_equal(l.op, CHANGE_DELETE_FAMILY);
	buf_free(&text);
	buf_free(&hold);
}

static void bad_lines_are_refused_in_words(void **state)
{
	static const char *const bad[] = {
		"",
		"r",
		"r\tf:q",
		"r\tf:q\t1",
		"r\tq\t1\tv",
		"r\tf:q\tx\tv",
		"r\tf:q\t-1\tv",
		"r\tf:q\t9223372036854775806\tv",
		"r\tf:q\t1\t%",
		"r\tf:q\t1\t%4",
		"r\tf:q\t1\t%zz",
		"r\tf:q\t1\tv\tmove",
		"r\tf:q\t1\tv\tput\t",
		"r\tf:q\t\tten\tincrement",
		"r\tf:q\t\t\tincrement",
	};
	struct buf hold = {0};
	struct cells_line l;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why_clear();
		assert_int_equal(cells_parse(bytes_str(bad[i]), &hold, &l),
				 -EINVAL);
		assert_true(store_why()[0] != '\0');
	}
	buf_free(&hold);
}

struct fixture {
	struct store *store;
	struct table *table;
	struct cells_import *import;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || ref_store_open(fixed_now, false, &f->store) < 0 ||
	    store_table_create(f->store, bytes_str("t"), NULL) < 0 ||
	    table_open(f->store, bytes_str("t"), &f->table) < 0 ||
	    cells_import_new(f->table, 0, &f->import) < 0)
		return -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cells_import_free(f->import);
	table_unref(f->table);
	store_close(f->store);
	free(f);
	return 0;
}

static int value_of(struct fixture *f, const char *row, char *out)
{
	struct buf hold = {0};
	struct cell c;
	int r = table_get(f->table, bytes_str(row), bytes_str("f"),
			  bytes_str("q"), TS_MAX, NULL, &c, &hold);

	out[0] = '\0';
	if (r > 0) {
		memcpy(out, hold.data, hold.len);
		out[hold.len] = '\0';
	}
	buf_free(&hold);
	return r;
}

static void lines_may_come_in_any_portions(void **state)
{
	static const char text[] = "a\tf:q\t1\tone\n"
				   "a\tf:q\t2\ttwo\n"
				   "b\tf:q\t\tnow\n";
	struct fixture *f = *state;
	char value[16];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_int_equal(
			cells_import_feed(f->import, bytes_of(text + i, 1)), 0);
	assert_int_equal(cells_import_end(f->import), 0);
	assert_int_equal(cells_import_lines(f->import), 3);
	assert_int_equal(value_of(f, "a", value), 1);
	assert_string_equal(value, "two");
	assert_int_equal(value_of(f, "b", value), 1);
	assert_string_equal(value, "now");
}

static void a_bad_line_halves_no_row(void **state)
{
	static const char text[] = "a\tf:q\t1\tone\n"
				   "b\tf:q\t1\ttwo\n"
				   "b\tf:q\tx\tbad\n"
				   "c\tf:q\t1\tthree\n";
	struct fixture *f = *state;
	char value[16];

	assert_int_equal(cells_import_feed(f->import, bytes_str(text)),
			 -EINVAL);
	assert_non_null(strstr(store_why(), "line 3"));
	assert_int_equal(cells_import_lines(f->import), 3);
	assert_int_equal(cells_import_end(f->import), -EINVAL);
	assert_int_equal(value_of(f, "a", value), 1);
	assert_int_equal(value_of(f, "b", value), 0);
	assert_int_equal(value_of(f, "c", value), 0);
}

static void a_last_line_without_newline_is_an_error(void **state)
{
	struct fixture *f = *state;
	char value[16];

	assert_int_equal(
		cells_import_feed(f->import, bytes_str("a\tf:q\t1\tone\n"
						       "b\tf:q\t1\ttw")),
		0);
	assert_int_equal(cells_import_end(f->import), -EINVAL);
	assert_int_equal(value_of(f, "b", value), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cell_comes_back_from_its_line),
		cmocka_unit_test(an_empty_qualifier_is_a_percent_sign),
		cmocka_unit_test(bad_lines_are_refused_in_words),
		cmocka_unit_test_setup_teardown(lines_may_come_in_any_portions,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_bad_line_halves_no_row, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_last_line_without_newline_is_an_error, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
