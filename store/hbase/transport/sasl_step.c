#include "store/hbase/transport/sasl_step.h"

#include <errno.h>
#include <stdlib.h>

#include "store/hbase/transport/errand.h"
#include "store/value/why.h"

struct sasl_work {
	struct sasl_mechanism *m; /* NULL = the caller's */
	struct buf in, token;
	int result;
	struct why_kept reason;
};

static void work_free(void *arg)
{
	struct sasl_work *w = arg;

	if (w->m)
		w->m->ops->free(w->m);
	buf_free(&w->in);
	buf_free(&w->token);
	free(w);
}

static void work(void *arg)
{
	struct sasl_work *w = arg;

	w->result = w->m->ops->step(w->m, buf_bytes(&w->in), &w->token);
	why_keep(&w->reason);
}

/* What the step gave, if it ended. */
static int take_result(struct sasl_work *w, int r, struct buf *token)
{
	if (r < 0)
		return why(r, "no thread for a ticket of Kerberos: %s",
			   strerror(-r));
	if (w->result < 0)
		why_restore(&w->reason);
	else if (buf_append(token, w->token.data, w->token.len) < 0)
		return why(-ENOMEM, "out of memory for a connection");
	return w->result;
}

int sasl_step(struct sasl_mechanism **m, struct bytes in, struct buf *token,
	      uint64_t deadline_ns)
{
	struct sasl_work *w = calloc(1, sizeof(*w));
	int r;

	if (!w || buf_set(&w->in, in) < 0) {
		free(w);
		return why(-ENOMEM, "out of memory for a connection");
	}
	w->m = *m;
	r = errand(work, work_free, w, deadline_ns);
	if (r == -ETIMEDOUT || r == -EINTR)
		*m = NULL;
	if (r == -EINTR)
		return why(r, "no ticket of Kerberos: who asked was killed");
	if (r == -ETIMEDOUT)
		return why(-EHOSTUNREACH,
			   "no ticket of Kerberos in time: does the realm's "
			   "KDC, which krb5.conf names, answer?");
	r = take_result(w, r, token);
	w->m = NULL;
	work_free(w);
	return r;
}
