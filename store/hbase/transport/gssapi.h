/*
 * Kerberos as a mechanism of SASL: GSSAPI, RFC 4752.
 *
 *	client: a ticket for the server	   server: its answer
 *	client: nothing			   server: what protection it offers, and
 *						   how long a packet may be
 *	client: what it takes of that
 *
 * Tickets come from where libkrb5 finds them: the cache (KRB5CCNAME), which a
 * client keytab (KRB5_CLIENT_KTNAME) fills when it is empty or old. libkrb5 may
 * ask the realm's KDC, and waits for it as long as krb5.conf says.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_GSSAPI_H
#define CELLFS_STORE_HBASE_TRANSPORT_GSSAPI_H

#include "store/hbase/transport/sasl.h"

/*
 * For the server @host. 0 and *out, which its free() frees; -EINVAL, the
 * principal is none; -EOPNOTSUPP, this build knows no Kerberos.
 */
int gssapi_new(const struct security *s, const char *host,
	       struct sasl_mechanism **out);

#endif
