/*
 * A layer of a transport: what it makes of bytes on their way to the wire and
 * back.
 *
 *	connection   plain bytes
 *	   sasl	     packets that Kerberos protects	either, both or
 *	   tls	     records of TLS			none is there
 *	socket	     bytes on the wire
 *
 * A layer asks nothing of the network. It is used by one thread at a time.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_LAYER_H
#define CELLFS_STORE_HBASE_TRANSPORT_LAYER_H

#include "store/value/bytes.h"

struct layer;

struct layer_ops {
	/* Appends to @wire what says @plain to the other side. */
	int (*seal)(struct layer *l, struct bytes plain, struct buf *wire);
	/*
	 * Takes in what came, in pieces as they come, and appends to @plain what
	 * the other side has said so far, and to @reply what it must be sent for
	 * that. A negative errno: nothing that follows can be trusted.
	 */
	int (*unseal)(struct layer *l, struct bytes wire, struct buf *plain,
		      struct buf *reply);
	void (*free)(struct layer *l);
};

struct layer {
	const struct layer_ops *ops;
};

#endif
