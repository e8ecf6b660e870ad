/*
 * The operations of a served store: what each asks for and answers.
 *
 * ops.c has a row for each operation. Its request and its reply are texts of
 * one letter a field, which both ends walk:
 *
 *	t	a table: u32 handle of one that is open
 *	T	the same, or 0 for none
 *	S	a named snapshot: u32 handle of one that is open
 *	1 4 8	u8, u32, u64
 *	i	i64
 *	b	bool: u8, 0 or 1
 *	s	bytes: u32 length, then the bytes
 *	k	bytes, at most TABLE_NAME_LEN_MAX of them
 *	n	a name: the same, and none of them is NUL
 *	c	a schema: bytes as schema_encode() writes them
 *	*	what wire.h describes, by hand
 *
 * Numbers are little-endian.
 */
#ifndef CELLFS_STORE_REMOTE_OPS_H
#define CELLFS_STORE_REMOTE_OPS_H

#include "store/store.h"
#include "store/value/codec.h"

#define WIRE_VERSION 0x63660002u
#define FIELDS_MAX 9

enum wire_op {
	WIRE_HELLO,
	WIRE_TABLE_OPEN,
	WIRE_TABLE_OPEN_ID,
	WIRE_TABLE_CLOSE,
	WIRE_TABLE_SCHEMA,
	WIRE_TABLE_VERSION,
	WIRE_TABLE_NAME,
	WIRE_TABLE_CREATE,
	WIRE_TABLE_DROP,
	WIRE_TABLE_TRUNCATE,
	WIRE_TABLE_RENAME,
	WIRE_TABLE_ALTER,
	WIRE_TABLE_ADD_FAMILY,
	WIRE_TABLE_NEXT,
	WIRE_NAMESPACE_CREATE,
	WIRE_NAMESPACE_DROP,
	WIRE_NAMESPACE_NEXT,
	WIRE_MUTATE,
	WIRE_MUTATE_MANY,
	WIRE_SYNC,
	WIRE_SCAN_OPEN,
	WIRE_SCAN_NEXT,
	WIRE_SCAN_CLOSE,
	WIRE_GET,
	WIRE_SNAPSHOT_TAKE,
	WIRE_SNAPSHOT_RELEASE,
	WIRE_SNAPSHOT_CREATE,
	WIRE_SNAPSHOT_DROP,
	WIRE_SNAPSHOT_RENAME,
	WIRE_SNAPSHOT_NEXT,
	WIRE_SNAPSHOT_OPEN,
	WIRE_SNAPSHOT_CLONE, /* of a named one, as the next */
	WIRE_SNAPSHOT_RESTORE,
	WIRE_FLUSH,
	WIRE_COMPACT,
	WIRE_STATS,
	WIRE_SPACE,
	WIRE_HEALTH,
	WIRE_NOW,
	WIRE_TABLE_INFO,
	WIRE_OPS
};

struct wire_row {
	const char *request, *reply;
	/* The result may be 1, and only then the reply has its fields. */
	bool found;
};

extern const struct wire_row wire_rows[WIRE_OPS];

/* The value of a field. What a letter does not name is not looked at. */
enum field_kind {
	FIELD_END, /* there is no more */
	FIELD_NUMBER,
	FIELD_BYTES,
	FIELD_SCHEMA,
};

struct field {
	enum field_kind kind;
	uint64_t n;	/* T t S 1 4 8 i b */
	struct bytes s; /* s k; borrowed */
	char name[TABLE_NAME_LEN_MAX + 1];
	struct schema schema; /* owned where it was read: fields_free() */
	void *object;	      /* the server's: what the handle @n is of */
};

static inline struct field field_number(uint64_t n)
{
	return (struct field){.kind = FIELD_NUMBER, .n = n};
}

static inline struct field field_bytes(struct bytes s)
{
	return (struct field){.kind = FIELD_BYTES, .s = s};
}

/* @s stays the caller's. */
static inline struct field field_schema(const struct schema *s)
{
	return (struct field){.kind = FIELD_SCHEMA, .schema = *s};
}

#define FIELDS(...) ((struct field[]){__VA_ARGS__, {.kind = FIELD_END}})

/*
 * Appends the fields that @letters say. The kinds of a request's are looked at,
 * which FIELDS() gives; a reply's need none.
 */
void put_request(struct encoder *e, const char *letters,
		 const struct field *fields);
void put_reply(struct encoder *e, const char *letters,
	       const struct field *fields);
/*
 * Reads as many into @fields, which are zeroed and must be given to
 * fields_free() however it ends; d->bad tells whether one is invalid.
 */
void take_fields(struct decoder *d, const char *letters, struct field *fields);
void fields_free(const char *letters, struct field *fields);

#endif
