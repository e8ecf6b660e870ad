/*
 * A cluster of HBase: its servers, and calls to them.
 *
 *	attempt_start()	one attempt at one server, over a connection that is kept
 *	master_call()	the whole of a call to the active master: found, tried
 *			again when it changes, until the deadline
 *
 * Of the calls to region servers, regions.h says to which server they go and
 * calls/ does the rest. Any thread may do all this.
 */
#ifndef CELLFS_STORE_HBASE_CLUSTER_CLUSTER_H
#define CELLFS_STORE_HBASE_CLUSTER_CLUSTER_H

#include "store/hbase/cluster/failure.h"
#include "store/hbase/connection/connection.h"

#define HOST_NAME_MAX_BYTES 255
#define MASTER_PORT 16000
#define TIMEOUT_MS 60000

struct cluster;

struct cluster_options {
	struct os *os;
	/* HOST[:PORT][,HOST[:PORT]...]; an address of IPv6 in brackets */
	const char *masters;
	const char *user; /* as whom the servers see this program */
	const struct security *security; /* NULL = none */
	uint32_t timeout_ms; /* of a call with all its tries; 0 = TIMEOUT_MS */
};

/* Are these names of masters? 0, or -EINVAL in words. */
int cluster_check(const char *masters);
/* Reads the masters' names and asks one of them for the cluster. */
int cluster_open(const struct cluster_options *o, struct cluster **out);
/* REQUIRES: no call is under way, no region is held. NULL is none. */
void cluster_close(struct cluster *c);
struct os *cluster_os(struct cluster *c);
/*
 * What a call that begins now may take with all its tries: the less the longer the
 * request that it is a part of has waited in vain (patience.h).
 */
struct retry cluster_retry(struct cluster *c);
/*
 * Until when a master is waited for by who can do without its answer: of the time of
 * a call most is left for the servers of the regions, which serve without a master.
 */
uint64_t cluster_soon(struct cluster *c);

struct server {
	char host[HOST_NAME_MAX_BYTES + 1];
	uint16_t port;
};

/* True and *out, or false: a connection can be made to no such host and port. */
bool server_set(struct server *out, struct bytes host, uint64_t port);

enum service {
	SERVICE_REGISTRY,
	SERVICE_CLIENT,
	SERVICE_ADMIN,
	SERVICE_MASTER,
	SERVICE_LOCK, /* of the master too */
};

/* One attempt of a call. Zeroed, it is none, which attempt_end() takes too. */
struct link;
struct attempt {
	struct link *link;
	struct rpc rpc; /* rpc.answer is the answer, after attempt_wait() */
};

/*
 * Sends the request to a service of a server, and connects before if need be.
 * 0, or what the call failed with: in *f too. attempt_end() is due in any case.
 */
int attempt_start(struct cluster *c, const struct server *to,
		  enum service service, const struct rpc_request *q,
		  struct attempt *call, struct failure *f);
int attempt_wait(struct attempt *call, struct failure *f);
/* Is its answer there, or has it failed? Then attempt_wait() does not wait. */
bool attempt_has_ended(const struct attempt *call);
/*
 * Waits at most @ms for an answer that is of little use, in place of
 * attempt_wait(): 0, or an error. That it does not come says nothing of the
 * server.
 */
int attempt_linger(struct cluster *c, struct attempt *call, unsigned ms);
void attempt_end(struct attempt *call);

/*
 * A call to the active master. It is sent again when nobody knows whether it was
 * done, so it must change nothing, or carry a nonce, by which the master
 * recognises a second try. The answer's message is read into *out by @type; its
 * bytes last until attempt_end(). 0 or a negative errno, which is that of the
 * last try. It ends at q->deadline_ns if that is set, and is set here for each try;
 * else when a call that begins now has to.
 */
int master_service_call(struct cluster *c, enum service service,
			struct rpc_request *q, struct attempt *call,
			const struct proto_message *type, void *out);
/* The same to SERVICE_MASTER. */
int master_call(struct cluster *c, struct rpc_request *q, struct attempt *call,
		const struct proto_message *type, void *out);
/* The same to whichever master answers, of what all of them know. */
int registry_call(struct cluster *c, struct rpc_request *q,
		  struct attempt *call, const struct proto_message *type,
		  void *out);

struct regions;
struct regions *cluster_regions(struct cluster *c);

#endif
