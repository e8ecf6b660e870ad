/*
 * Shared by the peers that are ordered maps: how rows are found by keys, and a
 * cell's name as one key:
 *
 *	row NUL qualifier NUL inverted timestamp, big-endian
 *
 * which sorts as cells do, since the bench's names hold no NUL. There is only
 * one family, so it is left out. A row's cells begin with row NUL, a column's
 * versions with row NUL qualifier NUL; the key that follows all of a row is row
 * 0x01.
 */
#ifndef CELLFS_TOOLS_BENCH_PEER_KEY_H
#define CELLFS_TOOLS_BENCH_PEER_KEY_H

#include "tools/bench/engine.h"

struct peer_key {
	size_t len;
	char data[2 * NAME_MAX_LEN + 10];
};

static inline void peer_key_row(struct peer_key *k, const char *row, size_t len,
				char end)
{
	memcpy(k->data, row, len);
	k->data[len] = end;
	k->len = len + 1;
}

static inline void peer_key_column(struct peer_key *k, const struct item *it)
{
	peer_key_row(k, it->row, it->row_len, '\0');
	memcpy(k->data + k->len, it->qualifier, it->qualifier_len);
	k->len += it->qualifier_len;
	k->data[k->len++] = '\0';
}

static inline void peer_key_cell(struct peer_key *k, const struct item *it)
{
	uint64_t ts = __builtin_bswap64(~(uint64_t)it->ts);

	peer_key_column(k, it);
	memcpy(k->data + k->len, &ts, 8);
	k->len += 8;
}

/* The first key of a span, and the prefix of all its keys. */
static inline void peer_key_span(struct peer_key *k, const struct item *from,
				 bool one_column)
{
	k->len = 0;
	if (from && one_column)
		peer_key_column(k, from);
	else if (from)
		peer_key_row(k, from->row, from->row_len, '\0');
}

static inline bool peer_key_has(const void *key, size_t len,
				const struct peer_key *prefix)
{
	return len >= prefix->len && !memcmp(key, prefix->data, prefix->len);
}

/*
 * Counting rows by their keys: stepping over a short row is cheaper than a
 * seek, so up to so many steps are tried first.
 */
enum {
	PEER_STEPS_MAX = 8
};

struct peer_rows {
	uint64_t max; /* 0 = all */
	uint64_t *count;
	struct peer_key row; /* the present row */
	bool inside;	     /* a row was seen */
	unsigned steps;	     /* in the present row */
};

enum peer_step {
	PEER_END,  /* enough rows */
	PEER_NEXT, /* go to the next key */
	PEER_SEEK, /* seek the first key >= @row */
};

/* Looks at the next key and counts its row if it is new; how to go on. */
static inline enum peer_step peer_rows_see(struct peer_rows *w, const char *key,
					   size_t len)
{
	if (!w->inside || !peer_key_has(key, len, &w->row)) {
		if (w->max && *w->count == w->max)
			return PEER_END;
		++*w->count;
		w->steps = 0;
		w->inside = true;
		peer_key_row(&w->row, key, strnlen(key, len), '\0');
	}
	if (w->steps++ < PEER_STEPS_MAX)
		return PEER_NEXT;
	w->row.data[w->row.len - 1] = 1;
	w->inside = false;
	return PEER_SEEK;
}

#endif
