/*
 * .cellfs/store: the mounted store for programs (store/served.h).
 *
 * Each open is a session of its own: what is written is requests, what is read
 * is replies, in order. write(2) only gathers; a request is run by the read(2)
 * that asks for its reply, so nobody waits but who reads. Reading without a
 * request finds the end of the file.
 *
 * The options of the mount hold: ro and nodelete refuse what they forbid.
 * What is changed is told to the kernel and the overlay (outside.h) before
 * the reply goes out.
 *
 * There are SESSIONS_MAX sessions at most, fewer than the threads that serve
 * the kernel: some are always free to answer what a notice waits for.
 */
#ifndef CELLFS_FS_FILES_SERVED_H
#define CELLFS_FS_FILES_SERVED_H

#include "fs/tree/fs.h"

#define SESSIONS_MAX 16

struct served_file;

/* Sets @fi. -EMFILE when there are too many sessions. */
int served_open(struct fs *fs, struct fuse_file_info *fi);
/* Replies on 0. */
int served_read(struct fs *fs, fuse_req_t req, uint64_t fh, size_t size);
int served_write(struct fs *fs, uint64_t fh, struct bytes data);
/* SERVED_FEED: the same, for a file that was opened for reading only. */
int served_ioctl(struct fs *fs, uint64_t fh, unsigned cmd, struct bytes data);
void served_release(struct fs *fs, uint64_t fh);
/* At the end: every handle that the kernel left open. */
void served_file_free(struct served_file *f);

#endif
