/*
 * How the servers of a cluster are spoken to: who proves what to whom, and what
 * of it others on the way may read.
 *
 * Zeroed, it is HBase's own way of old: the server believes the name that it is
 * told, and nothing is hidden. What is asked for here is had or refused: no
 * connection is made with less.
 */
#ifndef CELLFS_STORE_HBASE_TRANSPORT_SECURITY_H
#define CELLFS_STORE_HBASE_TRANSPORT_SECURITY_H

#include <stdbool.h>
#include <stdint.h>

#define SECURITY_TEXT_MAX 512

/* Kerberos' protection of what follows the handshake: bits, as on the wire. */
enum protection {
	PROTECTION_BEST = 0, /* the strongest that the server offers */
	PROTECTION_AUTHENTICATION = 1, /* none */
	PROTECTION_INTEGRITY = 2,      /* a change is noticed */
	PROTECTION_PRIVACY = 4,	       /* and nobody else can read it */
};

struct security {
	bool kerberos;
	uint8_t protection; /* one of enum protection */
	/* The servers' principal, with _HOST; "" = hbase/_HOST */
	char principal[SECURITY_TEXT_MAX];

	bool tls;
	/* Files in PEM: "" = the system's authorities, no certificate */
	char ca[SECURITY_TEXT_MAX];
	char cert[SECURITY_TEXT_MAX], key[SECURITY_TEXT_MAX];
};

#endif
