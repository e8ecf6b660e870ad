/*
 * Which region of a table has a row, and which server has that region.
 *
 * What hbase:meta says is kept until somebody finds it to be wrong: regions are
 * split, merged and moved at any time, and the server that has one no longer
 * says so. A region that was found is not changed, so who holds one may read it
 * without a lock.
 */
#ifndef CELLFS_STORE_HBASE_CLUSTER_REGIONS_H
#define CELLFS_STORE_HBASE_CLUSTER_REGIONS_H

#include <stdatomic.h>

#include "store/hbase/cluster/cluster.h"

struct region {
	_Atomic unsigned refs;
	struct server server;
	struct bytes table; /* as hbase:meta has it: namespace:name, or name */
	struct bytes name;
	struct bytes start, end; /* the first row; the first that is not */
	struct buf memory;	 /* of these four */
};

enum side {
	SIDE_OF,     /* the region that has the row */
	SIDE_BEFORE, /* the one that has the rows before it; empty = the last */
};

int regions_new(struct regions **out);
void regions_free(struct regions *rs); /* NULL is none */

/*
 * 0 and *out, which region_put() gives back; -ENOENT if there is no such table;
 * or what asking failed with. Asks hbase:meta if it is not known, as often as
 * @retry allows.
 */
int region_find(struct cluster *c, struct bytes table, struct bytes row,
		enum side side, struct retry *retry, struct region **out);
void region_put(struct region *r); /* NULL is none */
/* What is known of the region is wrong. */
void region_forget(struct cluster *c, const struct region *r);
/* What is known of the table is wrong. */
void regions_forget_table(struct cluster *c, struct bytes table);

#endif
