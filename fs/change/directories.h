/*
 * Directories of data that are in memory because they hold no cell.
 *
 * The store shows a directory that holds a cell. The overlay shows one that
 * mkdir made and that has no cell yet, and one that deletes by files have
 * emptied. overlay.h says how a directory moves between the two without a
 * moment in which neither shows it.
 */
#ifndef CELLFS_FS_CHANGE_DIRECTORIES_H
#define CELLFS_FS_CHANGE_DIRECTORIES_H

#include "fs/change/changed.h"

/*
 * A file deletes the change's cells: the directories above them are kept in
 * memory until rmdir removes them. @turn is the number of the delete.
 */
void directories_keep(const struct changer *w, struct bytes row,
		      const struct change *c, uint64_t turn);
/* The delete found nothing: the directories that it added go. */
void directories_retract(const struct changer *w, struct bytes row,
			 const struct change *c, uint64_t turn);
/*
 * Cells beneath the node @top are deleted other than by a file, which takes the
 * directories above them along, but for those that something in memory is in: a
 * directory that mkdir made, one that was emptied, a scratch file. These are in
 * memory from @before the delete on, and leave it after that if they hold a cell.
 */
void directories_stay_below(struct fs *fs, uint64_t top, bool before);
/* Something was made in memory in this directory, which may have just gone. */
void directories_made_in(struct fs *fs, uint64_t dir);
/* Directories of the change's column that hold a cell leave memory. */
void directories_settle(const struct changer *w, struct bytes row,
			const struct change *c);

/* mkdir: -EEXIST, -ENOSPC, -ESTALE, -ENOMEM. */
int directories_make(struct fs *fs, const struct place *dir);
/*
 * rmdir of one, or of a scratch directory, in which the store has nothing.
 * -ENOTEMPTY.
 */
int directories_remove(struct fs *fs, const struct place *parent,
		       const struct place *dir);
/* Does the store have a visible cell beneath this directory? 1, 0, an error. */
int directories_hold(struct fs *fs, const struct place *dir);

#endif
