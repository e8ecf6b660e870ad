/*
 * Directories of data that are in memory because they hold no cell.
 *
 * The store shows a directory that holds a cell. The overlay shows one that
 * mkdir made and that has no cell yet, and one that deletes by files have
 * emptied. overlay.h says how a directory moves between the two without a
 * moment in which neither shows it.
 *
 * What is only in memory keeps its path: the directories above an entry of the
 * overlay are entries with it, and leave when nothing is beneath and the store
 * has them. So it does not matter who takes the cells beside it: a line, a
 * program, a ttl, a schema, or somebody else who writes to a shared store. Beneath
 * .put it is the families and columns there, under nodes of their own.
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
 * Directories of the change's column that hold a cell leave memory. @there: the
 * store has one in the column, if no delete in the row has begun since there were
 * w->deletes.
 */
void directories_settle(const struct changer *w, struct bytes row,
			const struct change *c, bool there);

/*
 * overlay_add() with the directories above. When they find no room, nothing is
 * added: -ENOSPC, in words.
 */
int directories_add(struct fs *fs, uint64_t parent, struct bytes key,
		    const struct overlay_entry *e);
/* Adds this one, if it is one of data, and those above it: 0, -ENOSPC, -ENOMEM. */
int directories_keep_path(struct fs *fs, uint64_t dir);
/* An entry has gone from @dir: it may leave memory, and those above it. */
void directories_entry_gone(struct fs *fs, uint64_t dir);
/* The late entries of @dir leave memory, if nothing is in their way any more. */
void directories_settle_late(struct fs *fs, uint64_t dir);

/* mkdir, and a new scratch file: -EEXIST, -ENOSPC, -ESTALE, -ENOMEM. */
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
