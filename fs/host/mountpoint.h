/*
 * The directories that a mount is made of, looked at before anything is done.
 *
 * A daemon that died leaves its mountpoint behind: every access says ENOTCONN
 * ("Transport endpoint is not connected") and the next mount fails. If the
 * kernel's list of mounts says that it was ours, it is taken away.
 */
#ifndef CELLFS_FS_HOST_MOUNTPOINT_H
#define CELLFS_FS_HOST_MOUNTPOINT_H

#include <stdbool.h>

/*
 * Heals a stale mount of ours, then checks that @path is a directory and no
 * live mount of ours. 0, or a negative errno with a sentence.
 */
int mountpoint_prepare(const char *path);
/* Takes the mount away, busy or not. 0 or a negative errno. */
int mountpoint_detach(const char *path);
/* Is it (by /proc/self/mountinfo) mounted with the type fuse.cellfs? */
bool mountpoint_is_ours(const char *path);
/*
 * Where the store that @path means is mounted: @path is a directory of one of
 * our mounts, or the store's own. By the kernel's list of mounts, so that
 * nothing can be out of date. 1 and *out (the caller frees), 0, or a negative
 * errno: -ENOTCONN with a sentence for a mount whose daemon has died.
 */
int mountpoint_find(const char *path, char **out);
/*
 * Neither of the two directories may lie in the other, or the daemon would
 * wait for itself. The store need not exist yet. 0 or -EINVAL with a sentence.
 */
int mountpoint_check_apart(const char *store, const char *path);
/*
 * realpath(3) of all but the last component, which may be absent or stale.
 * The caller frees. NULL with errno.
 */
char *mountpoint_absolute(const char *path);

#endif
