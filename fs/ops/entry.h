/* Entries of directories: what making, moving and removing them share. */
#ifndef CELLFS_FS_OPS_ENTRY_H
#define CELLFS_FS_OPS_ENTRY_H

#include "fs/tree/fs.h"

/*
 * Looks up @name in the directory of the node @parent for an operation that
 * makes, removes or moves it: 1, *dir, *child and *st when it is there; 0 when
 * it is not, and *child is what it would be; an error for the caller of that
 * operation. The places begin empty, and are released in any case.
 */
int entry_find(struct fs *fs, uint64_t parent, const char *name,
	       struct place *dir, struct place *child, struct stat *st);

/*
 * As entry_find(), but the file of a cell is found by its name alone: the mutation
 * that removes the cell checks that the store has it.
 */
int entry_find_named(struct fs *fs, uint64_t parent, const char *name,
		     struct place *dir, struct place *child);

/* No key is spelled with a dot at its beginning: a scratch file may be. */
static inline bool name_is_scratch(const char *name)
{
	return name[0] == '.';
}

/*
 * A look-up found the file, and changes_last() of its row was @last before: an open
 * that follows need not look again.
 */
void entry_saw(struct fs *fs, const struct place *file, uint64_t last);
/*
 * Is the file of a cell, which is to be changed, still there? The kernel may have
 * looked it up before another name removed it, and is not to make it anew. 0; -ESTALE
 * or -ENOENT (gone.h); an error of the store.
 */
int entry_stays(struct fs *fs, fuse_req_t req, const struct place *file);
/*
 * Makes the node of what is not there yet, with the attributes that all such have.
 * Sets child->node, which is counted for the reply @e.
 */
int entry_add(struct fs *fs, struct place *child, struct fuse_entry_param *e);
/* The same of a cell's file, which is empty, where such a cell may be put. */
int entry_add_cell(struct fs *fs, struct place *child,
		   struct fuse_entry_param *e);
/*
 * May a scratch file have that name in @dir? 0, or the refusal of
 * scratch_names.h. In a scratch directory it may have any.
 */
int entry_may_be_scratch(struct fs *fs, const struct place *dir,
			 const char *name);
/*
 * Makes a scratch file or directory in @dir, by the type in @mode, that belongs
 * to the caller of the request. Sets child->kind and child->node, which is
 * counted for the reply @e.
 */
int entry_add_scratch(struct fs *fs, fuse_req_t req, const struct place *dir,
		      struct place *child, mode_t mode,
		      struct fuse_entry_param *e);
/* Removes a scratch file's name, and its content if nobody has it open. */
void entry_remove_scratch(struct fs *fs, const struct place *child);

#endif
