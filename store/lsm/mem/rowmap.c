#include "store/lsm/mem/rowmap.h"

#include <errno.h>

/* Inlined, since a call costs more than the hash of a short key. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#define ADDR_BITS 48
#define ADDR_MASK (((uint64_t)1 << ADDR_BITS) - 1)
#define SLOTS_MIN 256

struct rowmap_table {
	uint32_t n;
	_Atomic(uint64_t) slots[];
};

/* Scales the low half of the hash to the number of slots. */
static inline size_t home(const struct rowmap_table *t, uint64_t hash)
{
	return (hash & UINT32_MAX) * t->n >> 32;
}

static inline size_t next_slot(const struct rowmap_table *t, size_t i)
{
	return i + 1 < t->n ? i + 1 : 0;
}

uint64_t rowmap_hash(uint32_t tree, struct bytes row)
{
	return XXH3_64bits_withSeed(row.data ? row.data : (void *)"", row.len,
				    tree);
}

/* The top 16 bits of the hash; home() uses the low half. */
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
	for (size_t i = home(t, hash);; i = next_slot(t, i)) {
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
		__builtin_prefetch((const void *)&t->slots[home(t, hash)]);
}

/* The row in the slot that the hash gives, without probing. */
static struct memrow *row_at_home(const struct rowmap *m, uint64_t hash)
{
	struct rowmap_table *t =
		atomic_load_explicit(&m->table, memory_order_acquire);
	uint64_t v = 0;

	if (t)
		v = atomic_load_explicit(&t->slots[home(t, hash)],
					 memory_order_acquire);
	return (struct memrow *)(uintptr_t)(v & ADDR_MASK);
}

void rowmap_ahead_row(const struct rowmap *m, uint64_t hash)
{
	const char *r = (const char *)row_at_home(m, hash);

	/* Also if it is NULL: a test would wait for the load. */
	__builtin_prefetch(r);
	__builtin_prefetch(r + 64);
}

void rowmap_ahead_cells(const struct rowmap *m, uint64_t hash)
{
	const struct memrow *r = row_at_home(m, hash);

	if (r)
		memrow_ahead(r);
}

static void table_add(struct rowmap_table *t, struct memrow *r, uint64_t hash)
{
	size_t i = home(t, hash);

	while (atomic_load_explicit(&t->slots[i], memory_order_relaxed))
		i = next_slot(t, i);
	atomic_store_explicit(&t->slots[i], (uint64_t)(uintptr_t)r | tag(hash),
			      memory_order_release);
}

static inline struct memrow *slot_row(uint64_t v)
{
	return (struct memrow *)(uintptr_t)(v & ADDR_MASK);
}

static void table_copy(struct rowmap_table *t, const struct rowmap_table *old)
{
	for (size_t i = 0; i < old->n; i++) {
		uint64_t v = atomic_load_explicit(&old->slots[i],
						  memory_order_relaxed);
		uint64_t ahead = atomic_load_explicit(
			&old->slots[(i + 16) % old->n], memory_order_relaxed);
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

	/* At most three of four slots are in use. */
	if (old && m->n < old->n / 4 * 3)
		return 0;
	/*
	 * The outgrown table's memory is not freed, so the first is made large.
	 */
	slots = old ? (size_t)old->n * 2 : rows / 2 * 3;
	if (slots < SLOTS_MIN)
		slots = SLOTS_MIN;
	if (slots > UINT32_MAX)
		return -ENOMEM;
	t = arena_alloc(a, sizeof(*t) + slots * sizeof(t->slots[0]), 64);
	if (!t)
		return -ENOMEM;
	t->n = (uint32_t)slots;
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
