/*
 * What must go before and follow a change of a column.
 *
 * A directory is shown by the store while it holds a cell and by the overlay
 * while it holds none; the kernel keeps attributes, names and pages. After a
 * mutation was applied the one who made it says so here, and the overlay and
 * the kernel are brought to the new state.
 */
#ifndef CELLFS_FS_FILES_UPKEEP_H
#define CELLFS_FS_FILES_UPKEEP_H

#include "fs/tree/fs.h"

/* The column of the file @p holds a cell now. */
void upkeep_filled(struct fs *fs, const struct place *p);
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
/* What is seen of the column that @p is in, newest first: as scan_open(). */
int upkeep_scan(const struct place *p, bool keys_only, struct scan **out);
/*
 * Behind a put: of the versions that the kernel knows of the column, whose node
 * is @column, it is told of those that are not seen any more. What is pushed
 * out is older than all that is seen, so it costs a look at one version, and at
 * each that fell.
 */
typedef void upkeep_tell(struct invalidator *iv, uint64_t parent,
			 struct bytes name);
void upkeep_fallen(struct fs *fs, const struct upkeep_column *at,
		   uint64_t column, upkeep_tell *tell);
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

#endif
