/* Names in memory, by hash: what is put is found until it is removed. */
#include <errno.h>
#include <stdlib.h>

#include "tests/unit/unit.h"
#include "fs/text/hashed.h"

#define NUMBERS 3000

/* Calls of calloc(3) that succeed; -1: all. */
static int callocs = -1;
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	if (callocs == 0)
		return NULL;
	callocs -= callocs > 0;
	return __real_calloc(n, size);
}

/* How often the number is found by the hash. */
static int found(const struct hashed *h, uint32_t hash, uint32_t number)
{
	uint32_t at, n = 0;

	for (uint32_t i = hashed_first(h, hash, &at); i;
	     i = hashed_next(h, hash, &at))
		n += i == number;
	return (int)n;
}

static void put(struct hashed *h, uint32_t hash, uint32_t number)
{
	assert_int_equal(hashed_reserve(h), 0);
	hashed_put(h, hash, number);
}

/* Few hashes, which lie close together and round the end of the table. */
static uint32_t close_hash(uint32_t number)
{
	return number % 40 - 20;
}

static uint32_t far_hash(uint32_t number)
{
	return number * 0x9e3779b9u;
}

static void puts_and_removes(uint32_t hash_of(uint32_t), uint32_t numbers)
{
	static bool there[NUMBERS + 1];
	struct hashed h;
	unsigned seed = 1, n = 0;

	memset(there, 0, sizeof(there));
	assert_int_equal(hashed_init(&h), 0);
	for (int step = 0; step < 20000; step++) {
		uint32_t i = (seed = seed * 1103515245 + 12345) >> 8;

		i = i % numbers + 1;
		if (there[i])
			hashed_remove(&h, hash_of(i), i);
		else
			put(&h, hash_of(i), i);
		there[i] = !there[i];
		n += there[i] ? 1 : -1;
		assert_int_equal(h.used, n);
		assert_int_equal(found(&h, hash_of(i), i), there[i]);
		if (step % 100)
			continue;
		for (i = 1; i <= numbers; i++)
			assert_int_equal(found(&h, hash_of(i), i), there[i]);
	}
	hashed_free(&h);
}

TEST(what_is_put_is_found_until_it_is_removed)
{
	puts_and_removes(far_hash, NUMBERS);
	puts_and_removes(close_hash, 200);
}

TEST(a_table_grows_and_shrinks_with_what_is_in_it)
{
	struct hashed h;
	int halved = 0;

	assert_int_equal(hashed_init(&h), 0);
	for (uint32_t i = 1; i <= 100000; i++)
		put(&h, far_hash(i), i);
	assert_int_equal(h.mask + 1, 1 << 18);
	for (uint32_t i = 1; i <= 100000; i++) {
		assert_int_equal(found(&h, far_hash(i), i), 1);
		hashed_remove(&h, far_hash(i), i);
		halved += hashed_fit(&h);
		assert_int_equal(found(&h, far_hash(i), i), 0);
		assert_int_equal(found(&h, far_hash(100000), 100000),
				 i < 100000);
	}
	assert_int_equal(halved, 8);
	assert_int_equal(h.mask + 1, HASHED_MIN);
	hashed_free(&h);
}

TEST(another_number_has_the_place_of_the_one_before)
{
	struct hashed h;

	assert_int_equal(hashed_init(&h), 0);
	put(&h, 7, 1);
	put(&h, 7, 2);
	put(&h, 8, 3);
	hashed_renumber(&h, 7, 1, 9);
	assert_int_equal(found(&h, 7, 1), 0);
	assert_int_equal(found(&h, 7, 9), 1);
	assert_int_equal(found(&h, 7, 2), 1);
	assert_int_equal(h.used, 3);
	hashed_remove(&h, 7, 9);
	assert_int_equal(found(&h, 7, 2), 1);
	assert_int_equal(found(&h, 8, 3), 1);
	hashed_free(&h);
}

TEST(without_memory_a_table_fills_up_and_then_refuses)
{
	struct hashed h;
	uint32_t n = 0;
	int r = 0;

	callocs = 0;
	assert_int_equal(hashed_init(&h), -ENOMEM);
	callocs = 1;
	assert_int_equal(hashed_init(&h), 0);
	for (; (r = hashed_reserve(&h)) == 0; n++)
		hashed_put(&h, far_hash(n + 1), n + 1);
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(n, HASHED_MIN / 8 * 7);
	for (uint32_t i = 1; i <= n; i++)
		assert_int_equal(found(&h, far_hash(i), i), 1);
	assert_int_equal(found(&h, far_hash(n + 1), n + 1), 0);
	/* What is large already stays so. */
	callocs = -1;
	put(&h, far_hash(n + 1), n + 1);
	for (uint32_t i = 1; i <= n + 1; i++)
		hashed_remove(&h, far_hash(i), i);
	callocs = 0;
	assert_true(hashed_fit(&h));
	assert_int_equal(h.mask + 1, 2 * HASHED_MIN);
	callocs = -1;
	hashed_free(&h);
}
