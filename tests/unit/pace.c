#include "tests/unit/unit.h"
#include "store/lsm/base/pace.h"

#define MS 1000000ull

TEST(a_little_is_written_at_once_and_the_rest_at_the_rate)
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

TEST(who_rests_saves_no_more_than_the_bucket_holds)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	pace_take(&p, 2000, 3600 * 1000 * MS);
	assert_int_equal(pace_wait_ms(&p, 3600 * 1000 * MS), 126);
	pace_release(&p);
}

TEST(many_short_looks_fill_as_one_long_one)
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
TEST(a_look_that_comes_late_pays_nothing)
{
	struct pace p;

	pace_init(&p, 8000, 0);
	pace_take(&p, 9000, 500 * MS);
	assert_int_equal(pace_wait_ms(&p, 500 * MS), 1001);
	assert_int_equal(pace_wait_ms(&p, 499 * MS), 1001);
	assert_int_equal(pace_wait_ms(&p, 1000 * MS), 501);
	pace_release(&p);
}

TEST(a_debt_has_a_bound)
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

TEST(without_a_rate_nobody_waits)
{
	struct pace p;

	pace_init(&p, 0, 0);
	pace_take(&p, UINT64_MAX, 0);
	assert_int_equal(pace_wait_ms(&p, 0), 0);
	pace_release(&p);
}
