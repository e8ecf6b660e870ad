/*
 * An open directory: a scan of its level (dir_scan.h), and a position.
 *
 * The scan is opened at the first readdir and sees the store as of then. A
 * listing that nobody reads for a while gives it back and goes on behind the
 * last key. Memory is O(1) a listing: nothing is gathered.
 *
 * The offset that the kernel keeps counts entries. Behind the position lies
 * a window of the last keys, so that a seek back, which is how an entry that
 * did not fit is asked for again, continues at "the first key greater than
 * that one". An offset before the window starts over and counts.
 *
 * What lives only in memory (overlay.h) is merged in key order; long keys
 * that share their first piece are one entry.
 *
 * The kernel may keep the names of a row, a family or a column, if they are few:
 * who lists them again asks OPENDIR alone, and that says whether they are still
 * those (nodes_cache()). They are as long as nothing in the directory has changed
 * (changes_names()). What the kernel itself does in a directory it knows; of a change
 * by another path it is told by a notice about the directory, for who has it open
 * and rewinds. A reader whose names the kernel has lost half-way goes on by the
 * count of those before; if they have changed meanwhile it begins again, so that
 * some names come twice and none is missing.
 *
 * Threads: the kernel serialises calls on a handle, a lock makes sure.
 */
#ifndef CELLFS_FS_LOOK_LISTING_H
#define CELLFS_FS_LOOK_LISTING_H

#include <sys/stat.h>

#include "fs/kernel/handle.h"
#include "fs/tree/place.h"

struct listing;

/* One entry; valid until the next call on the listing. */
struct listing_entry {
	const char *name;
	size_t name_len;
	uint64_t ino;
	uint8_t kind;	/* enum node_kind; "." and ".." have NODE_ROOT */
	bool dot;	/* "." or "..": never looked up */
	struct stat st; /* when @attrs was asked for */
	/*
	 * Of the entry, with its node 0 or known; NULL when it has vanished or
	 * cannot be looked at.
	 */
	struct place *place;
	uint64_t
		offset; /* behind this entry: what the kernel comes back with */
};

/* Takes over @dir's content on success. -ENOTDIR, -ENOMEM. */
int listing_open(struct fs *fs, struct place *dir, struct listing **out);
/* What the kernel may do with the names, in the reply that opens it. */
void listing_keep(struct listing *ls, struct fuse_file_info *fi);
/* The same object as an open file: its last reference closes it. */
struct open_file *listing_file(struct listing *ls);
struct listing *listing_of(struct open_file *f);
extern const struct file_ops listing_ops;
/* Goes to an offset that was handed out; 0 is the start, and starts over. */
int listing_seek(struct listing *ls, uint64_t offset);
/* 1 and *out, 0 at the end, an error. With @attrs the attributes too. */
int listing_next(struct listing *ls, bool attrs, struct listing_entry *out);
/* Gives the scan back if the listing was not read since @before. */
void listing_rest(struct listing *ls, int64_t before);

#endif
