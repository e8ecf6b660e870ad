/*
 * A file open for reading: one value, whole.
 *
 * What a handle reads is one version from its first byte to its last,
 * whatever is written meanwhile, and when it is removed or expires. It is
 * fetched at open. By an alias it is read past the page cache, which two
 * handles with two values would share. Of a version the kernel keeps pages, so
 * that the first read asks whether it was written anew and takes that; while
 * handles with two values of it are open, or a writer, they are read past it.
 */
#ifndef CELLFS_FS_FILES_READER_H
#define CELLFS_FS_FILES_READER_H

#include "fs/tree/fs.h"

/* Takes over @p's content on success, and sets @fi. A negative errno. */
int reader_open_place(struct fs *fs, struct place *p,
		      struct fuse_file_info *fi);
/*
 * Attributes of a file that is gone, from a reader that has the node open: 1; 0
 * when there is none. Looks at all handles.
 */
int reader_stat_gone(struct fs *fs, uint64_t node, struct stat *st);

#endif
