/*
 * T/.schema: a table's schema as a text file.
 *
 * What is read is schema_format()'s text. What is written is applied when it
 * is complete, at flush or when a scratch file is renamed to it; a text that is
 * refused changes nothing. Since programs like echo see only the errors of
 * write(2), complete lines are checked when they are written.
 *
 * Writing makes the table's families fixed unless the text says "families
 * open". What the text does not name of mode, uid and gid stays.
 */
#ifndef CELLFS_FS_SCHEMA_FILE_H
#define CELLFS_FS_SCHEMA_FILE_H

#include "fs/fs.h"

/*
 * Is @text, a part that was written so far, the beginning of a schema? Looks
 * at whole lines only. 0; -EINVAL with a sentence that names the line.
 */
int schema_file_check(struct fs *fs, const struct place *p, struct bytes text);
/* 0; -EINVAL; -EBUSY when a family that goes away holds a cell. */
int schema_file_apply(struct fs *fs, const struct place *p, struct bytes text);
/*
 * chmod and chown of a table directory: persists. Bits of @set are
 * FUSE_SET_ATTR_MODE, _UID, _GID.
 */
int schema_file_owner(struct fs *fs, const struct place *table,
		      const struct stat *attr, int set);

#endif
