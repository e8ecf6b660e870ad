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

/* What follows ESTALE in a walk that finds the alias each time. */
static void look_again(struct gone *g)
{
	assert_false(gone_looked_up(g, 7, 100, true));
	gone_found(g, 7, 100);
}

static void an_alias_is_stale_until_it_was_looked_up_again(void **state)
{
	struct gone g = {0};

	assert_true(gone_looked_up(&g, 7, 100, true));
	assert_false(gone_again(&g, 7, 100));
	/* Attributes are asked for without a look-up: another walk. */
	assert_false(gone_again(&g, 7, 100));
	assert_false(gone_looked_up(&g, 7, 100, true));
	assert_true(gone_again(&g, 7, 100));
	assert_false(gone_again(&g, 7, 100));
	look_again(&g);
	/* That walk has what it wants, and another one begins. */
	assert_true(gone_looked_up(&g, 7, 100, true));
	assert_false(gone_again(&g, 7, 100));
	look_again(&g);
	assert_false(gone_again(&g, 7, 100));
}

static void a_walk_is_told_of_a_stale_alias_once(void **state)
{
	struct gone g = {0};

	/* Its attributes, then its data. */
	assert_false(gone_again(&g, 7, 100));
	look_again(&g);
	assert_int_equal(gone_tell(&g, 7, 100), -ENOENT);
	/* Attributes twice, then its data. */
	assert_false(gone_again(&g, 7, 100));
	assert_false(gone_looked_up(&g, 7, 100, true));
	assert_true(gone_again(&g, 7, 100));
	assert_int_equal(gone_tell(&g, 7, 100), -ENOENT);
	/* Its data, then its attributes, then its data. */
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	assert_false(gone_looked_up(&g, 7, 100, true));
	assert_true(gone_again(&g, 7, 100));
	assert_int_equal(gone_tell(&g, 7, 100), -ENOENT);
	/* Its data both times. */
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	look_again(&g);
	assert_int_equal(gone_tell(&g, 7, 100), -ENOENT);
	/* Nothing is left of all that. */
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
}

static void an_alias_that_is_absent_twice_is_forgotten(void **state)
{
	struct gone g = {0};

	assert_false(gone_again(&g, 7, 100));
	assert_true(gone_looked_up(&g, 7, 100, false));
	assert_false(gone_looked_up(&g, 7, 100, true));
	assert_true(gone_again(&g, 7, 100));
	assert_false(gone_again(&g, 7, 100));
	gone_looked_up(&g, 7, 100, false);
	gone_looked_up(&g, 7, 100, false);
	assert_true(gone_looked_up(&g, 7, 100, true));
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	gone_looked_up(&g, 7, 100, false);
	gone_looked_up(&g, 7, 100, false);
	assert_int_equal(gone_tell(&g, 7, 100), -ESTALE);
	gone_forget(&g, 7);
	/* Of another file or thread nothing is known. */
	assert_false(gone_again(&g, 7, 100));
	assert_true(gone_looked_up(&g, 7, 200, true));
	assert_true(gone_looked_up(&g, 8, 100, true));
	gone_found(&g, 7, 200);
	assert_false(gone_looked_up(&g, 7, 100, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_file_is_stale_once_and_absent_then),
		cmocka_unit_test(another_file_or_thread_is_stale_again),
		cmocka_unit_test(who_has_got_a_file_looks_again_the_next_time),
		cmocka_unit_test(
			an_alias_is_stale_until_it_was_looked_up_again),
		cmocka_unit_test(a_walk_is_told_of_a_stale_alias_once),
		cmocka_unit_test(an_alias_that_is_absent_twice_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
