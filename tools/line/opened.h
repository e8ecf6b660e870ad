/*
 * A store that a command has open.
 */
#ifndef CELLFS_TOOLS_LINE_OPENED_H
#define CELLFS_TOOLS_LINE_OPENED_H

#include "store/store.h"

/* From now on also a store that others own or may write (--insecure). */
void open_insecure(void);
/*
 * The only place where stores are opened. @path is the store's directory, or a
 * directory in a mount; a mounted store is used through its mount. Failures are
 * printed. open_table() opens the table's store, too.
 */
int open_store(const char *path, bool create, bool read_only,
	       struct store **store);
int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t);
/* Opens a store to read, if that is possible at once. 0 or a negative errno. */
int open_quietly(const char *path, struct store **store);
/* Is the store of @path mounted, or @path in a mount? Failures are printed. */
int is_mounted(const char *path, bool *yes);
/* EXIT_STORE with a message if the store of @path is mounted. */
int need_rest(const char *path);
/* Closes both; a failure to close turns exit code 0 into EXIT_STORE. */
int close_store(struct store *store, struct table *t, int code);

#endif
