#include "store/hbase/transport/transport.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "store/hbase/transport/gssapi.h"
#include "store/hbase/transport/sasl.h"
#include "store/hbase/transport/socket.h"
#include "store/hbase/transport/tls.h"
#include "store/value/why.h"

/* What may wait to be sent before more is refused. */
#define UNSENT_MAX ((size_t)64 << 20)
#define LAYERS_MAX 2

struct transport {
	struct os *os;
	int fd, wake; /* -1 = none */
	bool is_bare; /* without TLS, and nothing has come yet: the receiver's */
	struct buf raw; /* the receiver's: what came, sealed */

	pthread_mutex_t lock; /* guards what follows */
	/* The first is next to the wire. The handshake alone adds one. */
	struct layer *layers[LAYERS_MAX];
	unsigned nlayers;
	struct buf out; /* what waits */
	/* A thread sends the rest of going, with the lock free: */
	bool is_sending;
	struct buf going;
	size_t sent; /* of it */
};

/* How much waits for the socket. REQUIRES: lock. */
static size_t unsent(const struct transport *t)
{
	return t->going.len - t->sent + t->out.len;
}

/* Takes what waits, if all is sent of what was taken before. REQUIRES: lock. */
static void take_waiting(struct transport *t)
{
	struct buf empty = t->going;

	if (t->sent < t->going.len)
		return;
	t->going = t->out;
	t->sent = 0;
	empty.len = 0;
	/* A big request leaves no big buffer behind. */
	if (empty.cap > RECEIVE_BYTES)
		buf_free(&empty);
	t->out = empty;
}

/*
 * Sends what waits, as far as the socket takes it. What others add meanwhile goes
 * too, in as few calls as may be: they need not wait. REQUIRES: lock, which is free
 * in between.
 */
static int flush(struct transport *t)
{
	bool takes = true;
	ssize_t n = 0;

	if (t->is_sending)
		return 0;
	t->is_sending = true;
	while (takes && n >= 0 && unsent(t)) {
		struct bytes rest;

		take_waiting(t);
		rest = bytes_of(t->going.data + t->sent,
				t->going.len - t->sent);
		pthread_mutex_unlock(&t->lock);
		n = socket_send(t->fd, rest);
		pthread_mutex_lock(&t->lock);
		t->sent += n > 0 ? (size_t)n : 0;
		takes = t->sent == t->going.len;
	}
	if (takes)
		take_waiting(t);
	t->is_sending = false;
	return n < 0 ? (int)n : 0;
}

/* Appends to t->out what the layers from @i down to the wire make of @data. */
static int seal(struct transport *t, unsigned i, struct bytes data)
{
	struct layer *l = t->layers[i];
	struct buf sealed = {0};
	int r;

	if (i == 0)
		return l->ops->seal(l, data, &t->out);
	r = l->ops->seal(l, data, &sealed);
	if (r == 0)
		r = seal(t, i - 1, buf_bytes(&sealed));
	buf_free(&sealed);
	return r;
}

/* REQUIRES: lock. */
static int send_locked(struct transport *t, struct bytes data)
{
	int r;

	if (unsent(t) > UNSENT_MAX)
		return why(-ENOBUFS,
			   "the server takes in no requests: %zu bytes wait "
			   "for it",
			   unsent(t));
	if (t->nlayers)
		r = seal(t, t->nlayers - 1, data);
	else if (buf_append(&t->out, data.data, data.len) < 0)
		r = why(-ENOMEM, "out of memory for a request");
	else
		r = 0;
	return r < 0 ? r : flush(t);
}

int transport_send(struct transport *t, struct bytes data)
{
	bool waits;
	int r;

	pthread_mutex_lock(&t->lock);
	r = send_locked(t, data);
	/* Who sends sees to what is added meanwhile. */
	waits = !t->is_sending && unsent(t);
	pthread_mutex_unlock(&t->lock);
	if (r == 0 && waits)
		socket_wake(t->wake);
	return r;
}

static bool waits_to_send(struct transport *t)
{
	bool waits;

	pthread_mutex_lock(&t->lock);
	waits = !t->is_sending && unsent(t);
	pthread_mutex_unlock(&t->lock);
	return waits;
}

static int wait_until(struct transport *t, uint64_t deadline_ns,
		      bool *can_receive)
{
	bool can_send = false;
	int r = socket_poll(t->os, t->fd, t->wake, waits_to_send(t),
			    deadline_ns, can_receive, &can_send);

	if (r == 0 && can_send) {
		pthread_mutex_lock(&t->lock);
		r = flush(t);
		pthread_mutex_unlock(&t->lock);
	}
	return r;
}

int transport_wait(struct transport *t, bool *can_receive)
{
	return wait_until(t, 0, can_receive);
}

/* What came at layer @i goes up to @to. REQUIRES: lock. */
static int unseal(struct transport *t, unsigned i, struct bytes wire,
		  struct buf *to)
{
	struct buf plain = {0}, reply = {0};
	bool is_last = i + 1 == t->nlayers;
	struct layer *l = t->layers[i];
	int r = l->ops->unseal(l, wire, is_last ? to : &plain, &reply);

	if (reply.len) {
		int sent = i ? seal(t, i - 1, buf_bytes(&reply))
			     : buf_append(&t->out, reply.data, reply.len);

		if (r == 0)
			r = sent;
	}
	if (r == 0 && !is_last && plain.len)
		r = unseal(t, i + 1, buf_bytes(&plain), to);
	buf_free(&plain);
	buf_free(&reply);
	return r;
}

/* Receives once into @to, as it is on the wire. */
static int receive_raw(struct transport *t, struct buf *to)
{
	ssize_t n;

	if (buf_reserve(to, RECEIVE_BYTES) < 0)
		return why(-ENOMEM, "out of memory for an answer");
	n = socket_receive(t->fd, to->data + to->len, to->cap - to->len);
	/* A server that insists on TLS ends all else, and does not say why. */
	if (n == -ECONNRESET && t->is_bare)
		return why(-ECONNRESET,
			   "the server closed the connection before it said "
			   "anything: if it wants TLS, set tls=on");
	if (n > 0) {
		to->len += (size_t)n;
		t->is_bare = false;
	}
	return n < 0 ? (int)n : 0;
}

int transport_receive(struct transport *t, struct buf *to)
{
	int r;

	/* Layers come and go in the handshake, which is its caller's own. */
	if (!t->nlayers)
		return receive_raw(t, to);
	t->raw.len = 0;
	r = receive_raw(t, &t->raw);
	if (r < 0)
		return r;
	pthread_mutex_lock(&t->lock);
	r = unseal(t, 0, buf_bytes(&t->raw), to);
	if (r == 0)
		r = flush(t);
	pthread_mutex_unlock(&t->lock);
	return r;
}

int transport_put(struct transport *t, struct bytes data, uint64_t deadline_ns)
{
	bool can_receive;
	int r = transport_send(t, data);

	while (r == 0 && waits_to_send(t))
		r = wait_until(t, deadline_ns, &can_receive);
	return r;
}

int transport_take(struct transport *t, struct buf *to, size_t n,
		   uint64_t deadline_ns)
{
	bool can_receive = false;
	int r = 0;

	while (r == 0 && to->len < n) {
		r = wait_until(t, deadline_ns, &can_receive);
		if (r == 0 && can_receive)
			r = transport_receive(t, to);
	}
	return r;
}

/* REQUIRES: nobody else uses @t yet. */
static void add_layer(struct transport *t, struct layer *l)
{
	assert(t->nlayers < LAYERS_MAX);
	if (l)
		t->layers[t->nlayers++] = l;
}

int transport_secure(struct transport *t, const struct security *s,
		     const char *host, uint64_t deadline_ns)
{
	struct sasl_mechanism *m = NULL;
	struct layer *l = NULL;
	int r;

	t->is_bare = !s->tls;
	if (s->tls) {
		r = tls_start(t, s, host, deadline_ns, &l);
		if (r < 0)
			return r;
		add_layer(t, l);
		l = NULL;
	}
	if (!s->kerberos)
		return 0;
	r = gssapi_new(s, host, &m);
	if (r == 0)
		r = sasl_start(t, m, deadline_ns, &l);
	if (r == 0)
		add_layer(t, l);
	return r;
}

int transport_open(struct os *os, const char *host, uint16_t port,
		   uint64_t deadline_ns, struct transport **out)
{
	struct transport *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return why(-ENOMEM, "out of memory for a connection");
	t->os = os;
	t->wake = -1;
	pthread_mutex_init(&t->lock, NULL);
	r = t->fd = socket_connect(os, host, port, deadline_ns);
	if (r >= 0)
		r = t->wake = socket_wake_new();
	if (r < 0) {
		transport_close(t);
		return r;
	}
	*out = t;
	return 0;
}

void transport_wake(struct transport *t)
{
	socket_wake(t->wake);
}

void transport_shut(struct transport *t)
{
	socket_shut(t->fd);
}

void transport_close(struct transport *t)
{
	if (!t)
		return;
	socket_close(t->fd);
	socket_close(t->wake);
	while (t->nlayers) {
		struct layer *l = t->layers[--t->nlayers];

		l->ops->free(l);
	}
	buf_free(&t->raw);
	buf_free(&t->out);
	buf_free(&t->going);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
