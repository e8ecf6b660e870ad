/*
 * .cellfs/: help, version, options, stats, status, metrics, errors, flush,
 * compact, sync, trace.
 *
 * Each file is a row of one table. It is read by direct I/O, and its size is 0
 * to stat(2), as in /proc; control.h makes its text, but for those that open as
 * a type of their own. Beside them, unlisted, stands the store for programs.
 */
#ifndef CELLFS_FS_TREE_CONTROL_FILE_H
#define CELLFS_FS_TREE_CONTROL_FILE_H

#include "store/value/bytes.h"

#define CONTROL_DIR_NAME ".cellfs"
#define CONTROL_STORE_NAME "store"
#define CONTROL_TRACE_NAME "trace"

struct fs;

/* In byte order of name. */
enum control_id {
	CONTROL_COMPACT,
	CONTROL_ERRORS,
	CONTROL_FLUSH,
	CONTROL_HELP,
	CONTROL_METRICS,
	CONTROL_OPTIONS,
	CONTROL_STATS,
	CONTROL_STATUS,
	CONTROL_SYNC,
	CONTROL_TRACE,
	CONTROL_VERSION,
	CONTROL_FILES
};

struct control_file {
	const char *name;
	enum control_id id;
	bool writable;
	/* What it is when it is open (enum kind_opens); 0 = its text. */
	uint8_t open;
	/* Not 0: for who mounted it, with this mode; it may tell of cells. */
	uint16_t private;
};

/* Those that are listed, in byte order, in every mount; NULL after the last. */
const char *control_name(const struct fs *fs, uint64_t i);
/* NULL when there is none of that name. */
const struct control_file *control_find(struct bytes name);

#endif
