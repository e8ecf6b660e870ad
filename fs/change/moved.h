/*
 * Versions that were renamed to a scratch name.
 *
 * A scratch file is in memory only: if a version became one, a crash would lose
 * it. So the version stays in the store, hidden from its directory, until it is
 * known what becomes of the scratch file:
 *
 *	mv 5 5~		5 is not listed and not found; 5~ is a scratch file
 *
 *	put of 5	it takes the place of the version; 5~ owes nothing
 *	mv 5~ 7		7 is put and 5 deleted, in one mutation; the same value
 *			ends when 5 would have (a ttl of its own)
 *	mv 5~ 5		as it was: nothing is put
 *	rm 5~		5 is deleted
 *	rmdir of Q	5 is deleted if nothing else is in Q
 *	newer versions	have pushed it out: 5~ is all that there is of it, and does
 *			not become what nobody sees
 *	kill -9, unmount  5 is there again
 *
 * `latest`, F:Q, views and programs show what is in the store, thus 5.
 *
 * A version that somebody else wrote anew meanwhile is not the one that was
 * moved (told by its value), and is not deleted.
 *
 * Threads: any; one lock inside, innermost, not held over store calls.
 */
#ifndef CELLFS_FS_CHANGE_MOVED_H
#define CELLFS_FS_CHANGE_MOVED_H

#include "fs/tree/fs.h"

struct moved;

/* NULL when out of memory. */
struct moved *moved_new(void);
/* With the mount, whose nodes go too. NULL is nothing. */
void moved_free(struct moved *mv);

/* The version @from, whose cell is @cell, is the scratch file @node now. 0, -ENOMEM. */
int moved_add(struct fs *fs, uint64_t node, const struct place *from,
	      const struct cell *cell);
/*
 * Is the version @ts of the column that @p is, or is in, hidden? Cheap when
 * none is.
 */
bool moved_hides(struct fs *fs, const struct place *p, int64_t ts);
/*
 * The mutation was applied: a hidden version that it put, or that is not as it
 * was moved any more, is shown again, and is nobody's to delete.
 */
void moved_changed(struct fs *fs, struct fstable *ft, const struct mutation *m);
/*
 * Is @node, whose content is @content, the new name of a version? Also when newer
 * ones have pushed that out, or it has expired: then the scratch file is all that
 * there is of it. *was is its cell, without its own ttl if it has another value.
 * 1, 0, -ENOMEM.
 */
int moved_is(struct fs *fs, uint64_t node, struct bytes content,
	     struct cell *was);
/*
 * The version whose new name @node is, as long as the store has it as it was:
 * 1, *from, to be released, and *cell, whose value lies in @hold; 0; an error.
 * Who then changes it does so on condition that it has that value.
 */
int moved_from(struct fs *fs, uint64_t node, struct place *from,
	       struct buf *hold, struct cell *cell);
/* The value of the version @p, as moved_from() gives it, if that is hidden. */
int moved_value(struct fs *fs, const struct place *p, struct buf *hold,
		struct bytes *value);
/* Is @content of @node that of a version which is still in the store? */
bool moved_holds(struct fs *fs, uint64_t node, struct bytes content);
/* The scratch file goes, or has been put: the version is deleted. */
int moved_settle(struct fs *fs, uint64_t node);
/* The scratch file goes, and its version was deleted by who calls this. */
void moved_forget(struct fs *fs, uint64_t node);
/*
 * All cells of the table may be others, as of a snapshot that was restored: its
 * versions are shown, and nobody's to delete.
 */
void moved_forget_table(struct fs *fs, const struct fstable *ft);
/* moved_add() of @from was for nothing: the version is shown again. */
void moved_back(struct fs *fs, uint64_t node, const struct place *from);
/*
 * Deletes the hidden versions of the column if it has no other: 1. 0 if it has one,
 * or none is hidden; or an error.
 */
int moved_settle_column(struct fs *fs, const struct place *column);

#endif
