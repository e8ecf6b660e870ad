/*
 * The newest cells, in memory, of all trees of the store.
 *
 * One memtable is one generation: the store fills it, freezes it, flushes each
 * of its trees to an sstable and drops it. Its memory is an arena that is
 * recycled, never returned piecewise.
 *
 * Threads: one writer at a time (the store's commit lock); any number of
 * readers without locks of their own beside it. An entry never changes and
 * never moves once inserted.
 */
#ifndef CELLFS_STORE_LSM_MEMTABLE_H
#define CELLFS_STORE_LSM_MEMTABLE_H

#include "store/lsm/cursor.h"

struct memtable;

/* @bytes: what it is meant to hold before it is frozen; it may hold more. */
int memtable_new(size_t bytes, struct memtable **out);
void memtable_ref(struct memtable *mt);
void memtable_unref(struct memtable *mt); /* NULL is nothing */

/*
 * Adds entries of one row to a tree, copying all bytes. They need no order;
 * (qualifier, ts, kind, seq) is unique. 0, or -ENOMEM with nothing added.
 */
int memtable_insert(struct memtable *mt, uint32_t tree, struct bytes row,
		    const struct entry *entries, size_t n);

/* Memory that is in use. */
size_t memtable_bytes(const struct memtable *mt);
bool memtable_empty(const struct memtable *mt);
/* Trees that hold something, ascending: the first one > @after (-1: first). */
int64_t memtable_next_tree(struct memtable *mt, int64_t after);

/* What a tree of the memtable holds, for pruning reads; 0 if it is absent. */
struct memtree_stat {
	uint64_t entries, rows;
	int64_t ts_max; /* greatest timestamp, markers included */
};
int memtable_tree_stat(struct memtable *mt, uint32_t tree,
		       struct memtree_stat *out);

/*
 * A cursor over one tree of the memtable; holds no reference, so that the
 * caller must. Entries inserted after its last step may or may not be seen.
 * Embed it: no allocation happens.
 */
struct mem_cursor {
	struct cursor base;
	struct memtable *mt;
	/* private */
	void *tree;
	void *row;
	void *cell;
	void *leaf;
	uint32_t slot;
	uint64_t gen;
};
void memtable_cursor(struct memtable *mt, uint32_t tree, struct mem_cursor *c);

#endif
