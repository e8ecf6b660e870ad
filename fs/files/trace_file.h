/*
 * .cellfs/trace: the requests of the kernel as they end.
 *
 * Who reads it is given those that came after it was opened; a read waits until
 * there is one, as a read of a pipe does, and ends with the mount, or with a
 * signal to the reader. "slow MS", written into it, leaves out for all who read
 * what takes less; "slow 0" shows all again. What is done with the file itself
 * is not shown.
 */
#ifndef CELLFS_FS_FILES_TRACE_FILE_H
#define CELLFS_FS_FILES_TRACE_FILE_H

#include "fs/tree/fs.h"

/* Sets fi->fh. -EBUSY when too many read it. */
int trace_file_open(struct fs *fs, struct fuse_file_info *fi);

#endif
