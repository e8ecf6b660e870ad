/*
 * What must follow a change of a column.
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
 * A cell of the column of @p was deleted: the directories above it that hold
 * no cell any more stay, in memory, until they are removed.
 */
void upkeep_emptied(struct fs *fs, const struct place *p, int64_t gone);

/* Does the store hold a visible cell beneath this directory? 1, 0, error. */
int upkeep_has_cells(struct fs *fs, const struct place *dir);
/* A directory's place in the order of its parent's listing. */
struct bytes upkeep_key(const struct place *dir);

#endif
