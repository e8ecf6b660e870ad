/*
 * Who changes a table, among those who use cellfs.
 *
 * HBase replaces a table's description as a whole, without a condition: who has
 * read it, and replaces it while others do the same, takes away what they have
 * changed. So a lock of HBase's is taken before the description is read and given
 * back when the change is made. It is that of a name which no table has, for the
 * change itself wants the table's own. Other programs do not ask for it.
 *
 * The master forgets a lock of which it has heard nothing for half a minute. A
 * change that takes longer has altered the description by then. One that waits so
 * long behind another change has not, and a third one may take it away.
 */
#ifndef CELLFS_STORE_HBASE_MASTER_ALTER_LOCK_H
#define CELLFS_STORE_HBASE_MASTER_ALTER_LOCK_H

#include "store/hbase/cluster/cluster.h"

/*
 * 0, or an error. *id is for alter_lock_give(): 0 for none, where this user may not
 * take one.
 */
int alter_lock_take(struct cluster *c, struct bytes table, uint64_t *id);
void alter_lock_give(struct cluster *c, uint64_t id);

#endif
