/*
 * Making and removing names: what the operations on directories share.
 */
#ifndef CELLFS_FS_OPS_ENTRY_H
#define CELLFS_FS_OPS_ENTRY_H

#include "fs/tree/fs.h"

/*
 * What @name is in @dir, for an operation that makes, removes or moves it: 1
 * and *st when it is there, 0 when it is not (*child says what it would be),
 * or an error that the caller of such an operation understands.
 */
int entry_child(struct fs *fs, const struct place *dir, const char *name,
		struct place *child, struct stat *st);

/* A name beginning with a dot is nobody's key: it may be a scratch one. */
static inline bool name_is_scratch(const char *name)
{
	return name[0] == '.';
}

/*
 * May a file that is no data be in @dir under that name? 0, or the refusal of
 * scratch_names.h. Below a scratch directory any may.
 */
int entry_may_be_scratch(struct fs *fs, const struct place *dir,
			 const char *name);
/*
 * A scratch file or directory in @dir, by the type in @mode, that belongs to
 * the caller: child->kind and ->node are set, the node counted for the reply
 * @e.
 */
int entry_add_scratch(struct fs *fs, fuse_req_t req, const struct place *dir,
		      struct place *child, mode_t mode,
		      struct fuse_entry_param *e);
/* Its name and, when nobody has it open, its content are gone. */
void entry_remove_scratch(struct fs *fs, const struct place *child);

#endif
