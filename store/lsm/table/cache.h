/*
 * The block cache: decoded blocks of all tables of a store, bounded in bytes.
 *
 * Each open table has an array of slots, one a block, so that a hit is a load
 * and needs no hash and no lock. What is found must not be freed under the
 * reader, which pins it: one counter a block, CACHE_STRIPES times over, and
 * each thread counts in its own stripe; two threads on one hot block write
 * different lines.
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
 * visited when the other has nothing to give. Blocks that are too large for the
 * cache, or for which no room can be made because all is pinned, are not
 * taken: they stay with the reader.
 *
 * A block for which nothing must leave comes whole. When the cache is full it
 * comes bare where it can (block.h): ten of those take the room of one, and a
 * get that finds one reads some hundred bytes and not a block. So a cache of a
 * tenth of the data still knows where every cell lies. A bare one that has to
 * leave leaves a hollow one, for which a get reads the keys too: twenty and
 * more take the room of one. One that is read often, or that often fails a scan
 * which wants all of it, asks for more of it to come in (@grow), and others
 * leave for it.
 */
#ifndef CELLFS_STORE_LSM_TABLE_CACHE_H
#define CELLFS_STORE_LSM_TABLE_CACHE_H

#include <assert.h>
#include <stdatomic.h>

#include "store/lsm/table/block.h"
#include "store/lsm/table/sstable.h"

#define CACHE_STRIPES 8
/*
 * What chunks of the slab may have free when the cache is full; the one that is
 * opened last comes on top. Where holes are more and no chunk can be emptied,
 * the cache holds less.
 */
#define CACHE_HOLES ((size_t)6 << 20)

typedef _Atomic uint32_t cache_pin;

/* Of one table. */
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
/* Evicts all of the table. Nobody reads it any more. */
void cache_slots_release(struct cache_slots *s);
size_t cache_slots_memory(const struct cache_slots *s);

/* May so many bytes come in with nothing leaving for them? */
bool cache_has_room(const struct cache_slots *s, size_t bytes);

/* Starts to load what cache_get() looks at, of @i and some behind it. */
void cache_ahead(const struct cache_slots *s, uint32_t i);
/* Where the block itself lies, NULL if it does not: it may leave any time. */
const void *cache_place(const struct cache_slots *s, uint32_t i);
/* Starts to load that, too. */
void cache_ahead_block(const struct cache_slots *s, uint32_t i);
/*
 * Block @i, pinned with *pin; NULL if it is not there, or bare and not @bare
 * asked for.
 */
struct block *cache_get(struct cache_slots *s, uint32_t i, bool bare,
			cache_pin **pin);
/* The same in whatever form it is, without counting a hit. */
struct block *cache_peek(struct cache_slots *s, uint32_t i, cache_pin **pin);
/*
 * Gives @b, which was read as block @i, to the cache. Returns the block to use,
 * pinned: this or another thread's, and then @b is freed. NULL: not taken, or
 * a bare copy of it, and @b stays the caller's.
 */
struct block *cache_put(struct cache_slots *s, uint32_t i, struct block *b,
			bool grow, cache_pin **pin);

static inline void cache_unpin(cache_pin *pin)
{
	unsigned pins = atomic_fetch_sub_explicit(pin, 1, memory_order_release);

	assert(pins > 0);
}

#endif
