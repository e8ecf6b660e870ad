/*
 * Inside a memtable: what memtable.c fills and mem_cursor.c reads.
 *
 * The writer finds rows by their hash and leaves those that are new in a heap,
 * newest first. Their order is made when somebody asks for it (memorder.c):
 * a burst of writes is sorted at once, by whom it serves, and that is often
 * only the flush.
 *
 *	newest ──▶ row ──▶ row ──▶ row ──▶ ...		(older)
 *			    ▲
 *	       ordered ─────┘ from here on they are in the index
 *
 * Whoever finds a row in the map finds it in the heap.
 */
#ifndef CELLFS_STORE_LSM_MEM_MEMTREE_H
#define CELLFS_STORE_LSM_MEM_MEMTREE_H

#include <pthread.h>

#include "store/lsm/mem/memtable.h"
#include "store/lsm/mem/rowmap.h"

struct memtree {
	uint32_t id;
	_Atomic(struct memrow *) newest; /* the writer stores */
	/* Who holds memtable.lock stores; rows is read without. */
	_Atomic(struct memrow *) ordered;
	struct memindex rows; /* struct memrow */
	bool torn;	      /* under lock: rows holds some before ordered */
	/* What memtree_stat says; stored by the writer. */
	_Atomic(uint64_t) entries, nrows, markers;
	_Atomic(int64_t) ts_min, ts_max;
	_Atomic(bool) has_ttl;
};

struct memtable {
	/* Hardly ever changes, and readers look at it. */
	struct memindex trees; /* struct memtree */
	size_t rows_hint;
	_Atomic(unsigned) refs;
	pthread_mutex_t lock;
	struct arena nodes;	 /* under lock: of the trees' rows */
	struct rowmap map;	 /* where it ends the writer's lines begin */
	struct arena arena;	 /* writer */
	struct memtree *last;	 /* writer: the one it filled last */
	struct memrow *last_row; /* writer: and there */
};

/* NULL: nothing was inserted into tree @id. */
struct memtree *memtable_tree(const struct memtable *mt, uint32_t id);
/* A row and the first bytes of its key that not all share. */
struct sorted_row {
	uint64_t head;
	struct memrow *row;
};
/*
 * The rows from @newest back to @end, which is left out, in order. They lie in
 * @mem, which was empty. -ENOMEM.
 */
int memtree_sort(struct memrow *newest, const struct memrow *end,
		 struct sorted_row **out, size_t *count, struct arena *mem);
/* Adds a row that nobody sees yet. By the writer. */
void memtree_push(struct memtree *t, struct memrow *r);
/*
 * What was pushed before is in t->rows when it returns 0. -ENOMEM. By anyone;
 * readers of t->rows need no lock.
 */
int memtree_order(struct memtable *mt, struct memtree *t);

#endif
