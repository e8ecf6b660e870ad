/*
 * A hash of the rows of all trees of a memtable: says in one cache miss that a
 * row is absent, and in two where it is.
 *
 * Open addressing; a slot is the address of a row with 16 bits of its hash on
 * top, so that probing compares hardly any row but the right one. A full table
 * is copied into one twice as large; the old one stays in the arena for the
 * readers that still look at it. One writer, readers without locks.
 */
#ifndef CELLFS_STORE_LSM_MEM_ROWMAP_H
#define CELLFS_STORE_LSM_MEM_ROWMAP_H

#include "store/lsm/mem/memrow.h"
#include "store/os/thread.h"

struct rowmap_table;

/* A zero-initialised map is empty. */
struct rowmap {
	_Atomic(struct rowmap_table *) table;
	_Alignas(CACHE_LINE) size_t n; /* writer */
};

uint64_t rowmap_hash(uint32_t tree, struct bytes row);
struct memrow *rowmap_find(const struct rowmap *m, uint32_t tree,
			   struct bytes row, uint64_t hash);
/*
 * For a caller with other work before it asks for a row: loads its slot;
 * when that has come, the row; and then, for the writer, its outermost cells.
 */
void rowmap_ahead(const struct rowmap *m, uint64_t hash);
void rowmap_ahead_row(const struct rowmap *m, uint64_t hash);
void rowmap_ahead_cells(const struct rowmap *m, uint64_t hash);
/* Room for one more, and for about @rows at first. 0 or -ENOMEM. */
int rowmap_reserve(struct rowmap *m, struct arena *a, size_t rows);
/* After rowmap_reserve(); publishes @r, whose hash is @hash. */
void rowmap_add(struct rowmap *m, struct memrow *r, uint64_t hash);

#endif
