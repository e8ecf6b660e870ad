/*
 * Who has a directory: a lock that cannot be taken away.
 *
 * A lock on a file holds nobody off who removes or replaces that file. So the
 * lock is on the directory itself, which goes with everything in it. The file
 * OS_LOCK_NAME in it is locked too, since it says whose the directory is, and
 * since it is all that there is where a filesystem locks no directories. Behind
 * each lock it is looked whether the name still leads to what was locked.
 *
 *	flock(directory)	does the path lead there?
 *	flock(file)		does the name lead there?
 *
 * A clean end leaves the file empty; after a dirty one it names a process that
 * is no more.
 */
#ifndef CELLFS_STORE_OS_OS_LOCK_H
#define CELLFS_STORE_OS_OS_LOCK_H

#include <stdbool.h>
#include <sys/stat.h>

/* Zeroed: not locked. */
struct dir_lock {
	bool held, shared;
	int dir;
	int file; /* -1: no file */
};

/*
 * Locks the directory with the descriptor @dir, to which @path led: 1, or 0 if
 * another has it, whose pid is in *pid (0 = not known). -ESTALE: @path leads to
 * something else by now.
 */
int dir_lock_take(int dir, const char *path, bool shared, struct dir_lock *out,
		  int *pid);
void dir_lock_end(struct dir_lock *l); /* @l may be unlocked */

/*
 * What root makes in a directory of @owner's is that user's, who could not open the
 * store any more else. @fd is new if it is empty and has no second name: nothing else
 * is given away. Where it cannot be given it stays root's.
 */
void dir_give(int fd, const struct stat *st, uid_t owner);

#endif
