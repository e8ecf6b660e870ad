/*
 * F/Q/counter: an 8-byte big-endian value as a decimal number.
 *
 *	cat counter		the number, 0 when there is no value
 *	echo 5 > counter	adds 5
 *	echo -1 > counter
 *
 * A number ends with its line, in however many parts that is written; the last
 * one also where the file is read, synced or closed, where something is written
 * elsewhere, and with each write to a descriptor that has O_DSYNC. What can be
 * known of its failure fails the write already.
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
