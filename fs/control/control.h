/*
 * The contents and actions of the files of .cellfs/.
 *
 * A text is made when the file is opened. A write to flush or compact (of a
 * table's name, or a newline for all) or to sync (of anything) returns when the
 * action is done.
 */
#ifndef CELLFS_FS_CONTROL_CONTROL_H
#define CELLFS_FS_CONTROL_CONTROL_H

#include "fs/tree/control_file.h"

struct fs;

/* Appends the text of a readable file. 0 or a negative errno. */
int control_text(struct fs *fs, enum control_id id, struct buf *out);
/* Acts on @data, written to a writable file. 0 or a negative errno. */
int control_written(struct fs *fs, enum control_id id, struct bytes data);

#endif
