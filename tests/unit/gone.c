#include "tests/unit/unit.h"
#include "fs/kernel/gone.h"

static const int64_t now = 5000;

TEST(one_file_is_stale_once_and_absent_then)
{
	struct gone g = {0};

	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ENOENT);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
}

TEST(another_file_or_thread_is_stale_again)
{
	struct gone g = {0};

	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	assert_int_equal(gone_tell(&g, 7, 101, now), -ESTALE);
	assert_int_equal(gone_tell(&g, 8, 101, now), -ESTALE);
	assert_int_equal(gone_tell(&g, 7 + GONE_SLOTS, 101, now), -ESTALE);
	assert_int_equal(gone_tell(&g, 8, 101, now), -ENOENT);
}

TEST(who_has_got_a_file_looks_again_the_next_time)
{
	struct gone g = {0};

	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	gone_forget(&g, 7);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
}

TEST(a_file_is_renewed_for_a_walk)
{
	struct gone g = {0};

	assert_false(gone_is_renewed(&g, 100, now));
	gone_renewed(&g, 100, now);
	assert_true(gone_is_renewed(&g, 100, now));
	assert_true(gone_is_renewed(&g, 100, now + GONE_WALK_MS));
	assert_false(gone_is_renewed(&g, 100 + GONE_SLOTS, now));
	assert_false(gone_is_renewed(&g, 100, now + 2 * GONE_WALK_MS));
}

/* What follows ESTALE in a walk that finds the alias each time. */
static void look_again(struct gone *g)
{
	assert_false(gone_looked_up(g, 7, 100, true, now));
	gone_found(g, 7, 100, now);
}

TEST(an_alias_is_stale_until_it_was_looked_up_again)
{
	struct gone g = {0};

	assert_true(gone_looked_up(&g, 7, 100, true, now));
	assert_false(gone_again(&g, 7, 100, now));
	/* Without a look-up: another thread's is made use of, or, later, */
	assert_true(gone_again(&g, 7, 100, now + GONE_WALK_MS - 1));
	gone_forget(&g, 7);
	/* another walk begins. */
	assert_false(gone_again(&g, 7, 100, now));
	assert_false(gone_again(&g, 7, 100, now + GONE_WALK_MS));
	assert_false(gone_looked_up(&g, 7, 100, true, now));
	assert_true(gone_again(&g, 7, 100, now));
	/* It is asked for once more, or another walk begins, later. */
	assert_true(gone_again(&g, 7, 100, now + 2 * GONE_WALK_MS - 1));
	assert_false(gone_again(&g, 7, 100, now + 2 * GONE_WALK_MS));
	look_again(&g);
	/* That walk has what it wants, and another one begins. */
	assert_true(gone_looked_up(&g, 7, 100, true, now));
	assert_false(gone_again(&g, 7, 100, now));
	look_again(&g);
	assert_true(gone_again(&g, 7, 100, now + 1));
	assert_false(gone_again(&g, 7, 100, now + GONE_WALK_MS));
}

TEST(a_walk_is_told_of_a_stale_alias_once)
{
	struct gone g = {0};

	/* Its attributes, then its data. */
	assert_false(gone_again(&g, 7, 100, now));
	look_again(&g);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ENOENT);
	/* Attributes twice, then its data. */
	assert_false(gone_again(&g, 7, 100, now));
	assert_false(gone_looked_up(&g, 7, 100, true, now));
	assert_true(gone_again(&g, 7, 100, now));
	assert_int_equal(gone_tell(&g, 7, 100, now), -ENOENT);
	/* Its data, then its attributes, then its data. */
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	assert_false(gone_looked_up(&g, 7, 100, true, now));
	assert_true(gone_again(&g, 7, 100, now));
	assert_int_equal(gone_tell(&g, 7, 100, now), -ENOENT);
	/* Its data both times. */
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	look_again(&g);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ENOENT);
	/* What another thread's look-up found, and attributes twice. */
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	assert_true(gone_looked_up(&g, 7, 100, false, now));
	gone_found(&g, 7, 100, now + 1);
	gone_found(&g, 7, 100, now + 1);
	assert_int_equal(gone_tell(&g, 7, 100, now + 1), -ENOENT);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	gone_found(&g, 7, 100, now + 1);
	assert_int_equal(gone_tell(&g, 7, 100, now + 1), -ENOENT);
	/* That is another walk. */
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	look_again(&g);
	gone_found(&g, 7, 100, now + GONE_WALK_MS);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	gone_forget(&g, 7);
	/* Nothing is left of all that. */
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
}

TEST(an_alias_that_is_absent_is_looked_up_once_more)
{
	struct gone g = {0};

	assert_false(gone_again(&g, 7, 100, now));
	assert_true(gone_looked_up(&g, 7, 100, false, now));
	assert_false(gone_looked_up(&g, 7, 100, true, now));
	assert_true(gone_again(&g, 7, 100, now));
	assert_false(gone_again(&g, 7, 100, now + GONE_WALK_MS));
	/* Another thread's look-up found it. */
	assert_true(gone_looked_up(&g, 7, 100, false, now));
	assert_true(gone_again(&g, 7, 100, now + GONE_WALK_MS + 1));
	assert_false(gone_again(&g, 7, 100, now + 3 * GONE_WALK_MS));
	gone_forget(&g, 7);
	/* Of another file or thread nothing is known. */
	assert_false(gone_again(&g, 7, 100, now));
	assert_true(gone_looked_up(&g, 7, 200, true, now));
	assert_true(gone_looked_up(&g, 8, 100, true, now));
	gone_found(&g, 7, 200, now);
	assert_false(gone_looked_up(&g, 7, 100, true, now));
}

/* ESTALE, and then nothing as often. */
static void lose(struct gone *g, unsigned times)
{
	gone_forget(g, 7);
	assert_false(gone_again(g, 7, 100, now));
	for (unsigned i = 0; i < times; i++)
		assert_true(gone_looked_up(g, 7, 100, false, now));
}

TEST(a_walk_that_found_nothing_twice_may_find_it_then)
{
	struct gone g = {0};

	for (unsigned times = 2; times < 5; times++) {
		/* Found, and gone when its attributes, or its data, are asked for. */
		lose(&g, times);
		assert_false(gone_looked_up(&g, 7, 100, true,
					    now + GONE_WALK_MS - 1));
		assert_true(gone_again(&g, 7, 100, now));
		lose(&g, times);
		look_again(&g);
		assert_int_equal(gone_tell(&g, 7, 100, now), -ENOENT);
	}
	/* Found and lost again. */
	lose(&g, 1);
	assert_false(gone_looked_up(&g, 7, 100, true, now));
	assert_true(gone_looked_up(&g, 7, 100, false, now));
	assert_false(gone_looked_up(&g, 7, 100, true, now));
	assert_true(gone_again(&g, 7, 100, now));
}

TEST(a_walk_that_found_nothing_twice_has_mostly_ended)
{
	struct gone g = {0};

	/* The next one asks for attributes or data at once, or begins later. */
	lose(&g, 2);
	assert_false(gone_again(&g, 7, 100, now));
	lose(&g, 2);
	assert_int_equal(gone_tell(&g, 7, 100, now), -ESTALE);
	lose(&g, 2);
	assert_true(gone_looked_up(&g, 7, 100, true, now + GONE_WALK_MS));
	assert_false(gone_again(&g, 7, 100, now));
	/* It has found the file, which another made; that says nothing of a third. */
	lose(&g, 2);
	gone_found(&g, 7, 100, now);
	assert_false(gone_again(&g, 7, 100, now));
}

TEST(a_file_that_was_seen_stays_until_its_row_is_another)
{
	struct gone g = {0};

	assert_false(gone_stays(&g, 100, 0));
	gone_saw(&g, 100, 5);
	assert_true(gone_stays(&g, 100, 5));
	assert_false(gone_stays(&g, 100, 6));
	assert_false(gone_stays(&g, 101, 5));
	assert_false(gone_stays(&g, 100 + GONE_SLOTS, 5));
	gone_saw(&g, 100 + GONE_SLOTS, 5);
	assert_false(gone_stays(&g, 100, 5));
}
