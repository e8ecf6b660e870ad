/* Bloom filters: never a wrong no, seldom a wrong maybe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <xxhash.h>

#include "store/lsm/bloom.h"

static uint64_t key(uint64_t i)
{
	return XXH3_64bits(&i, sizeof(i));
}

static void what_was_added_is_never_denied(void **state)
{
	uint64_t hashes[3000];

	(void)state;
	for (size_t n = 1; n <= 3000; n = n * 3 + 1) {
		struct buf filter = {0};

		for (size_t i = 0; i < n; i++)
			hashes[i] = key(i);
		assert_int_equal(bloom_build(hashes, n, &filter), 0);
		assert_int_equal(filter.len % BLOOM_LINE, 0);
		for (size_t i = 0; i < n; i++)
			assert_true(
				bloom_may_have(buf_bytes(&filter), hashes[i]));
		buf_free(&filter);
	}
}

static void one_in_fifty_is_wrongly_supposed_at_most(void **state)
{
	const size_t n = 100000;
	uint64_t *hashes = malloc(n * sizeof(*hashes));
	struct buf filter = {0};
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		hashes[i] = key(i);
	assert_int_equal(bloom_build(hashes, n, &filter), 0);
	/* Ten bits a key, and no more than a line on top. */
	assert_true(filter.len <= n * BLOOM_BITS_PER_KEY / 8 + BLOOM_LINE);
	for (size_t i = n; i < 2 * n; i++)
		wrong += bloom_may_have(buf_bytes(&filter), key(i));
	print_message("%.2f %% wrong\n", 100.0 * (double)wrong / (double)n);
	assert_true(wrong < n / 50);
	/* And it is a filter at all, not one that always denies. */
	assert_true(wrong > 0);
	buf_free(&filter);
	free(hashes);
}

static void no_filter_denies_nothing(void **state)
{
	struct buf filter = {0};

	(void)state;
	assert_true(bloom_may_have(bytes_of(NULL, 0), key(1)));
	assert_int_equal(bloom_build(NULL, 0, &filter), 0);
	assert_false(bloom_may_have(buf_bytes(&filter), key(1)));
	buf_free(&filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_never_denied),
		cmocka_unit_test(one_in_fifty_is_wrongly_supposed_at_most),
		cmocka_unit_test(no_filter_denies_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
