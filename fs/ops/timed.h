/*
 * How many requests come, how long each takes, and for who watches, what it was.
 *
 * The path is made before the request runs: its reply may bring the forget of
 * the node at once.
 */
#ifndef CELLFS_FS_OPS_TIMED_H
#define CELLFS_FS_OPS_TIMED_H

#include "fs/tree/fs.h"

struct timed {
	enum fs_op op;
	uint64_t start_ns;
	uint64_t slow_ns; /* what takes less is not shown */
	struct buf path;  /* empty when nobody watches */
};

/* @name in the directory @node, or with NULL that node. */
void timed_begin(struct timed *t, struct fs *fs, enum fs_op op, uint64_t node,
		 const char *name);
void timed_end(struct timed *t, struct fs *fs);

#endif
