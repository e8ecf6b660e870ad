#include "tests/unit/unit.h"
#include "store/lsm/base/pace.h"

#define MS 1000000ull

static void a_little_is_written_at_once_and_the_rest_at_the_rate(void **state)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	pace_take(&p, 1000, 0);
	assert_int_equal(pace_wait_ms(&p, 0), 0);
	pace_take(&p, 4000, 0);
	assert_int_equal(pace_wait_ms(&p, 0), 501);
	assert_int_equal(pace_wait_ms(&p, 250 * MS), 251);
	assert_int_equal(pace_wait_ms(&p, 500 * MS), 0);
	pace_release(&p);
}

static void who_rests_saves_no_more_than_the_bucket_holds(void **state)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	pace_take(&p, 2000, 3600 * 1000 * MS);
	assert_int_equal(pace_wait_ms(&p, 3600 * 1000 * MS), 126);
	pace_release(&p);
}

static void many_short_looks_fill_as_one_long_one(void **state)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	pace_take(&p, 9000, 0);
	for (uint64_t us = 0; us <= 1000000; us += 7)
		pace_wait_ms(&p, us * 1000);
	assert_int_equal(pace_wait_ms(&p, 1000 * MS), 0);
	pace_release(&p);
}

/* Threads look at the clock before they take the lock. */
static void a_look_that_comes_late_pays_nothing(void **state)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	pace_take(&p, 9000, 500 * MS);
	assert_int_equal(pace_wait_ms(&p, 500 * MS), 1001);
	assert_int_equal(pace_wait_ms(&p, 499 * MS), 1001);
	assert_int_equal(pace_wait_ms(&p, 1000 * MS), 501);
	pace_release(&p);
}

static void a_debt_has_a_bound(void **state)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	for (int i = 0; i < 3; i++)
		pace_take(&p, UINT64_MAX, 0);
	assert_int_equal(pace_wait_ms(&p, 0), PACE_DEBT_S * 1000 + 1);
	pace_release(&p);
	pace_init(&p, UINT64_MAX, 0);
	pace_take(&p, UINT64_MAX, 0);
	assert_true(pace_wait_ms(&p, 0) <= PACE_DEBT_S * 1000 + 1);
	pace_release(&p);
}

static void without_a_rate_nobody_waits(void **state)
{
	struct pace p;

	pace_init(&p, 0, 0);
	pace_take(&p, UINT64_MAX, 0);
	assert_int_equal(pace_wait_ms(&p, 0), 0);
	pace_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_little_is_written_at_once_and_the_rest_at_the_rate),
		cmocka_unit_test(who_rests_saves_no_more_than_the_bucket_holds),
		cmocka_unit_test(many_short_looks_fill_as_one_long_one),
		cmocka_unit_test(a_look_that_comes_late_pays_nothing),
		cmocka_unit_test(a_debt_has_a_bound),
		cmocka_unit_test(without_a_rate_nobody_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
