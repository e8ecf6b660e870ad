#include "store/lsm/block/cache.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "store/lsm/base/slab.h"
#include "store/os/thread.h"
#include "store/value/why.h"

/* Blocks moved per call: more than holes of their size arise meanwhile. */
#define MOVES 4
/*
 * The slots of a closed table are emptied so many at a time, which bounds how
 * long readers wait for the lock.
 */
#define RELEASED 64u
/*
 * The step by which the bound on blocks is lowered for holes, or raised again.
 */
#define STEP ((size_t)64 << 10)

/* A stripe's count of hits, on its own cache line. */
struct hits {
	_Alignas(CACHE_LINE) _Atomic uint64_t n;
};

struct block_cache {
	size_t bytes_max;
	struct hits hits[CACHE_STRIPES];
	pthread_mutex_t lock;  /* innermost; guards all below */
	struct block *hand[2]; /* of the rings: [in_memory] */
	size_t bytes;
	/*
	 * The present bound on bytes: less than bytes_max if there are holes.
	 */
	size_t bytes_room;
	uint64_t misses, evicted;
	uint64_t parts[BLOCK_WHOLE + 1]; /* number of blocks of each form */
	uint64_t nblocks[2];
};

int block_cache_new(size_t bytes_max, struct block_cache **out)
{
	struct block_cache *c =
		aligned_alloc(_Alignof(struct block_cache), sizeof(*c));

	if (!c)
		return why(-ENOMEM, "no memory for the block cache");
	memset(c, 0, sizeof(*c));
	c->bytes_max = c->bytes_room = bytes_max;
	pthread_mutex_init(&c->lock, NULL);
	*out = c;
	return 0;
}

void block_cache_free(struct block_cache *c)
{
	if (!c)
		return;
	/* Each table that was open has taken its blocks out. */
	assert(c->bytes == 0 && !c->hand[0] && !c->hand[1]);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void block_cache_stat(struct block_cache *c, struct block_cache_stat *out)
{
	pthread_mutex_lock(&c->lock);
	*out = (struct block_cache_stat){
		.misses = c->misses,
		.evicted = c->evicted,
		.bare = c->parts[BLOCK_BARE],
		.hollow = c->parts[BLOCK_HOLLOW],
		.bytes = c->bytes,
		.bytes_max = c->bytes_max,
	};
	pthread_mutex_unlock(&c->lock);
	for (int i = 0; i < CACHE_STRIPES; i++)
		out->hits += atomic_load_explicit(&c->hits[i].n,
						  memory_order_relaxed);
}

int cache_slots_init(struct cache_slots *s, struct block_cache *c,
		     uint32_t nblocks, bool in_memory)
{
	const uint32_t per_line = CACHE_LINE / sizeof(cache_pin);

	*s = (struct cache_slots){.nblocks = nblocks, .in_memory = in_memory};
	if (!c || c->bytes_max == 0)
		return 0;
	s->stride = (nblocks + per_line - 1) / per_line * per_line;
	s->block = aligned_alloc(CACHE_LINE, s->stride * sizeof(*s->block));
	s->pins = aligned_alloc(CACHE_LINE, (size_t)CACHE_STRIPES * s->stride *
						    sizeof(*s->pins));
	if (!s->block || !s->pins) {
		cache_slots_release(s);
		return why(-ENOMEM, "no memory for the slots of an sstable");
	}
	memset(s->block, 0, s->stride * sizeof(*s->block));
	memset(s->pins, 0,
	       (size_t)CACHE_STRIPES * s->stride * sizeof(*s->pins));
	s->cache = c;
	return 0;
}

size_t cache_slots_memory(const struct cache_slots *s)
{
	if (!s->cache)
		return 0;
	return s->stride *
	       (sizeof(*s->block) + CACHE_STRIPES * sizeof(*s->pins));
}

static bool is_pinned(const struct cache_slots *s, uint32_t i)
{
	for (unsigned k = 0; k < CACHE_STRIPES; k++)
		if (atomic_load(&s->pins[k * (size_t)s->stride + i]))
			return true;
	return false;
}

void cache_ahead(const struct cache_slots *s, uint32_t i)
{
	unsigned stripe = thread_number() % CACHE_STRIPES;

	if (!s->cache)
		return;
	__builtin_prefetch(&s->block[i]);
	__builtin_prefetch(&s->pins[stripe * (size_t)s->stride + i], 1);
}

const void *cache_place(const struct cache_slots *s, uint32_t i)
{
	if (!s->cache || i >= s->nblocks)
		return NULL;
	return atomic_load_explicit(&s->block[i], memory_order_relaxed);
}

void cache_ahead_block(const struct cache_slots *s, uint32_t i)
{
	const struct block *b = cache_place(s, i);

	if (b)
		block_ahead(b);
}

struct block *cache_get(struct cache_slots *s, uint32_t i, bool bare,
			cache_pin **pin)
{
	struct block *b;
	cache_pin *p;
	unsigned stripe;
	_Atomic uint64_t *hits;

	if (!s->cache)
		return NULL;
	assert(i < s->nblocks);
	stripe = thread_number() % CACHE_STRIPES;
	p = &s->pins[stripe * (size_t)s->stride + i];
	/*
	 * The locked count delays all loads that follow it, so memory that may
	 * be far is prefetched first. A block that was evicted meanwhile is not
	 * used.
	 */
	__builtin_prefetch(p, 1);
	b = atomic_load_explicit(&s->block[i], memory_order_relaxed);
	if (!b)
		return NULL;
	block_ahead(b);
	atomic_fetch_add(p, 1);
	b = atomic_load(&s->block[i]);
	if (!b || (!bare && block_form(b) != BLOCK_WHOLE)) {
		cache_unpin(p);
		return NULL;
	}
	if (!atomic_load_explicit(&b->used, memory_order_relaxed))
		atomic_store_explicit(&b->used, true, memory_order_relaxed);
	/*
	 * Usually one thread uses a stripe: a lost count costs less than a
	 * lock.
	 */
	hits = &s->cache->hits[stripe].n;
	atomic_store_explicit(
		hits, atomic_load_explicit(hits, memory_order_relaxed) + 1,
		memory_order_relaxed);
	*pin = p;
	return b;
}

struct block *cache_peek(struct cache_slots *s, uint32_t i, cache_pin **pin)
{
	struct block *b;
	cache_pin *p;

	if (!s->cache)
		return NULL;
	assert(i < s->nblocks);
	p = &s->pins[thread_number() % CACHE_STRIPES * (size_t)s->stride + i];
	atomic_fetch_add(p, 1);
	b = atomic_load(&s->block[i]);
	if (b)
		*pin = p;
	else
		cache_unpin(p);
	return b;
}

static void ring_add(struct block_cache *c, bool in_memory, struct block *b)
{
	struct block *hand = c->hand[in_memory];

	assert(b->slots && b->memory > 0);
	if (!hand) {
		b->next = b->prev = b;
		c->hand[in_memory] = b;
	} else {
		/* Just before the hand, which reaches it last. */
		b->next = hand;
		b->prev = hand->prev;
		b->prev->next = b;
		hand->prev = b;
	}
	if (!b->passing)
		slab_own(b, b->memory, c);
	c->nblocks[in_memory]++;
	c->bytes += b->memory;
	c->parts[block_form(b)]++;
}

static void ring_remove(struct block_cache *c, bool in_memory, struct block *b)
{
	assert(c->nblocks[in_memory] > 0 && c->parts[block_form(b)] > 0);
	assert(c->bytes >= b->memory);
	if (c->hand[in_memory] == b)
		c->hand[in_memory] = b->next == b ? NULL : b->next;
	b->prev->next = b->next;
	b->next->prev = b->prev;
	if (!b->passing)
		slab_own(b, b->memory, NULL);
	c->nblocks[in_memory]--;
	c->bytes -= b->memory;
	c->parts[block_form(b)]--;
}

/* Removes the block from its slot; false if a reader has it pinned. */
static bool cache_take_out(struct block *b)
{
	struct cache_slots *s = b->slots;

	assert(atomic_load(&s->block[b->index]) == b);
	if (is_pinned(s, b->index))
		return false;
	atomic_store(&s->block[b->index], NULL);
	if (!is_pinned(s, b->index))
		return true;
	atomic_store(&s->block[b->index], b);
	return false;
}

/* Puts a hollow block into the slot of an evicted bare one. */
static void leave_hollow(struct block_cache *c, struct cache_slots *s,
			 const struct block *b)
{
	struct block *h;

	if (block_hollow(b, &h) <= 0)
		return;
	ring_add(c, s->in_memory, h);
	atomic_store(&s->block[h->index], h);
}

/* Evicts from one ring until @room bytes fit; puts the evicted on *out. */
static void sweep(struct block_cache *c, bool in_memory, size_t room,
		  struct block **out)
{
	uint64_t steps = 2 * c->nblocks[in_memory];

	while (c->bytes + room > c->bytes_room && c->hand[in_memory] &&
	       steps-- > 0) {
		struct block *b = c->hand[in_memory];
		struct cache_slots *s = b->slots;

		c->hand[in_memory] = b->next;
		if (atomic_exchange_explicit(&b->used, false,
					     memory_order_relaxed) ||
		    !cache_take_out(b))
			continue;
		ring_remove(c, in_memory, b);
		leave_hollow(c, s, b);
		c->evicted++;
		b->next = *out;
		*out = b;
	}
}

/* Replaces @old in its ring by its copy @b. */
static void ring_replace(struct block_cache *c, bool in_memory,
			 struct block *old, struct block *b)
{
	/* What is counted of the one holds of the other. */
	assert(b->memory == old->memory && block_form(b) == block_form(old));
	if (old->next == old) {
		b->next = b->prev = b;
	} else {
		b->next->prev = b;
		b->prev->next = b;
	}
	if (c->hand[in_memory] == old)
		c->hand[in_memory] = b;
	slab_own(old, old->memory, NULL);
	slab_own(b, b->memory, c);
}

/* Raises the bound on blocks, unless the slab would need a chunk too many. */
static void widen(struct block_cache *c, size_t taken)
{
	if (c->bytes_room < c->bytes_max &&
	    taken + SLAB_CHUNK <= c->bytes_max + CACHE_HOLES)
		c->bytes_room = c->bytes_max - c->bytes_room < STEP
					? c->bytes_max
					: c->bytes_room + STEP;
	assert(c->bytes_room <= c->bytes_max);
}

/*
 * Lowers the bound on blocks, to no less than half, so that the evictions empty
 * some chunk. A few blocks of one size are all in one chunk, which cannot be
 * emptied this way.
 */
static void narrow(struct block_cache *c)
{
	size_t least = c->bytes_max / 2;

	if (c->bytes_max <= CACHE_HOLES)
		return;
	c->bytes_room =
		c->bytes_room < least + STEP ? least : c->bytes_room - STEP;
}

/*
 * Evicted blocks leave holes in the slab. If holes exceed CACHE_HOLES beyond
 * the bound, moves some blocks out of the emptiest chunk. If no chunk can be
 * emptied, lowers the bound on blocks.
 */
static void tidy(struct block_cache *c, struct block **gone)
{
	size_t taken = c->bytes + slab_idle();
	void *pieces[MOVES];
	size_t n;

	if (taken <= c->bytes_max + CACHE_HOLES) {
		widen(c, taken);
		return;
	}
	n = slab_sparse(c, pieces, MOVES);
	if (n == 0)
		narrow(c);
	for (size_t i = 0; i < n; i++) {
		struct block *b = pieces[i], *to;
		struct cache_slots *s = b->slots;

		if (!cache_take_out(b))
			continue;
		if (block_copy(b, &to) < 0) {
			atomic_store(&s->block[b->index], b);
			continue;
		}
		ring_replace(c, s->in_memory, b, to);
		atomic_store(&s->block[to->index], to);
		b->next = *gone;
		*gone = b;
	}
}

static void free_all(struct block *gone)
{
	while (gone) {
		struct block *next = gone->next;

		block_free(gone);
		gone = next;
	}
}

/* Is there space for @b, or must it be cached whole in any case? */
static bool comes_whole(const struct cache_slots *s, const struct block *b)
{
	struct block_cache *c = s->cache;
	bool fits;

	pthread_mutex_lock(&c->lock);
	c->misses++;
	fits = c->bytes + b->memory <= c->bytes_room &&
	       b->memory <= c->bytes_max / 4;
	pthread_mutex_unlock(&c->lock);
	return fits || s->in_memory || !b->plain;
}

bool cache_has_room(const struct cache_slots *s, size_t bytes)
{
	struct block_cache *c = s->cache;
	bool room;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	room = c->bytes + bytes <= c->bytes_room;
	pthread_mutex_unlock(&c->lock);
	return room;
}

/* Evicts for @b and puts it into its slot; false if it does not fit. */
static bool take_in(struct cache_slots *s, uint32_t i, struct block *b,
		    struct block **gone)
{
	struct block_cache *c = s->cache;

	if (b->memory > c->bytes_max / 4)
		return false;
	sweep(c, false, b->memory, gone);
	sweep(c, true, b->memory, gone);
	if (c->bytes + b->memory > c->bytes_max)
		return false;
	assert(!atomic_load(&s->block[i]));
	b->slots = s;
	b->index = i;
	ring_add(c, s->in_memory, b);
	atomic_store(&s->block[i], b);
	return true;
}

/*
 * The block in the slot. If @b holds more and that block is not pinned, evicts
 * it and returns NULL.
 */
static struct block *holder(struct cache_slots *s, uint32_t i,
			    const struct block *b, struct block **gone)
{
	struct block *have = atomic_load(&s->block[i]);

	if (!have || block_form(have) >= block_form(b) || !cache_take_out(have))
		return have;
	ring_remove(s->cache, s->in_memory, have);
	have->next = *gone;
	*gone = have;
	return NULL;
}

struct block *cache_put(struct cache_slots *s, uint32_t i, struct block *b,
			bool grow, cache_pin **pin)
{
	struct block_cache *c = s->cache;
	struct block *gone = NULL, *use, *in = b;
	cache_pin *p;

	if (!c)
		return NULL;
	assert(i < s->nblocks);
	if (block_form(b) == BLOCK_WHOLE && !comes_whole(s, b) && !grow) {
		/* A block that is there stays. Without memory @b stays @in. */
		if (atomic_load(&s->block[i]))
			return NULL;
		block_bare(b, &in);
	}
	p = &s->pins[thread_number() % CACHE_STRIPES * (size_t)s->stride + i];
	pthread_mutex_lock(&c->lock);
	use = holder(s, i, in, &gone);
	if (!use && take_in(s, i, in, &gone)) {
		use = in;
		in = b;
	}
	if (use && block_form(use) < block_form(b))
		use = NULL;
	assert(!use || use->index == i);
	/* Nobody evicts it while the lock is held. */
	if (use)
		atomic_fetch_add(p, 1);
	tidy(c, &gone);
	pthread_mutex_unlock(&c->lock);
	free_all(gone);
	if (in != b)
		block_free(in);
	if (use && use != b)
		block_free(b);
	if (use)
		*pin = p;
	return use;
}

/* Empties some slots from @i on. */
static void release_some(struct cache_slots *s, uint32_t i)
{
	uint32_t end = s->nblocks - i < RELEASED ? s->nblocks : i + RELEASED;
	struct block_cache *c = s->cache;
	struct block *gone = NULL;

	pthread_mutex_lock(&c->lock);
	for (; i < end; i++) {
		struct block *b = atomic_load(&s->block[i]);

		if (!b)
			continue;
		/* Nobody reads a table that is released. */
		assert(!is_pinned(s, i));
		atomic_store(&s->block[i], NULL);
		ring_remove(c, s->in_memory, b);
		b->next = gone;
		gone = b;
	}
	pthread_mutex_unlock(&c->lock);
	free_all(gone);
}

/* Other threads may evict, or make hollow, blocks of the table meanwhile. */
void cache_slots_release(struct cache_slots *s)
{
	for (uint32_t i = 0; s->cache && i < s->nblocks; i += RELEASED)
		release_some(s, i);
	free(s->block);
	free(s->pins);
	*s = (struct cache_slots){0};
}
