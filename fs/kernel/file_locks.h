/*
 * The locks of flock(2) and fcntl(2), which the kernel keeps by inode and does not
 * tell the daemon of: whoever holds one on a file loses it when its name gets another
 * node.
 */
#ifndef CELLFS_FS_KERNEL_FILE_LOCKS_H
#define CELLFS_FS_KERNEL_FILE_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct nodes;

/*
 * Before the file gets another content: is nodes_renew() to be called? Reads
 * /proc/locks if so, where processes of other pid namespaces are not seen. A file that
 * is locked keeps its node until those who have it open now close it: they may be about
 * to lock it.
 */
bool file_locks_let_renew(struct nodes *ns, uint64_t id);

#endif
