/*
 * The newest cells, in memory, of all trees of the store.
 *
 * One memtable is one generation: the store fills it, freezes it, flushes each
 * of its trees to an sstable and drops it. Its memory is an arena, freed as a
 * whole.
 *
 * Threads: one writer at a time (the store's commit lock); any number of
 * readers without locks of their own beside it. The first reader that needs the
 * order of rows sorts those added since, which takes about as long as inserting
 * them. Other readers that need the order wait for it; the writer never does.
 * An entry never changes and never moves once inserted.
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
 * Adds entries of one row to a tree, copying all bytes. They need no order. An
 * entry whose (qualifier, ts, kind, seq) is there already is ignored. 0, or
 * -ENOMEM (-E2BIG: a key is too long) with nothing added.
 */
int memtable_insert(struct memtable *mt, uint32_t tree, struct bytes row,
		    const struct entry *entries, size_t n);

/*
 * Prefetch the memory that memtable_insert() or a lookup of the row will touch,
 * since each step on the way is a cache miss that depends on the one before. To
 * be called in this order with other work in between. The first returns the
 * token for the others; the token is the same for all memtables, so a reader of
 * several calls memtable_token() once and then the others for each. Rows
 * inserted in between do no harm.
 */
uint64_t memtable_ahead(const struct memtable *mt, uint32_t tree,
			struct bytes row);
uint64_t memtable_token(uint32_t tree, struct bytes row);
void memtable_ahead_slot(const struct memtable *mt, uint64_t token);
void memtable_ahead_row(const struct memtable *mt, uint64_t token);
void memtable_ahead_cells(const struct memtable *mt, uint64_t token);
/*
 * As memtable_insert(), with the token of that tree and row. The token is not
 * used if memtable_at() is true. A @piece that is not NULL is what the value lies
 * in of all entries: it may be held, in place of a copy of what is long.
 */
int memtable_insert_near(struct memtable *mt, uint32_t tree, struct bytes row,
			 uint64_t token, const struct entry *entries, size_t n,
			 struct piece *piece);

/* Bytes of memory in use. */
size_t memtable_bytes(const struct memtable *mt);
bool memtable_empty(const struct memtable *mt);
/* Number of rows in all trees. Only the writer calls this. */
size_t memtable_rows(const struct memtable *mt);
/* Was @row the last row added to, in any tree? Only the writer calls this. */
bool memtable_ends_with(const struct memtable *mt, struct bytes row);
/*
 * The same for one tree: then memtable_insert() finds the row at once, and
 * prefetching is of no use.
 */
bool memtable_at(const struct memtable *mt, uint32_t tree, struct bytes row);
/* The first tree with entries whose number is > @after (-1: any), or -1. */
int64_t memtable_next_tree(struct memtable *mt, int64_t after);

/* What a tree of the memtable holds, for skipping it in reads; 0 if absent. */
struct memtree_stat {
	uint64_t entries, rows;
	uint64_t markers;	/* as inserted: duplicates are counted */
	int64_t ts_min, ts_max; /* of all timestamps, markers included */
	bool has_ttl;		/* some entry has its own ttl */
};
int memtable_tree_stat(struct memtable *mt, uint32_t tree,
		       struct memtree_stat *out);

/*
 * The greatest timestamp that concerns a column: of its entries of any kind,
 * and of the row's family markers. False if there is none. Costs no more than a
 * get of the column. Needs no lock.
 */
bool memtable_column_newest(struct memtable *mt, uint32_t tree,
			    struct bytes row, struct bytes qualifier,
			    int64_t *ts);
/* The greatest timestamp in a row, of all kinds; reads the whole row. */
bool memtable_row_newest(struct memtable *mt, uint32_t tree, struct bytes row,
			 int64_t *ts);

/*
 * A cursor over one tree of the memtable. It holds no reference: the caller
 * must. A seek and the steps after it see all entries inserted before the seek
 * began; they may or may not see later ones. Seeking may need memory for
 * sorting rows: -ENOMEM. A cursor is embedded: it allocates nothing itself.
 */
struct mem_cursor {
	struct cursor base;
	struct memtable *mt;
	/* private */
	uint32_t id;
	void *tree;
	void *row;
	void *cell;
	struct memindex_pos pos; /* of row; no leaf after seek_exact */
};
void memtable_cursor(struct memtable *mt, uint32_t tree, struct mem_cursor *c);
/*
 * It stands on a row. What is known of all entries of the tree that are in the
 * memtable; and of those left of the row that were written up to @seq_max,
 * after a look at each: .puts is false where that would take long.
 */
void memtable_cursor_known(const struct mem_cursor *c, struct known *out);
void memtable_cursor_row_known(const struct mem_cursor *c, uint64_t seq_max,
			       struct known *out);
/*
 * Does the marker hide all of the row from the present entry on? May return
 * false where that takes long to find out.
 */
bool memtable_cursor_covered(const struct mem_cursor *c, const struct cover *k);
/* cursor_seek_exact() with the row's memtable_token(). */
int memtable_cursor_find(struct mem_cursor *c, struct bytes row,
			 uint64_t token);

/*
 * A cursor that reads all of a tree of a frozen memtable once: seek_row() of an
 * empty row, then only forwards. It does not build the index of rows, and
 * prefetches far ahead. 0 or -ENOMEM; cursor_close() frees its memory.
 */
#define FLUSH_CURSOR_CELLS 4
#define FLUSH_CURSOR_AHEAD 16
struct flush_cursor {
	struct cursor base;
	/* private */
	struct sorted_row *rows;
	struct arena mem; /* of rows */
	size_t n, at;
	void *cell;
	void *ahead[FLUSH_CURSOR_AHEAD]; /* next cells of rows ahead, by row */
};
int flush_cursor_open(struct memtable *mt, uint32_t tree,
		      struct flush_cursor *c);

#endif
