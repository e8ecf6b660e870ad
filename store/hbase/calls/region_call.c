#include "store/hbase/calls/region_call.h"

#include <errno.h>

#include "store/value/why.h"

/* After so many tries in vain, each time, the master is asked how the table is. */
#define TRIES_UNASKED 3

struct pb_state {
	bool here;
	uint32_t state; /* 0 = enabled */
};

static MESSAGE(pb_state, "TableState",
	       FIELD(pb_state, state, 1, .required = true));

struct pb_state_request {
	bool here;
	struct pb_table_name table;
};

static MESSAGE(pb_state_request, "GetTableStateRequest",
	       FIELD(pb_state_request, table, 1, .required = true,
		     .of = &pb_table_name));

struct pb_state_response {
	bool here;
	struct pb_state state;
};

static MESSAGE(pb_state_response, "GetTableStateResponse",
	       FIELD(pb_state_response, state, 1, .required = true,
		     .of = &pb_state));

int table_is_served(struct cluster *c, struct bytes table, uint64_t deadline_ns)
{
	const struct pb_state_request m = {.table = table_name_of(table)};
	struct rpc_request q = {
		.method = "GetTableState",
		.type = &pb_state_request,
		.message = &m,
		.deadline_ns = deadline_ns,
	};
	struct pb_state_response answer;
	struct attempt call = {0};
	int r = master_call(c, &q, &call, &pb_state_response, &answer);

	attempt_end(&call);
	return r < 0 ? r : !answer.state.state;
}

/* 0, or that the table is one whose regions nobody serves. */
static int judge_table(struct region_call *rc, uint64_t deadline_ns)
{
	uint64_t soon = cluster_soon(rc->cluster);
	int r = table_is_served(rc->cluster, rc->table,
				soon < deadline_ns ? soon : deadline_ns);

	if (r == 0)
		return why(-EBUSY, "the table is disabled: cellctl enable puts "
				   "it into service");
	return r == -ENOENT ? r : 0;
}

static int try_once(struct region_call *rc, struct retry *retry,
		    struct attempt *call, struct region **at, struct failure *f)
{
	int r;

	attempt_end(call);
	region_put(*at);
	*at = NULL;
	r = region_find(rc->cluster, rc->table, rc->row, rc->side, retry, at);
	if (r < 0) {
		*f = (struct failure){r, r == -EAGAIN ? CURE_WAIT : CURE_NONE,
				      true};
		return r;
	}
	*rc->region = (struct pb_region){true, REGION_BY_NAME, (*at)->name};
	rc->request.deadline_ns = retry->deadline_ns;
	r = attempt_start(rc->cluster, &(*at)->server, SERVICE_CLIENT,
			  &rc->request, call, f);
	/* What was not sent was not done. */
	if (r < 0)
		f->is_refused = true;
	else
		r = attempt_wait(call, f);
	if (r < 0 && f->cure == CURE_LOCATE)
		region_forget(rc->cluster, *at);
	return r;
}

int region_call(struct region_call *rc, struct retry *retry,
		struct attempt *call, struct region **at, struct failure *f)
{
	struct region *own = NULL;
	struct region **where = at ? at : &own;
	int r, state;

	for (;;) {
		r = try_once(rc, retry, call, where, f);
		if (r == 0)
			break;
		r = f->err;
		if (!f->is_refused && !rc->is_repeatable)
			break;
		if (f->cure == CURE_SCANNER || !retry_wait(retry, f))
			break;
		if (!f->is_refused)
			rc->was_repeated = true;
		if (retry->tries % TRIES_UNASKED || f->cure != CURE_LOCATE)
			continue;
		state = judge_table(rc, retry->deadline_ns);
		if (state < 0) {
			*f = (struct failure){state, CURE_NONE, true};
			r = state;
			break;
		}
	}
	region_put(own);
	/* Nothing in store.h means "try again". */
	return r == -EAGAIN && f->cure != CURE_SCANNER ? -ETIMEDOUT : r;
}
