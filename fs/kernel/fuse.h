/*
 * libfuse's low-level interface, at one version for all of fs/.
 */
#ifndef CELLFS_FS_KERNEL_FUSE_H
#define CELLFS_FS_KERNEL_FUSE_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#endif
