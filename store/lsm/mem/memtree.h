/*
 * Inside a memtable: what memtable.c fills and mem_cursor.c reads.
 *
 * The writer finds rows by their hash and links new rows into a list, newest
 * first. They are sorted when their order is needed (memtable_sort.c): a burst of
 * writes is sorted at once, by the thread that needs the order, which is often
 * only the flush.
 *
 *	newest ──▶ row ──▶ row ──▶ row ──▶ ...		(older)
 *			    ▲
 *	       ordered ─────┘ from here on they are in the index
 *
 * A row in the map is always in the list.
 */
#ifndef CELLFS_STORE_LSM_MEM_MEMTREE_H
#define CELLFS_STORE_LSM_MEM_MEMTREE_H

#include <pthread.h>

#include "store/lsm/mem/memtable.h"
#include "store/lsm/mem/rowmap.h"

struct memtree {
	uint32_t id;
	_Atomic(struct memrow *) newest; /* stored by the writer */
	/* Stored under memtable.lock; readers of rows need no lock. */
	_Atomic(struct memrow *) ordered;
	struct memindex rows; /* struct memrow */
	bool torn;	      /* under lock: a sorting was cut short */
	/* For memtree_stat; stored by the writer. */
	_Atomic(uint64_t) entries, nrows, markers;
	_Atomic(int64_t) ts_min, ts_max;
	_Atomic(bool) has_ttl;
};

struct memtable {
	/* Read by readers and hardly ever changed. */
	struct memindex trees; /* struct memtree */
	size_t rows_hint;
	_Atomic(unsigned) refs;
	pthread_mutex_t lock;
	struct arena nodes;	 /* under lock: of the index of rows */
	struct rowmap map;	 /* its end begins the writer's cache lines */
	struct arena arena;	 /* used by the writer */
	struct memtree *last;	 /* the writer's last tree */
	struct memrow *last_row; /* the writer's last row */
};

/* NULL if tree @id is empty. */
struct memtree *memtable_tree(const struct memtable *mt, uint32_t id);
/* A row and the first bytes of its key after the common prefix. */
struct sorted_row {
	uint64_t head;
	struct memrow *row;
};
/*
 * The rows from @newest back to @end (not included), sorted. They are allocated
 * in @mem, which must be empty. -ENOMEM.
 */
int memtree_sort(struct memrow *newest, const struct memrow *end,
		 struct sorted_row **out, size_t *count, struct arena *mem);
/* Adds a row that is not visible yet. Only the writer calls this. */
void memtree_push(struct memtree *t, struct memrow *r);
/*
 * Makes sure that all rows pushed before the call are in t->rows. -ENOMEM. Any
 * thread may call it; readers of t->rows need no lock.
 */
int memtree_order(struct memtable *mt, struct memtree *t);

#endif
