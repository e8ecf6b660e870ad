/*
 * F/Q/counter: an 8-byte big-endian value as a decimal number.
 *
 *	cat counter		the number, 0 when there is no value
 *	echo 5 > counter	adds 5: each write(2) is one addition
 *	echo -1 > counter
 *
 * The store adds, under its own lock on the row, so that none of many writers
 * is lost. A descriptor that has added reads the sum of its own addition. A
 * value that is not 8 bytes long is no counter: -EINVAL.
 */
#ifndef CELLFS_FS_FILES_COUNTER_H
#define CELLFS_FS_FILES_COUNTER_H

#include "fs/tree/fs.h"

/* Takes over @p's content on success, and sets @fi. A negative errno. */
int counter_open(struct fs *fs, struct place *p, struct fuse_file_info *fi);

#endif
