/*
 * libfuse's low-level interface, at one version for all of fs/, and what older
 * libraries lack.
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

/*
 * Has the kernel ask about one directory in parallel. Linux sends the look-ups and
 * listings of a directory one by one, each when the one before is answered, unless the
 * filesystem says FUSE_PARALLEL_DIROPS in its reply to FUSE_INIT. libfuse before 3.17
 * takes the wish for it (FUSE_CAP_PARALLEL_DIROPS) and never says it, so the flag is set
 * in the reply on its way. Where a look-up takes milliseconds, as over HBase, programs
 * beside each other would wait for each other without.
 *
 * To be called between fuse_session_mount() and the first request. A process has one
 * such session. 0, or a negative errno.
 */
int fuse_parallel_dirops(struct fuse_session *se);

#endif
