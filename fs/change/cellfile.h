/*
 * Writes and removes the files of the tree that are cells.
 *
 *	F/Q/TS	 one version	put, delete of that timestamp
 *	F/Q/latest  the newest	put of a new one, delete of the newest
 *	F:Q	 the column	put of a new one, delete of all
 *
 * Each call is one mutation of one row, by changed_mutate().
 * The file's directory is p->parent.
 */
#ifndef CELLFS_FS_CHANGE_CELLFILE_H
#define CELLFS_FS_CHANGE_CELLFILE_H

#include "fs/tree/fs.h"

/*
 * Can the column be written at all? Declares the family in an open table. 0
 * and its longest value, if @len_max is not NULL; -EPERM when the table is fixed;
 * -EROFS and what else makes the store refuse writes.
 */
int cellfile_writable(struct fs *fs, const struct place *p, size_t *len_max);

/*
 * Would the store take the next version of the file's column? 0; -EOVERFLOW when
 * the column has had the last timestamp there is; -EACCES.
 */
int cellfile_takes_put(const struct place *p);

enum {
	CELLFILE_SYNC = 1,   /* on disk when it returns */
	CELLFILE_ABSENT = 2, /* -EEXIST when the file is there */
};

/*
 * Puts @value, which lies in @piece if that is not NULL: at @ts when that is not
 * negative, else at a version's own timestamp or one that the store picks. It picks
 * one also when @ts is of a version of F:Q or latest that has expired since, or was
 * pushed out or deleted: what is put there would not be seen. 0 and *ts_given.
 */
int cellfile_put(struct fs *fs, const struct place *p, struct bytes value,
		 struct piece *piece, int64_t ts, unsigned flags,
		 int64_t *ts_given);
/*
 * Puts the value of the cell @was of another file, to expire when that does: 0;
 * -EPERM if it is not cellfile_copyable().
 */
int cellfile_copy(struct fs *fs, const struct place *p, const struct cell *was,
		  unsigned flags);
/*
 * Would a put of @to be seen, beside those of @with, of the same row, if that is not
 * NULL? 0; -EPERM if it is a version that newer ones push out, that has expired, or
 * that a delete hides.
 */
int cellfile_seen(struct fs *fs, const struct place *to,
		  const struct mutation *with);
/*
 * Puts @value, and in the same mutation deletes the version @old of the same row,
 * whose cell is @was. If @value is the value of @was, the new cell expires when that
 * one would have. 1; 0, and nothing is done, if the version has another value by
 * now; -EPERM if the new cell would not be seen.
 */
int cellfile_put_instead(struct fs *fs, const struct place *p,
			 struct bytes value, const struct place *old,
			 const struct cell *was, unsigned flags);
/*
 * 0; -EPERM if a copy of @cell would be less than it is: who moves a cell puts it
 * anew, and labels of the cluster's users, such as who may see it, are set by others.
 */
int cellfile_copyable(const struct cell *cell);
/* The ttl with which the cell ends when it did, if it is put again at @ts. */
uint64_t cellfile_ttl_left(struct fs *fs, const struct cell *cell, int64_t ts);
/*
 * Appends @tail to the value of the file. A version is put again, at its own
 * timestamp. Of the other files the newest version with @tail behind it is put as a
 * new version, or in place of the newest while that is the one of @ts, which an
 * earlier call gave (negative: none did).
 */
int cellfile_append(struct fs *fs, const struct place *p, struct bytes tail,
		    int64_t ts, unsigned flags, int64_t *ts_given);
/* 0, or -ENOENT when there is nothing to delete. */
int cellfile_delete(struct fs *fs, const struct place *p);
/* Deletes a version that has @value; -ENOENT if it has another, or is not there. */
int cellfile_delete_same(struct fs *fs, const struct place *p,
			 struct bytes value);
/* A scan of the versions of a column that are seen, newest first. */
int cellfile_versions(struct table *t, struct bytes row, struct bytes family,
		      struct bytes qualifier, bool keys_only,
		      struct scan **out);

/*
 * The file @from becomes the file @to of the same row, in one mutation.
 * -ENOENT; -EEXIST with @noreplace; -EFBIG when a column is too much to move.
 * -EPERM when the version @to would not be seen.
 */
int cellfile_move(struct fs *fs, const struct place *from,
		  const struct place *to, bool noreplace);

#endif
