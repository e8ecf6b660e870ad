/*
 * .cellfs/store: the mounted store for programs (store/served.h).
 *
 * Each open is a session of its own: what is written is requests, what is read
 * is replies, in order. write(2) only gathers; a request is run by the read(2)
 * that asks for its reply, so only a reader waits. Reading without a
 * request finds the end of the file. A read that a signal interrupts ends with
 * EINTR at once; its request is run to its end, until which others are told EAGAIN,
 * and the next one gets the reply.
 *
 * The options of the mount hold: ro and nodelete refuse what they forbid.
 * The kernel has heard of a change (change/changed.h) before the reply is sent.
 *
 * There are SESSIONS_MAX sessions at most, fewer than the threads that serve
 * the kernel: some are always free to answer what a notice waits for.
 */
#ifndef CELLFS_FS_FILES_SERVED_H
#define CELLFS_FS_FILES_SERVED_H

#include "fs/tree/fs.h"

#define SESSIONS_MAX 16

/* Sets @fi. -EMFILE when there are too many sessions. */
int served_open(struct fs *fs, struct fuse_file_info *fi);

#endif
