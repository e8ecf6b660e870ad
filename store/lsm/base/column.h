/*
 * The column in which a walk over a row stands: a copy of its qualifier.
 *
 * A cursor's entry is valid until its next step, so a reader that checks
 * whether an entry still belongs to the column keeps a copy of the qualifier.
 * The check is made for each entry of a scan and qualifiers are short: a call
 * of memcmp would cost more than the comparison.
 */
#ifndef CELLFS_STORE_LSM_BASE_COLUMN_H
#define CELLFS_STORE_LSM_BASE_COLUMN_H

#include "store/value/bytes.h"

static inline bool column_is(const struct buf *column, struct bytes qualifier)
{
	return bytes_eq(buf_bytes(column), qualifier);
}

/* 0 or -ENOMEM. */
static inline int column_set(struct buf *column, struct bytes qualifier)
{
	if (qualifier.len > column->cap || qualifier.len > 16)
		return buf_set(column, qualifier);
	for (size_t i = 0; i < qualifier.len; i++)
		column->data[i] = qualifier.data[i];
	column->len = qualifier.len;
	return 0;
}

#endif
