/*
 * libfuse's low-level interface, at one version for all of fs/.
 */
#ifndef CELLFS_FS_KERNEL_FUSE_H
#define CELLFS_FS_KERNEL_FUSE_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <stdio.h>

/* Of renameat2(2); not every C library has it. */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

#endif
