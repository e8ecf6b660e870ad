/*
 * SASL as HBase speaks it, whatever the mechanism.
 *
 *	handshake  client: "HBas", u8 0, u8 81; then, until the mechanism is done,
 *		   client: i32 length, token
 *		   server: i32 0, i32 length, token; or i32 0, i32 -88: it knows
 *			   no Kerberos; or i32 1, text, text: it refuses, of a
 *			   class of Java and in words. text: i32 length, UTF-8
 *	packet	   i32 length, what the mechanism makes of bytes. All that follows
 *		   the handshake goes in packets, if the two agreed on protection,
 *		   wherever frames begin and end
 *
 * Behind the client's last token the server says nothing.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_SASL_H
#define CELLFS_STORE_HBASE_TRANSPORT_SASL_H

#include "store/hbase/transport/layer.h"
#include "store/hbase/transport/transport.h"

/* The longest token or text of a handshake. Kerberos' have some kilobytes. */
#define SASL_TOKEN_MAX (64u << 10)
/* The longest packet: an answer of FRAME_MAX, and what protects it. */
#define SASL_PACKET_MAX (273u << 20)

struct sasl_mechanism;

struct sasl_mechanism_ops {
	/*
	 * Appends to @token what goes to the server next; @in is what it sent, at
	 * first nothing. 1, the handshake ends with this token; 0, the server
	 * answers it; -EACCES, and why() says what to do; another errno.
	 */
	int (*step)(struct sasl_mechanism *m, struct bytes in,
		    struct buf *token);
	/* Appends to @out what protects @plain, at most piece_max bytes of it. */
	int (*wrap)(struct sasl_mechanism *m, struct bytes plain,
		    struct buf *out);
	/* -EPROTO: it was changed on the way, or came out of order. */
	int (*unwrap)(struct sasl_mechanism *m, struct bytes packet,
		      struct buf *out);
	void (*free)(struct sasl_mechanism *m);
};

struct sasl_mechanism {
	const struct sasl_mechanism_ops *ops;
	/* After the handshake: how long a piece may be; 0 = no protection. */
	size_t piece_max;
};

/*
 * Shakes hands. 0 and *out, the layer of the packets, which is NULL without
 * protection; -EACCES, and why() has the server's words; or another errno. @m is
 * freed in any case, or by the layer.
 */
int sasl_start(struct transport *t, struct sasl_mechanism *m,
	       uint64_t deadline_ns, struct layer **out);

/* What a server says in a handshake. */
struct sasl_reply {
	bool is_simple;	 /* it knows no Kerberos */
	bool is_refused; /* of this class, in these words: */
	struct bytes class, words;
	struct bytes token;
};

/*
 * Takes a reply off the start of @in. Its length, 0 when there is not all of it
 * yet, or -EPROTO. What *out points to lies in @in.
 */
ssize_t sasl_reply_take(struct bytes in, struct sasl_reply *out);
/* The layer of the packets, alone. It frees @m, also with -ENOMEM. */
int sasl_layer_new(struct sasl_mechanism *m, struct layer **out);

#endif
