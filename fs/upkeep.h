/*
 * What must go before and follow a change of a column.
 *
 * A directory is shown by the store while it holds a cell and by the overlay
 * while it holds none; the kernel keeps attributes, names and pages. After a
 * mutation was applied the one who made it says so here, and the overlay and
 * the kernel are brought to the new state.
 */
#ifndef CELLFS_FS_UPKEEP_H
#define CELLFS_FS_UPKEEP_H

#include "fs/fs.h"

/*
 * Before a put: the version that a new one pushes over the family's limit, or
 * -1. Looked for only when the kernel can know it: when it knows the column.
 */
int64_t upkeep_falls_off(struct fs *fs, const struct place *p);
/* The same of any column: the oldest of as many versions as may be seen. */
int64_t upkeep_oldest(struct fstable *ft, struct bytes row, struct bytes family,
		      struct bytes qualifier);
/*
 * The column of the file @p holds a cell now;
 * version @gone (or -1) is not seen any more.
 */
void upkeep_filled(struct fs *fs, const struct place *p, int64_t gone);
/*
 * A cell of the column of @p is to be deleted: the directories above it stay,
 * in memory, until they are removed. They are there before the cell is not,
 * or who looks in between would miss them. (Of F:Q~ only those that the kernel
 * knows: it is an editor's backup.)
 */
uint64_t upkeep_delete_begin(struct fs *fs, const struct place *p);
/*
 * It was (or not) and @gone is the version that is not seen any more, or
 * FS_ALL. @turn is what the begin returned.
 */
void upkeep_delete_end(struct fs *fs, const struct place *p, uint64_t turn,
		       bool deleted, int64_t gone);

/* A column by its coordinates, beneath the node of its table. */
struct upkeep_column {
	uint64_t table_node;
	struct fstable *table;
	struct bytes row, family, qualifier;
};
struct upkeep_column upkeep_column(struct fs *fs, const struct place *p);
/* Those of its directories that hold a cell need not be in memory. */
void upkeep_settle(struct fs *fs, const struct upkeep_column *at);

/* mkdir of a directory of data: -EEXIST, -ENOSPC, -ESTALE, -ENOMEM. */
int upkeep_make_directory(struct fs *fs, const struct place *dir);
/*
 * rmdir of one, or of a scratch directory, in which the store has nothing.
 * -ENOTEMPTY.
 */
int upkeep_remove_directory(struct fs *fs, const struct place *parent,
			    const struct place *dir);

/* Does the store hold a visible cell beneath this directory? 1, 0, error. */
int upkeep_has_cells(struct fs *fs, const struct place *dir);
/* And in a table? */
int upkeep_has_rows(struct fstable *ft);
/* A directory's place in the order of its parent's listing. */
struct bytes upkeep_key(const struct place *dir);

#endif
