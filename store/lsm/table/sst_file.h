/*
 * An open sstable, and how a block of it gets into memory.
 *
 * For sstable.c, which opens, and sst_cursor.c, which reads.
 */
#ifndef CELLFS_STORE_LSM_TABLE_SST_FILE_H
#define CELLFS_STORE_LSM_TABLE_SST_FILE_H

#include "store/lsm/table/cache.h"
#include "store/lsm/table/sst_index.h"

struct sstable {
	_Atomic uint32_t refs;
	atomic_bool obsolete;
	struct os_dir *dir;
	struct os_file *file;
	_Atomic(const void *) map; /* of all of it, once it is wanted */
	atomic_bool unmappable;
	struct sst_info info;
	struct sst_index index;
	struct cache_slots slots;
	struct buf section[SST_NSECTIONS]; /* as stored, inflated */
	uint8_t bloom_kind; /* enum bloom_kind, as the file has it */
	bool has_family;    /* the filter of rows knows of family markers */
	struct bytes rows, columns; /* filters */
};

/*
 * Part of the file, read ahead in one go by a cursor that reads on and on. One
 * pread of 256 KiB costs a quarter of sixteen of 16 KiB.
 */
struct sst_window {
	uint64_t offset;
	size_t len, cap;
	uint8_t bytes[];
};

/*
 * Reads block @i, through @w if it is not NULL and has it, checks it and its
 * place between its neighbours. The caller frees it. @passing as block_new().
 */
int sst_load(const struct sstable *t, uint32_t i, const struct sst_window *w,
	     bool passing, struct block **out);
/* A bare block of hollow block @b, which is number @i. The caller frees it. */
int sst_refill(struct sstable *t, const struct block *b, uint32_t i,
	       struct block **out);
/* The value of a cell of bare block @b, which is number @index, into @hold. */
int sst_read_value(struct sstable *t, const struct block *b, uint32_t index,
		   uint32_t cell, struct buf *hold);
/* Fills @w from block @i on. */
int sst_window_fill(const struct sstable *t, uint32_t i, size_t len,
		    struct sst_window *w);

#endif
