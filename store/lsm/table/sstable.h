/*
 * Sorted tables: the cells of a tree in an immutable file N.sst.
 *
 * The writer takes entries in cursor order; the reader gives cursors. The
 * file's grammar stands in sst_format.h, that of a block in block.h. Every byte
 * is under a checksum (XXH3-64, seeded with file number and offset, so that a
 * block in the wrong place fails). Nothing read is trusted before it is
 * checked: -EUCLEAN names file and offset.
 *
 * Threads: a writer belongs to one thread. A reader is immutable and shared;
 * cursors belong to one thread each.
 */
#ifndef CELLFS_STORE_LSM_TABLE_SSTABLE_H
#define CELLFS_STORE_LSM_TABLE_SSTABLE_H

#include "store/lsm/base/cursor.h"
#include "store/os/os.h"
#include "store/value/schema.h"

struct block;
struct block_cache;
struct sst_window;
struct sstable;
struct sst_writer;

/* What is known of a file without opening it; kept in the manifest. */
struct sst_info {
	uint64_t number;     /* of the file: N.sst */
	uint64_t file_bytes; /* exact; a file of another size is damaged */
	uint64_t checksum;   /* of the footer: tells a stale file */
	uint64_t entries, rows, markers;
	uint64_t raw_bytes; /* of blocks before compression */
	uint64_t seq_min, seq_max;
	/* Widened to 0 by column and family deletes (HBase TimeRangeTracker) */
	int64_t ts_min, ts_max;
	struct buf row_min, row_max; /* owned */
	bool has_ttl;		     /* some entry has a ttl of its own */
};
void sst_info_free(struct sst_info *i);
int sst_info_copy(struct sst_info *to, const struct sst_info *from);

struct sst_options {
	uint32_t block_size; /* target of a block before compression */
	uint8_t compression; /* enum compression */
	uint8_t bloom;	     /* enum bloom_kind */
	bool block_cache;    /* blocks go through the cache */
	bool in_memory;
};

/* Creates N.sst in @dir. It is nothing until finished and synced. */
int sst_writer_new(struct os_dir *dir, uint64_t number,
		   const struct sst_options *o, struct sst_writer **out);
/*
 * The next entry, in cursor order; a new row when @row differs from the last.
 * -EUCLEAN if the order is broken (a damaged input must not spread).
 */
int sst_writer_add(struct sst_writer *w, struct bytes row,
		   const struct entry *e);
uint64_t sst_writer_bytes(const struct sst_writer *w); /* written so far */
/* Writes the rest, syncs the file (not the directory), fills @info. */
int sst_writer_finish(struct sst_writer *w, struct sst_info *info);
/* Frees; removes the file if it was not finished. NULL is nothing. */
void sst_writer_free(struct sst_writer *w);

/* Opens a finished file, reads and checks footer, index and filters. */
int sst_open(struct os_dir *dir, const struct sst_info *info,
	     const struct sst_options *o, struct block_cache *cache,
	     struct sstable **out);
void sst_ref(struct sstable *t);
/*
 * The last one frees it; and removes the file if sst_obsolete() was called,
 * so that a file lives as long as somebody reads it.
 */
void sst_unref(struct sstable *t);
void sst_obsolete(struct sstable *t);
const struct sst_info *sst_info(const struct sstable *t);
/*
 * What can be known of a file from the file itself, when no manifest tells it.
 * 0, or as sst_open().
 */
int sst_info_load(struct os_dir *dir, uint64_t number, struct sst_info *out);
/* Memory that the open table holds besides cached blocks. */
size_t sst_memory(const struct sstable *t);

/* Does the row lie between the first one of the table and the last? */
bool sst_spans(const struct sstable *t, struct bytes row);
/* May the table hold an entry of the row? False only if it is certain. */
bool sst_may_have_row(const struct sstable *t, struct bytes row);
/* The same by the filter alone, of sst_hash_row(); and it starts to load. */
bool sst_filter_has(const struct sstable *t, uint64_t row_hash);
void sst_filter_ahead(const struct sstable *t, uint64_t row_hash);
/*
 * The same of a column, or of a family marker that hides it; where there are
 * filters by these alone. One column is asked of many tables: what they know it
 * by stays in it.
 */
struct sst_column {
	struct bytes row, qualifier;
	/* The row is somewhere: only a filter of columns is worth its miss. */
	bool row_exists;
	uint64_t row_hash, column_hash; /* 0: not known yet */
};
bool sst_may_have_column(const struct sstable *t, struct sst_column *c);
/* Starts to load what that will look at, so that many files come at once. */
void sst_column_ahead(const struct sstable *t, struct sst_column *c);

/*
 * Brings blocks into the cache, from the first on, as long as nothing must
 * leave for them. What cannot be read is told to who wants it.
 */
void sst_warm(struct sstable *t);

/* Reads all of the file; each fault is said. Returns their number or -errno */
int sst_check(struct sstable *t, void (*say)(void *arg, const char *sentence),
	      void *arg);

/*
 * Who reads on in a file reads so many bytes ahead; who does in many at once
 * so many in all, but SST_AHEAD_MIN in each.
 */
#define SST_AHEAD_MAX (256u << 10)
#define SST_AHEAD_MIN (64u << 10)
#define SST_AHEAD_ALL (4u << 20)
static inline uint32_t sst_ahead_of(uint32_t nfiles)
{
	uint32_t share = SST_AHEAD_ALL / (nfiles ? nfiles : 1);

	if (share > SST_AHEAD_MAX)
		return SST_AHEAD_MAX;
	return share > SST_AHEAD_MIN ? share : SST_AHEAD_MIN;
}

/*
 * Embed it: opening allocates nothing. Holds no reference to the table.
 * sst_cursor() sets each field by itself.
 */
struct sst_cursor {
	struct cursor base;
	struct sstable *table;
	bool no_fill;	    /* compaction: blocks read do not enter the cache */
	uint32_t ahead_max; /* bytes; SST_AHEAD_MAX unless set to less */
	/*
	 * It may stand on a bare block. Nothing but sst_cursor_find() and
	 * sst_cursor_value() is called then.
	 */
	bool bare;
	/* To a block that is not in memory it does not go, but fails so. */
	bool at_hand, missed;
	/* private: see sst_cursor.c */
	struct block *block; /* it stands on; NULL before the first seek */
	void *pin;	     /* in the cache; NULL: the block is its own */
	uint32_t block_index;
	uint32_t near_index; /* of sst_cursor_near() */
	uint32_t row_index, cell_index, cell_end;
	bool prefixed;	   /* row_copy begins with the block's prefix */
	uint8_t *row_copy; /* row_near, or of row_far */
	uint8_t row_near[64];
	struct buf row_far;	   /* for long keys */
	struct sst_window *window; /* read ahead; NULL until needed */
};
void sst_cursor(struct sstable *t, struct sst_cursor *c);
/*
 * Finds exactly @row, without asking a filter and without standing on an entry:
 * 1 and where it begins, as cursor_ops.rows, or 0.
 */
int sst_cursor_find(struct sst_cursor *c, struct bytes row,
		    struct block_rows *out);
/*
 * The same in three steps, so that what each waits for comes near while there
 * is other work: begins with the index, of which @spot takes note; tells the
 * block in which the row must begin if it is there, and begins with that;
 * looks.
 */
struct index_spot;
void sst_row_near(const struct sstable *t, struct bytes row,
		  struct index_spot *spot);
uint32_t sst_row_ahead(const struct sstable *t, const struct index_spot *spot);
int sst_cursor_find_in(struct sst_cursor *c, uint32_t block, struct bytes row,
		       struct block_rows *out);
/*
 * In three steps, so that what several cursors wait for comes at once: the
 * index tells the block in which the first row >= @row is, or behind which it
 * is; takes that block; 0 or negative. Then finds the row there: 1 and the rows
 * from it on, as cursor_ops.rows, or 0 if there is none.
 */
void sst_cursor_near(struct sst_cursor *c, struct bytes row);
int sst_cursor_take(struct sst_cursor *c);
int sst_cursor_from(struct sst_cursor *c, struct bytes row,
		    struct block_rows *out, bool *equal);
/* Makes the key of a row of the present block base.row. 0 or -ENOMEM. */
int sst_cursor_key(struct sst_cursor *c, uint32_t row);
/* The rows of the block behind, if the present one's last row is whole. */
int sst_cursor_ahead(struct sst_cursor *c, struct block_rows *out);
/*
 * Where the block behind lies in memory, NULL if it does not: to be fetched,
 * not looked at, as it may have left.
 */
const void *sst_cursor_behind(const struct sst_cursor *c);
/* The value of cell @cell of the present block into @hold, read if need be. */
int sst_cursor_value(struct sst_cursor *c, uint32_t cell, struct buf *hold);

int block_cache_new(size_t bytes_max, struct block_cache **out);
void block_cache_free(struct block_cache *c); /* after the last table */
struct block_cache_stat {
	uint64_t hits, misses, evicted, bytes, bytes_max;
	/* Blocks in it without their values, and without keys as well. */
	uint64_t bare, hollow;
};
void block_cache_stat(struct block_cache *c, struct block_cache_stat *out);

#endif
