#include "store/hbase/master/alter_lock.h"

#include <errno.h>

#include "store/hbase/master/admin_messages.h"
#include "store/hbase/master/procedure.h"
#include "store/value/why.h"

#define LOCK_SUFFIX ".cellfs-alter"
#define POLL_MS 5
#define POLL_LAST_MS 100
/* How long the call that gives the lock back may take. */
#define GIVE_NS 1000000000ull

/* Asks for the lock: 0 and its number, by which heartbeat() tells when it is held. */
static int request(struct cluster *c, struct bytes table, uint64_t deadline_ns,
		   uint64_t *id)
{
	struct buf name = {0};
	struct encoder e = {.out = &name};
	struct pb_lock_request m = {
		.type = LOCK_EXCLUSIVE,
		.description = bytes_str("cellfs changes the table"),
		.nonce_group = procedure_nonce(c),
		.nonce = procedure_nonce(c),
	};
	struct rpc_request q = {
		.method = "RequestLock",
		.type = &pb_lock_request,
		.message = &m,
		.deadline_ns = deadline_ns,
	};
	struct pb_procedure answer;
	struct attempt call = {0};
	int r;

	put_raw(&e, table.data, table.len);
	put_raw(&e, LOCK_SUFFIX, strlen(LOCK_SUFFIX));
	m.table = table_name_of(buf_bytes(&name));
	r = e.err ? why(e.err, "out of memory for a lock")
		  : master_service_call(c, SERVICE_LOCK, &q, &call,
					&pb_procedure, &answer);
	attempt_end(&call);
	buf_free(&name);
	if (r == 0)
		*id = answer.id;
	return r;
}

/* Keeps the lock, or gives it back: 1 if it is held, else 0. */
static int heartbeat(struct cluster *c, uint64_t id, bool keeps,
		     uint64_t deadline_ns)
{
	const struct pb_lock_heartbeat m = {.id = id, .keeps = keeps};
	struct rpc_request q = {
		.method = "LockHeartbeat",
		.type = &pb_lock_heartbeat,
		.message = &m,
		.deadline_ns = deadline_ns,
	};
	struct pb_lock_state answer;
	struct attempt call = {0};
	int r = master_service_call(c, SERVICE_LOCK, &q, &call, &pb_lock_state,
				    &answer);

	attempt_end(&call);
	return r < 0 ? r : answer.status == LOCK_HELD;
}

int alter_lock_take(struct cluster *c, struct bytes table, uint64_t *id)
{
	const struct retry retry = cluster_retry(c);
	unsigned ms = POLL_MS;
	int r;

	*id = 0;
	r = request(c, table, retry.deadline_ns, id);
	/* A user without the right to lock changes the table without it. */
	if (is_refusal(r))
		return 0;
	while (r == 0) {
		r = heartbeat(c, *id, true, retry.deadline_ns);
		if (r)
			break;
		if (os_monotonic_ns(retry.os) + ms * 1000000ull >=
		    retry.deadline_ns)
			r = why(-ETIMEDOUT,
				"others are changing the table '%.*s' and do "
				"not end: try again later",
				(int)table.len, (const char *)table.data);
		else
			os_sleep_ms(retry.os, ms);
		ms = ms * 2 < POLL_LAST_MS ? ms * 2 : POLL_LAST_MS;
	}
	if (r < 0) {
		alter_lock_give(c, *id);
		*id = 0;
	}
	return r < 0 ? r : 0;
}

void alter_lock_give(struct cluster *c, uint64_t id)
{
	struct why_kept kept;

	if (!id)
		return;
	why_keep(&kept);
	/*
	 * Even when the time of the change is over. A lock that nobody keeps alive
	 * is given up by the master.
	 */
	heartbeat(c, id, false, os_monotonic_ns(cluster_os(c)) + GIVE_NS);
	why_restore(&kept);
}
