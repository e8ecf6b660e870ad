/*
 * What goes over a connection to a server of HBase: a greeting, then frames.
 *
 *	preamble  "HBas", u8 0, u8 80 (no authentication) or 81 (Kerberos, see
 *		  transport/sasl.h)
 *	greeting  u32 length, ConnectionHeader. The server does not answer it.
 *	request	  u32 length, sized RequestHeader, sized message, cell block
 *	answer	  u32 length, sized ResponseHeader, sized message, cell block;
 *		  behind a header with an exception there is no message
 *
 * Numbers are big-endian, the length counts what follows it, "sized" is a
 * varint length and so many bytes. How long the cell block is stands in the
 * header.
 *
 * The greeting names one service of the server and the codec of the cell
 * blocks, and says that the client is HBase 2: a server answers older ones
 * with cells inside messages, which nothing here reads.
 */
#ifndef CELLFS_STORE_HBASE_WIRE_FRAME_H
#define CELLFS_STORE_HBASE_WIRE_FRAME_H

#include "store/hbase/wire/proto.h"

/* What precedes a frame: its length. */
#define FRAME_HEAD 4
/* The longest answer that is taken; the longest cell and something more. */
#define FRAME_MAX (272u << 20)
/* The id of an answer that no call asked for: the server ends the connection. */
#define FRAME_ID_FATAL UINT32_MAX

enum frame_auth {
	FRAME_SIMPLE = 80,
	FRAME_KERBEROS = 81,
};

/* Appends what a connection begins with. 0 or -ENOMEM. */
int frame_preamble(struct buf *out, enum frame_auth auth);
/*
 * Appends the greeting. Both texts are UTF-8; @user NULL: the server knows who
 * it is. 0 or -ENOMEM.
 */
int frame_greeting(struct buf *out, const char *user, const char *service);

struct frame_call {
	uint32_t id;
	uint32_t timeout_ms; /* after which the server may give up; 0 = none */
	const char *method;
	const struct proto_message *type; /* NULL: a message without fields */
	const void *message;		  /* of @type */
	struct bytes cells;		  /* the cell block, may be empty */
};

/* Appends a request. 0, -ENOMEM, or -EFBIG if it exceeds FRAME_MAX. */
int frame_request(struct buf *out, const struct frame_call *call);

/* What a server says instead of an answer. */
struct pb_exception {
	bool here;
	struct bytes class; /* the name of a class of Java */
	struct bytes trace; /* the first line may repeat the class */
	struct bytes host;  /* with @port: where the region went; or NULL */
	uint32_t port;
	bool do_not_retry;
	bool overloaded; /* retry later than otherwise */
};

struct frame_answer {
	uint32_t id;
	struct pb_exception exception; /* if .here, the rest is empty */
	struct bytes message;
	struct bytes cells;
};

/*
 * Takes a frame apart, which is given without its length. 0, or -EPROTO if it
 * is not exactly an answer. What *out points to lies in @frame.
 */
int frame_take(struct bytes frame, struct frame_answer *out);
/* What users are told of a server's words about a failure: the first line, cut off. */
struct bytes frame_words(struct bytes text);

#endif
