/*
 * Memory of one memtable: allocated piece by piece, freed all at once.
 *
 * Chunks of 2 MiB come from a pool of the process and return to it, because the
 * first touch of fresh memory costs more than an insert does. The memory of all
 * chunks, used or not, is bounded by what the memtables may hold. Large
 * allocations get their own memory, which is returned to the system when freed,
 * as are chunks that were not used for a while.
 *
 * One thread allocates; anyone may read arena_used().
 */
#ifndef CELLFS_STORE_LSM_BASE_ARENA_H
#define CELLFS_STORE_LSM_BASE_ARENA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_CHUNK ((size_t)2 << 20)
/* Allocations of this size or more get memory of their own. */
#define ARENA_LARGE (ARENA_CHUNK / 16)

struct arena_chunk;
struct arena_held;
struct piece;

/* A zero-initialised arena is empty. */
struct arena {
	struct arena_chunk *chunks;
	struct arena_held *held;
	uint8_t *pos, *end; /* the rest of the present chunk */
	_Atomic(size_t) used;
};

/* Aligned to @align (a power of two <= 64); NULL when there is no memory. */
void *arena_alloc(struct arena *a, size_t size, size_t align);
/*
 * Makes sure that allocations of @size bytes in all, none of them large and
 * alignment counted, cannot fail. @size < ARENA_LARGE. 0 or -ENOMEM.
 */
int arena_reserve(struct arena *a, size_t size);
static inline size_t arena_used(const struct arena *a)
{
	return atomic_load_explicit(&a->used, memory_order_relaxed);
}
/* The memory of an allocation that is large; who holds it, holds that alone. */
struct piece *arena_piece(void *large);
/* Holds a piece of somebody else's, @size bytes of it, till the end. 0, -ENOMEM. */
int arena_hold(struct arena *a, struct piece *p, size_t size);
void arena_release(struct arena *a);

/*
 * Adds @bytes (may be negative) to the memory that memtables may use. The pool
 * keeps chunks for that, and two more that are partly used; any beyond are
 * returned to the system.
 */
void arena_keep(ptrdiff_t bytes);
/* Gives the system the chunks that were idle since the last arena_trim(). */
void arena_trim(void);
size_t arena_idle(void); /* bytes of the pool that no arena has */

#endif
