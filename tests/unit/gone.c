#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "fs/kernel/gone.h"

static void one_file_is_stale_once_and_absent_then(void **state)
{
	struct gone g = {0};

	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	assert_int_equal(gone_tell(&g, 7, 100), -ENOENT);
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
}

static void another_file_or_thread_is_stale_again(void **state)
{
	struct gone g = {0};

	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	assert_int_equal(gone_tell(&g, 7, 101), -ESTALE);
	assert_int_equal(gone_tell(&g, 8, 101), -ESTALE);
	assert_int_equal(gone_tell(&g, 7 + GONE_SLOTS, 101), -ESTALE);
	assert_int_equal(gone_tell(&g, 8, 101), -ENOENT);
}

static void who_has_got_a_file_looks_again_the_next_time(void **state)
{
	struct gone g = {0};

	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	gone_forget(&g, 7);
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_is_stale_once_and_absent_then),
		cmocka_unit_test(another_file_or_thread_is_stale_again),
		cmocka_unit_test(who_has_got_a_file_looks_again_the_next_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
