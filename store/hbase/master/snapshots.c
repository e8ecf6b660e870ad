#include "store/hbase/master/snapshots.h"

#include <errno.h>
#include <string.h>

#include "store/hbase/master/admin.h"
#include "store/hbase/master/procedure.h"
#include "store/value/why.h"

#define POLL_MS 100

int snapshots_list(struct cluster *c,
		   int (*each)(void *arg, const struct pb_snapshot *s),
		   void *arg)
{
	struct rpc_request q = {.method = "GetCompletedSnapshots"};
	struct pb_snapshots answer;
	struct pb_snapshot one;
	struct attempt call = {0};
	int r = master_call(c, &q, &call, &pb_snapshots, &answer);

	while (r == 0 && (r = proto_next(&answer.snapshots, &one)) > 0)
		r = each(arg, &one);
	attempt_end(&call);
	return r;
}

static struct pb_snapshot_request request(struct cluster *c, struct bytes name,
					  struct bytes table)
{
	return (struct pb_snapshot_request){
		.snapshot = {.here = true, .name = name, .table = table},
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};
}

static int call_with(struct cluster *c, const char *method,
		     const struct pb_snapshot_request *m,
		     const struct retry *retry,
		     const struct proto_message *type, void *answer)
{
	struct rpc_request q = {
		.method = method,
		.type = &pb_snapshot_request,
		.message = m,
		.deadline_ns = retry->deadline_ns,
	};
	struct attempt call = {0};
	int r = master_call(c, &q, &call, type, answer);

	attempt_end(&call);
	return r;
}

/* Of a master that takes snapshots without procedures. */
static int await_taken(struct cluster *c, const struct pb_snapshot_request *m,
		       const struct retry *retry)
{
	for (;;) {
		struct pb_snapshot_done answer;
		int r = call_with(c, "IsSnapshotDone", m, retry,
				  &pb_snapshot_done, &answer);

		if (r < 0 || answer.done)
			return r;
		if (os_monotonic_ns(cluster_os(c)) + POLL_MS * 1000000ull >=
		    retry->deadline_ns)
			return why(-ETIMEDOUT,
				   "HBase is still taking the snapshot");
		os_sleep_ms(cluster_os(c), POLL_MS);
	}
}

int snapshots_take(struct cluster *c, struct bytes name, struct bytes table)
{
	struct pb_snapshot_request m = request(c, name, table);
	const struct retry retry = cluster_retry(c);
	struct pb_snapshot_begun answer;
	int r = call_with(c, "Snapshot", &m, &retry, &pb_snapshot_begun,
			  &answer);

	/* One class is many things: of a table that was dropped it says so in words. */
	if (r == -EIO && strstr(store_why(), "doesn't exist, can't take"))
		return -ENOENT;
	if (r < 0)
		return r;
	return answer.procedure ? procedure_await(c, answer.procedure, &retry)
				: await_taken(c, &m, &retry);
}

int snapshots_drop(struct cluster *c, struct bytes name)
{
	const struct pb_snapshot_request m =
		request(c, name, (struct bytes){0});
	const struct retry retry = cluster_retry(c);
	struct pb_nothing answer;

	return call_with(c, "DeleteSnapshot", &m, &retry, &pb_nothing, &answer);
}

int snapshots_clone(struct cluster *c, struct bytes name, struct bytes to)
{
	const struct pb_snapshot_request m = request(c, name, to);

	return procedure_run(c, "RestoreSnapshot", &pb_snapshot_request, &m);
}

int snapshots_restore(struct cluster *c, struct bytes name, struct bytes table)
{
	struct why_kept kept;
	int enabled, r = admin_disable(c, table);

	if (r < 0)
		return r;
	r = snapshots_clone(c, name, table);
	why_keep(&kept);
	enabled = admin_enable(c, table);
	if (r < 0)
		why_restore(&kept);
	return r < 0 ? r : enabled;
}
