/*
 * The present column of a walk over a row: its qualifier, kept.
 *
 * What a cursor shows lasts until its next step, so whoever asks whether an
 * entry still belongs to the column keeps a copy. The question is asked for
 * each entry of a scan and qualifiers are short: a call of memcmp costs more
 * than the comparison.
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
