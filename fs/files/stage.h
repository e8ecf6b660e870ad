/*
 * Staged rows: built beside the table, put whole.
 *
 *	mkdir -p T/.stage/R/f/q
 *	echo a > T/.stage/R/f/q/latest		in memory: scratch files
 *	echo b > T/.stage/R/g:q			and directories
 *	mv T/.stage/R T/R			one mutation
 *
 * What is beneath T/.stage are scratch files, with the bounds and the life of
 * these. The move walks them, reads each name as it would be read beneath T/R
 * and makes one mutation of all: a reader sees none of the row or the whole,
 * after a crash too. Then the nodes that the kernel knows by their staged
 * names become those of the row.
 *
 * A name that is no cell's, or a value that its family refuses, fails the
 * move, in words, and leaves all as it was. A row that is there gets the cells
 * in addition, as by any put.
 */
#ifndef CELLFS_FS_FILES_STAGE_H
#define CELLFS_FS_FILES_STAGE_H

#include "fs/tree/fs.h"

/*
 * Puts what is beneath the staged directory @from (a child of .stage) as the
 * row @to, whose directory is the node @to_dir.
 */
int stage_put(struct fs *fs, const struct place *from, const struct place *to,
	      uint64_t to_dir);

#endif
