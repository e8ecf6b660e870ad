/*
 * A connection to one service of one server of HBase, and calls over it.
 *
 *	caller		rpc_start()	  rpc_wait()
 *			  | the request	    ^ the answer with the call's id
 *	connection	  v		    |
 *		transport_send()      reader: a thread that receives frames,
 *		    |		    ^ and sends what the socket did not take
 *	transport	  v		    |
 *		a socket, and what protects it
 *
 * Any number of threads have calls under way at once, each thread as many as it
 * likes; answers come in any order. No caller waits for the socket: what it does
 * not take at once the reader sends when it does. A call ends with its answer,
 * at its deadline, when it is cancelled, when its caller is gone (patience.h), or
 * with the connection; an answer that comes after that is dropped.
 *
 * A connection that failed stays so: each call, under way or new, fails with
 * what happened. Who uses it opens another one. What a server sends that is no
 * answer fails the connection, since nothing behind it can be trusted; a
 * message in an answer is its caller's to read, and concerns that call alone.
 */
#ifndef CELLFS_STORE_HBASE_CONNECTION_CONNECTION_H
#define CELLFS_STORE_HBASE_CONNECTION_CONNECTION_H

#include "store/hbase/transport/security.h"
#include "store/hbase/wire/frame.h"
#include "store/os/os.h"

struct connection;

struct connection_options {
	struct os *os; /* whose clock the deadlines are of */
	const char *host;
	uint16_t port;
	const char *service;
	const char *user;		 /* not asked for with Kerberos */
	const struct security *security; /* NULL = none */
	uint32_t frame_max; /* bytes of the longest answer; 0 = FRAME_MAX */
};

/*
 * Connects, shakes hands as @o->security wants, and greets, until @deadline_ns of
 * os_monotonic_ns(). The server
 * does not answer a greeting: that it did not like one shows with the first
 * call. 0 and *out, which connection_close() frees, or a negative errno.
 */
int connection_open(const struct connection_options *o, uint64_t deadline_ns,
		    struct connection **out);
/* Has it not failed yet? */
bool connection_is_up(struct connection *c);
/* Fails it: all calls end with -ECANCELED. */
void connection_cut(struct connection *c);
/* REQUIRES: each rpc_start() had its rpc_end(). NULL is none. */
void connection_close(struct connection *c);

struct rpc_request {
	const char *method;		  /* a literal */
	const struct proto_message *type; /* NULL: a message without fields */
	const void *message;
	struct bytes cells;   /* a cell block, may be empty */
	uint64_t deadline_ns; /* of os_monotonic_ns(); 0 = none */
};

struct waiter;

/* One call. Zeroed, it is none, which rpc_end() takes too. */
struct rpc {
	struct connection *c;
	const char *method;
	uint32_t id;
	uint64_t deadline_ns;
	/* connection.lock */
	struct waiter *waiter;	 /* of who waits, if anybody does */
	struct rpc *prev, *next; /* the calls that are under way */
	bool is_under_way;
	int result;	  /* when it is not under way */
	struct buf frame; /* the answer, when result is 0 */
	/* Its owner's, after rpc_wait(): points into frame. */
	struct frame_answer answer;
};

/*
 * Sends a request. Nothing of @request is used after it returns. 0, or a
 * negative errno: that of the connection, -ETIMEDOUT, -ENOMEM, -EFBIG, or
 * -ENOBUFS when the server has not taken in requests for long. rpc_end() is due
 * in any case.
 */
int rpc_start(struct connection *c, struct rpc *rpc,
	      const struct rpc_request *request);
/*
 * Waits for the answer, which is rpc->answer then and lasts until rpc_end(). 0;
 * -EREMOTEIO, the server answered with an exception, which is in rpc->answer;
 * -ETIMEDOUT; -EINTR; -ECANCELED; or the errno of the connection. why() names server
 * and method. To be called once.
 */
int rpc_wait(struct rpc *rpc);
/* Would rpc_wait() not wait? */
bool rpc_has_ended(const struct rpc *rpc);
/* Ends the call for who waits for it. For any thread, before rpc_end(). */
void rpc_cancel(struct rpc *rpc);
/* Forgets the call, answered or not, and frees the answer. */
void rpc_end(struct rpc *rpc);

#endif
