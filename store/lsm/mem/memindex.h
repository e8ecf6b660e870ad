/*
 * An ordered index of items that never change, move or vanish: the rows of a
 * tree, the cells of a wide row, the trees of a memtable.
 *
 * A B+tree of 15 entries a node. A node's entries fill its slots in order of
 * arrival and are never overwritten; `order` says in one word how many there
 * are and how they sort, so that storing it publishes an insertion:
 *
 *	slots   d  a  f  .  .        order   n=3 | 1 0 2
 *	insert c:  d  a  f  c  .     order   n=4 | 1 3 0 2
 *
 * A full node is replaced by two new ones and not changed again (or, when the
 * new entry sorts last, kept full, with a new node beside it). The parent gets
 * the right one in a new slot first; then the pointer in the old slot is set to
 * the left one. A reader that read `order` before the first step and the
 * pointer after the second finds `order` changed and tries again. If the parent
 * is full too, it is replaced in the same way, up to the root. Nodes that were
 * replaced stay in the arena as they were, so readers need no lock and never
 * wait: they find all items that were inserted before they began.
 *
 * Each entry is stored with its 8-byte head, taken after the bytes that both
 * fences of the node share, so that few searches read the items themselves. A
 * separator is the first item of the node on its right.
 */
#ifndef CELLFS_STORE_LSM_MEM_MEMINDEX_H
#define CELLFS_STORE_LSM_MEM_MEMINDEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/lsm/base/arena.h"
#include "store/value/bytes.h"

struct memindex_node;

struct memindex_ops {
	/* <0, 0, >0: the order of @key relative to @item. */
	int (*key_cmp)(const void *key, const void *item);
	/*
	 * The head after @skip bytes: a number that does not decrease in key
	 * order, among keys that share their first @skip bytes.
	 */
	uint64_t (*key_head)(const void *key, uint32_t skip);
	uint64_t (*item_head)(const void *item, uint32_t skip);
	/* The number of leading bytes that all keys between two items share. */
	uint32_t (*shared)(const void *low, const void *high);
};

/* All zero except @ops is an empty index. */
struct memindex {
	const struct memindex_ops *ops;
	_Atomic(struct memindex_node *) root;
};

/* A position in the index; valid as long as the arena. */
struct memindex_pos {
	struct memindex_node *leaf;
	uint64_t order;
	uint32_t at;
	void *high; /* first item after the leaf, or NULL */
};

/* The first item >= @key, or NULL. */
void *memindex_at_least(const struct memindex *ix, const void *key,
			struct memindex_pos *pos);
/* The last item < @key (<= if @inclusive), or NULL. */
void *memindex_below(const struct memindex *ix, const void *key, bool inclusive,
		     struct memindex_pos *pos);
/* The first item, or the @last one. */
void *memindex_edge(const struct memindex *ix, bool last,
		    struct memindex_pos *pos);
/*
 * The next or previous item in the leaf. NULL at the leaf's edge: the caller
 * then seeks from pos->high, or from its present item.
 */
void *memindex_next(struct memindex_pos *pos);
void *memindex_prev(struct memindex_pos *pos);
/* Prefetches the items of the next steps in the leaf. */
void memindex_ahead(const struct memindex_pos *pos, bool forward);

/* Makes sure that one insertion cannot fail. 0 or -ENOMEM. */
int memindex_reserve(const struct memindex *ix, struct arena *a);
/* Adds @item, whose key is @key. 0, or -ENOMEM with nothing changed. */
int memindex_insert(struct memindex *ix, struct arena *a, const void *key,
		    void *item);

/*
 * Fills an empty index with @n > 0 ascending items. Overwrites @items, which
 * must have space for @n more. 0, or -ENOMEM and the index is still empty.
 */
int memindex_build(struct memindex *ix, struct arena *a, void **items,
		   size_t n);

/* Eight bytes of @s from @skip on as a number, padded with zeros. */
static inline uint64_t memindex_head(struct bytes s, uint32_t skip)
{
	uint64_t v = 0;
	size_t n;

	if (s.len <= skip)
		return 0;
	n = s.len - skip;
	if (n >= 8) {
		memcpy(&v, s.data + skip, 8);
	} else {
		for (size_t i = 0; i < n; i++)
			((uint8_t *)&v)[i] = s.data[skip + i];
	}
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	return v;
}

static inline uint32_t memindex_prefix(struct bytes a, struct bytes b)
{
	size_t n = a.len < b.len ? a.len : b.len, i = 0;

	while (i < n && a.data[i] == b.data[i])
		i++;
	return (uint32_t)i;
}

#endif
