/*
 * .cellfs/: help, version, options, stats, metrics, errors, flush, compact,
 * sync.
 *
 * Each file is a row of one table: a name and a function that writes its
 * text. The text is made when the file is opened, read by direct I/O, and its
 * size is 0 to stat(2), as in /proc. Writing into flush or compact, a table's
 * name or just a newline for all, or anything into sync, does it and returns
 * when it is done. Beside them, unlisted, stands the store for programs.
 */
#ifndef CELLFS_FS_CONTROL_H
#define CELLFS_FS_CONTROL_H

#include "store/bytes.h"

#define CONTROL_DIR_NAME ".cellfs"

struct fs;

struct control_file {
	const char *name;
	/* Appends the text. 0 or a negative errno. */
	int (*text)(struct fs *fs, struct buf *out);
	/* Called with what is written into the file; NULL = read only. */
	int (*written)(struct fs *fs, struct bytes data);
	bool is_store; /* fs/served.h: neither text nor listed */
	/* Not 0: for who mounted it, with this mode; it may tell of cells. */
	uint16_t private;
};

/* Those that are listed, in byte order of name; NULL after the last. */
const struct control_file *control_at(unsigned i);
/* NULL when there is none of that name. */
const struct control_file *control_find(struct bytes name);

#endif
