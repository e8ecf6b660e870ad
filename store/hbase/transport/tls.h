/*
 * TLS, by OpenSSL: the layer next to the wire.
 *
 * 1.2 or later. The server's certificate must lead to one of the authorities
 * that are trusted, and name the host that was connected to; nothing turns that
 * off.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_TLS_H
#define CELLFS_STORE_HBASE_TRANSPORT_TLS_H

#include "store/hbase/transport/layer.h"
#include "store/hbase/transport/transport.h"

/*
 * Shakes hands with @host. 0 and *out; -EACCES, a certificate is not accepted
 * or the server speaks no TLS; -EINVAL, a file cannot be used; -EOPNOTSUPP,
 * this build knows no TLS; or what the network says.
 */
int tls_start(struct transport *t, const struct security *s, const char *host,
	      uint64_t deadline_ns, struct layer **out);

#endif
