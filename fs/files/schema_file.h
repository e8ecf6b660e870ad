/*
 * T/.schema: a table's schema as a text file.
 *
 * What is read is schema_format()'s text. What is written is applied when it
 * is complete, at flush or when a scratch file is renamed to it; a text that is
 * refused changes nothing. Since programs like echo see only the errors of
 * write(2), each write is judged, by the text and by the table as it is; what
 * was accepted then is refused later only if the table has changed meanwhile.
 *
 *	printf 'family f\nttl 5'	refused: "5" is no time
 *	write(4096), ends in "ttl 5"	taken: a part of a longer text
 *
 * What is written from the start on is the whole text, however long the text
 * was that it replaces: cp, tar, rsync --inplace and a shell differ in when
 * they truncate the file, or whether. Only what is written elsewhere (>>, an
 * editor in place) changes a part of it.
 *
 * Writing makes the table's families fixed unless the text says "families
 * open". What the text does not name of mode, uid and gid stays, as does a
 * family that holds a cell; one that holds none goes.
 *
 * A text that says another mode or owner is chmod or chown, which the kernel
 * cannot judge: who may is asked here. Root and who mounted the store may all,
 * the table's owner may change the mode; and nobody else changes anything where
 * the sticky bit has only the owner delete.
 */
#ifndef CELLFS_FS_FILES_SCHEMA_FILE_H
#define CELLFS_FS_FILES_SCHEMA_FILE_H

#include "fs/tree/fs.h"

/* Which part of what an open file holds is the text that was written. */
struct schema_edit {
	uint64_t front; /* so much was written from the start on */
	bool patched;	/* and elsewhere: the whole counts */
	bool applied;	/* once already: what it drops is gone */
	uid_t by;	/* who opened the file, or renames it */
};
void schema_edit_wrote(struct schema_edit *e, uint64_t off, size_t len);
void schema_edit_truncated(struct schema_edit *e, uint64_t len);
struct bytes schema_edit_text(const struct schema_edit *e, struct bytes draft);

/*
 * Could the file be closed now? 0; -EINVAL with a sentence that names the
 * line; -EBUSY, -EPERM if the table does not allow it.
 */
int schema_file_check(struct fs *fs, const struct place *p,
		      const struct schema_edit *e, struct bytes draft);
/* As schema_file_check(), of the whole text. */
int schema_file_apply(struct fs *fs, const struct place *p, struct bytes text,
		      const struct schema_edit *e);
/*
 * The same of a text that @make makes of the table's: again, when somebody else
 * has changed it meanwhile.
 */
int schema_file_apply_made(struct fs *fs, const struct place *p,
			   int (*make)(void *arg, struct bytes *text),
			   void *arg, const struct schema_edit *e);
/*
 * chmod and chown of a table directory: persists. Bits of @set are
 * FUSE_SET_ATTR_MODE, _UID, _GID.
 */
int schema_file_owner(struct fs *fs, const struct place *table,
		      const struct stat *attr, int set);

#endif
