/*
 * Runs: rows that a scan takes from a block itself.
 *
 * What one block holds alone and every entry of which is visible needs neither
 * a merge nor a look at each entry: the run goes up to the end of the range or
 * the next row of another strip. The strip stands on the run's first row
 * meanwhile and is moved to its last one in the end.
 *
 * One call hands out many cells. The keys of their rows lie side by side until
 * the next call:
 *
 *	row	| a1 ...	| a2 ...	| a3 ...	|
 *		  0		  stride	  key_at
 *
 * The first key of a call is made at 0 unless cells of the row before have
 * been handed out by the same call.
 */
#include "store/lsm/read/scan.h"

#include <limits.h>

#include "store/lsm/block/block.h"

#define KEYS_MAX 64
/* Keys are short: they are copied so many bytes at a time, and what is more. */
#define SHORT 16
/*
 * The processor fetches ahead by itself, but not from one page to the next:
 * values are asked for so many bytes before they are handed out.
 */
#define AHEAD 1024
/* And of the next block so many lines a call. */
#define BEHIND 8

_Static_assert(SHORT <= BLOCK_SLACK, "what is read behind a block is its own");

/* Room for the keys of a run, the present one of which is there. */
static int room_for_keys(struct lsm_scan *sc, const struct block *b)
{
	size_t stride = b->row_len_max + SHORT;
	size_t n = KEYS_MAX;

	/* A division takes as long as some rows of a list. */
	if (stride > SCAN_KEYS_BYTES / KEYS_MAX)
		n = SCAN_KEYS_BYTES / stride;
	if (n < 2)
		n = 2;
	sc->row.len = 0;
	sc->run.stride = stride;
	sc->run.short_keys = b->prefix.len <= SHORT &&
			     b->row_len_max - b->prefix.len <= SHORT;
	return buf_reserve(&sc->row, n * stride);
}

int scan_run_take(struct lsm_scan *sc, const struct family_scan *f,
		  const struct block_rows *rows)
{
	struct run *run = &sc->run;
	int r = room_for_keys(sc, rows->block);

	if (r < 0)
		return r;
	run->block = rows->block;
	run->family = f->name;
	run->row = rows->row - 1;
	run->end = rows->end;
	run->cell = block_row_cell(rows->block, rows->row);
	run->cell_end = run->cell;
	run->key_at = 0;
	run->behind = run->behind_end = NULL;
	if (sc->granularity >= SCAN_COLUMNS)
		scan_run_names(sc, rows->block,
			       block_row_cell(rows->block, rows->end) -
				       run->cell);
	return 0;
}

void scan_run_fetch(struct lsm_scan *sc, const void *behind)
{
	sc->run.behind = behind;
	if (behind)
		sc->run.behind_end = sc->run.behind + BLOCK_AHEAD * 64 + AHEAD;
}

void scan_run_names(struct lsm_scan *sc, const struct block *b, uint32_t ncells)
{
	sc->run.named = b->nqual <= RUN_NAMES && ncells / 4 >= b->nqual;
	for (uint32_t i = 0; sc->run.named && i < b->nqual; i++)
		sc->names[i] = block_qualifier(b, i);
}

/* Numbers of a column, from an entry on. */
struct numbers {
	const uint8_t *at;
	uint64_t base, mask;
	size_t width;
};

static inline uint64_t take(struct numbers *n)
{
	uint64_t v;

	memcpy(&v, n->at, sizeof(v));
	n->at += n->width;
	return (le64toh(v) & n->mask) + n->base;
}

static inline struct numbers numbers_from(const struct block *b,
					  enum block_column c, uint32_t from)
{
	const struct column *k = &b->column[c];
	bool based = c >= BLOCK_TS && c <= BLOCK_KIND;

	return (struct numbers){
		.at = (const uint8_t *)b + k->at + (size_t)from * k->width,
		.base = based ? b->base[c - BLOCK_TS] : 0,
		.mask = block_mask[k->width],
		.width = k->width,
	};
}

/*
 * The run's rows behind the present one, while a call enters them: what it asks
 * for again and again, where no write to a cell or a key can change it.
 */
struct walk {
	uint32_t left;	     /* so many may be entered */
	uint8_t *key, *last; /* where the next one's key goes, could at most */
	const uint8_t *suffix, *suffixes; /* the next one's, the first of all */
	struct numbers suffix_end, cell_end;
	uint8_t head[SHORT]; /* of the prefix, if keys are short */
};

/* @kept: cells of the present row are handed out, so its key stays. */
__attribute__((always_inline)) static inline struct walk
walk_from(const struct lsm_scan *sc, bool kept)
{
	const struct run *run = &sc->run;
	const struct block *b = run->block;
	const uint32_t next = run->row + 1;
	struct walk w = {
		.left = run->end - next,
		.key = sc->row.data + (kept ? run->key_at + run->stride : 0),
		.last = sc->row.data + sc->row.cap - run->stride,
		.suffix = b->suffixes + block_number(b, BLOCK_ROW_END, next),
		.suffixes = b->suffixes,
		.suffix_end = numbers_from(b, BLOCK_ROW_END, next + 1),
		.cell_end = numbers_from(b, BLOCK_ROW_CELL, next + 1),
	};

	if (sc->limit_rows && w.left > sc->limit_rows - sc->rows)
		w.left = (uint32_t)(sc->limit_rows - sc->rows);
	if (run->short_keys)
		memcpy(w.head, b->prefix.data, SHORT);
	return w;
}

/* May the next row be entered, and is there room for its key? */
static inline bool walk_goes_on(const struct walk *w)
{
	return w->left && w->key <= w->last;
}

/* Enters it. @prefix, @stride, @short_keys: of the run. */
__attribute__((always_inline)) static inline struct bytes
walk_row(struct walk *w, struct bytes prefix, size_t stride, bool short_keys)
{
	const uint8_t *suffix = w->suffix;
	uint8_t *to = w->key;
	size_t len;

	w->suffix = w->suffixes + take(&w->suffix_end);
	len = (size_t)(w->suffix - suffix);
	if (short_keys) {
		memcpy(to, w->head, SHORT);
		memcpy(to + prefix.len, suffix, SHORT);
	} else {
		if (prefix.len)
			memcpy(to, prefix.data, prefix.len);
		if (len)
			memcpy(to + prefix.len, suffix, len);
	}
	w->key += stride;
	w->left--;
	return bytes_of(to, prefix.len + len);
}

/* So many rows were entered; the key of the last one. */
static inline void walked(struct lsm_scan *sc, uint32_t n, struct bytes row)
{
	sc->run.row += n;
	sc->rows += n;
	sc->run.key_at = (size_t)(row.data - sc->row.data);
	sc->row.len = row.len;
}

/* What all cells have in common, at both sides of what they have not. */
static inline void put_alike(struct cell *c, const struct cell *like)
{
	const size_t from = offsetof(struct cell, ttl_ms);
	const size_t to = offsetof(struct cell, value);

	memcpy(&c->family, &like->family, sizeof(c->family));
	memcpy((char *)c + from, (const char *)like + from, to - from);
}

/*
 * How the block that comes next begins, some lines a call: all at once would
 * hold up what is asked for meanwhile.
 */
static inline void fetch_behind(struct run *run)
{
	const uint8_t *at = run->behind, *end = run->behind_end;

	for (int i = 0; i < BEHIND && at < end; i++, at += 64)
		__builtin_prefetch(at);
	run->behind = at;
}

/*
 * Cells as scan_fill() has them, up to @n: those of the present row, and if
 * @more of the run's following rows. Called with constants.
 */
__attribute__((always_inline)) static inline size_t
put_cells(struct lsm_scan *sc, struct cell *c, size_t n, bool more,
	  const struct bytes *names)
{
	struct run *run = &sc->run;
	const struct block *b = run->block;
	struct numbers id = numbers_from(b, BLOCK_ID, run->cell);
	struct numbers ts = numbers_from(b, BLOCK_TS, run->cell);
	struct numbers seq = numbers_from(b, BLOCK_SEQ, run->cell);
	struct numbers end = numbers_from(b, BLOCK_VALUE_END, run->cell);
	const struct cell like = {.family = run->family, .kind = CELL_PUT};
	const struct bytes prefix = b->prefix;
	const size_t stride = run->stride;
	const bool short_keys = run->short_keys;
	const uint8_t *values = b->values;
	const uint8_t *value = values + take(&end);
	struct bytes row = scan_key(sc);
	uint32_t cell_end = run->cell_end, rows = 0;
	size_t m = cell_end - run->cell, rest = n;
	struct walk w;

	if (more)
		w = walk_from(sc, m > 0);
	for (;;) {
		if (m > rest)
			m = rest;
		rest -= m;
		for (const struct cell *stop = c + m; c < stop; c++) {
			uint32_t k = (uint32_t)take(&id);
			const uint8_t *next = values + take(&end);

			__builtin_prefetch(value + AHEAD);
			__builtin_prefetch(value + AHEAD + 64);
			put_alike(c, &like);
			c->row = row;
			c->qualifier = names ? names[k] : block_qualifier(b, k);
			c->ts = (int64_t)take(&ts);
			c->seq = take(&seq);
			c->value = bytes_of(value, (size_t)(next - value));
			value = next;
		}
		if (!more || !rest || !walk_goes_on(&w))
			break;
		row = walk_row(&w, prefix, stride, short_keys);
		rows++;
		m = cell_end;
		cell_end = (uint32_t)take(&w.cell_end);
		m = cell_end - m;
	}
	run->cell += (uint32_t)(n - rest);
	run->cell_end = cell_end;
	if (more)
		walked(sc, rows, row);
	return n - rest;
}

static size_t fill(struct lsm_scan *sc, struct cell *out, size_t n, bool more)
{
	const bool named = sc->run.named;
	size_t done;

	if (!more)
		done = put_cells(sc, out, n, false, named ? sc->names : NULL);
	else if (named)
		done = put_cells(sc, out, n, true, sc->names);
	else
		done = put_cells(sc, out, n, true, NULL);
	for (size_t i = 0; sc->keys_only && i < done; i++)
		out[i].value.data = NULL;
	return done;
}

void scan_run_part(struct lsm_scan *sc, const struct family_scan *f,
		   const struct block *b, uint32_t cell, struct cell *out,
		   size_t n)
{
	struct run *run = &sc->run;

	run->block = b;
	run->family = f->name;
	run->cell = cell;
	run->cell_end = cell + (uint32_t)n;
	fill(sc, out, n, false);
	run->block = NULL;
}

/* Rows of a list, up to @n. */
static size_t list_rows(struct lsm_scan *sc, struct cell *out, size_t n)
{
	const struct bytes prefix = sc->run.block->prefix;
	const size_t stride = sc->run.stride;
	const bool short_keys = sc->run.short_keys;
	struct walk w = walk_from(sc, false);
	struct bytes row = {0};
	size_t done = 0;

	while (done < n && walk_goes_on(&w)) {
		row = walk_row(&w, prefix, stride, short_keys);
		scan_put_row(&out[done++], row);
	}
	if (done)
		walked(sc, (uint32_t)done, row);
	return done;
}

int scan_run_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	size_t done = 0;

	if (n > INT_MAX)
		n = INT_MAX;
	if (sc->run.row + 1 != sc->run.end ||
	    sc->run.cell != sc->run.cell_end) {
		fetch_behind(&sc->run);
		if (sc->granularity >= SCAN_COLUMNS)
			done = fill(sc, out, n, true);
		else
			done = list_rows(sc, out, n);
	}
	if (!done)
		sc->run.block = NULL;
	return (int)done;
}
