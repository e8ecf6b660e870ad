/*
 * A row of a memtable: its key and its cells.
 *
 * The cells are one linked list in entry_cmp() order, which alone decides what
 * a row holds. When a row grows beyond a few cells it gets an index of them
 * (memindex.h) beside the list. The index only says where in the list to begin,
 * so it may lag behind the list, or lack cells for which there was no memory.
 *
 * Most rows have few cells and most of a memtable's memory is rows and cells,
 * so rows have no field that few of them need: what only wide rows need is in
 * struct memwide.
 *
 * One writer, readers without locks. Only the links change.
 */
#ifndef CELLFS_STORE_LSM_MEM_MEMROW_H
#define CELLFS_STORE_LSM_MEM_MEMROW_H

#include "store/lsm/base/cursor.h"
#include "store/lsm/mem/memindex.h"

struct memcell {
	_Atomic(struct memcell *) next;
	int64_t ts;
	uint64_t seq;
	uint32_t value_len;
	uint16_t qualifier_len;
	uint8_t kind : 6, is_apart : 1, has_ttl : 1;
	/* qualifier, value or where it is, ttl_ms where has_ttl */
	uint8_t data[];
};

/* Where a long value is that is not in the cell: the arena holds the piece. */
struct memcell_apart {
	const uint8_t *data;
	struct piece *piece;
};

/* What only a row with many cells has. */
struct memwide {
	struct memindex index;
	struct memcell *last; /* used by the writer */
};

struct memrow {
	_Atomic(struct memcell *) first;
	/*
	 * The last cell, for the writer; with the flag WIDE a struct memwide.
	 */
	_Atomic(uintptr_t) more;
	struct memrow
		*older; /* the tree's row inserted before, see memtree.h */
	uint32_t tree;
	uint16_t len;
	uint8_t ncells; /* for the writer; not counted in a wide row */
	uint8_t key[];
};

extern const struct memindex_ops memrow_ops; /* keys: struct bytes */

static inline struct bytes memrow_key(const struct memrow *r)
{
	return bytes_of(r->key, r->len);
}

static inline struct memcell *memrow_first(const struct memrow *r)
{
	return atomic_load_explicit(&r->first, memory_order_acquire);
}

static inline struct memcell *memcell_next(const struct memcell *c)
{
	return atomic_load_explicit(&c->next, memory_order_acquire);
}

static inline struct bytes memcell_qualifier(const struct memcell *c)
{
	return bytes_of(c->data, c->qualifier_len);
}

static inline struct memcell_apart memcell_apart(const struct memcell *c)
{
	struct memcell_apart apart;

	memcpy(&apart, c->data + c->qualifier_len, sizeof(apart));
	return apart;
}

static inline uint64_t memcell_ttl(const struct memcell *c)
{
	size_t len = c->is_apart ? sizeof(struct memcell_apart) : c->value_len;
	uint64_t ttl_ms = 0;

	if (c->has_ttl)
		memcpy(&ttl_ms, c->data + c->qualifier_len + len,
		       sizeof(ttl_ms));
	return ttl_ms;
}

static inline struct bytes memcell_value(const struct memcell *c)
{
	if (c->is_apart)
		return bytes_of(memcell_apart(c).data, c->value_len);
	return bytes_of(c->data + c->qualifier_len, c->value_len);
}

static inline struct entry memcell_entry(const struct memcell *c)
{
	return (struct entry){
		.qualifier = memcell_qualifier(c),
		.ts = c->ts,
		.seq = c->seq,
		.ttl_ms = memcell_ttl(c),
		.value = memcell_value(c),
		.kind = c->kind,
	};
}

/* Allocates a row without cells, not yet visible; NULL without memory. */
struct memrow *memrow_new(struct arena *a, uint32_t tree, struct bytes key);
/*
 * Allocates a cell that is in no row yet; NULL without memory. The value is copied,
 * or stays where it is if it is long and @piece not NULL, which it lies in.
 */
struct memcell *memcell_new(struct arena *a, const struct entry *e,
			    struct piece *piece);
/*
 * Links @c into the row. @hint is NULL or a cell of the row that may precede
 * it. False: the row has an equal cell, and @c was not linked.
 */
bool memrow_link(struct memrow *r, struct arena *a, struct memcell *c,
		 struct memcell *hint);
/* Prefetches what memrow_link() looks at first. For the writer. */
void memrow_ahead(const struct memrow *r);
/*
 * The first cell of @qualifier that is of @ts or older and, of @ts, of @kind or a
 * lower one, or else what follows; from @from on, which is NULL (the whole row) or a
 * cell of the row. NULL if there is none.
 */
struct memcell *memrow_seek(const struct memrow *r, struct bytes qualifier,
			    int64_t ts, uint8_t kind, struct memcell *from);

#endif
