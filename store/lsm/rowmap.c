#include "store/lsm/rowmap.h"

#include <errno.h>

/* Inlined: the hash of a short key costs less than the call. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define ADDR_BITS 48
#define ADDR_MASK (((uint64_t)1 << ADDR_BITS) - 1)
#define SLOTS_MIN 256

struct rowmap_table {
	size_t mask;
	_Atomic(uint64_t) slots[];
};

uint64_t rowmap_hash(uint32_t tree, struct bytes row)
{
	return XXH3_64bits_withSeed(row.data ? row.data : (void *)"", row.len,
				    tree);
}

/* The top 16 bits; the table uses those at the bottom. */
static uint64_t tag(uint64_t hash)
{
	return hash & ~ADDR_MASK;
}

struct memrow *rowmap_find(const struct rowmap *m, uint32_t tree,
			   struct bytes row, uint64_t hash)
{
	struct rowmap_table *t =
		atomic_load_explicit(&m->table, memory_order_acquire);

	if (!t)
		return NULL;
	for (size_t i = hash & t->mask;; i = (i + 1) & t->mask) {
		uint64_t v = atomic_load_explicit(&t->slots[i],
						  memory_order_acquire);
		struct memrow *r;

		if (!v)
			return NULL;
		if (tag(v) != tag(hash))
			continue;
		r = (struct memrow *)(uintptr_t)(v & ADDR_MASK);
		if (r->tree == tree && bytes_eq(memrow_key(r), row))
			return r;
	}
}

void rowmap_ahead(const struct rowmap *m, uint64_t hash)
{
	struct rowmap_table *t =
		atomic_load_explicit(&m->table, memory_order_acquire);

	if (t)
		__builtin_prefetch((const void *)&t->slots[hash & t->mask]);
}

/* What the row's slot holds if it is not pushed on by another's. */
static struct memrow *home(const struct rowmap *m, uint64_t hash)
{
	struct rowmap_table *t =
		atomic_load_explicit(&m->table, memory_order_acquire);
	uint64_t v = 0;

	if (t)
		v = atomic_load_explicit(&t->slots[hash & t->mask],
					 memory_order_acquire);
	return (struct memrow *)(uintptr_t)(v & ADDR_MASK);
}

void rowmap_ahead_row(const struct rowmap *m, uint64_t hash)
{
	const char *r = (const char *)home(m, hash);

	/* Not asked whether there is one: nothing needs to wait for that. */
	__builtin_prefetch(r);
	__builtin_prefetch(r + 64);
}

void rowmap_ahead_cells(const struct rowmap *m, uint64_t hash)
{
	const struct memrow *r = home(m, hash);

	if (r)
		memrow_ahead(r);
}

static void table_add(struct rowmap_table *t, struct memrow *r, uint64_t hash)
{
	size_t i = hash & t->mask;

	while (atomic_load_explicit(&t->slots[i], memory_order_relaxed))
		i = (i + 1) & t->mask;
	atomic_store_explicit(&t->slots[i], (uint64_t)(uintptr_t)r | tag(hash),
			      memory_order_release);
}

static inline struct memrow *slot_row(uint64_t v)
{
	return (struct memrow *)(uintptr_t)(v & ADDR_MASK);
}

static void table_copy(struct rowmap_table *t, const struct rowmap_table *old)
{
	for (size_t i = 0; i <= old->mask; i++) {
		uint64_t v = atomic_load_explicit(&old->slots[i],
						  memory_order_relaxed);
		uint64_t ahead =
			atomic_load_explicit(&old->slots[(i + 16) & old->mask],
					     memory_order_relaxed);
		struct memrow *r = slot_row(v);

		__builtin_prefetch(slot_row(ahead));
		if (r)
			table_add(t, r, rowmap_hash(r->tree, memrow_key(r)));
	}
}

int rowmap_reserve(struct rowmap *m, struct arena *a, size_t rows)
{
	struct rowmap_table *t,
		*old = atomic_load_explicit(&m->table, memory_order_relaxed);
	size_t slots;

	/* Three slots of four are taken at most. */
	if (old && m->n + 1 <= (old->mask + 1) / 4 * 3)
		return 0;
	slots = old ? (old->mask + 1) * 2 : SLOTS_MIN;
	while (!old && slots < rows)
		slots *= 2;
	t = arena_alloc(a, sizeof(*t) + slots * sizeof(t->slots[0]), 64);
	if (!t)
		return -ENOMEM;
	t->mask = slots - 1;
	memset(t->slots, 0, slots * sizeof(t->slots[0]));
	if (old)
		table_copy(t, old);
	atomic_store_explicit(&m->table, t, memory_order_release);
	return 0;
}

void rowmap_add(struct rowmap *m, struct memrow *r, uint64_t hash)
{
	table_add(atomic_load_explicit(&m->table, memory_order_relaxed), r,
		  hash);
	m->n++;
}
