/*
 * The files that hold a store's state of one moment, for who copies them.
 *
 * A hold names each file of the store's directory that is part of that moment,
 * and keeps it as it is until it is released: table files do not change, and stay
 * although a merge has made others of them; the log is cut, and its segments are
 * neither recycled nor removed. What is written meanwhile goes elsewhere, and
 * nobody waits. The catalog, of which each flush makes a new file, comes as
 * bytes. All of it together, under the same names in another directory, is a
 * store.
 *
 * What is in memory is flushed first, so that the log has little, and so that
 * the segments of one hold go with the flush of the next. A store that is open to
 * read is not changed: its hold has the log as it lies there.
 *
 * A hold of a served store is its session's, which has one at a time: who dies
 * releases it.
 */
#ifndef CELLFS_STORE_HOLD_H
#define CELLFS_STORE_HOLD_H

#include <string.h>

#include "store/store.h"

#define HOLD_NAME_MAX 47
/*
 * Who copies a hold puts a file of this name beside it, first of all: with that the
 * copy opens to be read only.
 */
#define HOLD_BACKUP_NAME "BACKUP"

struct hold_file {
	char name[HOLD_NAME_MAX + 1]; /* in the store's directory */
	/* So many bytes are to be copied; up to @size are zeros. */
	uint64_t bytes, size;
	/* A table file's sum, by which two of one name differ; 0: of others. */
	uint64_t sum;
};

struct hold {
	struct store *store;
	uint64_t store_id; /* a random number, made with the store */
	int64_t taken_ms;
	size_t nfiles;
	struct hold_file *files; /* the first one is the catalog */
	struct buf catalog;	 /* its bytes */
};

/*
 * -ENOSPC where there is no room for the flush, -EOPNOTSUPP for a store without
 * files of its own, -EMFILE for a session that has a hold.
 */
int store_hold(struct store *s, struct hold **out);
/* @h may be NULL. Before store_close(). */
void hold_release(struct hold *h);

/*
 * From now on the store keeps the newest @bytes of its log when it needs them no
 * more, or none (0), also after it was closed. Each hold has those files, whose
 * names begin with HOLD_KEPT; they go first where space is short. -EROFS;
 * -EOPNOTSUPP for a store without a log of its own.
 */
int store_keep_log(struct store *s, uint64_t bytes);
#define HOLD_KEPT "kept-"
static inline bool hold_is_kept(const struct hold_file *f)
{
	return !strncmp(f->name, HOLD_KEPT, sizeof(HOLD_KEPT) - 1);
}

/*
 * Makes the store in the directory @path, which has files of a hold, one of its
 * own, whose log is not kept; 1: it was. With @log, it is brought to the moment
 * @at_ms (milliseconds since 1970), and 0: @log is a directory with the catalog and
 * the log of a later hold, and the kept files of it and of all between, which this
 * renames. @lacks, unless it is NULL, says which file of those is missing or not
 * what it was. The first record of a time behind @at_ms ends it, also where the
 * clock was set back after that; what is behind that need not be whole. -ENODATA:
 * the log is not whole up to there, or cannot say what the store was then; and in
 * this case the store is as it was.
 */
int store_roll_forward(const char *path, const char *log, const char *lacks,
		       int64_t at_ms);

/*
 * Verifies a file of a kept log in the directory @path. 0; -EUCLEAN says where it is
 * damaged and what that means, -ENOENT that it is gone.
 */
int store_check_kept(const char *path, const char *name);

/*
 * store_check() of a directory with such copies; of the table files, and then of
 * the kept ones, those that are @wanted (NULL: all). @went, unless it is NULL, is
 * told how many bytes of table files were read since it was told last; when it
 * says false the check ends with -ECANCELED.
 */
int store_check_copy(const char *path,
		     bool (*wanted)(void *arg, const char *name),
		     bool (*went)(void *arg, uint64_t bytes),
		     void (*say)(void *arg, const char *sentence), void *arg);

#endif
