#include "store/hbase/cluster/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/hbase/cluster/regions.h"
#include "store/hbase/wire/messages.h"
#include "store/os/clock.h"
#include "store/os/patience.h"
#include "store/value/why.h"

#define MASTERS_MAX 16
#define SOON_MS 1000

/* A connection to a service, once it is there. */
struct link {
	struct link *next;
	struct cluster *cluster;
	struct server server;
	enum service service;
	unsigned refs; /* cluster.lock; one is the list's */
	bool is_listed;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool is_connecting; /* a thread is at it */
	struct connection *connection;
};

struct cluster {
	struct os *os;
	char user[256];
	struct security security;
	uint32_t timeout_ms;
	struct server masters[MASTERS_MAX];
	unsigned nmasters;
	struct regions *regions;

	pthread_mutex_t lock; /* guards what follows */
	struct link *links;
	bool has_active;
	struct server active; /* the active master */
};

static const char *const service_names[] = {
	[SERVICE_REGISTRY] = "ClientMetaService",
	[SERVICE_CLIENT] = "ClientService",
	[SERVICE_ADMIN] = "AdminService",
	[SERVICE_MASTER] = "MasterService",
	[SERVICE_LOCK] = "LockService",
};

struct os *cluster_os(struct cluster *c)
{
	return c->os;
}

struct regions *cluster_regions(struct cluster *c)
{
	return c->regions;
}

struct retry cluster_retry(struct cluster *c)
{
	return (struct retry){
		.os = c->os,
		.deadline_ns = patience_until(os_monotonic_ns(c->os),
					      c->timeout_ms * 1000000ull),
	};
}

uint64_t cluster_soon(struct cluster *c)
{
	uint64_t ms = c->timeout_ms / 4;

	return os_monotonic_ns(c->os) +
	       (ms < SOON_MS ? ms : SOON_MS) * 1000000ull;
}

/* The same for what @q is a part of: no later than its deadline. */
static struct retry retry_of(struct cluster *c, const struct rpc_request *q)
{
	struct retry retry = cluster_retry(c);

	if (q->deadline_ns && q->deadline_ns < retry.deadline_ns)
		retry.deadline_ns = q->deadline_ns;
	return retry;
}

static bool same_server(const struct server *a, const struct server *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* REQUIRES: cluster.lock. The link is its caller's to free if true. */
static bool drop(struct link *l)
{
	assert(l->refs > 0);
	return --l->refs == 0;
}

static void link_free(struct link *l)
{
	connection_close(l->connection);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
}

static void link_put(struct link *l)
{
	bool last;

	pthread_mutex_lock(&l->cluster->lock);
	last = drop(l);
	pthread_mutex_unlock(&l->cluster->lock);
	if (last)
		link_free(l);
}

/* REQUIRES: cluster.lock. */
static struct link *find_link(struct cluster *c, const struct server *to,
			      enum service service)
{
	struct link *l = c->links;

	while (l && (l->service != service || !same_server(&l->server, to)))
		l = l->next;
	return l;
}

static void init_locks(struct link *l)
{
	pthread_mutex_init(&l->lock, NULL);
	clock_cond_init(&l->changed);
}

/* The link to a service, with a reference; it may not be connected. */
static struct link *link_get(struct cluster *c, const struct server *to,
			     enum service service)
{
	struct link *l;

	pthread_mutex_lock(&c->lock);
	l = find_link(c, to, service);
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (l) {
			*l = (struct link){
				.next = c->links,
				.cluster = c,
				.server = *to,
				.service = service,
				.refs = 1,
				.is_listed = true,
			};
			init_locks(l);
			c->links = l;
		}
	}
	if (l)
		l->refs++;
	pthread_mutex_unlock(&c->lock);
	return l;
}

/* Takes a link that failed off the list, so that the next call makes another. */
static void link_unlist(struct link *l)
{
	struct cluster *c = l->cluster;
	bool last = false;

	pthread_mutex_lock(&c->lock);
	if (l->is_listed) {
		struct link **at = &c->links;

		while (*at != l)
			at = &(*at)->next;
		*at = l->next;
		l->is_listed = false;
		last = drop(l);
	}
	pthread_mutex_unlock(&c->lock);
	assert(!last); /* the caller has a reference */
}

/*
 * Waits until no other thread connects, whose deadline may be a later one.
 * REQUIRES: l->lock.
 */
static int wait_for_connect(struct link *l, uint64_t deadline_ns)
{
	int r = 1;

	while (l->is_connecting && r > 0)
		r = patience_wait(&l->changed, &l->lock, deadline_ns);
	if (r < 0)
		return why(r, "%s:%u: no connection: who asked was killed",
			   l->server.host, l->server.port);
	return l->is_connecting
		       ? why(-ETIMEDOUT,
			     "%s:%u: no connection in time: does the host run, "
			     "and does a firewall let this machine through?",
			     l->server.host, l->server.port)
		       : 0;
}

static int link_connect(struct link *l, uint64_t deadline_ns)
{
	const struct connection_options o = {
		.os = l->cluster->os,
		.host = l->server.host,
		.port = l->server.port,
		.service = service_names[l->service],
		.user = l->cluster->user,
		.security = &l->cluster->security,
	};
	struct connection *made = NULL;
	int r;

	pthread_mutex_lock(&l->lock);
	r = wait_for_connect(l, deadline_ns);
	if (r == 0 && !l->connection) {
		l->is_connecting = true;
		pthread_mutex_unlock(&l->lock);
		r = connection_open(&o, deadline_ns, &made);
		pthread_mutex_lock(&l->lock);
		l->connection = made;
		l->is_connecting = false;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}

/* The request of which this is a part has waited in vain for long enough. */
static int no_patience(const struct cluster *c, const struct server *to,
		       const struct rpc_request *q, struct failure *f)
{
	/* What was lost before may not be what the time has gone for. */
	const char *reason = patience_left(c->timeout_ms * 1000000ull)
				     ? ""
				     : patience_reason();

	*f = (struct failure){-ETIMEDOUT, CURE_NONE, true};
	return reason[0] ? why(-ETIMEDOUT, "%s", reason)
			 : why(-ETIMEDOUT, "%s:%u: %s: no time is left",
			       to->host, to->port, q->method);
}

/* What failed since @since was waited for in vain, unless it was a refusal. */
static void note_loss(struct cluster *c, uint64_t since,
		      const struct failure *f)
{
	uint64_t now = os_monotonic_ns(c->os);

	if (f->cure != CURE_NONE)
		patience_lose(now - since, now);
}

int attempt_start(struct cluster *c, const struct server *to,
		  enum service service, const struct rpc_request *q,
		  struct attempt *call, struct failure *f)
{
	uint64_t begin = os_monotonic_ns(c->os);
	struct link *l;
	int r;

	*call = (struct attempt){0};
	/* That says nothing of the server, whose connection stays. */
	if (q->deadline_ns && begin >= q->deadline_ns)
		return no_patience(c, to, q, f);
	l = link_get(c, to, service);

	*call = (struct attempt){.link = l};
	if (!l)
		r = why(-ENOMEM, "out of memory for a connection");
	else
		r = link_connect(l, q->deadline_ns);
	if (r == 0)
		r = rpc_start(l->connection, &call->rpc, q);
	if (r == 0)
		return 0;
	if (l)
		link_unlist(l);
	*f = failure_judge(r, NULL);
	note_loss(c, begin, f);
	return r;
}

/* Its answer has been waited for since @since. */
static int wait_since(struct attempt *call, uint64_t since, struct failure *f)
{
	struct cluster *c = call->link->cluster;
	int r = rpc_wait(&call->rpc);

	if (r == 0)
		return 0;
	/* A server that does not answer one call in time may be gone. */
	if (r == -ETIMEDOUT || !connection_is_up(call->link->connection))
		link_unlist(call->link);
	*f = failure_judge(r, &call->rpc.answer.exception);
	note_loss(c, since, f);
	return r;
}

int attempt_wait(struct attempt *call, struct failure *f)
{
	return wait_since(call, os_monotonic_ns(call->link->cluster->os), f);
}

bool attempt_has_ended(const struct attempt *call)
{
	return rpc_has_ended(&call->rpc);
}

int attempt_linger(struct cluster *c, struct attempt *call, unsigned ms)
{
	uint64_t until = os_monotonic_ns(c->os) + ms * 1000000ull;

	if (!call->link)
		return -ENOENT;
	if (!call->rpc.deadline_ns || call->rpc.deadline_ns > until)
		call->rpc.deadline_ns = until;
	return rpc_wait(&call->rpc);
}

void attempt_end(struct attempt *call)
{
	rpc_end(&call->rpc);
	if (call->link)
		link_put(call->link);
	*call = (struct attempt){0};
}

/* One attempt with its answer read. */
static int ask_server(struct cluster *c, const struct server *to,
		      enum service service, const struct rpc_request *q,
		      struct attempt *call, const struct proto_message *type,
		      void *out, struct failure *f)
{
	uint64_t begin = os_monotonic_ns(c->os);
	int r;

	attempt_end(call);
	r = attempt_start(c, to, service, q, call, f);
	if (r == 0)
		r = wait_since(call, begin, f);
	if (r < 0)
		return f->err;
	r = proto_take(call->rpc.answer.message, type, out);
	if (r < 0)
		*f = failure_judge(r, NULL);
	return r;
}

/* A try's deadline: a master that is silent must leave time for the next. */
static uint64_t try_until(struct cluster *c, const struct retry *retry)
{
	uint64_t part = os_monotonic_ns(c->os) +
			c->timeout_ms * 1000000ull / (c->nmasters + 1);

	return part < retry->deadline_ns ? part : retry->deadline_ns;
}

/* How the attempts of a call have failed so far. */
struct told {
	int err; /* 0: none has */
	struct why_kept reason;
};

/*
 * Notes that an attempt failed by @err, and returns the call's own failure. What
 * the end of the call's time cuts short says less than what failed before it, so
 * that the reason of the earlier attempt stays.
 */
static int tell(struct told *t, int err, bool is_over)
{
	if (is_over && t->err) {
		why_restore(&t->reason);
		return t->err;
	}
	t->err = err;
	why_keep(&t->reason);
	return err;
}

int registry_call(struct cluster *c, struct rpc_request *q,
		  struct attempt *call, const struct proto_message *type,
		  void *out)
{
	struct retry retry = retry_of(c, q);
	struct failure f, curable;
	struct told told = {0};
	int r = -EINVAL;

	do {
		curable = (struct failure){.cure = CURE_NONE};
		for (unsigned i = 0; i < c->nmasters; i++) {
			q->deadline_ns = try_until(c, &retry);
			r = ask_server(c, &c->masters[i], SERVICE_REGISTRY, q,
				       call, type, out, &f);
			if (r == 0 || r == -EINTR || is_refusal(r))
				return r;
			r = tell(&told, r,
				 os_monotonic_ns(c->os) >= retry.deadline_ns);
			/* A master that begins fails until it has all parts. */
			if (f.cure == CURE_DOUBT)
				f.cure = CURE_WAIT;
			if (f.cure != CURE_NONE)
				curable = f;
		}
	} while (retry_wait(&retry, &curable));
	return r;
}

bool server_set(struct server *out, struct bytes host, uint64_t port)
{
	if (!host.len || host.len > HOST_NAME_MAX_BYTES || !port ||
	    port > UINT16_MAX || memchr(host.data, 0, host.len))
		return false;
	memcpy(out->host, host.data, host.len);
	out->host[host.len] = '\0';
	out->port = (uint16_t)port;
	return true;
}

/* -EAGAIN: no master is active yet. */
static int find_active(struct cluster *c, uint64_t deadline_ns,
		       struct server *out)
{
	struct rpc_request q = {
		.method = "GetActiveMaster",
		.deadline_ns = deadline_ns,
	};
	struct pb_active_master answer;
	struct attempt call = {0};
	bool known;
	int r;

	pthread_mutex_lock(&c->lock);
	known = c->has_active;
	*out = c->active;
	pthread_mutex_unlock(&c->lock);
	if (known)
		return 0;
	r = registry_call(c, &q, &call, &pb_active_master, &answer);
	if (r == 0 && !answer.server.here)
		r = why(-EAGAIN, "none of the masters is active");
	if (r == 0 && !server_set(out, answer.server.host, answer.server.port))
		r = why(-EPROTO, "the cluster named a server without a host "
				 "or a port");
	attempt_end(&call);
	if (r < 0)
		return r;
	pthread_mutex_lock(&c->lock);
	c->has_active = true;
	c->active = *out;
	pthread_mutex_unlock(&c->lock);
	return 0;
}

static void forget_active(struct cluster *c)
{
	pthread_mutex_lock(&c->lock);
	c->has_active = false;
	pthread_mutex_unlock(&c->lock);
}

int master_service_call(struct cluster *c, enum service service,
			struct rpc_request *q, struct attempt *call,
			const struct proto_message *type, void *out)
{
	struct retry retry = retry_of(c, q);
	struct server active;
	struct failure f;
	int r;

	do {
		r = find_active(c, retry.deadline_ns, &active);
		f = (struct failure){r, CURE_WAIT, true};
		if (r == -EAGAIN)
			continue;
		if (r < 0)
			return r;
		q->deadline_ns = retry.deadline_ns;
		r = ask_server(c, &active, service, q, call, type, out, &f);
		if (r == 0)
			return 0;
		if (f.cure == CURE_LOCATE)
			forget_active(c);
	} while (retry_wait(&retry, &f));
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

int master_call(struct cluster *c, struct rpc_request *q, struct attempt *call,
		const struct proto_message *type, void *out)
{
	return master_service_call(c, SERVICE_MASTER, q, call, type, out);
}

/* Reads HOST[:PORT] of @len bytes. */
static int parse_server(const char *s, size_t len, struct server *out)
{
	const char *host = s, *rest;
	size_t n;
	unsigned long port = MASTER_PORT;
	char *end;

	if (len && s[0] == '[') {
		host = s + 1;
		rest = memchr(host, ']', len - 1);
		n = rest ? (size_t)(rest - host) : 0;
		rest = rest ? rest + 1 : host;
	} else {
		rest = memchr(s, ':', len);
		n = rest ? (size_t)(rest - s) : len;
		rest = s + n;
	}
	if (rest < s + len) {
		port = strtoul(rest + 1, &end, 10);
		if (*rest != ':' || rest[1] < '0' || rest[1] > '9' ||
		    end != s + len)
			port = 0;
	}
	return server_set(out, bytes_of(host, n), port)
		       ? 0
		       : why(-EINVAL,
			     "\"%.*s\" is no HOST or HOST:PORT of a master",
			     (int)len, s);
}

static int parse_masters(struct cluster *c, const char *s)
{
	for (;;) {
		size_t n = strcspn(s, ",");
		int r;

		if (c->nmasters == MASTERS_MAX)
			return why(-EINVAL, "more than %d masters are named",
				   MASTERS_MAX);
		r = parse_server(s, n, &c->masters[c->nmasters]);
		if (r < 0)
			return r;
		c->nmasters++;
		if (!s[n])
			return 0;
		s += n + 1;
	}
}

int cluster_check(const char *masters)
{
	struct cluster c = {.nmasters = 0};

	return parse_masters(&c, masters);
}

/* Says of a failure to greet what the names should be of. */
static int say_no_master(const char *masters, int r)
{
	struct why_kept reason;

	/* A server that refuses is one, and says what is to be done. */
	if (is_refusal(r))
		return r;
	why_keep(&reason);
	/* Nothing in store.h means "try again". */
	return why(
		r == -EAGAIN ? -ETIMEDOUT : r,
		"no master of a cluster answers as hbase://%.300s (HBase 2.5 "
		"or later, hbase.master.port): %.600s",
		masters, reason.text);
}

static int greet(struct cluster *c, const char *masters)
{
	struct rpc_request q = {.method = "GetClusterId"};
	struct pb_cluster_id answer;
	struct attempt call = {0};
	int r = registry_call(c, &q, &call, &pb_cluster_id, &answer);

	attempt_end(&call);
	return r < 0 ? say_no_master(masters, r) : 0;
}

int cluster_open(const struct cluster_options *o, struct cluster **out)
{
	struct cluster *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return why(-ENOMEM, "out of memory for a cluster");
	c->os = o->os;
	c->timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_MS;
	snprintf(c->user, sizeof(c->user), "%s", o->user);
	if (o->security)
		c->security = *o->security;
	pthread_mutex_init(&c->lock, NULL);
	r = parse_masters(c, o->masters);
	if (r == 0)
		r = regions_new(&c->regions);
	if (r == 0)
		r = greet(c, o->masters);
	if (r < 0) {
		cluster_close(c);
		return r;
	}
	*out = c;
	return 0;
}

void cluster_close(struct cluster *c)
{
	struct link *l;

	if (!c)
		return;
	while ((l = c->links)) {
		assert(l->refs == 1);
		c->links = l->next;
		link_free(l);
	}
	regions_free(c->regions);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
