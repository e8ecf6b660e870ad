#include "store/hbase/transport/sasl_step.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "store/os/clock.h"
#include "store/os/thread.h"
#include "store/value/why.h"

struct sasl_work {
	struct sasl_mechanism *m;
	struct buf in, token;
	int result;
	struct why_kept reason;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t ended;
	bool is_done;
	bool is_left; /* nobody waits: the thread frees this */
};

static void work_free(struct sasl_work *w)
{
	buf_free(&w->in);
	buf_free(&w->token);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->ended);
	free(w);
}

static void *work(void *arg)
{
	struct sasl_work *w = arg;
	bool is_left;

	w->result = w->m->ops->step(w->m, buf_bytes(&w->in), &w->token);
	why_keep(&w->reason);
	pthread_mutex_lock(&w->lock);
	w->is_done = true;
	is_left = w->is_left;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	if (is_left) {
		w->m->ops->free(w->m);
		work_free(w);
	}
	return NULL;
}

static struct sasl_work *work_new(struct sasl_mechanism *m, struct bytes in)
{
	struct sasl_work *w = calloc(1, sizeof(*w));

	if (!w || buf_set(&w->in, in) < 0) {
		free(w);
		return NULL;
	}
	w->m = m;
	pthread_mutex_init(&w->lock, NULL);
	clock_cond_init(&w->ended);
	return w;
}

/* Whether it was done by then. If not, the thread has it all. */
static bool wait_until(struct sasl_work *w, uint64_t deadline_ns)
{
	bool in_time = true, done;

	pthread_mutex_lock(&w->lock);
	while (!w->is_done && in_time)
		in_time = clock_cond_wait(&w->ended, &w->lock, deadline_ns);
	done = w->is_done;
	w->is_left = !done;
	pthread_mutex_unlock(&w->lock);
	return done;
}

int sasl_step(struct sasl_mechanism **m, struct bytes in, struct buf *token,
	      uint64_t deadline_ns)
{
	struct sasl_work *w = work_new(*m, in);
	pthread_t thread;
	int r = w ? thread_start(&thread, work, w) : -ENOMEM;

	if (r < 0) {
		if (w)
			work_free(w);
		return why(r, "no thread for a ticket of Kerberos: %s",
			   strerror(-r));
	}
	if (!wait_until(w, deadline_ns)) {
		pthread_detach(thread);
		*m = NULL;
		return why(-EHOSTUNREACH,
			   "no ticket of Kerberos in time: does the realm's "
			   "KDC, which krb5.conf names, answer?");
	}
	pthread_join(thread, NULL);
	r = w->result;
	if (r < 0)
		why_restore(&w->reason);
	else if (buf_append(token, w->token.data, w->token.len) < 0)
		r = why(-ENOMEM, "out of memory for a connection");
	work_free(w);
	return r;
}
