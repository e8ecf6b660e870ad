/*
 * Lists of wide rows, taken from the index of a file.
 *
 * Where rows fill blocks the index has the key of each: that of a block is its
 * first row, and a block that continues a row tells the last row of the block
 * before. So from block i on, of which `rest` rows are left:
 *
 *	rest 1, i + 1 continues		 the same row, go on
 *	rest 1, i + 1 does not		 the next row is the key of i + 1
 *	rest 2, i + 1 continues		 the second one is the key of i + 1
 *	any other			 the index does not know
 *
 * No block is looked at but the last one, to which the strip is moved; nor is
 * an entry of the index, each a line of memory, where heads and briefs tell.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>
#include <limits.h>

#include "store/lsm/base/heads.h"
#include "store/lsm/table/sst_index.h"

/* A short prefix is copied as so many bytes: an entry lies behind it. */
#define PREFIX_SHORT 32
/* What may be written behind a key. */
#define KEY_SLACK 40

_Static_assert(PREFIX_SHORT + HEAD_LEN <= KEY_SLACK, "it has room");
_Static_assert(BLOCK_SLACK <= KEY_SLACK, "that, too");

/* To the next row; false if the index does not know it. */
static inline bool step(struct index_rows *k)
{
	const struct sst_index *x = k->index;
	uint32_t at = k->at, rest = k->rest;
	bool fresh = false;

	while (!fresh) {
		bool same;

		if (rest == 1)
			at = index_behind_inner(x, at + 1) - 1;
		if (at + 1 >= k->end)
			return false;
		same = index_continues(x, at + 1);
		if (rest != 1u + (rest == 2 && same))
			return false;
		fresh = rest == 2 || !same;
		rest = index_rows_few(x, ++at);
	}
	k->at = at;
	k->rest = rest;
	return true;
}

bool scan_keys_begin(struct lsm_scan *sc, const struct bytes *other)
{
	const struct strip *s = sc->one.strips.best;
	struct bytes stop = buf_bytes(&sc->row_stop);
	struct index_rows k, next;
	struct known all;

	if (!sst_cursor_keys(&s->in.file, s->row, &k))
		return false;
	all = (struct known){.puts = !k.info->markers && !k.info->has_ttl,
			     .seq_max = k.info->seq_max,
			     .ts_min = k.info->ts_min,
			     .ts_max = k.info->ts_max};
	if (!visible_all(&sc->one.visible, sc->seq, &all, true))
		return false;
	if (other)
		k.end = index_find(k.index, *other, false);
	if (stop.len) {
		uint32_t end = index_find(k.index, stop, sc->stop_inclusive);

		if (end < k.end)
			k.end = end;
	}
	next = k;
	if (k.end <= k.at || !step(&next))
		return false;
	sc->run.keys = k;
	return true;
}

/* The key of block @i at @to, which has room. */
static void put_key(const struct sst_index *x, uint32_t i, uint8_t *to)
{
	size_t prefix_len = x->prefix.len, len = index_suffix_brief(x, i);
	const struct index_entry *e;

	if (len <= HEAD_LEN && prefix_len <= PREFIX_SHORT) {
		uint64_t suffix = htobe64(x->heads[i]);

		memcpy(to, x->prefix.data, PREFIX_SHORT);
		memcpy(to + prefix_len, &suffix, HEAD_LEN);
		return;
	}
	e = &x->entries[i];
	if (prefix_len)
		memcpy(to, x->prefix.data, prefix_len);
	if (e->suffix_len)
		memcpy(to + prefix_len, e->suffix, e->suffix_len);
}

static size_t key_len(const struct sst_index *x, uint32_t i)
{
	size_t len = index_suffix_brief(x, i);

	return x->prefix.len +
	       (len <= HEAD_LEN ? len : x->entries[i].suffix_len);
}

/* Moves the strip to the block where the last key was found. */
static int end_keys(struct lsm_scan *sc)
{
	struct run *run = &sc->run;
	struct strip *s = sc->one.strips.best;
	int r;

	run->keys.rest = 0;
	r = sst_cursor_to_block(&s->in.file, run->keys.at);
	if (r == -EUCLEAN)
		return strip_lose(s);
	s->row = 0;
	s->end = 1;
	s->wide = true; /* or may be */
	sc->one.strips.walked = true;
	return r < 0 ? r : 0;
}

int scan_keys_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct run *run = &sc->run;
	struct index_rows k = run->keys;
	const struct sst_index *x = k.index;
	size_t done = 0, at = 0, len = 0;

	if (sc->limit_rows && n > sc->limit_rows - sc->rows)
		n = sc->limit_rows - sc->rows;
	if (n > INT_MAX)
		n = INT_MAX;
	while (done < n && step(&k)) {
		len = key_len(x, k.at);
		if (at + len + KEY_SLACK > sc->row.cap) {
			/* It is the first of the next call. */
			if (done)
				break;
			sc->row.len = 0;
			if (buf_reserve(&sc->row, SCAN_KEYS_BYTES + len) < 0)
				return why(-ENOMEM, "out of memory");
		}
		put_key(x, k.at, sc->row.data + at);
		scan_put_row(&out[done++], bytes_of(sc->row.data + at, len));
		run->keys.at = k.at;
		run->keys.rest = k.rest;
		run->key_at = at;
		sc->row.len = len;
		at += len;
	}
	sc->rows += done;
	return done ? (int)done : end_keys(sc);
}
