/*
 * The present column of a walk over a row: its qualifier, kept.
 *
 * What a cursor shows lasts until its next step, so whoever asks whether an
 * entry still belongs to the column keeps a copy. The question is asked for
 * each entry of a scan and qualifiers are short: a call of memcmp costs more
 * than the comparison.
 */
#ifndef CELLFS_STORE_LSM_COLUMN_H
#define CELLFS_STORE_LSM_COLUMN_H

#include "store/bytes.h"

static inline uint64_t column_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t column_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline bool column_is(const struct buf *column, struct bytes qualifier)
{
	const uint8_t *a = column->data, *b = qualifier.data;
	size_t n = qualifier.len;

	if (column->len != n)
		return false;
	if (n > 16)
		return memcmp(a, b, n) == 0;
	/* Two loads that may overlap cover every length between. */
	if (n >= 8)
		return column_load64(a) == column_load64(b) &&
		       column_load64(a + n - 8) == column_load64(b + n - 8);
	if (n >= 4)
		return column_load32(a) == column_load32(b) &&
		       column_load32(a + n - 4) == column_load32(b + n - 4);
	while (n-- > 0)
		if (a[n] != b[n])
			return false;
	return true;
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
