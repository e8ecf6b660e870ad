/*
 * Files being written, and scratch files.
 *
 * A writer is an open handle that gathers what is written and publishes it
 * whole as one version: readers see the old value or the new one. A scratch
 * file is one whose content stays in memory.
 *
 * The functions here are what the read side of fs/ asks the write side.
 */
#ifndef CELLFS_FS_WRITER_H
#define CELLFS_FS_WRITER_H

#include <sys/stat.h>

#include "fs/fuse.h"

#include "fs/place.h"

struct writer;

/*
 * op_open() hands over every open that can write, and every open of a scratch
 * file. On 0 fi->fh and the flags are set. The place stays the caller's.
 */
int writer_open(struct fs *fs, fuse_req_t req, struct place *p,
		struct fuse_file_info *fi);
/* What a reader of that handle sees: replies itself on 0. */
int writer_read(struct fs *fs, fuse_req_t req, uint64_t fh, size_t size,
		off_t off);
/* RELEASE: publishes an empty value that is still owed, frees the handle. */
void writer_release(struct fs *fs, uint64_t fh);
/*
 * Size, times and mode of a scratch file, or of a node with an open writer
 * that has not published yet. 1 and *st, which was filled for the kind by
 * place_stat_blank(); 0 when the store has the last word.
 */
int writer_stat(struct fs *fs, uint64_t node, struct stat *st);
/* Before the store is closed: publishes what open handles still owe. */
void writer_drain(struct fs *fs);

#endif
