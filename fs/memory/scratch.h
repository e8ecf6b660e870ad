/*
 * Scratch files: temporary files that programs make on the way to a cell.
 *
 * rsync writes .TS.XXXXXX and renames it, vim keeps .TS.swp and tries 4913, sed
 * -i makes sedXXXXXX. None of these names is a cell, so such a file is kept in
 * memory: a regular file made where only directories are data, or in a column
 * with a name that is no timestamp, if scratch_names.h allows the name; and a
 * directory whose name begins with a dot (rsync --delay-updates), with all that
 * is made in it.
 *
 * The names are entries of the overlay; here are attributes and content, by
 * node id, which is never reused. A file is kept while it has a name, is open, or
 * its node is there, as long as there is room: who has found it opens it, though it
 * was removed or replaced meanwhile. A file that was renamed to a cell is retired: programs that have it open
 * keep it, and its node stands for the cell from then on.
 *
 * At most bytes_max in all, and no more than the budget has left for one
 * client: beyond that -ENOSPC, in words. lost_found.h says what becomes of them at
 * unmount.
 *
 * Threads: any; one lock inside, innermost: nothing under it can block.
 */
#ifndef CELLFS_FS_MEMORY_SCRATCH_H
#define CELLFS_FS_MEMORY_SCRATCH_H

#include <sys/stat.h>
#include <sys/types.h>

#include "fs/kernel/budget.h"
#include "store/value/bytes.h"

struct scratch;

struct scratch_attr {
	uint64_t size;
	mode_t mode; /* with S_IFREG or S_IFDIR */
	uid_t uid;
	gid_t gid;
	struct timespec mtime, ctime;
};

/* What scratch_setattr() changes. */
enum {
	SCRATCH_SET_MODE = 1,
	SCRATCH_SET_UID = 2,
	SCRATCH_SET_GID = 4,
	SCRATCH_SET_SIZE = 8,
	SCRATCH_SET_MTIME = 16,
};

/* @bytes_max 0 = 256 MiB. NULL without memory. */
struct scratch *scratch_new(size_t bytes_max, struct budget *budget);
void scratch_free(struct scratch *s); /* @s may be NULL */

/*
 * Makes a file, or with S_IFDIR in @mode a directory, that has a name. Of a node
 * that was retired it is the file that others have open. 0; -EEXIST; -ENOSPC; -ENOMEM.
 */
int scratch_add(struct scratch *s, uint64_t node, mode_t mode, uid_t uid,
		gid_t gid);
/* Notes that the file lost its name. No effect if there is no such file. */
void scratch_unname(struct scratch *s, uint64_t node);
/* Its node is no more, before or after it lost its name. */
void scratch_forget(struct scratch *s, uint64_t node);
/* It lost its name; then scratch_getattr() does not find it, a change is -ESTALE. */
void scratch_retire(struct scratch *s, uint64_t node);
/* Its content is being put: a change is -ESTALE, until the put has failed. */
void scratch_freeze(struct scratch *s, uint64_t node, bool frozen);
/* Refuses a change of a file that has, or gets, another name. */
int scratch_say_moved(void);
/* Keeps the file without a name until scratch_drop(). 0 or -ESTALE. */
int scratch_hold(struct scratch *s, uint64_t node);
void scratch_drop(struct scratch *s, uint64_t node);

/* The directory got or lost an entry. No effect if it is none of these. */
void scratch_touch(struct scratch *s, uint64_t node);

/* Is there a file? Without the lock. */
bool scratch_any(struct scratch *s);
/* 1 and *a, or 0. Fast if there are no files. */
int scratch_getattr(struct scratch *s, uint64_t node, struct scratch_attr *a);
/* 0; -ESTALE; -ENOSPC; -EISDIR; -ENOMEM. *now has the new attributes. */
int scratch_setattr(struct scratch *s, uint64_t node, unsigned set,
		    const struct scratch_attr *want, struct scratch_attr *now);
/* Copies bytes to @out: fewer than @n at the end of the file; -ESTALE. */
ssize_t scratch_read(struct scratch *s, uint64_t node, void *out, size_t n,
		     uint64_t off);
/* 0; -ESTALE; -ENOSPC; -EISDIR. With @append, @off is ignored. */
int scratch_write(struct scratch *s, uint64_t node, struct bytes data,
		  uint64_t off, bool append);
/* Copies the whole content to @out. -EFBIG if it is longer than @len_max. */
int scratch_content(struct scratch *s, uint64_t node, size_t len_max,
		    struct buf *out);

/*
 * The next regular file with a name that is not empty, ordered by node: the
 * first with an id greater than @after (0: of all). 1 or 0.
 */
int scratch_next_left(struct scratch *s, uint64_t after, uint64_t *node);

/* Bytes of memory used now. */
uint64_t scratch_bytes(struct scratch *s);

#endif
