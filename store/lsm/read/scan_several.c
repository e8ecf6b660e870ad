/*
 * Rows that several strips of a short scan have among them.
 *
 * The least key is the next row; the cells of all that have it come by
 * qualifier and timestamp, a newer source first. Keys that one call hands out
 * lie STRIP_STRIDE apart, as those of a run. No strip goes to another block
 * while cells of its block are the caller's.
 */
#include "store/lsm/read/scan_short.h"

#include <errno.h>
#include <limits.h>

#include "store/lsm/base/heads.h"

/* Values are asked for so many bytes before they are handed out. */
#define AHEAD 512

static struct bytes strip_key(const struct strip *s)
{
	return bytes_of(s->key, s->key_len);
}

static void make_key(struct strip *s)
{
	struct bytes prefix = s->in.block->prefix;
	struct bytes suffix = block_suffix(s->in.block, s->row);

	if (prefix.len)
		memcpy(s->key, prefix.data, prefix.len);
	if (suffix.len)
		memcpy(s->key + prefix.len, suffix.data, suffix.len);
	s->key_len = prefix.len + suffix.len;
}

/* Behind the row; into another block only later, see settle(). */
static void leave_row(struct strip *s)
{
	s->in_row = false;
	if (++s->row < s->end)
		make_key(s);
}

/* Moves strips to their next blocks. Nothing of theirs is borrowed any more. */
static int settle(struct lsm_scan *sc)
{
	for (uint32_t i = 0; i < sc->brief.n; i++) {
		struct strip *s = &scan_strips(sc)[i];
		int r;

		if (s->over || s->row < s->end)
			continue;
		r = scan_strip_ahead(sc, s);
		if (r < 0)
			return r;
		if (r > 0)
			make_key(s);
		else
			s->over = true;
	}
	return 0;
}

static bool must_settle(struct lsm_scan *sc)
{
	for (uint32_t i = 0; i < sc->brief.n; i++)
		if (!scan_strips(sc)[i].over &&
		    scan_strips(sc)[i].row == scan_strips(sc)[i].end)
			return true;
	return false;
}

static void look_at_cell(struct strip *s)
{
	const struct block *b = s->in.block;

	s->qualifier = block_qualifier(b, block_number(b, BLOCK_ID, s->cell));
	s->head = head_of(s->qualifier);
	s->ts = (int64_t)block_number(b, BLOCK_TS, s->cell);
	s->seq = block_number(b, BLOCK_SEQ, s->cell);
}

/* Enters the least row, in all that have it; NULL if nothing is left. */
static const struct strip *enter_row(struct lsm_scan *sc)
{
	struct strip *best = NULL;
	uint32_t first = 0;

	for (uint32_t i = 0; i < sc->brief.n; i++) {
		struct strip *s = &scan_strips(sc)[i];
		int c = -1;

		if (s->over)
			continue;
		if (best)
			c = bytes_cmp(strip_key(s), strip_key(best));
		s->in_row = c <= 0;
		if (c < 0) {
			/* Those chosen until now wait after all. */
			for (; first < i; first++)
				scan_strips(sc)[first].in_row = false;
			best = s;
		}
	}
	return best;
}

static void enter_cells(struct lsm_scan *sc)
{
	for (uint32_t i = 0; i < sc->brief.n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		if (!s->in_row)
			continue;
		s->cell = block_row_cell(s->in.block, s->row);
		s->cell_end = block_row_cell(s->in.block, s->row + 1);
		look_at_cell(s);
	}
	sc->brief.in_row = true;
	sc->brief.in_column = false;
}

static int compare_columns(const struct strip *a, const struct strip *b)
{
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	return head_tie(a->qualifier, b->qualifier);
}

/* Does the cell of @a come before that of @b, which is of a newer source? */
static bool comes_before(const struct strip *a, const struct strip *b)
{
	int c = compare_columns(a, b);

	if (c == 0 && a->ts != b->ts)
		return a->ts > b->ts;
	return c < 0 || (c == 0 && a->seq > b->seq);
}

static struct strip *least_cell(struct lsm_scan *sc)
{
	struct strip *best = NULL;

	for (uint32_t i = 0; i < sc->brief.n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		if (s->in_row && (!best || comes_before(s, best)))
			best = s;
	}
	return best;
}

/* Is the cell hidden by the one before it? */
static bool is_hidden(struct brief *br, const struct strip *s)
{
	bool alike = br->in_column && bytes_eq(br->qualifier, s->qualifier);

	if (alike && (!br->all || br->ts == s->ts))
		return true;
	br->in_column = true;
	br->qualifier = s->qualifier;
	br->ts = s->ts;
	return false;
}

static void put_cell(const struct lsm_scan *sc, const struct strip *s,
		     struct cell *out)
{
	const struct block *b = s->in.block;
	uint64_t len, at = block_value_at(b, s->cell, &len);

	__builtin_prefetch(b->values + at + AHEAD);
	*out = (struct cell){
		.row = bytes_of(sc->row.data + sc->run.key_at, sc->row.len),
		.family = sc->one.name_bytes,
		.qualifier = s->qualifier,
		.ts = s->ts,
		.seq = s->seq,
		.ttl_ms = 0,
		.kind = CELL_PUT,
		.value = bytes_of(sc->keys_only ? NULL : b->values + at, len),
	};
}

/* Cells of the present row, up to @n. */
static size_t put_cells(struct lsm_scan *sc, struct cell *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		struct strip *s = least_cell(sc);

		if (!s) {
			sc->brief.in_row = false;
			break;
		}
		if (!is_hidden(&sc->brief, s))
			put_cell(sc, s, &out[done++]);
		if (++s->cell < s->cell_end)
			look_at_cell(s);
		else
			leave_row(s);
	}
	return done;
}

/* The key of the present row, which @best has, at @at of sc->row. */
static void keep_key(struct lsm_scan *sc, const struct strip *best, size_t at)
{
	memcpy(sc->row.data + at, best->key, sizeof(best->key));
	sc->run.key_at = at;
	sc->row.len = best->key_len;
	sc->rows++;
}

static bool is_past_stop(const struct lsm_scan *sc, const struct strip *s)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	int c;

	if (sc->brief.one_row || !stop.len)
		return false;
	c = bytes_cmp(strip_key(s), stop);
	return c > 0 || (c == 0 && !sc->stop_inclusive);
}

/* To the next row, whose key comes to @at of sc->row: 1, 0. */
static int next_row(struct lsm_scan *sc, size_t at)
{
	const struct strip *best;

	if (sc->brief.ended || scan_at_limit(sc))
		return 0;
	best = enter_row(sc);
	if (!best || is_past_stop(sc, best)) {
		sc->brief.ended = true;
		return 0;
	}
	keep_key(sc, best, at);
	if (sc->brief.one_row)
		sc->brief.ended = true;
	return 1;
}

int scan_several_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	size_t done = 0, at;
	int r;

	if (n > INT_MAX)
		n = INT_MAX;
	if (sc->brief.in_row)
		done = put_cells(sc, out, n);
	at = done ? sc->run.key_at + STRIP_STRIDE : 0;
	for (; done < n && at + STRIP_STRIDE <= SCAN_KEYS_BYTES;
	     at += STRIP_STRIDE) {
		if (!sc->brief.ended && must_settle(sc)) {
			if (done)
				break;
			r = settle(sc);
			if (r < 0)
				return r;
		}
		if (!next_row(sc, at))
			break;
		if (sc->granularity == SCAN_ROWS) {
			out[done++] =
				(struct cell){.row = bytes_of(sc->row.data + at,
							      sc->row.len)};
			for (uint32_t i = 0; i < sc->brief.n; i++)
				if (scan_strips(sc)[i].in_row)
					leave_row(&scan_strips(sc)[i]);
			continue;
		}
		enter_cells(sc);
		done += put_cells(sc, out + done, n - done);
	}
	return (int)done;
}

int scan_several_begin(struct lsm_scan *sc)
{
	if (sc->row.cap < SCAN_KEYS_BYTES) {
		sc->row.len = 0;
		if (buf_reserve(&sc->row, SCAN_KEYS_BYTES) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < sc->brief.n; i++)
		if (!scan_strips(sc)[i].over)
			make_key(&scan_strips(sc)[i]);
	return 1;
}
