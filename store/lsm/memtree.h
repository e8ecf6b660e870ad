/*
 * Inside a memtable: what memtable.c fills and mem_cursor.c reads.
 */
#ifndef CELLFS_STORE_LSM_MEMTREE_H
#define CELLFS_STORE_LSM_MEMTREE_H

#include "store/lsm/memtable.h"
#include "store/lsm/rowmap.h"

struct memtree {
	uint32_t id;
	struct memindex rows; /* struct memrow */
	/* What memtree_stat says; stored by the writer. */
	_Atomic(uint64_t) entries, nrows;
	_Atomic(int64_t) ts_max;
};

struct memtable {
	struct arena arena; /* writer */
	struct rowmap map;
	struct memindex trees; /* struct memtree */
	struct memtree *last;  /* writer: the one it filled last */
	size_t rows_hint;
	_Atomic(unsigned) refs;
};

/* NULL: nothing was inserted into it. */
struct memtree *memtable_tree(const struct memtable *mt, uint32_t id);

#endif
