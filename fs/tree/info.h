/*
 * T/.info/: bytes, cells, files, first, last, newest, oldest, rows.
 *
 * What a table holds, a file a figure: a line of text that is made when the
 * file is opened and read past the page cache, with size 0 to stat(2), as in
 * /proc. It costs what a look at each of the table's files in memory costs, or
 * the search for one row, never a scan.
 *
 * "~" stands before what is an estimate (table_info() of store.h): rows and
 * cells, oldest and newest of a table that is not small. first and last are row
 * keys as the tree spells them. Of an empty table they and the times are empty
 * lines.
 *
 * A store that cannot tell (store_can()) has first and last alone; the others
 * are not listed, and to open one is refused.
 *
 * Nothing is told of a snapshot or a view: the files are not theirs alone.
 */
#ifndef CELLFS_FS_TREE_INFO_H
#define CELLFS_FS_TREE_INFO_H

#include "store/store.h"

#define INFO_DIR_NAME ".info"

struct fs;

struct info_file {
	const char *name;
	/* private */
	uint8_t kind;
	uint16_t at; /* of a figure in struct table_info */
	bool reversed;
};

/*
 * By index, in byte order, "" for what the store cannot tell; NULL after the
 * last.
 */
const char *info_name(const struct fs *fs, uint64_t i);
/* NULL when there is none of that name. */
const struct info_file *info_find(struct bytes name);
/* Appends the line. 0 or a negative errno. */
int info_text(const struct info_file *f, struct table *t, struct buf *out);

#endif
