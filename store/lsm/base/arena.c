#include "store/lsm/base/arena.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "store/os/os.h"
#include "store/value/bytes.h"

/* A store has two memtables, each with a chunk that is partly unused. */
#define PARTLY_USED (2 * ARENA_CHUNK)
#define PAGE 4096

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	struct piece piece; /* of a large allocation; else zero */
	uint8_t pad[32];    /* what follows starts a cache line */
};

struct arena_held {
	struct arena_held *next;
	struct piece *piece;
};

static struct {
	pthread_mutex_t lock;
	struct arena_chunk *chunks; /* lock */
	size_t keep;		    /* lock; bytes: see arena_keep() */
	unsigned made;		    /* lock; chunks made and not freed */
	unsigned idle;		    /* lock; number of chunks in the list */
	unsigned least;		    /* lock; least idle since the last trim */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A chunk of the pool. NULL: the pool is empty, the caller makes a chunk. */
static struct arena_chunk *pool_take(void)
{
	struct arena_chunk *c;

	pthread_mutex_lock(&pool.lock);
	c = pool.chunks;
	if (c) {
		pool.chunks = c->next;
		if (--pool.idle < pool.least)
			pool.least = pool.idle;
	} else {
		pool.made++;
	}
	pthread_mutex_unlock(&pool.lock);
	return c;
}

/* Uncounts the chunk that the caller of pool_take() could not make. */
static void pool_miss(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.made--;
	pthread_mutex_unlock(&pool.lock);
}

/* Under lock: are there more chunks than memtables may need? */
static bool pool_is_over(void)
{
	return pool.made * ARENA_CHUNK > pool.keep + PARTLY_USED;
}

/* 1: the pool keeps @c. 0: the pool is full, the caller frees @c. */
static int pool_give(struct arena_chunk *c)
{
	int kept = 0;

	pthread_mutex_lock(&pool.lock);
	if (pool_is_over()) {
		pool.made--;
	} else {
		c->next = pool.chunks;
		pool.chunks = c;
		pool.idle++;
		kept = 1;
	}
	pthread_mutex_unlock(&pool.lock);
	return kept;
}

/* Under lock: moves an idle chunk from the pool to the list @out. */
static void pool_drop(struct arena_chunk **out)
{
	struct arena_chunk *c = pool.chunks;

	pool.chunks = c->next;
	assert(c && pool.made > 0);
	c->next = *out;
	*out = c;
	pool.made--;
	pool.idle--;
}

static void give_back(struct arena_chunk *out)
{
	struct arena_chunk *c;

	while ((c = out)) {
		out = c->next;
		os_pages_free(c, ARENA_CHUNK);
	}
}

void arena_keep(ptrdiff_t bytes)
{
	struct arena_chunk *out = NULL;

	pthread_mutex_lock(&pool.lock);
	pool.keep += (size_t)bytes;
	while (pool.idle && pool_is_over())
		pool_drop(&out);
	if (pool.least > pool.idle)
		pool.least = pool.idle;
	pthread_mutex_unlock(&pool.lock);
	give_back(out);
}

void arena_trim(void)
{
	struct arena_chunk *out = NULL;

	pthread_mutex_lock(&pool.lock);
	for (; pool.least; pool.least--)
		pool_drop(&out);
	pool.least = pool.idle;
	pthread_mutex_unlock(&pool.lock);
	give_back(out);
}

size_t arena_idle(void)
{
	size_t n;

	pthread_mutex_lock(&pool.lock);
	n = pool.idle * ARENA_CHUNK;
	pthread_mutex_unlock(&pool.lock);
	return n;
}

/*
 * Allocated from the system: malloc() puts a header before the memory, and
 * would use two chunks for each aligned one.
 */
static struct arena_chunk *new_chunk(size_t size)
{
	struct arena_chunk *c = os_pages(size);

	if (c)
		c->size = size;
	return c;
}

static void arena_count(struct arena *a, size_t size)
{
	size_t used = atomic_load_explicit(&a->used, memory_order_relaxed);

	atomic_store_explicit(&a->used, used + size, memory_order_relaxed);
}

static int arena_open_chunk(struct arena *a)
{
	struct arena_chunk *c = pool_take();

	if (!c) {
		c = new_chunk(ARENA_CHUNK);
		if (!c) {
			pool_miss();
			return -ENOMEM;
		}
	}
	c->next = a->chunks;
	a->chunks = c;
	a->pos = (uint8_t *)(c + 1);
	a->end = (uint8_t *)c + ARENA_CHUNK;
	return 0;
}

static void free_large(struct piece *p)
{
	struct arena_chunk *c =
		(void *)((uint8_t *)p - offsetof(struct arena_chunk, piece));

	os_pages_free(c, c->size);
}

struct piece *arena_piece(void *large)
{
	return &((struct arena_chunk *)large - 1)->piece;
}

static void *arena_alloc_large(struct arena *a, size_t size)
{
	struct arena_chunk *c;
	size_t all;

	if (__builtin_add_overflow(size, sizeof(*c) + PAGE - 1, &all))
		return NULL;
	all &= ~(size_t)(PAGE - 1);
	c = new_chunk(all);
	if (!c)
		return NULL;
	c->piece = (struct piece){.refs = 1, .free = free_large};
	c->next = a->chunks;
	a->chunks = c;
	arena_count(a, all);
	return c + 1;
}

int arena_reserve(struct arena *a, size_t size)
{
	if (size <= (size_t)(a->end - a->pos))
		return 0;
	return arena_open_chunk(a);
}

void *arena_alloc(struct arena *a, size_t size, size_t align)
{
	size_t skip;
	void *p;

	if (size >= ARENA_LARGE)
		return arena_alloc_large(a, size);
	skip = -(uintptr_t)a->pos & (align - 1);
	if (skip + size > (size_t)(a->end - a->pos)) {
		if (arena_open_chunk(a) < 0)
			return NULL;
		skip = 0;
	}
	assert(skip + size <= (size_t)(a->end - a->pos));
	p = a->pos + skip;
	a->pos += skip + size;
	arena_count(a, skip + size);
	return p;
}

int arena_hold(struct arena *a, struct piece *p, size_t size)
{
	struct arena_held *h = arena_alloc(a, sizeof(*h), 8);

	if (!h)
		return -ENOMEM;
	*h = (struct arena_held){a->held, p};
	piece_hold(p);
	a->held = h;
	arena_count(a, size);
	return 0;
}

void arena_release(struct arena *a)
{
	struct arena_chunk *c, *next;

	for (; a->held; a->held = a->held->next)
		piece_drop(a->held->piece);
	for (c = a->chunks; c; c = next) {
		next = c->next;
		if (c->piece.free)
			piece_drop(&c->piece);
		else if (!pool_give(c))
			os_pages_free(c, c->size);
	}
	a->chunks = NULL;
	a->pos = a->end = NULL;
	atomic_store_explicit(&a->used, 0, memory_order_relaxed);
}
