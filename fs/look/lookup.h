/*
 * Look-ups for the kernel: what a name in a directory is, and its attributes.
 * Memory, open files and the store each have a part of the answer. A file that
 * moves from one of them to another during a look-up is still found.
 */
#ifndef CELLFS_FS_LOOK_LOOKUP_H
#define CELLFS_FS_LOOK_LOOKUP_H

#include "fs/tree/fs.h"

/*
 * The attributes of a place: the overlay and open writers are asked before the
 * store. 1 and *st; 0 when nothing is there; an error. p->node is 0 when the
 * kernel does not know the place.
 */
int fs_stat(struct fs *fs, const struct place *p, struct stat *st);
/* As fs_stat(), but only the store is asked. */
int fs_stat_stored(struct fs *fs, const struct place *p, struct stat *st);
/*
 * As fs_stat(), for the process of the request: of an open file the attributes
 * are those of its handle. They are *age_s seconds old: HUGE_VAL if they are those that
 * the kernel caches for readers, and are not to be believed.
 */
int fs_stat_open(struct fs *fs, fuse_req_t req, const struct place *p,
		 const struct fuse_file_info *fi, struct stat *st,
		 double *age_s);
/* How much longer than @age_s something may be believed that may be so for @s seconds. */
static inline double fs_belief_left(double s, double age_s)
{
	return s > age_s ? s - age_s : 0;
}
/*
 * Looks up @name in @dir, memory first: 1, *child and *st; 0 when it is absent;
 * an error. child->node is set if the kernel has one. The caller releases the
 * child in any case.
 */
int fs_lookup(struct fs *fs, const struct place *dir, struct bytes name,
	      struct place *child, struct stat *st);
/*
 * Makes the reply for an entry: sets child->node and counts it for the kernel.
 * If the reply cannot be sent, the caller gives it back by nodes_forget(). 0 or
 * an error.
 */
int fs_entry(struct fs *fs, uint64_t parent, struct place *child,
	     const struct stat *st, struct fuse_entry_param *e);

#endif
