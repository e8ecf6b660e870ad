/* Memory of memtables: what is idle in the pool, and when it goes. */
#include "tests/unit/unit.h"
#include "store/lsm/base/arena.h"

#define SIZE (ARENA_LARGE - 64)
/* What the pool is told to keep. */
#define KEPT ((ptrdiff_t)(16 * ARENA_CHUNK))

BEFORE_MAIN(keep_little)
{
	arena_keep(KEPT);
}

/* Fills an arena of @n chunks, and writes to all of it. */
static void fill(struct arena *a, size_t n)
{
	size_t each = (ARENA_CHUNK - 64) / SIZE;

	for (size_t i = 0; i < n * each; i++) {
		void *p = arena_alloc(a, SIZE, 8);

		assert_non_null(p);
		memset(p, 0xa5, SIZE);
	}
}

/* Trims until nothing is idle. */
static void begin(void)
{
	arena_trim();
	arena_trim();
	assert_int_equal(arena_idle(), 0);
}

TEST(released_chunks_serve_the_next_arena)
{
	struct arena a = {0};

	begin();
	fill(&a, 8);
	assert_int_equal(arena_idle(), 0);
	arena_release(&a);
	assert_int_equal(arena_idle(), 8 * ARENA_CHUNK);
	fill(&a, 3);
	assert_int_equal(arena_idle(), 5 * ARENA_CHUNK);
	arena_release(&a);
	assert_int_equal(arena_idle(), 8 * ARENA_CHUNK);
}

/* Beside memtables, merges have chunks, which are not kept for the next. */
TEST(no_more_is_kept_than_memtables_may_hold)
{
	struct arena a = {0}, b = {0};

	begin();
	arena_keep(-KEPT);
	arena_keep(3 * ARENA_CHUNK);
	/* And one for each of two memtables that is partly used. */
	fill(&a, 5);
	fill(&b, 4);
	arena_release(&b);
	assert_int_equal(arena_idle(), 0);
	arena_release(&a);
	assert_int_equal(arena_idle(), 5 * ARENA_CHUNK);
	arena_keep(-3 * (ptrdiff_t)ARENA_CHUNK);
	assert_int_equal(arena_idle(), 2 * ARENA_CHUNK);
	arena_keep(KEPT);
}

TEST(a_trim_leaves_what_was_wanted_since_the_last)
{
	struct arena a = {0};

	begin();
	fill(&a, 8);
	arena_release(&a);
	/* They came back just now. */
	arena_trim();
	assert_int_equal(arena_idle(), 8 * ARENA_CHUNK);
	fill(&a, 3);
	arena_release(&a);
	arena_trim();
	assert_int_equal(arena_idle(), 3 * ARENA_CHUNK);
	arena_trim();
	assert_int_equal(arena_idle(), 0);
	fill(&a, 2);
	arena_release(&a);
	assert_int_equal(arena_idle(), 2 * ARENA_CHUNK);
}

TEST(a_trim_takes_nothing_from_an_arena)
{
	struct arena a = {0}, b = {0};

	begin();
	fill(&a, 4);
	fill(&b, 2);
	arena_release(&a);
	arena_trim();
	arena_trim();
	assert_int_equal(arena_idle(), 0);
	assert_int_equal(b.pos[-1], 0xa5);
	fill(&b, 1);
	arena_release(&b);
	assert_int_equal(arena_idle(), 3 * ARENA_CHUNK);
}
