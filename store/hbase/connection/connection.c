#include "store/hbase/connection/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/hbase/transport/transport.h"
#include "store/os/clock.h"
#include "store/os/patience.h"
#include "store/os/thread.h"
#include "store/value/why.h"

/* A frame of this size goes to its call without being copied. */
#define MOVE_BYTES ((size_t)16 << 10)
/* Ids are 1 to this one: HBase's are signed, and those below 0 its own. */
#define ID_MAX INT32_MAX

/*
 * What wakes up a thread that waits for a call. It is lent to the call and lasts as
 * long as the connection, so that the reader may signal it when the lock is free
 * again: a thread that woke up while the lock is held would only wait for that. A
 * signal that comes late wakes up its next user for nothing.
 */
struct waiter {
	struct waiter *next; /* lock: of those that nobody uses */
	pthread_cond_t ended;
};

struct connection {
	struct os *os;
	uint32_t frame_max;
	char name[288]; /* host:port, for error texts */
	bool is_simple; /* the server believes the user's name */
	struct transport *transport;
	bool has_reader;
	pthread_t reader;
	struct buf in; /* the reader's: what came of the next frames */

	pthread_mutex_t lock; /* guards all below, and the calls */
	struct rpc *calls;    /* under way, the newest first */
	struct waiter *waiters;
	uint32_t last_id, greatest_id;
	int err; /* negative once it failed, and then why: */
	char reason[WHY_MAX];
};

/* REQUIRES: lock. */
static void unlink_rpc(struct rpc *rpc)
{
	if (rpc->prev)
		rpc->prev->next = rpc->next;
	else
		rpc->c->calls = rpc->next;
	if (rpc->next)
		rpc->next->prev = rpc->prev;
	rpc->is_under_way = false;
}

/* The waiter that is due to be woken up, if anybody waits. REQUIRES: lock. */
static struct waiter *end_rpc(struct rpc *rpc, int result)
{
	unlink_rpc(rpc);
	rpc->result = result;
	return rpc->waiter;
}

static void wake(struct waiter *w)
{
	if (w)
		pthread_cond_signal(&w->ended);
}

static struct rpc *find_rpc(struct connection *c, uint32_t id)
{
	struct rpc *rpc = c->calls;

	while (rpc && rpc->id != id)
		rpc = rpc->next;
	return rpc;
}

/* Fails the connection for the reason in why(). REQUIRES: lock. */
static void fail(struct connection *c, int err)
{
	if (c->err)
		return;
	c->err = err;
	snprintf(c->reason, sizeof(c->reason), "%s", store_why());
	while (c->calls)
		wake(end_rpc(c->calls, err));
	transport_shut(c->transport);
}

/*
 * Sends @frame behind what waits. That too much waits concerns its call alone,
 * any other failure the connection.
 */
static int send_frame(struct connection *c, struct bytes frame)
{
	int r = transport_send(c->transport, frame);

	if (r == -ENOBUFS) {
		why_say("%s: %s", c->name, store_why());
	} else if (r < 0) {
		pthread_mutex_lock(&c->lock);
		fail(c, r);
		pthread_mutex_unlock(&c->lock);
	}
	return r;
}

/* What people read of an exception: its first line, which names its class. */
static struct bytes exception_words(const struct pb_exception *x)
{
	return frame_words(x->trace.len ? x->trace : x->class);
}

static bool ends_with(struct bytes s, const char *end)
{
	struct bytes e = bytes_str(end);

	return s.len >= e.len &&
	       memcmp(s.data + s.len - e.len, e.data, e.len) == 0;
}

/* The server ends the connection, and says why. */
static int refused(const struct connection *c, const struct pb_exception *x)
{
	struct bytes s = exception_words(x);

	if (!ends_with(x->class, ".AccessDeniedException") &&
	    !ends_with(x->class, ".AccessControlException"))
		return why(-ECONNRESET,
			   "the server refuses this connection: "
			   "%.*s",
			   (int)s.len, (const char *)s.data);
	return why(-EACCES, "the server refuses this user: %.*s%s", (int)s.len,
		   (const char *)s.data,
		   c->is_simple ? "; if it wants Kerberos, put "
				  "?security=kerberos behind the hosts"
				: "");
}

/* An answer that nobody waits for. */
static int stray(const struct connection *c, const struct frame_answer *a,
		 uint32_t greatest_id)
{
	if (a->id && a->id <= greatest_id)
		return 0; /* it came late */
	if (a->exception.here)
		return refused(c, &a->exception);
	return why(-EPROTO, "the server answered call %u, which was not made",
		   a->id);
}

/* Gives the frame of @frame to the call that it answers. */
static int deliver(struct connection *c, struct buf *frame)
{
	struct frame_answer a;
	struct waiter *waiter = NULL;
	struct rpc *rpc;
	uint32_t greatest;
	int r = frame_take(buf_bytes(frame), &a);

	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	greatest = c->greatest_id;
	rpc = find_rpc(c, a.id);
	if (rpc) {
		rpc->frame = *frame;
		*frame = (struct buf){0};
		waiter = end_rpc(rpc, 0);
	}
	pthread_mutex_unlock(&c->lock);
	wake(waiter);
	return rpc ? 0 : stray(c, &a, greatest);
}

/* The whole length of the frame at the start of c->in, 0 = not known yet. */
static int frame_length(const struct connection *c, size_t at, size_t *out)
{
	struct decoder d =
		decoder_of(bytes_of(c->in.data + at, c->in.len - at));
	uint32_t len = (uint32_t)take_be(&d, FRAME_HEAD);

	*out = d.bad ? 0 : FRAME_HEAD + (size_t)len;
	if (!d.bad && len > c->frame_max)
		return why(-EPROTO,
			   "the server announced an answer of %u bytes: at "
			   "most %u are taken",
			   len, c->frame_max);
	return 0;
}

/* Delivers all frames that c->in has whole, and keeps the rest. */
static int deliver_all(struct connection *c)
{
	size_t at = 0, len;
	int r;

	for (;;) {
		struct buf frame = {0};

		r = frame_length(c, at, &len);
		if (r < 0 || !len || c->in.len - at < len)
			break;
		if (at == 0 && c->in.len == len && len > MOVE_BYTES) {
			/* The call gets the memory as it is. */
			memmove(c->in.data, c->in.data + FRAME_HEAD,
				len - FRAME_HEAD);
			frame = c->in;
			frame.len = len - FRAME_HEAD;
			c->in = (struct buf){0};
		} else {
			r = buf_append(&frame, c->in.data + at + FRAME_HEAD,
				       len - FRAME_HEAD);
			at += len;
		}
		if (r == 0)
			r = deliver(c, &frame);
		else
			why_say("out of memory for an answer");
		buf_free(&frame);
		if (r < 0)
			return r;
		if (!c->in.data)
			return 0;
	}
	if (r < 0)
		return r;
	if (at)
		memmove(c->in.data, c->in.data + at, c->in.len - at);
	c->in.len -= at;
	/* What is still to come of a long frame comes into one piece. */
	if (len && buf_reserve(&c->in, len - c->in.len) < 0)
		return why(-ENOMEM, "out of memory for an answer of %zu bytes",
			   len);
	return 0;
}

/* One turn of the reader: 0, or why the connection fails. */
static int turn(struct connection *c)
{
	bool can_receive = false;
	int r;

	pthread_mutex_lock(&c->lock);
	r = c->err;
	pthread_mutex_unlock(&c->lock);
	if (r == 0)
		r = transport_wait(c->transport, &can_receive);
	if (r == 0 && can_receive)
		r = transport_receive(c->transport, &c->in);
	return r == 0 && can_receive ? deliver_all(c) : r;
}

static void *read_answers(void *arg)
{
	struct connection *c = arg;
	int r;

	do
		r = turn(c);
	while (r == 0);
	pthread_mutex_lock(&c->lock);
	fail(c, r);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* A ticket says who this is. Else the name does, behind the preamble. */
static int greet(struct connection *c, const struct connection_options *o)
{
	struct buf greeting = {0};
	int r = 0;

	if (c->is_simple)
		r = frame_preamble(&greeting, FRAME_SIMPLE);
	if (r == 0)
		r = frame_greeting(&greeting, c->is_simple ? o->user : NULL,
				   o->service);
	if (r < 0)
		why_say("out of memory for a connection");
	if (r == 0)
		r = send_frame(c, buf_bytes(&greeting));
	buf_free(&greeting);
	return r < 0 ? why(r, "%s: %s", c->name, store_why()) : 0;
}

static int secure(struct connection *c, const struct connection_options *o,
		  uint64_t deadline_ns)
{
	static const struct security none;
	const struct security *s = o->security ? o->security : &none;
	int r = transport_secure(c->transport, s, o->host, deadline_ns);

	c->is_simple = !s->kerberos;
	return r < 0 ? why(r, "%s: %s", c->name, store_why()) : 0;
}

static int set_up(struct connection *c, const struct connection_options *o,
		  uint64_t deadline_ns)
{
	int r = transport_open(o->os, o->host, o->port, deadline_ns,
			       &c->transport);

	if (r == 0)
		r = secure(c, o, deadline_ns);
	if (r == 0)
		r = greet(c, o);
	if (r < 0)
		return r;
	r = thread_start(&c->reader, read_answers, c);
	c->has_reader = r == 0;
	return r < 0 ? why(r, "%s: no thread for a connection: %s", c->name,
			   strerror(-r))
		     : 0;
}

int connection_open(const struct connection_options *o, uint64_t deadline_ns,
		    struct connection **out)
{
	struct connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return why(-ENOMEM, "out of memory for a connection");
	c->os = o->os;
	c->frame_max = o->frame_max ? o->frame_max : FRAME_MAX;
	snprintf(c->name, sizeof(c->name), "%s:%u", o->host, o->port);
	pthread_mutex_init(&c->lock, NULL);
	r = set_up(c, o, deadline_ns);
	if (r < 0) {
		connection_close(c);
		return r;
	}
	*out = c;
	return 0;
}

bool connection_is_up(struct connection *c)
{
	bool up;

	pthread_mutex_lock(&c->lock);
	up = c->err == 0;
	pthread_mutex_unlock(&c->lock);
	return up;
}

void connection_cut(struct connection *c)
{
	struct why_kept kept;

	/* Who cuts it, often after a failure, has a reason of its own. */
	why_keep(&kept);
	pthread_mutex_lock(&c->lock);
	why_say("%s: the connection was closed", c->name);
	fail(c, -ECANCELED);
	pthread_mutex_unlock(&c->lock);
	transport_wake(c->transport);
	why_restore(&kept);
}

static void free_waiters(struct connection *c)
{
	struct waiter *w;

	while ((w = c->waiters)) {
		c->waiters = w->next;
		pthread_cond_destroy(&w->ended);
		free(w);
	}
}

void connection_close(struct connection *c)
{
	if (!c)
		return;
	if (c->has_reader) {
		connection_cut(c);
		pthread_join(c->reader, NULL);
	}
	assert(!c->calls);
	transport_close(c->transport);
	buf_free(&c->in);
	free_waiters(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* An id that no call under way has. REQUIRES: lock. */
static uint32_t next_id(struct connection *c)
{
	do
		c->last_id = c->last_id == ID_MAX ? 1 : c->last_id + 1;
	while (find_rpc(c, c->last_id));
	if (c->last_id > c->greatest_id)
		c->greatest_id = c->last_id;
	return c->last_id;
}

/* Why a connection has failed, whichever call finds it so. REQUIRES: lock. */
static int say_failed(const struct connection *c, const char *method)
{
	return why(c->err, "%s: %s: %s", c->name, method, c->reason);
}

/* Makes the call one that is under way, which its answer finds by its id. */
static int enlist(struct connection *c, struct rpc *rpc)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = c->err ? say_failed(c, rpc->method) : 0;
	if (r == 0) {
		rpc->id = next_id(c);
		rpc->next = c->calls;
		if (c->calls)
			c->calls->prev = rpc;
		c->calls = rpc;
		rpc->is_under_way = true;
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* What failed to be sent has ended. */
static void delist(struct rpc *rpc, int result)
{
	pthread_mutex_lock(&rpc->c->lock);
	if (rpc->is_under_way)
		unlink_rpc(rpc);
	rpc->result = result;
	pthread_mutex_unlock(&rpc->c->lock);
}

/* Sends the request of a call that is under way. */
static int send_request(struct connection *c, const struct rpc *rpc,
			const struct rpc_request *q, uint64_t now)
{
	struct frame_call call = {
		.id = rpc->id,
		.method = q->method,
		.type = q->type,
		.message = q->message,
		.cells = q->cells,
	};
	struct buf frame = {0};
	int r;

	if (q->deadline_ns)
		call.timeout_ms =
			(uint32_t)((q->deadline_ns - now) / 1000000 + 1);
	r = frame_request(&frame, &call);
	if (r == -EFBIG)
		why_say("%s: %s: the request is too long", c->name, q->method);
	else if (r < 0)
		why_say("out of memory for a request");
	else
		r = send_frame(c, buf_bytes(&frame));
	pthread_mutex_lock(&c->lock);
	/* It may have failed before this, which says more than that it is closed. */
	if (r < 0 && c->err)
		r = say_failed(c, q->method);
	pthread_mutex_unlock(&c->lock);
	buf_free(&frame);
	return r;
}

int rpc_start(struct connection *c, struct rpc *rpc,
	      const struct rpc_request *q)
{
	uint64_t now = os_monotonic_ns(c->os);
	int r;

	*rpc = (struct rpc){
		.c = c,
		.method = q->method,
		.deadline_ns = q->deadline_ns,
	};
	if (q->deadline_ns && now >= q->deadline_ns)
		r = why(-ETIMEDOUT, "%s: %s: no time is left", c->name,
			q->method);
	else
		r = enlist(c, rpc);
	/* The answer may come as soon as the request is sent. */
	if (r == 0)
		r = send_request(c, rpc, q, now);
	if (r < 0)
		delist(rpc, r);
	return r;
}

/* REQUIRES: lock. NULL = out of memory. */
static struct waiter *waiter_get(struct connection *c)
{
	struct waiter *w = c->waiters;

	if (w) {
		c->waiters = w->next;
		return w;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	clock_cond_init(&w->ended);
	return w;
}

/* Waits for the end of the call, or its deadline. REQUIRES: lock. */
static void wait_for_end(struct rpc *rpc)
{
	struct connection *c = rpc->c;
	struct waiter *w;
	int r;

	if (!rpc->is_under_way)
		return;
	rpc->waiter = w = waiter_get(c);
	if (!w)
		end_rpc(rpc, -ENOMEM);
	while (rpc->is_under_way) {
		r = patience_wait(&w->ended, &c->lock,
				  rpc->deadline_ns ? rpc->deadline_ns
						   : UINT64_MAX);
		if (r <= 0 && rpc->is_under_way)
			end_rpc(rpc, r < 0 ? r : -ETIMEDOUT);
	}
	rpc->waiter = NULL;
	if (w) {
		w->next = c->waiters;
		c->waiters = w;
	}
}

static int judge(struct rpc *rpc)
{
	struct connection *c = rpc->c;
	struct bytes s;
	int r = frame_take(buf_bytes(&rpc->frame), &rpc->answer);

	if (r < 0 || !rpc->answer.exception.here)
		return r;
	s = exception_words(&rpc->answer.exception);
	return why(-EREMOTEIO, "%s: %s: %.*s", c->name, rpc->method, (int)s.len,
		   (const char *)s.data);
}

int rpc_wait(struct rpc *rpc)
{
	struct connection *c = rpc->c;
	char reason[WHY_MAX];
	int r;

	pthread_mutex_lock(&c->lock);
	wait_for_end(rpc);
	r = rpc->result;
	snprintf(reason, sizeof(reason), "%s", c->reason);
	pthread_mutex_unlock(&c->lock);
	if (r == 0)
		return judge(rpc);
	if (r == -ETIMEDOUT)
		return why(r,
			   "%s: %s: the server did not answer in time: is it "
			   "stopped or overloaded?",
			   c->name, rpc->method);
	if (r == -EINTR)
		return why(r,
			   "%s: %s: who asked was killed before the server "
			   "answered",
			   c->name, rpc->method);
	if (r == -ENOMEM && !reason[0])
		return why(r, "out of memory to wait for an answer");
	if (r == -ECANCELED && !reason[0])
		return why(r, "%s: %s: the call was cancelled", c->name,
			   rpc->method);
	return why(r, "%s: %s: %s", c->name, rpc->method, reason);
}

bool rpc_has_ended(const struct rpc *rpc)
{
	bool ended;

	pthread_mutex_lock(&rpc->c->lock);
	ended = !rpc->is_under_way;
	pthread_mutex_unlock(&rpc->c->lock);
	return ended;
}

void rpc_cancel(struct rpc *rpc)
{
	pthread_mutex_lock(&rpc->c->lock);
	if (rpc->is_under_way)
		wake(end_rpc(rpc, -ECANCELED));
	pthread_mutex_unlock(&rpc->c->lock);
}

void rpc_end(struct rpc *rpc)
{
	if (!rpc->c)
		return;
	rpc_cancel(rpc);
	buf_free(&rpc->frame);
	*rpc = (struct rpc){0};
}
