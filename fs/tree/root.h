/*
 * The root of the mount: all of the store, or a part (-o root=).
 *
 *	-o root=T			the root is table T
 *	-o root=T/.prefix/a		what T has that begins with "a"
 *	-o root=.snapshot/nightly	the tables as they were then
 *
 * The part is a place, opened once and kept in struct fs: FUSE_ROOT_ID stands
 * for it, and place_of() begins with a copy of it where a whole mount begins
 * with NODE_ROOT. Beneath it nothing knows of it, but that .cellfs, which is
 * the mount's own, is always in the root. Paths in errors begin at the root.
 */
#ifndef CELLFS_FS_TREE_ROOT_H
#define CELLFS_FS_TREE_ROOT_H

struct fs;

/*
 * Makes @path, as in a mount of the whole, the root of @fs, which no request
 * has come to yet. 0; -ENOENT or -EINVAL with a sentence that names the
 * component; what the store says.
 */
int root_open(struct fs *fs, const char *path);

#endif
