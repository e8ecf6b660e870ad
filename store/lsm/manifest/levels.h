/*
 * Levels: which sstables make up a tree at one moment.
 *
 * Immutable and reference-counted; a flush or compaction makes the next one
 * from the last. Level 0 holds flushed files, newest first, whose ranges may
 * overlap; in each deeper level files have disjoint row ranges, ascending. For
 * any row, what lies in a level is older (smaller sequences) than what lies in
 * the levels above it, and inside level 0 than what lies in front of it.
 *
 * A row never spans two files of one level.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_LEVELS_H
#define CELLFS_STORE_LSM_MANIFEST_LEVELS_H

#include <stdatomic.h>

#include "store/lsm/base/history.h"
#include "store/lsm/table/sstable.h"

#define LEVELS_MAX 7

struct level {
	struct sstable **files; /* each holds a reference */
	uint32_t nfiles;
	/*
	 * For levels_find(), of several files in a struct levels: what all
	 * row_max begin with, borrowed of one, and the heads of the rest. NULL:
	 * the rows themselves are compared.
	 */
	struct bytes prefix;
	uint64_t *heads;
};

struct levels {
	_Atomic uint32_t refs;
	struct level level[LEVELS_MAX];
	uint8_t begin, end;  /* there are files in none but [begin, end) */
	struct history lost; /* by the merges that made it */
};

int levels_new(struct levels **out); /* empty */
void levels_ref(struct levels *l);
void levels_unref(struct levels *l); /* NULL is nothing */

struct level_file {
	uint8_t level;
	struct sstable *file;
};
/*
 * A new set: @from without @removed (by file number) and with @added, in
 * their order. -EUCLEAN if files of a deeper level would overlap. New level 0
 * files go in front by descending seq_max. What @from has lost @out has too.
 */
int levels_apply(const struct levels *from, const struct level_file *removed,
		 size_t nremoved, const struct level_file *added, size_t nadded,
		 struct levels **out);

/* @l, which nobody shares yet, has lost this as well. 0 or -ENOMEM. */
int levels_lose(struct levels *l, const struct history *lost);

/* Is something of a file damaged? */
bool levels_damaged(const struct levels *l);
uint64_t levels_bytes(const struct levels *l, int level);
/* The first file of a level >= 1 whose row_max >= @row; nfiles if none. */
uint32_t levels_find(const struct level *l, struct bytes row);
/*
 * Does any file of levels > @level hold rows of [min, max]? -1 = of any level.
 */
bool levels_overlap_below(const struct levels *l, int level, struct bytes min,
			  struct bytes max);

/* A cursor over one level >= 1: its files one behind the other. */
struct level_cursor {
	struct cursor base;
	const struct level *level;
	uint32_t file;
	bool open, no_fill;
	struct sst_cursor in;
};
void level_cursor(const struct level *l, struct level_cursor *c);

#endif
