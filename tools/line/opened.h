/*
 * A store that a command has open.
 */
#ifndef CELLFS_TOOLS_LINE_OPENED_H
#define CELLFS_TOOLS_LINE_OPENED_H

#include "store/store.h"

/*
 * The one place where a store is opened: @path is its directory, or one in a
 * mount; what is mounted is used through the mount. Both print their failure.
 * The table is opened in *store too.
 */
int open_store(const char *path, bool create, bool read_only,
	       struct store **store);
int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t);
/* Says so, and EXIT_STORE, when what @path means is mounted. */
int need_rest(const char *path);
/* Closes; an error of closing makes an exit code of 0 EXIT_STORE. */
int close_store(struct store *store, struct table *t, int code);

#endif
