/* Bloom filters: never a wrong no, seldom a wrong maybe. */
#include <xxhash.h>

#include "tests/unit/unit.h"
#include "store/lsm/block/bloom.h"

static uint64_t key(uint64_t i)
{
	return XXH3_64bits(&i, sizeof(i));
}

static void build(size_t n, struct buf *out)
{
	struct bloom_keys keys = {0};
	struct arena mem = {0};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(bloom_keys_add(&keys, &mem, key(i)), 0);
	assert_int_equal(bloom_build(&keys, out), 0);
	arena_release(&mem);
	assert_int_equal(keys.n, n);
}

TEST(what_was_added_is_never_denied)
{
	for (size_t n = 1; n <= 30000; n = n * 3 + 1) {
		struct buf filter = {0};

		build(n, &filter);
		assert_int_equal(filter.len % BLOOM_LINE, 0);
		for (size_t i = 0; i < n; i++)
			assert_true(bloom_may_have(buf_bytes(&filter), key(i)));
		buf_free(&filter);
	}
}

TEST(one_in_fifty_is_wrongly_supposed_at_most)
{
	const size_t n = 100000;
	struct buf filter = {0};
	size_t wrong = 0;

	build(n, &filter);
	/* Ten bits a key, and no more than a line on top. */
	assert_true(filter.len <= n * BLOOM_BITS_PER_KEY / 8 + BLOOM_LINE);
	for (size_t i = n; i < 2 * n; i++)
		wrong += bloom_may_have(buf_bytes(&filter), key(i));
	print_message("%.2f %% wrong\n", 100.0 * (double)wrong / (double)n);
	assert_true(wrong < n / 50);
	/* And it is a filter at all, not one that always denies. */
	assert_true(wrong > 0);
	buf_free(&filter);
}

TEST(no_filter_denies_nothing)
{
	struct buf filter = {0};

	assert_true(bloom_may_have(bytes_of(NULL, 0), key(1)));
	build(0, &filter);
	assert_false(bloom_may_have(buf_bytes(&filter), key(1)));
	buf_free(&filter);
}

/* A chunk of the pool would be two megabytes, and stay with memtables. */
TEST(few_keys_take_little_memory)
{
	struct bloom_keys keys = {0};
	struct arena mem = {0};

	arena_keep(4 * ARENA_CHUNK);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(bloom_keys_add(&keys, &mem, key(i)), 0);
	assert_true(arena_used(&mem) < 100000 * 8 + 2 * ARENA_LARGE);
	arena_release(&mem);
	assert_int_equal(arena_idle(), 0);
	arena_keep(-4 * (ptrdiff_t)ARENA_CHUNK);
}
