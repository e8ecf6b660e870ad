/*
 * Checks of the directories of a mount, before the store is opened.
 *
 * A daemon that died leaves its mountpoint mounted: every access fails with
 * ENOTCONN ("Transport endpoint is not connected"), and so does the next mount.
 * If the kernel's list of mounts says that it was a mount of cellfs, it is
 * unmounted.
 */
#ifndef CELLFS_FS_HOST_MOUNTPOINT_H
#define CELLFS_FS_HOST_MOUNTPOINT_H

#include <stdbool.h>

/*
 * Unmounts a mount of cellfs without a daemon, then checks that @path is a
 * directory and no live mount of cellfs. 0, or a negative errno with a reason.
 */
int mountpoint_prepare(const char *path);
/*
 * Is something mounted there, and stays so, whose connection has ended? For a process
 * that may open nothing there any more.
 */
bool mountpoint_is_dead(const char *path);
/*
 * Finds where a store is mounted: @path is a directory of a mount of cellfs, or
 * the store's own directory. Of several mounts of one store it is the one that @path
 * is in. Uses the kernel's list of mounts, which is always up to date. 1 and *out (the
 * caller frees), 0, or a negative errno: -ENOTCONN with a reason if the daemon has died.
 */
int mountpoint_find(const char *path, char **out);
/*
 * The directory of the store that is mounted where @path is, else @path. 0 and
 * *out (the caller frees), or -ENOMEM.
 */
int mountpoint_store(const char *path, char **out);
/*
 * Calls @each for each mount of cellfs, but bind mounts of a part of one, until it
 * returns something else than 0, which is then the result. The strings are the
 * caller's during the call. 0, or a negative errno in words.
 */
int mountpoint_each(int (*each)(void *arg, const char *store,
				const char *mountpoint),
		    void *arg);
/*
 * Neither directory may be inside the other, or the daemon would wait for
 * itself. The store need not exist yet. 0 or -EINVAL with a reason.
 */
int mountpoint_check_apart(const char *store, const char *path);
/*
 * In a mount of cellfs a new directory is a table or a row, and a file a cell: is
 * @path in none? It need not exist; @what names it. 0 or a negative errno in words.
 */
int mountpoint_check_outside(const char *what, const char *path);
/* Is @path, which need not exist, @dir or in it? */
bool mountpoint_is_inside(const char *path, const char *dir);
/*
 * realpath(3) of all but the last component, which may be absent or a dead
 * mount. The caller frees. NULL with errno.
 */
char *mountpoint_absolute(const char *path);

#endif
