/*
 * Sorted tables: the cells of a tree in an immutable file N.sst.
 *
 * The writer takes entries in cursor order; the reader gives cursors. The
 * file's grammar stands in sst_format.h, that of a block in block.h. Every byte
 * is under a checksum (XXH3-64, seeded with file number and offset, so that a
 * block in the wrong place fails). Nothing read is trusted before it is
 * checked: -EUCLEAN names file and offset, also where the disk cannot read it.
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
struct sst_index;
struct sst_window;
struct sstable;
struct sst_writer;

/* Facts of a file that are known without opening it; kept in the catalog. */
struct sst_info {
	uint64_t number;     /* of the file: N.sst */
	uint32_t tree;	     /* by the file alone; 0 = not known */
	uint64_t file_bytes; /* exact; a file of another size is damaged */
	uint64_t checksum;   /* of the footer: detects a wrong file */
	uint64_t entries, rows, markers;
	uint64_t raw_bytes; /* of blocks before compression */
	uint64_t seq_min, seq_max;
	/*
	 * 0 if the file has column or family deletes (HBase's
	 * TimeRangeTracker).
	 */
	int64_t ts_min, ts_max;
	struct buf row_min, row_max; /* owned */
	bool has_ttl;		     /* some entry has its own ttl */
};
void sst_info_free(struct sst_info *i);
int sst_info_copy(struct sst_info *to, const struct sst_info *from);

struct sst_options {
	uint32_t block_size; /* target size of a block before compression */
	uint8_t compression; /* enum compression */
	uint8_t bloom;	     /* enum bloom_kind */
	uint32_t tree;	     /* whose cells a new file has; 0 = not known */
	bool block_cache;    /* blocks are cached */
	bool in_memory;
};

/* Creates N.sst in @dir. It is not a valid file until finished and synced. */
int sst_writer_new(struct os_dir *dir, uint64_t number,
		   const struct sst_options *o, struct sst_writer **out);
/*
 * Adds an entry, in cursor order; a row begins when @row differs from the last.
 * -EUCLEAN if the order is broken (a damaged input must not spread).
 */
int sst_writer_add(struct sst_writer *w, struct bytes row,
		   const struct entry *e);
uint64_t sst_writer_bytes(const struct sst_writer *w); /* written so far */
/* Writes the rest, syncs the file (not the directory), fills @info. */
int sst_writer_finish(struct sst_writer *w, struct sst_info *info);
/* Frees @w, and removes the file if it was not finished. @w may be NULL. */
void sst_writer_free(struct sst_writer *w);

/* Opens a finished file, reads and checks footer, index and filters. */
int sst_open(struct os_dir *dir, const struct sst_info *info,
	     const struct sst_options *o, struct block_cache *cache,
	     struct sstable **out);
/*
 * Makes a table of a file for which sst_open() gave -EUCLEAN, and store_why()
 * the reason: it holds the file's place. What @info says of it is true; whoever
 * wants an entry within its range of rows gets -EUCLEAN, and that reason, since
 * nobody can know what it holds there. 0 or -ENOMEM.
 */
int sst_open_lost(struct os_dir *dir, const struct sst_info *info,
		  struct sstable **out);
/* -EUCLEAN and the reason if it is such a table, else 0. */
int sst_why_lost(const struct sstable *t);
/* Is it such a table, or has a read found a block that is damaged? */
bool sst_is_damaged(const struct sstable *t);
/* True once, when a table has turned out to be damaged. */
bool sst_tells_damage(struct sstable *t);
void sst_ref(struct sstable *t);
/*
 * The last reference frees the table, and removes the file if sst_obsolete()
 * was called: a file exists as long as it is read.
 */
void sst_unref(struct sstable *t);
void sst_obsolete(struct sstable *t);
const struct sst_info *sst_info(const struct sstable *t);
static inline struct bytes sst_row_min(const struct sstable *t)
{
	return buf_bytes(&sst_info(t)->row_min);
}
static inline struct bytes sst_row_max(const struct sstable *t)
{
	return buf_bytes(&sst_info(t)->row_max);
}
/* Is there a row between the first and the last one of both? */
static inline bool sst_overlap(const struct sstable *a, const struct sstable *b)
{
	return bytes_cmp(sst_row_min(a), sst_row_max(b)) <= 0 &&
	       bytes_cmp(sst_row_min(b), sst_row_max(a)) <= 0;
}
/*
 * Fills *out from the file alone, for files that no catalog describes. 0, or
 * as sst_open().
 */
int sst_info_load(struct os_dir *dir, uint64_t number, struct sst_info *out);
/* Bytes of memory of the open table, without cached blocks. */
size_t sst_memory(const struct sstable *t);

/*
 * What the index says of block @i: its bytes in the file, the bounds of its
 * timestamps (of deletes 0). False: there is no such block. sst_block_row()
 * copies the row that it begins with: 0 or -ENOMEM.
 */
struct sst_block {
	uint64_t bytes;
	int64_t ts_min, ts_max;
};
bool sst_block(const struct sstable *t, uint32_t i, struct sst_block *out);
int sst_block_row(const struct sstable *t, uint32_t i, struct buf *to);

/* Is the row between the first and the last row of the table? */
bool sst_spans(const struct sstable *t, struct bytes row);
/* May the table hold an entry of the row? False only if surely not. */
bool sst_may_have_row(const struct sstable *t, struct bytes row);
/*
 * The same by the filter alone, given sst_hash_row(). sst_filter_ahead()
 * prefetches what sst_filter_has() looks at.
 */
bool sst_filter_has(const struct sstable *t, uint64_t row_hash);
void sst_filter_ahead(const struct sstable *t, uint64_t row_hash);
/*
 * A column that may be looked up in many tables; it keeps its hashes. May the
 * table hold a cell of it, or a family marker that hides it? By the filters
 * alone, if the table has any.
 */
struct sst_column {
	struct bytes row, qualifier;
	/* Some table has the row: look only at filters of columns. */
	bool row_exists;
	uint64_t row_hash, column_hash; /* 0: not known yet */
};
bool sst_may_have_column(const struct sstable *t, struct sst_column *c);
/* Prefetches what that looks at, so that lookups in many files overlap. */
void sst_column_ahead(const struct sstable *t, struct sst_column *c);

/*
 * Caches the blocks, from the first on, as long as nothing must be evicted for
 * them. A block that cannot be read is skipped here; its reader gets the error.
 */
void sst_warm(struct sstable *t);

/*
 * Reads the whole file, says each fault; their number or negative. @went (may be
 * NULL): see store_check_copy().
 */
int sst_check(struct sstable *t, bool (*went)(void *arg, uint64_t bytes),
	      void (*say)(void *arg, const char *sentence), void *arg);

/*
 * Verifies a part of an open file, from block *block on: about @bytes of it, and
 * before the first block what a reader takes from it when it opens it. *block is
 * where the next part begins, *read how much was read. 1, 0: that was the last
 * part, or negative.
 */
int sst_check_part(struct sstable *t, uint64_t *block, uint64_t bytes,
		   uint64_t *read, void (*say)(void *arg, const char *sentence),
		   void *arg);

/*
 * Bytes to read ahead in each of @nfiles files that are read sequentially:
 * SST_AHEAD_ALL shared among them, within SST_AHEAD_MIN and SST_AHEAD_MAX.
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
 * Rows in a block: those from @row on before @end, each of them complete. @end
 * is @row if that row continues in the next block.
 */
struct block_rows {
	const struct block *block;
	uint32_t row, end;
};

/*
 * The rows after the present one by a file's index: block @at, which is before
 * @end, has @rest rows left, including the present one.
 */
struct index_rows {
	const struct sst_index *index;
	const struct sst_info *info;
	uint32_t at, end, rest;
};

/*
 * A cursor is embedded: opening one allocates nothing. It holds no reference to
 * the table. sst_cursor() sets each field by itself.
 */
struct sst_cursor {
	struct cursor base;
	struct sstable *table;
	bool no_fill;	    /* compaction: do not cache blocks */
	bool warms;	    /* sst_warm(): it notes no damage */
	uint32_t ahead_max; /* bytes; SST_AHEAD_MAX unless set to less */
	/*
	 * The cursor may use partial blocks. Then only sst_cursor_find() and
	 * sst_cursor_value() may be called.
	 */
	bool bare;
	/*
	 * at_hand: a block that is not in memory is not read: the call fails
	 * and sets missed.
	 */
	bool at_hand, missed;
	uint32_t missing; /* the block that a call could not read */
	/* private: see sst_cursor.c */
	struct block *block; /* the present one; NULL before the first seek */
	void *pin;	     /* in the cache; NULL: the cursor owns the block */
	uint32_t block_index;
	uint32_t near_index; /* found by sst_cursor_near() */
	uint32_t row_index, cell_index, cell_end;
	bool prefixed;	   /* row_copy begins with the block's prefix */
	uint8_t *row_copy; /* row_near, or in row_far */
	uint8_t row_near[64];
	struct buf row_far;	   /* for long keys */
	struct sst_window *window; /* read ahead; NULL until needed */
};
void sst_cursor(struct sstable *t, struct sst_cursor *c);
/*
 * Finds exactly @row, without a filter and without moving the cursor to an
 * entry: 1 and the rows from it on, or 0.
 */
int sst_cursor_find(struct sst_cursor *c, struct bytes row,
		    struct block_rows *out);
/*
 * As sst_cursor_find() in three steps, so that the caller can do other work
 * while memory is loaded. sst_row_near() prefetches the index and fills @spot.
 * sst_row_ahead() returns the only block in which the row can begin, and
 * prefetches it. sst_cursor_find_in() finds the row there.
 */
struct index_spot;
void sst_row_near(const struct sstable *t, struct bytes row,
		  struct index_spot *spot);
uint32_t sst_row_ahead(const struct sstable *t, const struct index_spot *spot);
int sst_cursor_find_in(struct sst_cursor *c, uint32_t block, struct bytes row,
		       struct block_rows *out);
/*
 * Seeks in three steps, so that the loads of several cursors overlap.
 * sst_cursor_near() finds, by the index, the block that has the first row >=
 * @row or ends before it. sst_cursor_take() loads that block: 0 or negative.
 * sst_cursor_from() finds the row there: 1 and the rows from it on, or 0 if
 * there is none.
 */
void sst_cursor_near(struct sst_cursor *c, struct bytes row);
int sst_cursor_take(struct sst_cursor *c);
int sst_cursor_from(struct sst_cursor *c, struct bytes row,
		    struct block_rows *out, bool *equal);
/*
 * Row @row of the present block and those after it as the index has them. 1, or
 * 0 where it does not know the next one.
 */
int sst_cursor_keys(const struct sst_cursor *c, uint32_t row,
		    struct index_rows *out);
/*
 * To the first entry of row @row of the present block. 1 or negative.
 * sst_cursor_rows() is the other way: the rows from the present one on.
 */
int sst_cursor_to_row(struct sst_cursor *c, uint32_t row);
void sst_cursor_rows(const struct sst_cursor *c, struct block_rows *out);
/*
 * The cursor shows the key of row @row of the present block: behind the last
 * entry that the row has there, from which it goes on in the next block.
 */
void sst_cursor_pass(struct sst_cursor *c, uint32_t row);
/* To the first row of block @at of the index. 1 or negative. */
int sst_cursor_to_block(struct sst_cursor *c, uint32_t at);
/* Fills base.row with the key of a row of the present block. 0 or -ENOMEM. */
int sst_cursor_key(struct sst_cursor *c, uint32_t row);
/* The rows of the next block, if the last row of the present one ends there. */
int sst_cursor_ahead(struct sst_cursor *c, struct block_rows *out);
/*
 * The address of the next block, NULL if it is not in memory. It may be freed
 * at any time: only prefetch it.
 */
const void *sst_cursor_behind(const struct sst_cursor *c);
/*
 * A call gave -EUCLEAN, for a block: fills base.row with the first row that it
 * may hold something of. 0 or -ENOMEM. sst_cursor_behind_missing() copies the
 * first row behind to @to, or if *exclusive the last one that it may have.
 */
int sst_cursor_missing(struct sst_cursor *c);
int sst_cursor_behind_missing(const struct sst_cursor *c, struct buf *to,
			      bool *exclusive);
/* To the block behind it, as sst_cursor_take(): 1, 0: it is the last one. */
int sst_cursor_past_missing(struct sst_cursor *c);
/* Puts the value of cell @cell of the present block into @hold. */
int sst_cursor_value(struct sst_cursor *c, uint32_t cell, struct buf *hold);

#endif
