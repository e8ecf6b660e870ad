#include "store/hbase/master/upkeep.h"

#include <errno.h>

#include "store/hbase/cluster/regions.h"
#include "store/hbase/master/admin_messages.h"
#include "store/hbase/master/procedure.h"
#include "store/os/patience.h"
#include "store/value/why.h"

#define POLL_MS 10
/* A compaction that has not begun after so long has nothing to do. */
#define IDLE_MS 2000

/* A region that something is done to. */
struct visit {
	struct cluster *c;
	struct region *at;
	struct retry retry;
	struct failure failure; /* of the last call */
};

/*
 * A call to the server that has the region; call.rpc.answer.message is the answer
 * until attempt_end().
 */
static int ask_server(struct visit *v, const char *method,
		      const struct proto_message *type, const void *message,
		      struct attempt *call)
{
	struct rpc_request q = {
		.method = method,
		.type = type,
		.message = message,
		.deadline_ns = v->retry.deadline_ns,
	};
	int r = attempt_start(v->c, &v->at->server, SERVICE_ADMIN, &q, call,
			      &v->failure);

	if (r == 0)
		r = attempt_wait(call, &v->failure);
	return r < 0 ? v->failure.err : 0;
}

/* What tells a region's files from those before: all their names. */
static int files_of(struct visit *v, struct buf *out)
{
	const struct pb_files_request m = {
		.region = {true, REGION_BY_NAME, v->at->name},
	};
	struct attempt call = {0};
	int r = ask_server(v, "GetStoreFile", &pb_files_request, &m, &call);

	if (r == 0 && buf_set(out, call.rpc.answer.message) < 0)
		r = why(-ENOMEM, "out of memory for the names of files");
	attempt_end(&call);
	return r;
}

static int is_compacting(struct visit *v)
{
	const struct pb_region_info_request m = {
		.region = {true, REGION_BY_NAME, v->at->name},
		.compaction_state = true,
	};
	struct pb_region_info_response answer;
	struct attempt call = {0};
	int r = ask_server(v, "GetRegionInfo", &pb_region_info_request, &m,
			   &call);

	if (r == 0)
		r = proto_take(call.rpc.answer.message,
			       &pb_region_info_response, &answer);
	attempt_end(&call);
	return r < 0 ? r : answer.compaction_state != 0;
}

static int begin_compaction(struct visit *v)
{
	const struct pb_compact_request m = {
		.region = {true, REGION_BY_NAME, v->at->name},
		.major = true,
	};
	struct attempt call = {0};
	int r = ask_server(v, "CompactRegion", &pb_compact_request, &m, &call);

	attempt_end(&call);
	return r;
}

/*
 * Waits until the region has other files than these and no compaction, or until
 * there is nothing to do, which is to say for a while in which nothing happens: the
 * server says nothing of what waits in a queue.
 */
static int await_compaction(struct visit *v, struct bytes before)
{
	struct buf now = {0};
	unsigned idle = 0;
	int r = 0;

	while (r == 0 && idle * POLL_MS < IDLE_MS) {
		/* Each answer is in time, though the whole takes long. */
		v->retry = cluster_retry(v->c);
		os_sleep_ms(cluster_os(v->c), POLL_MS);
		r = is_compacting(v);
		idle = r > 0 ? 0 : idle + 1;
		if (r > 0)
			r = 0;
		else if (r == 0 && (r = files_of(v, &now)) == 0 &&
			 !bytes_eq(before, buf_bytes(&now)))
			break;
	}
	buf_free(&now);
	return r;
}

static int compact_region(struct visit *v)
{
	struct buf before = {0};
	int r = files_of(v, &before);

	if (r == 0 && before.len)
		r = begin_compaction(v);
	if (r == 0 && before.len)
		r = await_compaction(v, buf_bytes(&before));
	buf_free(&before);
	return r;
}

static int flush_region(struct visit *v)
{
	const struct pb_files_request m = {
		.region = {true, REGION_BY_NAME, v->at->name},
	};
	struct attempt call = {0};
	int r = ask_server(v, "FlushRegion", &pb_files_request, &m, &call);

	attempt_end(&call);
	return r;
}

/*
 * Does it to the region that has the row, which v->at is then. A region that has
 * moved is looked for a few times: that of a table that is disabled is nowhere.
 */
static int visit_region(struct visit *v, struct bytes table, struct bytes row,
			int (*act)(struct visit *v))
{
	struct failure *f = &v->failure;
	int r;

	do {
		region_put(v->at);
		v->at = NULL;
		*f = (struct failure){.cure = CURE_NONE};
		r = region_find(v->c, table, row, SIDE_OF, &v->retry, &v->at);
		if (r == 0)
			r = act(v);
		if (r < 0 && f->cure == CURE_LOCATE) {
			region_forget(v->c, v->at);
			f->cure = CURE_DOUBT;
		}
	} while (r < 0 && retry_wait(&v->retry, f));
	return r == -EAGAIN ? -EBUSY : r;
}

static int visit_all(struct cluster *c, struct bytes table,
		     int (*act)(struct visit *v))
{
	struct buf row = {0};
	int r;

	do {
		struct visit v = {.c = c};

		patience_renew();
		v.retry = cluster_retry(c);
		r = visit_region(&v, table, buf_bytes(&row), act);
		if (r == 0 && buf_set(&row, v.at->end) < 0)
			r = why(-ENOMEM, "out of memory for a row");
		region_put(v.at);
	} while (r == 0 && row.len);
	buf_free(&row);
	return r;
}

int upkeep_flush(struct cluster *c, struct bytes table)
{
	const struct pb_table_request m = {.table = table_name_of(table)};
	int r = procedure_run(c, "FlushTable", &pb_table_request, &m);

	/*
	 * A DoNotRetryIOException without more: the master does not know the
	 * call, which is so before HBase 2.6, or hbase.flush.procedure.enabled is
	 * off.
	 */
	return r == -EINVAL ? visit_all(c, table, flush_region) : r;
}

int upkeep_compact(struct cluster *c, struct bytes table)
{
	return visit_all(c, table, compact_region);
}
