/*
 * A struct fs from its start to its end.
 */
#ifndef CELLFS_FS_OPS_FS_LIFE_H
#define CELLFS_FS_OPS_FS_LIFE_H

#include "fs/tree/fs.h"

/* Over an open store, which stays the caller's. */
int fs_new(struct store *s, const struct options *o, struct fs **out);
/* No request may run any more. Publishes what is owed, frees. */
void fs_free(struct fs *fs);

#endif
