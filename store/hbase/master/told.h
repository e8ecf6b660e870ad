/*
 * A table's description by the server of one of its regions.
 *
 * The master describes a table to those who may create or administer it, and to no
 * others who may read and write its rows. The servers of its regions tell who asks for
 * a family that there is not what the table is, in words: as HBase's shell has them,
 *
 *	... in table 'T', {TABLE_ATTRIBUTES => {KEY => 'VALUE', ...}},
 *	{NAME => 'FAMILY', KEY => 'VALUE', METADATA => {'KEY' => 'VALUE'}}, ...
 */
#ifndef CELLFS_STORE_HBASE_MASTER_TOLD_H
#define CELLFS_STORE_HBASE_MASTER_TOLD_H

#include "store/hbase/cluster/cluster.h"
#include "store/hbase/master/admin_messages.h"

/*
 * Asks a server for the description; *out points into *hold. 0, an error, or -EPROTO:
 * the server says something else.
 */
int told_description(struct cluster *c, struct bytes table, struct buf *hold,
		     struct pb_descriptor *out);
/* Reads the words that a server has said. */
int told_take(struct bytes table, struct bytes words, struct buf *hold,
	      struct pb_descriptor *out);

#endif
