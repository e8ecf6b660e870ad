#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fs/kernel/handle.h"

static void a_number_of_one_type_is_refused_as_another(void **state)
{
	struct handles *hs;
	int object;
	uint64_t fh;

	assert_int_equal(handles_new(&hs), 0);
	fh = handles_add(hs, HANDLE_LISTING, &object);
	assert_true(fh != 0);
	assert_int_equal(handle_type(fh), HANDLE_LISTING);
	assert_ptr_equal(handles_get(hs, fh, HANDLE_LISTING), &object);
	assert_null(handles_get(hs, fh, HANDLE_WRITER));
	assert_null(handles_remove(hs, fh, HANDLE_WRITER));
	assert_ptr_equal(handles_remove(hs, fh, HANDLE_LISTING), &object);
	handles_free(hs);
}

static void a_number_is_not_used_twice(void **state)
{
	struct handles *hs;
	int a, b;
	uint64_t old, new;

	assert_int_equal(handles_new(&hs), 0);
	old = handles_add(hs, HANDLE_WRITER, &a);
	handles_remove(hs, old, HANDLE_WRITER);
	new = handles_add(hs, HANDLE_WRITER, &b);
	assert_true(new != old);
	assert_null(handles_get(hs, old, HANDLE_WRITER));
	assert_null(handles_remove(hs, old, HANDLE_WRITER));
	assert_ptr_equal(handles_get(hs, new, HANDLE_WRITER), &b);
	handles_free(hs);
}

static void made_up_numbers_are_refused(void **state)
{
	struct handles *hs;
	int object;
	uint64_t fh;

	assert_int_equal(handles_new(&hs), 0);
	assert_null(handles_get(hs, 0, HANDLE_LISTING));
	assert_null(handles_get(hs, UINT64_MAX, HANDLE_LISTING));
	fh = handles_add(hs, HANDLE_LISTING, &object);
	for (int bit = 0; bit < 64; bit++)
		assert_null(handles_get(hs, fh ^ 1ull << bit, HANDLE_LISTING));
	handles_free(hs);
}

static void count(void *arg, void *object)
{
	++*(int *)arg;
}

static void thousands_can_be_open(void **state)
{
	enum {
		N = 5000
	};
	static uint64_t fh[N];
	struct handles *hs;
	int objects[N], n = 0;

	assert_int_equal(handles_new(&hs), 0);
	for (int i = 0; i < N; i++)
		fh[i] = handles_add(hs, i % 2 ? HANDLE_LISTING : HANDLE_WRITER,
				    &objects[i]);
	assert_int_equal(handles_count(hs), N);
	handles_each(hs, HANDLE_LISTING, count, &n);
	assert_int_equal(n, N / 2);
	for (int i = 0; i < N; i++)
		assert_ptr_equal(handles_remove(hs, fh[i], handle_type(fh[i])),
				 &objects[i]);
	assert_int_equal(handles_count(hs), 0);
	handles_free(hs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_of_one_type_is_refused_as_another),
		cmocka_unit_test(a_number_is_not_used_twice),
		cmocka_unit_test(made_up_numbers_are_refused),
		cmocka_unit_test(thousands_can_be_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
