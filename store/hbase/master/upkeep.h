/*
 * Flush and compaction of tables: region by region, by the servers that have them.
 */
#ifndef CELLFS_STORE_HBASE_MASTER_UPKEEP_H
#define CELLFS_STORE_HBASE_MASTER_UPKEEP_H

#include "store/hbase/cluster/cluster.h"

/* What is in memory becomes files. The master has it done, if it knows how to. */
int upkeep_flush(struct cluster *c, struct bytes table);
/*
 * Asks for a major compaction, and waits until it has ended. The servers merge
 * files: what is in memory only stays there.
 */
int upkeep_compact(struct cluster *c, struct bytes table);

#endif
