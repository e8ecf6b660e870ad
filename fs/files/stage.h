/*
 * Staged rows: built beside the table, put whole.
 *
 *	mkdir -p T/.stage/R/f/q
 *	echo a > T/.stage/R/f/q/latest		in memory: scratch files
 *	echo b > T/.stage/R/g:q			and directories
 *	mv T/.stage/R T/R			one mutation
 *
 * The files beneath T/.stage are scratch files, with the same bounds and the
 * same lifetime. The move walks them, reads each name as it would be read
 * beneath T/R, and makes one mutation of all: a reader sees the whole row or
 * none of it, also after a crash. Then the nodes that the kernel knows by their
 * staged names become those of the row.
 *
 * If a name cannot be that of a cell, or a family refuses a value, the move
 * fails with a sentence that says so, and nothing changes. A row that exists
 * already gets the cells in addition, as by any put.
 */
#ifndef CELLFS_FS_FILES_STAGE_H
#define CELLFS_FS_FILES_STAGE_H

#include "fs/tree/fs.h"

/*
 * Puts what is beneath the staged directory @from (a child of .stage) as the
 * row @to, whose directory is the node @to_dir, for who asks it by @req.
 */
int stage_put(struct fs *fs, fuse_req_t req, const struct place *from,
	      const struct place *to, uint64_t to_dir);

#endif
