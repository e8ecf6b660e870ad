/*
 * A hash table of the rows of all trees of a memtable: one cache miss shows
 * that a row is absent, two find it.
 *
 * Open addressing; a slot is the address of a row with 16 bits of its hash on
 * top, so that probing hardly ever compares a wrong row. A full table is copied
 * into one twice as large; the old one stays in the arena for the readers that
 * still look at it. One writer, readers without locks.
 */
#ifndef CELLFS_STORE_LSM_MEM_ROWMAP_H
#define CELLFS_STORE_LSM_MEM_ROWMAP_H

#include "store/lsm/mem/memrow.h"
#include "store/os/thread.h"

struct rowmap_table;

/* A zero-initialised map is empty. */
struct rowmap {
	_Atomic(struct rowmap_table *) table;
	_Alignas(CACHE_LINE) size_t n; /* for the writer */
};

uint64_t rowmap_hash(uint32_t tree, struct bytes row);
struct memrow *rowmap_find(const struct rowmap *m, uint32_t tree,
			   struct bytes row, uint64_t hash);
/*
 * Prefetch, in three steps with other work between: the row's slot; the row;
 * and, for the writer, its first and last cells.
 */
void rowmap_ahead(const struct rowmap *m, uint64_t hash);
void rowmap_ahead_row(const struct rowmap *m, uint64_t hash);
void rowmap_ahead_cells(const struct rowmap *m, uint64_t hash);
/* Makes space for one more row, at first for about @rows. 0 or -ENOMEM. */
int rowmap_reserve(struct rowmap *m, struct arena *a, size_t rows);
/* Publishes @r, whose hash is @hash, after rowmap_reserve(). */
void rowmap_add(struct rowmap *m, struct memrow *r, uint64_t hash);

#endif
