/*
 * Directories of the machine, which are read by name: what a mount is made on, and
 * the folders of backups. A link is not followed.
 */
#ifndef CELLFS_FS_HOST_HOST_DIR_H
#define CELLFS_FS_HOST_HOST_DIR_H

#include <dirent.h>

/*
 * The directory @name in the directory @at, as openat(2) has them; "." reads @at
 * from its beginning. closedir(3) ends it. NULL with errno.
 */
DIR *host_dir_open(int at, const char *name);
/* The same: 1 if it has no entry, 0 if it has one, or a negative errno. */
int host_dir_is_empty(int at, const char *name);

#endif
