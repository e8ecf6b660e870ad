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
 *	Z	a snapshot: u32 handle of one that is open, or 0 for none
 *	m	a mutation
 *	M	the same: u32 number of them, then each
 *	g G	given: of each change of the mutation, or of so many of them
 *	q	a scan's restrictions, and its filter's text
 *	v	a cell
 *	l	a list of the tables that a snapshot shows
 *	a	a change of a schema
 *	I	what a table holds: struct table_info
 *	p	the space: struct store_space
 *	C	where a check goes on
 *	h	the list of a hold, whole; no field of an operation
 *	r	the rest of the frame
 *
 * Numbers are little-endian. wire.h says what the longer ones consist of.
 */
#ifndef CELLFS_STORE_REMOTE_OPS_H
#define CELLFS_STORE_REMOTE_OPS_H

#include <stdbool.h>

#define WIRE_VERSION 0x6366000bu
/* The most fields that a request or a reply has. */
#define FIELDS_MAX 10

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
	WIRE_CHECK,
	WIRE_SCAN_PASS,
	WIRE_HOLD,
	WIRE_HOLD_READ,
	WIRE_HOLD_RELEASE,
	WIRE_KEEP_LOG,
	WIRE_SHAPE,
	WIRE_TABLE_ENABLE,
	WIRE_TABLE_IS_ENABLED,
	WIRE_OPS
};

struct wire_row {
	const char *request, *reply;
	/* The result may be 1, and only then the reply has its fields. */
	bool found;
};

extern const struct wire_row wire_rows[WIRE_OPS];

#endif
