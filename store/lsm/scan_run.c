/*
 * Runs: rows that a scan takes from a block itself.
 *
 * What one block holds alone and every entry of which is visible needs neither
 * a merge nor a look at each entry: the run goes up to the end of the range or
 * the next row of another file. The reader stands on the run's first row
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
#include "store/lsm/scan.h"

#include <errno.h>
#include <limits.h>

#include "store/lsm/block.h"

#define KEYS_MAX 64
/* Keys are short: they are copied so many bytes at a time, and what is more. */
#define SHORT 16
/*
 * The processor fetches ahead by itself, but not from one page to the next:
 * values are asked for so many bytes before they are handed out.
 */
#define AHEAD 1024

_Static_assert(SHORT <= BLOCK_SLACK, "what is read behind a block is its own");

/* Room for the keys of a run, the present one of which is there. */
static int room_for_keys(struct lsm_scan *sc, const struct block *b)
{
	size_t stride = b->row_len_max + SHORT;
	size_t n = SCAN_KEYS_BYTES / stride;

	n = n < 2 ? 2 : n > KEYS_MAX ? KEYS_MAX : n;
	sc->row.len = 0;
	sc->run.stride = stride;
	sc->run.short_keys = b->prefix.len <= SHORT &&
			     b->row_len_max - b->prefix.len <= SHORT;
	return buf_reserve(&sc->row, n * stride);
}

int scan_run_take(struct lsm_scan *sc, const struct block_rows *rows)
{
	struct run *run = &sc->run;
	int r = room_for_keys(sc, rows->block);

	if (r < 0)
		return r;
	run->block = rows->block;
	run->part = false;
	run->mixed = false;
	run->row = rows->row - 1;
	run->end = rows->end;
	run->cell = block_row_cell(rows->block, rows->row);
	run->cell_end = run->cell;
	run->key_at = 0;
	if (sc->granularity >= SCAN_COLUMNS)
		scan_run_names(sc, rows->block,
			       block_row_cell(rows->block, rows->end) -
				       run->cell);
	return 0;
}

bool scan_run_begin(struct lsm_scan *sc, struct family_scan *f)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	struct block_rows rows;

	if (!sc->may_run || !reader_rows(&f->reader, &rows))
		return false;
	/* The present row is in bounds; is the last one? */
	if (stop.len && rows.end > rows.row + 1 &&
	    block_row_cmp(rows.block, rows.end - 1, stop) >= 0)
		rows.end = block_find_row(rows.block, stop, sc->stop_inclusive);
	if (scan_run_take(sc, &rows) < 0)
		return false;
	sc->run.row = rows.row;
	sc->run.cell_end = block_row_cell(rows.block, rows.row + 1);
	return true;
}

/*
 * The names of a block are kept as strings if there are few and the run has
 * @ncells enough of them.
 */
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

/* The same without a base, where the width is known as this is compiled. */
static inline uint64_t take_narrow(struct numbers *n, uint32_t width)
{
	uint64_t v = 0;

	if (!width)
		return take(n);
	memcpy(&v, n->at, width);
	n->at += width;
	return le64toh(v);
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

static inline struct bytes run_key(const struct lsm_scan *sc)
{
	return bytes_of(sc->row.data + sc->run.key_at, sc->row.len);
}

/* The key of the run's present row at @to, which has room. */
static inline size_t put_key(const struct run *run, uint8_t *to)
{
	struct bytes prefix = run->block->prefix;
	struct bytes suffix = block_suffix(run->block, run->row);

	if (run->short_keys) {
		memcpy(to, prefix.data, SHORT);
		memcpy(to + prefix.len, suffix.data, SHORT);
	} else {
		if (prefix.len)
			memcpy(to, prefix.data, prefix.len);
		if (suffix.len)
			memcpy(to + prefix.len, suffix.data, suffix.len);
	}
	return prefix.len + suffix.len;
}

/*
 * To the run's next row; false if there is none, or this call has no room for
 * its key. @first: it has given out nothing yet.
 */
static inline bool next_row(struct lsm_scan *sc, bool first)
{
	struct run *run = &sc->run;
	size_t at = first ? 0 : run->key_at + run->stride;

	if (run->row + 1 == run->end ||
	    (sc->limit_rows && sc->rows == sc->limit_rows) ||
	    at + run->stride > sc->row.cap)
		return false;
	run->row++;
	run->cell_end = block_row_cell(run->block, run->row + 1);
	run->key_at = at;
	sc->row.len = put_key(run, sc->row.data + at);
	sc->rows++;
	return true;
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
 * Cells as scan_fill() has them, up to @n: those of the present row, and if
 * @more of the run's following rows. Called with constants for what is mostly
 * so: a width of 0 is any.
 */
__attribute__((always_inline)) static inline size_t
put_cells(struct lsm_scan *sc, struct cell *out, size_t n, bool more,
	  const struct bytes *names, uint32_t id_width, uint32_t end_width)
{
	struct run *run = &sc->run;
	const struct block *b = run->block;
	struct numbers id = numbers_from(b, BLOCK_ID, run->cell);
	struct numbers ts = numbers_from(b, BLOCK_TS, run->cell);
	struct numbers seq = numbers_from(b, BLOCK_SEQ, run->cell);
	struct numbers end = numbers_from(b, BLOCK_VALUE_END, run->cell);
	const struct cell like = {.family = sc->families[0].name_bytes,
				  .kind = CELL_PUT};
	const uint8_t *values = b->values;
	const uint8_t *value = values + take_narrow(&end, end_width);
	struct cell *c = out, *stop;

	do {
		const struct bytes row = run_key(sc);
		size_t m = run->cell_end - run->cell;

		if (m > n)
			m = n;
		n -= m;
		run->cell += (uint32_t)m;
		for (stop = c + m; c < stop; c++) {
			uint32_t k = (uint32_t)take_narrow(&id, id_width);
			const uint8_t *next =
				values + take_narrow(&end, end_width);

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
	} while (more && n && next_row(sc, c == out));
	return (size_t)(c - out);
}

static size_t fill(struct lsm_scan *sc, struct cell *out, size_t n, bool more)
{
	const struct column *c = sc->run.block->column;
	size_t done;

	if (!sc->run.named)
		done = put_cells(sc, out, n, more, NULL, 0, 0);
	else if (c[BLOCK_ID].width == 1 && c[BLOCK_VALUE_END].width == 2)
		done = put_cells(sc, out, n, more, sc->names, 1, 2);
	else
		done = put_cells(sc, out, n, more, sc->names, 0, 0);
	for (size_t i = 0; sc->keys_only && i < done; i++)
		out[i].value.data = NULL;
	return done;
}

size_t scan_run_fill(struct lsm_scan *sc, struct cell *out, size_t n)
{
	return fill(sc, out, n, false);
}

/* Moves the reader to where the run has come. */
static int end_run(struct lsm_scan *sc)
{
	struct run *run = &sc->run;
	int r = 0;

	if (!sc->brief.on)
		r = merge_to_row(&sc->families[0].reader.merge, run->row);
	if (run->key_at)
		memmove(sc->row.data, sc->row.data + run->key_at, sc->row.len);
	run->key_at = 0;
	run->block = NULL;
	return r < 0 ? r : 0;
}

int scan_run_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	size_t done = 0;

	if (n > INT_MAX)
		n = INT_MAX;
	if (sc->run.part)
		return scan_part_next(sc, out, n);
	if (sc->run.mixed)
		return scan_mixed_next(sc, out, n);
	if (sc->granularity >= SCAN_COLUMNS)
		done = fill(sc, out, n, true);
	else
		while (done < n && next_row(sc, done == 0))
			scan_put_row(&out[done++], run_key(sc));
	return done ? (int)done : end_run(sc);
}
