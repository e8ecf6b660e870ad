/*
 * .cells: a table, row or family as one text stream (cells.h), both ways.
 *
 * Reading is one scan, of the store as it is at open, put into lines as they
 * are asked for: nothing is gathered, and a stream is read from its start to
 * its end. In a view it is the view's scan.
 *
 * Writing feeds an import. Rows that have become whole are applied before the
 * write(2) returns, what is left when the file is closed. A line that is bad,
 * or that the store would refuse, fails the write(2) that brought it and every
 * later one; its number and reason are in .cellfs/errors.
 *
 * A scan is open while it is read. When more than a few are, or memory for open
 * files is short, those that nobody reads at the moment rest: they are closed,
 * and opened again behind the last line, on the same snapshot. A read that still
 * finds no memory waits a little and is then ENOBUFS; it can be tried again.
 *
 * stat(2) shows the size 0, also of a stream that was read to its end: the
 * request does not say which handle it is for, so it might be answered with the
 * size of another moment than the open stream is of, and tar and rsync would
 * cut the stream there. Reads and writes bypass the page cache.
 */
#ifndef CELLFS_FS_FILES_STREAM_H
#define CELLFS_FS_FILES_STREAM_H

#include "fs/tree/fs.h"

/* Takes over @p's content on success, and sets @fi. A negative errno. */
int stream_open(struct fs *fs, fuse_req_t req, struct place *p,
		struct fuse_file_info *fi);
/* Closes the scans of all streams that nobody reads at the moment. */
void stream_rest_all(struct fs *fs);

#endif
