/*
 * The life of a mount: checks, the session, signals, the end.
 *
 *	parent: checks, fork ── waits for one line through a pipe ── exit code
 *	child:	store_open, fuse_session_mount, "ready", loop, drain,
 *		store_close, exit 0
 *
 * The store is opened after the fork: its threads would not survive one.
 * Failures before "ready" are reported by the command that the user ran. In the
 * background the daemon keeps no file of its caller open.
 */
#ifndef CELLFS_FS_MOUNT_H
#define CELLFS_FS_MOUNT_H

#include "fs/report/options.h"
#include "store/store.h"

/* How to open a store: store_open(), or a test's replacement. */
typedef int (*mount_open_fn)(const char *path, const struct store_options *o,
			     struct store **out);

/* Runs the daemon to its end; returns its exit code. Makes paths absolute. */
int mount_run(struct options *o, mount_open_fn open_store);
/* main() of the daemon and of its test variants. */
int mount_main(int argc, char **argv, mount_open_fn open_store);

#endif
