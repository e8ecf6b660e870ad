/* The block cache: bounded, shared, and never frees what somebody reads. */
#include <pthread.h>

#include "tests/unit/unit.h"
#include "store/lsm/base/slab.h"
#include "store/lsm/block/cache.h"
#include "tests/unit/xorshift.h"

#define NBLOCKS 64
#define RAW 4000

static struct block *block_of(size_t raw_len, uint32_t index)
{
	struct block *b;

	assert_int_equal(block_new(raw_len, 1, false, &b), 0);
	/* Who reads it sees whether it is that block, and still there. */
	memset(b->raw, (int)index, raw_len);
	return b;
}

/* Reads block @i through the cache as a cursor does; 1 if it was a hit. */
static int read_one(struct cache_slots *s, uint32_t i)
{
	cache_pin *pin = NULL;
	struct block *b = cache_get(s, i, false, &pin);
	int hit = b != NULL;

	if (!b) {
		struct block *own = block_of(RAW, i);

		b = cache_put(s, i, own, false, &pin);
		if (!b) {
			block_free(own);
			return 0;
		}
	}
	for (size_t k = 0; k < RAW; k += 100)
		if (b->raw[k] != (uint8_t)i)
			abort();
	cache_unpin(pin);
	return hit;
}

TEST(what_was_put_is_found)
{
	struct block_cache *c;
	struct block_cache_stat stat;
	struct cache_slots s;

	assert_int_equal(block_cache_new(1 << 20, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	for (uint32_t i = 0; i < NBLOCKS; i++)
		assert_int_equal(read_one(&s, i), 0);
	for (uint32_t i = 0; i < NBLOCKS; i++)
		assert_int_equal(read_one(&s, i), 1);
	block_cache_stat(c, &stat);
	assert_int_equal(stat.hits, NBLOCKS);
	assert_int_equal(stat.misses, NBLOCKS);
	assert_true(stat.bytes > NBLOCKS * RAW);
	cache_slots_release(&s);
	block_cache_stat(c, &stat);
	assert_int_equal(stat.bytes, 0);
	block_cache_free(c);
}

TEST(the_bound_holds)
{
	struct block_cache *c;
	struct block_cache_stat stat;
	struct cache_slots s;

	assert_int_equal(block_cache_new(10 * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	for (int pass = 0; pass < 5; pass++)
		for (uint32_t i = 0; i < NBLOCKS; i++) {
			read_one(&s, i);
			block_cache_stat(c, &stat);
			assert_true(stat.bytes <= stat.bytes_max);
		}
	assert_true(stat.bytes > 5 * RAW);
	assert_true(stat.evicted > 4 * NBLOCKS - 20);
	cache_slots_release(&s);
	block_cache_free(c);
}

/* Puts in block @i of so many bytes, and reads it if it stays. */
static void put_in(struct cache_slots *s, uint32_t i, size_t raw)
{
	cache_pin *pin;
	struct block *own = block_of(raw, i);

	if (cache_put(s, i, own, false, &pin))
		cache_unpin(pin);
	else
		block_free(own);
}

static void *read_on(void *arg)
{
	struct cache_slots *s = arg;

	for (int pass = 0; pass < 20; pass++)
		for (uint32_t i = 0; i < s->nblocks; i++)
			read_one(s, i);
	return NULL;
}

/* More blocks than its lock is held for, while another's push them out. */
TEST(a_table_goes_while_another_comes_in)
{
	enum {
		MANY = 1000
	};
	struct cache_slots gone, rest;
	struct block_cache_stat stat;
	struct block_cache *c;
	pthread_t reader;

	assert_int_equal(block_cache_new((size_t)MANY * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&rest, c, MANY, false), 0);
	for (int round = 0; round < 5; round++) {
		assert_int_equal(cache_slots_init(&gone, c, MANY + 1, false),
				 0);
		for (uint32_t i = 0; i < MANY + 1; i++)
			read_one(&gone, i);
		assert_int_equal(pthread_create(&reader, NULL, read_on, &rest),
				 0);
		cache_slots_release(&gone);
		pthread_join(reader, NULL);
	}
	cache_slots_release(&rest);
	block_cache_stat(c, &stat);
	assert_int_equal(stat.bytes, 0);
	assert_int_equal(stat.bare, 0);
	assert_int_equal(stat.hollow, 0);
	block_cache_free(c);
}

/*
 * Blocks of two tables by turns, and those of the one go: what is left of
 * the other must not keep all of the memory while a third one's come in.
 */
TEST(what_has_left_takes_no_memory)
{
	const size_t max = 32 << 20, small = 16000, large = 40000;
	const uint32_t n = (uint32_t)(max / (small + 4000));
	struct cache_slots gone, rest, more;
	struct block_cache_stat stat;
	struct block_cache *c;
	uint32_t hits = 0;

	assert_int_equal(block_cache_new(max, &c), 0);
	assert_int_equal(cache_slots_init(&gone, c, n, false), 0);
	assert_int_equal(cache_slots_init(&rest, c, n, false), 0);
	assert_int_equal(cache_slots_init(&more, c, n, false), 0);
	for (uint32_t i = 0; i < n; i++)
		put_in(i % 4 ? &gone : &rest, i, small);
	cache_slots_release(&gone);
	for (uint32_t i = 0; i < max / large / 2; i++) {
		put_in(&more, i, large);
		block_cache_stat(c, &stat);
		if (stat.bytes + slab_idle() > max + CACHE_HOLES + SLAB_CHUNK)
			fail_msg("block %u: %zu bytes, %zu idle", i,
				 (size_t)stat.bytes, slab_idle());
	}
	for (uint32_t i = 0; i < n; i += 4) {
		cache_pin *pin;
		struct block *b = cache_get(&rest, i, false, &pin);

		if (!b)
			continue;
		for (size_t k = 0; k < small; k += 100)
			assert_int_equal(b->raw[k], (uint8_t)i);
		cache_unpin(pin);
		hits++;
	}
	/* There was room for all of them. */
	assert_int_equal(hits, n / 4 + (n % 4 > 0));
	cache_slots_release(&rest);
	cache_slots_release(&more);
	block_cache_free(c);
}

/* Each of many sizes has a chunk that is partly empty. */
TEST(holes_take_no_more_than_their_bound)
{
	enum {
		SIZES = 20
	};
	const size_t max = 16 << 20;
	struct block_cache_stat stat;
	struct block_cache *c;
	struct cache_slots s;
	unsigned seed = 1;

	assert_int_equal(block_cache_new(max, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, 40000, false), 0);
	for (uint32_t i = 0; i < 40000; i++) {
		seed = seed * 1103515245u + 12345;
		put_in(&s, i, 2000 + seed / 65536 % SIZES * 3000);
		block_cache_stat(c, &stat);
		if (stat.bytes + slab_idle() > max + CACHE_HOLES + SLAB_CHUNK)
			fail_msg("block %u: %zu bytes, %zu idle", i,
				 (size_t)stat.bytes, slab_idle());
	}
	assert_true(stat.bytes > max / 2 - 100000);
	cache_slots_release(&s);
	block_cache_free(c);
}

TEST(what_is_read_often_stays)
{
	struct block_cache *c;
	struct cache_slots s;
	int hits = 0;

	assert_int_equal(block_cache_new(10 * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	read_one(&s, 0);
	for (uint32_t i = 1; i < NBLOCKS; i++) {
		read_one(&s, i);
		hits += read_one(&s, 0);
	}
	assert_int_equal(hits, NBLOCKS - 1);
	cache_slots_release(&s);
	block_cache_free(c);
}

TEST(what_is_pinned_stays)
{
	struct block_cache *c;
	struct block_cache_stat stat;
	struct cache_slots s;
	cache_pin *pins[NBLOCKS];
	struct block *blocks[NBLOCKS];
	int taken = 0;

	assert_int_equal(block_cache_new(10 * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	for (uint32_t i = 0; i < NBLOCKS; i++) {
		struct block *own = block_of(RAW, i);

		blocks[i] = cache_put(&s, i, own, false, &pins[i]);
		if (!blocks[i])
			block_free(own);
		taken += blocks[i] != NULL;
	}
	/* All room is pinned: the rest was not taken. */
	assert_in_range(taken, 5, 10);
	block_cache_stat(c, &stat);
	assert_true(stat.bytes <= stat.bytes_max);
	for (uint32_t i = 0; i < NBLOCKS; i++) {
		if (!blocks[i])
			continue;
		assert_int_equal(blocks[i]->raw[RAW - 1], i);
		cache_unpin(pins[i]);
	}
	/* Now there is room again. */
	assert_int_equal(read_one(&s, NBLOCKS - 1), 0);
	assert_int_equal(read_one(&s, NBLOCKS - 1), 1);
	cache_slots_release(&s);
	block_cache_free(c);
}

TEST(large_blocks_pass_by)
{
	struct block_cache *c;
	struct block_cache_stat stat;
	struct cache_slots s;
	struct block *large = block_of(8 * RAW, 1);
	cache_pin *pin;

	assert_int_equal(block_cache_new(10 * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	read_one(&s, 0);
	assert_null(cache_put(&s, 1, large, false, &pin));
	block_free(large);
	block_cache_stat(c, &stat);
	assert_true(stat.bytes < 2 * RAW);
	assert_int_equal(read_one(&s, 0), 1);
	cache_slots_release(&s);
	block_cache_free(c);
}

TEST(tables_in_memory_leave_last)
{
	struct block_cache *c;
	struct cache_slots s, kept;

	assert_int_equal(block_cache_new(10 * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&kept, c, NBLOCKS, true), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	for (uint32_t i = 0; i < 4; i++)
		read_one(&kept, i);
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t i = 0; i < NBLOCKS; i++)
			read_one(&s, i);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(read_one(&kept, i), 1);
	cache_slots_release(&s);
	cache_slots_release(&kept);
	block_cache_free(c);
}

TEST(two_who_read_the_same_share_one)
{
	struct block_cache *c;
	struct cache_slots s;
	struct block *one = block_of(RAW, 3), *two = block_of(RAW, 3);
	cache_pin *p, *q;

	assert_int_equal(block_cache_new(1 << 20, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	assert_ptr_equal(cache_put(&s, 3, one, false, &p), one);
	assert_ptr_equal(cache_put(&s, 3, two, false, &q), one);
	cache_unpin(p);
	cache_unpin(q);
	cache_slots_release(&s);
	block_cache_free(c);
}

TEST(no_cache_takes_nothing)
{
	struct block_cache *c;
	struct cache_slots s;

	assert_int_equal(block_cache_new(0, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	assert_int_equal(read_one(&s, 0), 0);
	assert_int_equal(read_one(&s, 0), 0);
	cache_slots_release(&s);
	assert_int_equal(cache_slots_init(&s, NULL, NBLOCKS, false), 0);
	assert_int_equal(read_one(&s, 0), 0);
	cache_slots_release(&s);
	block_cache_free(c);
}

struct reader {
	pthread_t thread;
	struct cache_slots *s;
	uint64_t seed;
};

static void *reads_at_random(void *arg)
{
	struct reader *r = arg;
	uint64_t x = r->seed;

	for (int n = 0; n < 20000; n++) {
		xorshift(&x);
		/* Half of it on a few hot blocks. */
		read_one(r->s, x & 64 ? x % 4 : x % NBLOCKS);
	}
	return NULL;
}

TEST(many_threads_read_what_is_evicted_all_the_time)
{
	struct block_cache *c;
	struct block_cache_stat stat;
	struct cache_slots s;
	struct reader readers[10];

	assert_int_equal(block_cache_new(12 * RAW, &c), 0);
	assert_int_equal(cache_slots_init(&s, c, NBLOCKS, false), 0);
	for (int i = 0; i < 10; i++) {
		readers[i].s = &s;
		readers[i].seed = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
		assert_int_equal(pthread_create(&readers[i].thread, NULL,
						reads_at_random, &readers[i]),
				 0);
	}
	for (int i = 0; i < 10; i++)
		pthread_join(readers[i].thread, NULL);
	block_cache_stat(c, &stat);
	assert_true(stat.bytes <= stat.bytes_max);
	assert_true(stat.evicted > 1000);
	assert_true(stat.hits > 1000);
	for (size_t i = 0; i < (size_t)CACHE_STRIPES * s.stride; i++)
		assert_int_equal(atomic_load(&s.pins[i]), 0);
	cache_slots_release(&s);
	block_cache_free(c);
}
