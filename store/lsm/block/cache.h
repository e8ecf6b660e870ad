/*
 * The block cache: decoded blocks of all tables of a store, bounded in bytes.
 *
 * Each open table has an array of slots, one a block, so that a hit is a load
 * and needs no hash and no lock. A reader pins the block that it found, so that
 * it is not freed: each block has CACHE_STRIPES counters, and each thread
 * counts in its own stripe, so that two threads on one hot block write
 * different cache lines.
 *
 *	reader				evictor, under the lock
 *	count up, own stripe		slot = NULL
 *	block = slot			sum of the block's stripes
 *	NULL: count down, a miss	not 0: slot = block again, go on
 *					0: nobody has it nor can get it: free
 *
 * All four are sequentially consistent, so one of the two sees the other.
 *
 * Who to evict is decided by CLOCK: a ring of all blocks, a hand, and a bit
 * that a hit sets. Tables kept in memory have a ring of their own which is
 * visited when nothing in the other can be evicted. Blocks that are too large
 * for the cache, or that find no space because all others are pinned, are not
 * cached: the reader keeps them.
 *
 * A block that fits without an eviction is cached whole. When the cache is
 * full, a block is cached bare if possible (block.h): ten bare blocks take the
 * space of a whole one, and a get that finds one reads some hundred bytes
 * instead of a block. So a cache of a tenth of the data still knows where every
 * cell is. An evicted bare block is replaced by a hollow one, for which a get
 * reads the keys too: twenty or more take the space of a bare one. A partial
 * block that is read often, or that often fails a scan which needs it whole, is
 * loaded more fully (@grow), and others are evicted for it.
 */
#ifndef CELLFS_STORE_LSM_BLOCK_CACHE_H
#define CELLFS_STORE_LSM_BLOCK_CACHE_H

#include <assert.h>
#include <stdatomic.h>

#include "store/lsm/block/block.h"

#define CACHE_STRIPES 8
/*
 * The most free space in the slab's chunks when the cache is full, besides the
 * chunk opened last. With more holes, if no chunk can be emptied, the cache
 * holds less.
 */
#define CACHE_HOLES ((size_t)6 << 20)

struct block_cache;

int block_cache_new(size_t bytes_max, struct block_cache **out);
void block_cache_free(struct block_cache *c); /* after the last table */
struct block_cache_stat {
	uint64_t hits, misses, evicted, bytes, bytes_max;
	/* Blocks in the cache without values, and without keys as well. */
	uint64_t bare, hollow;
};
void block_cache_stat(struct block_cache *c, struct block_cache_stat *out);

typedef _Atomic uint32_t cache_pin;

/* The blocks of one table. */
struct cache_slots {
	struct block_cache *cache; /* NULL: nothing is cached */
	uint32_t nblocks;
	uint32_t stride; /* of a stripe, in counters */
	bool in_memory;
	_Atomic(struct block *) *block;
	cache_pin *pins; /* [CACHE_STRIPES][stride] */
};

int cache_slots_init(struct cache_slots *s, struct block_cache *c,
		     uint32_t nblocks, bool in_memory);
/* Evicts all blocks of the table, which nobody reads any more. */
void cache_slots_release(struct cache_slots *s);
size_t cache_slots_memory(const struct cache_slots *s);

/* Do @bytes fit without an eviction? */
bool cache_has_room(const struct cache_slots *s, size_t bytes);

/* Prefetches what cache_get() looks at, for block @i and some after it. */
void cache_ahead(const struct cache_slots *s, uint32_t i);
/*
 * The address of block @i, NULL if it is not cached. It may be freed at any
 * time: use it only to prefetch.
 */
const void *cache_place(const struct cache_slots *s, uint32_t i);
/* Prefetches the block itself, too. */
void cache_ahead_block(const struct cache_slots *s, uint32_t i);
/*
 * Block @i, pinned with *pin. NULL if it is not cached, or is not whole and
 * @bare is false.
 */
struct block *cache_get(struct cache_slots *s, uint32_t i, bool bare,
			cache_pin **pin);
/* As cache_get(), for a block in any form, and without counting a hit. */
struct block *cache_peek(struct cache_slots *s, uint32_t i, cache_pin **pin);
/*
 * Gives @b, which was read as block @i, to the cache. Returns the block to use,
 * pinned: @b or the one that another thread put there, and then @b is freed.
 * NULL: nothing, or only a bare copy, was cached, and @b remains the caller's.
 */
struct block *cache_put(struct cache_slots *s, uint32_t i, struct block *b,
			bool grow, cache_pin **pin);

static inline void cache_unpin(cache_pin *pin)
{
	unsigned pins = atomic_fetch_sub_explicit(pin, 1, memory_order_release);

	assert(pins > 0);
}

#endif
