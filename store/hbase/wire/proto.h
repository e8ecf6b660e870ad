/*
 * Messages in protobuf's wire format, described by tables.
 *
 * A message is a sequence of fields: a varint (number << 3 | wire type), then
 * what the wire type says: 0 a varint, 1 eight bytes, 2 a varint length and so
 * many bytes, 5 four bytes. A struct of C holds the fields of a message that
 * this program uses, and a struct proto_message says which number stands
 * where in it:
 *
 *	struct pb_server {		MESSAGE(pb_server, "ServerName",
 *		bool here;			FIELD(pb_server, host, 1,
 *		struct bytes host;		      .required = true),
 *		uint32_t port;			FIELD(pb_server, port, 2));
 *	};
 *
 * Writing and reading walk the same table. A field that was not sent has the
 * value `absent` of its row (0 in most), bytes are {NULL, 0}, and a message
 * inside another has `here` false; such fields are not written either. Each
 * struct begins with that `bool here`. Other numbers are passed over, so that
 * a newer HBase may say more. Of a field that comes twice the last one counts.
 *
 * Nothing is allocated or copied on reading: bytes point into what was read,
 * and the items of a repeated field are read one by one by proto_next().
 */
#ifndef CELLFS_STORE_HBASE_WIRE_PROTO_H
#define CELLFS_STORE_HBASE_WIRE_PROTO_H

#include "store/value/codec.h"

enum proto_type {
	PROTO_BOOL,
	PROTO_U32,
	PROTO_U64,
	PROTO_I64,
	PROTO_BYTES,
	PROTO_INSIDE, /* a message, in place */
	PROTO_LIST,   /* a repeated field of @item */
};

struct proto_message;

struct proto_field {
	uint8_t number;
	uint8_t type;  /* enum proto_type */
	uint8_t item;  /* of a PROTO_LIST */
	int8_t absent; /* -1 = UINT64_MAX, of 64-bit fields */
	bool required;
	uint16_t at;			/* offset in the struct */
	const struct proto_message *of; /* PROTO_INSIDE, or a list of them */
};

struct proto_message {
	const char *name; /* for error texts */
	const struct proto_field *fields;
	size_t nfields;
	size_t size; /* of the struct */
};

/* To be written: @n items at @items. When read: what proto_next() goes over. */
struct proto_list {
	const void *items;
	size_t n;
	const struct proto_message *in;
	const struct proto_field *field;
	struct decoder rest;
	struct decoder packed; /* scalars that came as one field of bytes */
};

#define PROTO_TYPE_OF(expr)                       \
	_Generic((expr), bool                     \
		 : PROTO_BOOL, uint32_t           \
		 : PROTO_U32, uint64_t            \
		 : PROTO_U64, int64_t             \
		 : PROTO_I64, struct bytes        \
		 : PROTO_BYTES, struct proto_list \
		 : PROTO_LIST, default            \
		 : PROTO_INSIDE)
/* A row: the field @num of a message is @member of struct @tag. */
#define FIELD(tag, member, num, ...)                              \
	{                                                         \
		.number = num,                                    \
		.type = PROTO_TYPE_OF(((struct tag *)0)->member), \
		.at = offsetof(struct tag, member), __VA_ARGS__   \
	}
/* The same of a list of what the message @tag describes. */
#define ITEMS(tag) .item = PROTO_INSIDE, .of = &(tag)
/* Defines @tag, which describes struct @tag: its rows, at most 64. */
#define MESSAGE(tag, text, ...)                                                \
	const struct proto_message tag = {                                     \
		.name = text,                                                  \
		.fields = (const struct proto_field[]){__VA_ARGS__},           \
		.nfields = sizeof((const struct proto_field[]){__VA_ARGS__}) / \
			   sizeof(struct proto_field),                         \
		.size = sizeof(struct tag),                                    \
	}

/* The longest varint. */
#define VARINT_MAX 10

void put_varint(struct encoder *e, uint64_t v);
/* Bad when it is cut off, or has more than 64 bits. */
uint64_t take_varint(struct decoder *d);
/* A field of bytes, which may be a message. */
void put_field(struct encoder *e, uint8_t number, struct bytes s);
/* A varint length and so many bytes. */
struct bytes take_sized(struct decoder *d);

/* Sets each field of *out to what stands for its absence. */
void proto_init(const struct proto_message *m, void *out);
/* Appends the message *from, without a length. */
void proto_put(struct encoder *e, const struct proto_message *m,
	       const void *from);
/* The same behind its length, a varint. */
void put_sized(struct encoder *e, const struct proto_message *m,
	       const void *from);
/* The same as a field. */
void put_message(struct encoder *e, uint8_t number,
		 const struct proto_message *m, const void *from);
/*
 * Reads all of @in as a message. 0, or -EPROTO and the message, the field and
 * its fault in why(): then *out is as proto_init() leaves it. What *out points
 * to lies in @in.
 */
int proto_take(struct bytes in, const struct proto_message *m, void *out);
/*
 * Reads the next item of a repeated field into *out, which has its type. 1, 0
 * at the end, -EPROTO. A copy of @l begins anew where @l was.
 */
int proto_next(struct proto_list *l, void *out);

#endif
