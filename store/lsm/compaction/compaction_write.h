/*
 * The output of a flush or compaction: rows in order, cut into files.
 *
 * A file is opened as a table as soon as it is finished, so that a file that
 * cannot be read back fails the job and not a later reader. Until they are
 * taken, the tables belong to the writer; when it is freed they are removed.
 */
#ifndef CELLFS_STORE_LSM_COMPACTION_COMPACTION_WRITE_H
#define CELLFS_STORE_LSM_COMPACTION_COMPACTION_WRITE_H

#include "store/lsm/table/sstable.h"

struct compaction_writer {
	struct os_dir *dir;
	struct block_cache *cache;
	struct sst_options options;
	uint64_t file_bytes; /* a file ends at the first row end after this */
	uint64_t (*number)(void *arg);
	void *arg;
	/* If not NULL: only entries of the last of its sources are written. */
	const struct merge *last_of;
	/* private */
	struct sst_writer *file; /* NULL between files */
	uint64_t file_number;
	uint64_t ended_bytes; /* of the tables */
	struct sstable **tables;
	uint32_t ntables;
};

/* The options for a file of @level of @tree (0 = one that is not yet). */
struct sst_options
compaction_options(uint32_t tree, const struct family_attrs *attrs, int level);
/* 0 or an error; after an error only compaction_write_free() may be called. */
int compaction_write(struct compaction_writer *w, struct bytes row,
		     const struct entry *e);
/* To be called between rows: ends a file that is large enough. */
int compaction_write_row_end(struct compaction_writer *w);
/*
 * Ends the file that has been begun, if any: 0 or a negative errno. Behind the last
 * row the tables are then complete, and may be taken.
 */
int compaction_write_cut(struct compaction_writer *w);
/* Bytes that were written so far. */
uint64_t compaction_written(const struct compaction_writer *w);
/* Removes the tables that were not taken (tables NULL, ntables 0 if taken). */
void compaction_write_free(struct compaction_writer *w);

#endif
