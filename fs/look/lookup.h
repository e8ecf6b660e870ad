/*
 * What is there, for the kernel: what a name in a directory is, and what
 * stat(2) says of it. Memory, open files and the store have each a part of the
 * answer, and what goes over from one to the other meanwhile is missed in none.
 */
#ifndef CELLFS_FS_LOOK_LOOKUP_H
#define CELLFS_FS_LOOK_LOOKUP_H

#include "fs/tree/fs.h"

/*
 * What stat(2) says of a place: overlay and open writers first, the store
 * after them. 1; 0 when nothing is there; an error. @p->node must be set for
 * what can be in memory only (or 0: not known to the kernel).
 */
int fs_stat(struct fs *fs, const struct place *p, struct stat *st);
/* The store alone. */
int fs_stat_stored(struct fs *fs, const struct place *p, struct stat *st);
/* The same to who asks: of an open file by what the handle has. */
int fs_stat_open(struct fs *fs, fuse_req_t req, const struct place *p,
		 const struct fuse_file_info *fi, struct stat *st);
/*
 * Resolves @name in @dir, memory first: 1 and *child (its node set when there
 * is one already) with *st; 0 absent; an error. Release the child always.
 */
int fs_lookup(struct fs *fs, const struct place *dir, struct bytes name,
	      struct place *child, struct stat *st);
/*
 * Makes the reply for an entry: the node is counted up, child->node set. When
 * the reply cannot be sent, nodes_forget() it again.
 */
int fs_entry(struct fs *fs, uint64_t parent, struct place *child,
	     const struct stat *st, struct fuse_entry_param *e);

#endif
