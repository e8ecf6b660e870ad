#include "store/hbase/master/procedure.h"

#include <errno.h>

#include "store/hbase/master/admin_messages.h"
#include "store/os/patience.h"
#include "store/value/why.h"

/* Procedures take tenths of seconds. */
#define POLL_MS 10
#define POLL_LAST_MS 200

static int await(struct cluster *c, uint64_t id, const struct retry *retry)
{
	const struct pb_procedure which = {.id = id};
	unsigned ms = POLL_MS;

	for (;;) {
		struct rpc_request q = {
			.method = "getProcedureResult",
			.type = &pb_procedure,
			.message = &which,
			.deadline_ns = retry->deadline_ns,
		};
		struct pb_procedure_result answer;
		struct pb_generic_exception *x = &answer.exception.generic;
		struct attempt call = {0};
		int r = master_call(c, &q, &call, &pb_procedure_result,
				    &answer);

		if (r == 0 && answer.exception.here)
			r = why(failure_of_class(x->class).err,
				"HBase could not do it: %.*s: %.*s",
				(int)x->class.len, (const char *)x->class.data,
				(int)x->message.len,
				(const char *)x->message.data);
		attempt_end(&call);
		if (r < 0 || answer.state != PROCEDURE_RUNNING)
			return r;
		if (os_monotonic_ns(cluster_os(c)) + ms * 1000000ull >=
		    retry->deadline_ns)
			return why(-ETIMEDOUT,
				   "HBase is still at it: its procedure %llu "
				   "has not ended",
				   (unsigned long long)id);
		os_sleep_ms(cluster_os(c), ms);
		ms = ms * 2 < POLL_LAST_MS ? ms * 2 : POLL_LAST_MS;
	}
}

int procedure_await(struct cluster *c, uint64_t id, const struct retry *retry)
{
	int r;

	patience.is_bound = true;
	r = await(c, id, retry);
	patience.is_bound = false;
	return r;
}

int procedure_run(struct cluster *c, const char *method,
		  const struct proto_message *type, const void *message)
{
	const struct retry retry = cluster_retry(c);
	struct rpc_request q = {
		.method = method,
		.type = type,
		.message = message,
		.deadline_ns = retry.deadline_ns,
	};
	struct pb_procedure answer;
	struct attempt call = {0};
	int r;

	/* One that is not answered may be done later. */
	patience.is_bound = true;
	r = master_call(c, &q, &call, &pb_procedure, &answer);
	attempt_end(&call);
	/* Without a number it was done at once. */
	if (r == 0 && answer.id)
		r = await(c, answer.id, &retry);
	patience.is_bound = false;
	return r;
}

uint64_t procedure_nonce(struct cluster *c)
{
	return os_random(cluster_os(c)) | 1;
}
