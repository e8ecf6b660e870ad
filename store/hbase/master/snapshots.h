/*
 * HBase's snapshots. Their names are the cluster's, not a table's; what a
 * snapshot shows is read through a table that is made from it, which copies no
 * data. Functions return when the master has done it.
 */
#ifndef CELLFS_STORE_HBASE_MASTER_SNAPSHOTS_H
#define CELLFS_STORE_HBASE_MASTER_SNAPSHOTS_H

#include "store/hbase/cluster/cluster.h"
#include "store/hbase/master/admin_messages.h"

/* Calls @each for all snapshots, in no order, until it returns an error. */
int snapshots_list(struct cluster *c,
		   int (*each)(void *arg, const struct pb_snapshot *s),
		   void *arg);
/* -EEXIST: the cluster has one of this name, of whichever table. */
int snapshots_take(struct cluster *c, struct bytes name, struct bytes table);
/* Tables that were made from it keep what they show. -ENOENT. */
int snapshots_drop(struct cluster *c, struct bytes name);
/* Makes table @to. -ENOENT, -EEXIST. */
int snapshots_clone(struct cluster *c, struct bytes name, struct bytes to);
/* Puts a table back; it is out of service meanwhile. -ENOENT. */
int snapshots_restore(struct cluster *c, struct bytes name, struct bytes table);

#endif
