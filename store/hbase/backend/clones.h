/*
 * Tables through which snapshots are read.
 *
 * HBase shows what is in a snapshot only in a table that is made from it: a
 * clone, which shares the snapshot's files. One is made when the first cell of
 * the snapshot is asked for, and dropped when no reader has the snapshot open
 * any more. Listings leave clones out, and nobody opens them by name. A process
 * that was killed leaves its clones behind: the next one that makes a clone drops
 * them, where it can tell that the process is gone, which is so on the same boot
 * of the same machine and in the same namespace of pids.
 */
#ifndef CELLFS_STORE_HBASE_BACKEND_CLONES_H
#define CELLFS_STORE_HBASE_BACKEND_CLONES_H

#include <pthread.h>

#include "store/store.h"

struct clone;
struct clones {
	pthread_mutex_t lock; /* guards all; held while one is made */
	struct clone *first;
	bool swept;
};

void clones_init(struct clones *cs);
/* Drops those that are left. */
void clones_close(struct store *s);
/* Is this a table that clone_get() has made, of whichever process? */
bool clone_is_named(struct bytes table);
/*
 * The clone of table @of's snapshot that was taken at the moment, made if need
 * be. clone_put() it. -ENOENT: the snapshot is gone; -EROFS.
 */
int clone_get(struct store *s, struct bytes of, struct bytes snapshot,
	      int64_t taken_ms, struct clone **out);
void clone_put(struct store *s, struct clone *k);
/* Borrowed. */
struct table *clone_table(const struct clone *k);

#endif
