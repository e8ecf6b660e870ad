/*
 * What the files of .cellfs/ say and do.
 *
 * A text is made when the file is opened. Writing into flush or compact, a
 * table's name or just a newline for all, or anything into sync, does it and
 * returns when it is done.
 */
#ifndef CELLFS_FS_CONTROL_CONTROL_H
#define CELLFS_FS_CONTROL_CONTROL_H

#include "fs/tree/control_file.h"

struct fs;

/* Appends the text of one that has any. 0 or a negative errno. */
int control_text(struct fs *fs, enum control_id id, struct buf *out);
/* @data was written into one that is writable. 0 or a negative errno. */
int control_written(struct fs *fs, enum control_id id, struct bytes data);

#endif
