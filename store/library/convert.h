/*
 * The values of cellfs.h as those of store.h, and back.
 *
 * A handle of the one is a handle of the other. Values that go through in great
 * number (cells, buffers, columns) have the same layout in both, which is
 * asserted here, so that nothing is copied; the others are converted.
 */
#ifndef CELLFS_STORE_LIBRARY_CONVERT_H
#define CELLFS_STORE_LIBRARY_CONVERT_H

#include "include/cellfs.h"
#include "store/store.h"

#define SAME_FIELD(a, x, b, y)                                             \
	_Static_assert(offsetof(a, x) == offsetof(b, y) &&                 \
			       sizeof(((a *)0)->x) == sizeof(((b *)0)->y), \
		       "cellfs.h and store.h differ in " #x)
#define SAME_SIZE(a, b)                        \
	_Static_assert(sizeof(a) == sizeof(b), \
		       "cellfs.h and store.h differ in the size of " #a)

SAME_SIZE(struct cellfs_bytes, struct bytes);
SAME_FIELD(struct cellfs_bytes, data, struct bytes, data);
SAME_FIELD(struct cellfs_bytes, len, struct bytes, len);

SAME_SIZE(struct cellfs_buffer, struct buf);
SAME_FIELD(struct cellfs_buffer, data, struct buf, data);
SAME_FIELD(struct cellfs_buffer, len, struct buf, len);
SAME_FIELD(struct cellfs_buffer, capacity, struct buf, cap);

SAME_SIZE(struct cellfs_cell, struct cell);
SAME_FIELD(struct cellfs_cell, row, struct cell, row);
SAME_FIELD(struct cellfs_cell, family, struct cell, family);
SAME_FIELD(struct cellfs_cell, qualifier, struct cell, qualifier);
SAME_FIELD(struct cellfs_cell, ts_ms, struct cell, ts);
SAME_FIELD(struct cellfs_cell, sequence, struct cell, seq);
SAME_FIELD(struct cellfs_cell, ttl_ms, struct cell, ttl_ms);
SAME_FIELD(struct cellfs_cell, kind, struct cell, kind);
SAME_FIELD(struct cellfs_cell, value, struct cell, value);

SAME_SIZE(struct cellfs_column, struct column_name);
SAME_FIELD(struct cellfs_column, family, struct column_name, family);
SAME_FIELD(struct cellfs_column, qualifier, struct column_name, qualifier);
SAME_FIELD(struct cellfs_column, whole_family, struct column_name,
	   whole_family);

_Static_assert(CELLFS_NAME_SIZE == TABLE_NAME_LEN_MAX + 1, "table names");
_Static_assert(CELLFS_NAME_SIZE == SNAPSHOT_NAME_MAX + 1, "snapshot names");
_Static_assert(CELLFS_TS_MAX == TS_MAX, "timestamps");

static inline struct bytes bytes_in(struct cellfs_bytes b)
{
	return bytes_of(b.data, b.len);
}

static inline struct buf *buf_in(struct cellfs_buffer *b)
{
	return (struct buf *)b;
}

static inline struct store *store_in(struct cellfs *s)
{
	return (struct store *)s;
}

static inline struct table *table_in(struct cellfs_table *t)
{
	return (struct table *)t;
}

static inline const struct snapshot *
snapshot_in(const struct cellfs_snapshot *snap)
{
	return (const struct snapshot *)snap;
}

/* Gives an error of a function below store.h a sentence if it has none. */
static inline int with_reason(int r)
{
	if (r < 0 && !store_why()[0])
		why(r, "%s", strerror(-r));
	return r;
}

#endif
