/*
 * A call about one row: to the server that has its region, with its tries.
 */
#ifndef CELLFS_STORE_HBASE_CALLS_REGION_CALL_H
#define CELLFS_STORE_HBASE_CALLS_REGION_CALL_H

#include "store/hbase/cluster/regions.h"
#include "store/hbase/wire/messages.h"

struct region_call {
	struct cluster *cluster;
	struct bytes table, row;
	enum side side;
	struct rpc_request request; /* of which the deadline is set here */
	struct pb_region *region;   /* in its message; set for each try */
	/* May it be made again when it is not known whether it was done? */
	bool is_repeatable;
	bool was_repeated; /* in that way: set here */
};

/*
 * Are the regions of the table to be served? 1, 0, or an error; asks until
 * @deadline_ns, 0: as any call.
 */
int table_is_served(struct cluster *c, struct bytes table,
		    uint64_t deadline_ns);
/*
 * 0: the answer is in call->rpc.answer, and in *at, if that is not NULL, the
 * region that gave it, which region_put() gives back. Else a negative errno and
 * in *f what the last try failed with. attempt_end() and region_put() are due in any
 * case. *call and *at begin zeroed.
 */
int region_call(struct region_call *rc, struct retry *retry,
		struct attempt *call, struct region **at, struct failure *f);

#endif
