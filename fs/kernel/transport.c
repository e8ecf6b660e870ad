#include "fs/kernel/transport.h"

#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "fs/kernel/caller.h"
#include "store/os/thread.h"
#include "store/value/why.h"

/* How often it is looked whether a queue has ended the session. */
#define LOOK_MS 500

void transport_init(struct transport *t, bool ring,
		    void (*serve)(struct transport_request *r))
{
	atomic_init(&t->way, ring ? TRANSPORT_UNKNOWN : TRANSPORT_DEVICE);
	t->serve = serve;
	pthread_mutex_init(&t->wait_lock, NULL);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->more, NULL);
}

void transport_free(struct transport *t)
{
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	pthread_mutex_destroy(&t->wait_lock);
}

static int loop_device(struct fuse_session *se, unsigned threads)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	if (!config)
		return -ENOMEM;
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, threads);
	fuse_loop_cfg_set_idle_threads(config, threads);
	r = fuse_session_loop_mt(se, config);
	fuse_loop_cfg_destroy(config);
	return r;
}

#ifdef FUSE_CAP_OVER_IO_URING

int transport_check(void)
{
	/* The program may run with an older library than it was built with. */
	return fuse_version() < FUSE_MAKE_VERSION(3, 18)
		       ? why(-EOPNOTSUPP,
			     "io_uring takes libfuse 3.18 or later: here is %s",
			     fuse_pkgversion())
		       : 0;
}

bool transport_offered(const struct fuse_conn_info *conn)
{
	return conn->capable_ext & FUSE_CAP_OVER_IO_URING;
}

enum transport_way transport_of(fuse_req_t req)
{
	return fuse_req_is_uring(req) ? TRANSPORT_RING : TRANSPORT_DEVICE;
}

bool transport_interrupted(fuse_req_t req)
{
	return fuse_req_interrupted(req) ||
	       (fuse_req_is_uring(req) &&
		caller_has_signal(fuse_req_ctx(req)->pid));
}

/* Tells those that wait of their callers' signals. */
static void look_for_signals(struct transport *t)
{
	struct transport_wait **at, *w;

	pthread_mutex_lock(&t->wait_lock);
	for (at = &t->waits; (w = *at);) {
		if (caller_has_signal(fuse_req_ctx(w->req)->pid)) {
			*at = w->next;
			w->interrupted(w->req, w->arg);
		} else {
			at = &w->next;
		}
	}
	pthread_mutex_unlock(&t->wait_lock);
}

void transport_wait_begin(struct transport *t, struct transport_wait *w)
{
	if (!fuse_req_is_uring(w->req)) {
		fuse_req_interrupt_func(w->req, w->interrupted, w->arg);
		return;
	}
	pthread_mutex_lock(&t->wait_lock);
	w->next = t->waits;
	t->waits = w;
	pthread_mutex_unlock(&t->wait_lock);
	/* One that came before. */
	look_for_signals(t);
}

void transport_wait_end(struct transport *t, struct transport_wait *w)
{
	struct transport_wait **at = &t->waits;

	if (!fuse_req_is_uring(w->req)) {
		fuse_req_interrupt_func(w->req, NULL, NULL);
		return;
	}
	pthread_mutex_lock(&t->wait_lock);
	while (*at && *at != w)
		at = &(*at)->next;
	if (*at)
		*at = w->next;
	pthread_mutex_unlock(&t->wait_lock);
}

static void *run_apart(void *arg)
{
	struct transport *t = arg;
	struct transport_request r;

	pthread_mutex_lock(&t->lock);
	for (;;) {
		while (!t->nwaiting && !t->stop)
			pthread_cond_wait(&t->more, &t->lock);
		if (!t->nwaiting)
			break;
		r = t->waiting[--t->nwaiting];
		pthread_mutex_unlock(&t->lock);
		t->serve(&r);
		pthread_mutex_lock(&t->lock);
		if (!--t->busy && t->closed)
			pthread_cond_broadcast(&t->more);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

bool transport_apart(struct transport *t, const struct transport_request *r)
{
	bool taken;

	pthread_mutex_lock(&t->lock);
	if (!t->closed && t->busy == t->nthreads &&
	    t->nthreads < TRANSPORT_APART_MAX &&
	    thread_start(&t->threads[t->nthreads], run_apart, t) == 0)
		t->nthreads++;
	taken = !t->closed && t->busy < t->nthreads;
	if (taken) {
		t->busy++;
		t->waiting[t->nwaiting++] = *r;
		pthread_cond_signal(&t->more);
	}
	pthread_mutex_unlock(&t->lock);
	return taken;
}

/* From now on none is taken, and those that were are replied. */
static void close_apart(struct transport *t)
{
	pthread_mutex_lock(&t->lock);
	t->closed = true;
	while (t->busy)
		pthread_cond_wait(&t->more, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

static void end_apart(struct transport *t)
{
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->more);
	pthread_mutex_unlock(&t->lock);
	for (unsigned i = 0; i < t->nthreads; i++)
		pthread_join(t->threads[i], NULL);
}

/*
 * The session's first requests, and over io_uring all that comes from the device.
 * Signals that end the session come only while it waits; the threads of the queues,
 * which the first request starts, have none.
 */
static int loop_ring(struct transport *t, struct fuse_session *se)
{
	const struct timespec look = {.tv_nsec = LOOK_MS * 1000000};
	struct pollfd p = {.fd = fuse_session_fd(se), .events = POLLIN};
	struct fuse_buf buf = {0};
	sigset_t ends, before;
	int r = 0;

	sigemptyset(&ends);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	while (r >= 0 && !fuse_session_exited(se) &&
	       atomic_load(&t->way) != TRANSPORT_DEVICE) {
		if (ppoll(&p, 1, &look, &before) <= 0)
			continue;
		r = fuse_session_receive_buf(se, &buf);
		if (r > 0) {
			fuse_session_process_buf(se, &buf);
			if (((struct fuse_in_header *)buf.mem)->opcode ==
			    FUSE_INTERRUPT)
				look_for_signals(t);
		} else if (r == -EINTR || r == -EAGAIN) {
			r = 0;
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(buf.mem);
	return r < 0 ? r : 0;
}

int transport_loop(struct transport *t, struct fuse_session *se,
		   unsigned threads)
{
	int r = loop_ring(t, se), end;

	if (r == 0 && atomic_load(&t->way) == TRANSPORT_DEVICE)
		return loop_device(se, threads);
	fuse_session_exit(se);
	close_apart(t);
	/* Of a session that has ended this ends the queues, and no more. */
	end = fuse_session_loop(se);
	end_apart(t);
	return r < 0 ? r : end;
}

#else

int transport_check(void)
{
	return why(-EOPNOTSUPP,
		   "-o io_uring takes a cellfs that is built with libfuse 3.18 "
		   "or later, and " TRANSPORT_KERNEL
		   ": this one has libfuse %s",
		   fuse_pkgversion());
}

bool transport_offered(const struct fuse_conn_info *conn)
{
	return false;
}

enum transport_way transport_of(fuse_req_t req)
{
	return TRANSPORT_DEVICE;
}

bool transport_interrupted(fuse_req_t req)
{
	return fuse_req_interrupted(req);
}

void transport_wait_begin(struct transport *t, struct transport_wait *w)
{
	fuse_req_interrupt_func(w->req, w->interrupted, w->arg);
}

void transport_wait_end(struct transport *t, struct transport_wait *w)
{
	fuse_req_interrupt_func(w->req, NULL, NULL);
}

bool transport_apart(struct transport *t, const struct transport_request *r)
{
	return false;
}

int transport_loop(struct transport *t, struct fuse_session *se,
		   unsigned threads)
{
	return loop_device(se, threads);
}

#endif
