/*
 * How bytes get to a server and back: a socket, and the layers over it.
 *
 *	transport_open()  connects; then nothing protects what is sent
 *	transport_secure() shakes hands as struct security asks for, and puts the
 *			  layers up
 *
 * From then on any thread may send, while one thread at a time waits and
 * receives. Nobody waits for the socket to take what is sent: the thread that
 * waits sends the rest when it does.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_TRANSPORT_H
#define CELLFS_STORE_HBASE_TRANSPORT_TRANSPORT_H

#include "store/hbase/transport/security.h"
#include "store/os/os.h"
#include "store/value/bytes.h"

struct transport;

/* One read of this size gets most answers whole. */
#define RECEIVE_BYTES ((size_t)64 << 10)

/* As socket_connect(). 0 and *out, which transport_close() frees. */
int transport_open(struct os *os, const char *host, uint16_t port,
		   uint64_t deadline_ns, struct transport **out);
/*
 * Shakes hands until @deadline_ns, as @host. 0, or: -EACCES, one of the two
 * does not accept the other; -EINVAL, a setting is wrong; -EOPNOTSUPP, this
 * build cannot; -ETIMEDOUT, -EPROTO, or what the network says. why() says what
 * to do. With Kerberos what precedes a greeting is sent, too.
 */
int transport_secure(struct transport *t, const struct security *s,
		     const char *host, uint64_t deadline_ns);

/*
 * Sends all of @data, or keeps what the socket does not take. 0; -ENOBUFS, too
 * much waits and nothing of @data was taken; or what ends the transport.
 */
int transport_send(struct transport *t, struct bytes data);
/* Waits until something came, and sends meanwhile what waits. */
int transport_wait(struct transport *t, bool *can_receive);
/* Appends what came to @to, which may be nothing. 0 or a negative errno. */
int transport_receive(struct transport *t, struct buf *to);

/* For handshakes: sends all of @data; receives until @to has @n bytes. */
int transport_put(struct transport *t, struct bytes data, uint64_t deadline_ns);
int transport_take(struct transport *t, struct buf *to, size_t n,
		   uint64_t deadline_ns);

/* Who waits wakes up. */
void transport_wake(struct transport *t);
/* Both sides learn that nothing more comes. */
void transport_shut(struct transport *t);
void transport_close(struct transport *t); /* NULL is none */

#endif
