/*
 * The newest cells, in memory, of all trees of the store.
 *
 * One memtable is one generation: the store fills it, freezes it, flushes each
 * of its trees to an sstable and drops it. Its memory is an arena that is
 * recycled, never returned piecewise.
 *
 * Threads: one writer at a time (the store's commit lock); any number of
 * readers without locks of their own beside it. The first reader that asks for
 * the order of rows since some were added puts these in order, which takes
 * about as long as to insert them; all that ask meanwhile wait, the writer
 * never. An entry never changes and never moves once inserted.
 */
#ifndef CELLFS_STORE_LSM_MEM_MEMTABLE_H
#define CELLFS_STORE_LSM_MEM_MEMTABLE_H

#include "store/lsm/base/cursor.h"
#include "store/lsm/mem/memindex.h"

struct memtable;

/* @rows: how many rows the memtable is expected to hold. */
int memtable_new(size_t rows, struct memtable **out);
void memtable_ref(struct memtable *mt);
void memtable_unref(struct memtable *mt); /* @mt may be NULL */

/*
 * Adds entries of one row to a tree, copying all bytes. They need no order;
 * (qualifier, ts, kind, seq) is unique: an entry that is there already is left
 * alone. 0, or -ENOMEM (-E2BIG: longer than a key may be) with nothing added.
 */
int memtable_insert(struct memtable *mt, uint32_t tree, struct bytes row,
		    const struct entry *entries, size_t n);

/*
 * What memtable_insert() of a row, or who looks for it, will touch is brought
 * near while there is other work, because each step on the way is a cache miss
 * that depends on the one before. Called in this order with some work between;
 * the first gives the token for the others. It is the same for all memtables:
 * who looks into several asks for it alone, then for each one's slot. Rows that
 * come and go between do no harm.
 */
uint64_t memtable_ahead(const struct memtable *mt, uint32_t tree,
			struct bytes row);
uint64_t memtable_token(uint32_t tree, struct bytes row);
void memtable_ahead_slot(const struct memtable *mt, uint64_t token);
void memtable_ahead_row(const struct memtable *mt, uint64_t token);
void memtable_ahead_cells(const struct memtable *mt, uint64_t token);
/*
 * As memtable_insert(), with the token of that tree and row, which is not
 * looked at where memtable_at() is true.
 */
int memtable_insert_near(struct memtable *mt, uint32_t tree, struct bytes row,
			 uint64_t token, const struct entry *entries, size_t n);

/* Bytes of memory that are in use. */
size_t memtable_bytes(const struct memtable *mt);
bool memtable_empty(const struct memtable *mt);
/* Number of rows in all trees. Only the writer calls this. */
size_t memtable_rows(const struct memtable *mt);
/* Was @row the last that was added to, in any tree? By the writer. */
bool memtable_ends_with(const struct memtable *mt, struct bytes row);
/*
 * The same in one tree: memtable_insert() finds it at once, and nothing of it
 * need be brought near.
 */
bool memtable_at(const struct memtable *mt, uint32_t tree, struct bytes row);
/* Trees that hold something, ascending: the first one > @after (-1: first). */
int64_t memtable_next_tree(struct memtable *mt, int64_t after);

/* What a tree of the memtable holds, for pruning reads; 0 if it is absent. */
struct memtree_stat {
	uint64_t entries, rows;
	uint64_t markers;	/* given, those that came twice counted twice */
	int64_t ts_min, ts_max; /* of all timestamps, markers included */
	bool has_ttl;		/* some entry has a ttl of its own */
};
int memtable_tree_stat(struct memtable *mt, uint32_t tree,
		       struct memtree_stat *out);

/*
 * The greatest timestamp that speaks of a column: of its entries of any kind,
 * and of the row's family markers. False: there is none. Never dearer than a
 * get of the column. As for readers, no lock is needed.
 */
bool memtable_column_newest(struct memtable *mt, uint32_t tree,
			    struct bytes row, struct bytes qualifier,
			    int64_t *ts);
/* The greatest timestamp in a row, of all kinds; walks the row. */
bool memtable_row_newest(struct memtable *mt, uint32_t tree, struct bytes row,
			 int64_t *ts);

/*
 * A cursor over one tree of the memtable; holds no reference, so that the
 * caller must. What was inserted before a seek began is seen by it and by the
 * steps that follow; what came later may or may not be. Seeking may need memory
 * for the order: -ENOMEM.
 * Embed it: no allocation of its own happens.
 */
struct mem_cursor {
	struct cursor base;
	struct memtable *mt;
	/* private */
	uint32_t id;
	void *tree;
	void *row;
	void *cell;
	struct memindex_pos pos; /* of row; no leaf: after seek_exact */
};
void memtable_cursor(struct memtable *mt, uint32_t tree, struct mem_cursor *c);
/*
 * It stands on a row: is nothing but puts without a ttl of their own left of it
 * up to that sequence, which readers may see? False as well where it would take
 * long to say.
 */
bool memtable_cursor_plain(const struct mem_cursor *c, uint64_t seq_max);
/* cursor_seek_exact() with the row's memtable_token(). */
int memtable_cursor_find(struct mem_cursor *c, struct bytes row,
			 uint64_t token);

/*
 * A cursor that passes once over all of a tree of a frozen memtable, from its
 * first row on: seek_row() of an empty row, then only forwards. It leaves no
 * order behind and asks for memory far ahead of its need. 0 or -ENOMEM; what
 * it takes of memory goes with cursor_close().
 */
#define MEM_RUN_CELLS 4
#define MEM_RUN_AHEAD 16
struct mem_run {
	struct cursor base;
	/* private */
	struct sorted_row *rows;
	struct arena mem; /* of rows */
	size_t n, at;
	void *cell;
	void *ahead[MEM_RUN_AHEAD]; /* cells of rows to come; by row */
};
int memtable_run(struct memtable *mt, uint32_t tree, struct mem_run *c);

#endif
