/*
 * Look-ups and listings of one directory beside each other.
 *
 * Linux sends those of a directory one by one, each when the one before is answered,
 * unless the filesystem says FUSE_PARALLEL_DIROPS in its reply to FUSE_INIT. libfuse
 * before 3.17 takes the wish for it (FUSE_CAP_PARALLEL_DIROPS) and never says it. So the
 * flag is set in the reply on its way to the kernel. Where a look-up takes milliseconds,
 * as over HBase, programs beside each other would wait for each other without.
 */
#ifndef CELLFS_FS_KERNEL_PARALLEL_H
#define CELLFS_FS_KERNEL_PARALLEL_H

#include "fs/kernel/fuse.h"

/*
 * To be called between fuse_session_mount() and the first request. A process has one
 * such session. 0, or a negative errno.
 */
int parallel_dirops(struct fuse_session *se);

#endif
