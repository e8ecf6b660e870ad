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
	return buf_reserve(&sc->row, n * stride);
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
	if (room_for_keys(sc, rows.block) < 0)
		return false;
	sc->run.block = rows.block;
	sc->run.part = false;
	sc->run.row = rows.row;
	sc->run.end = rows.end;
	sc->run.cell = block_row_cell(rows.block, rows.row);
	sc->run.cell_end = block_row_cell(rows.block, rows.row + 1);
	sc->run.key_at = 0;
	return true;
}

static inline struct bytes run_key(const struct lsm_scan *sc)
{
	return bytes_of(sc->row.data + sc->run.key_at, sc->row.len);
}

/* Cells of the present row, as scan_fill() has them. */
size_t scan_run_fill(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct run *run = &sc->run;
	const struct block *b = run->block;
	const struct column *c = b->column;
	const struct bytes row = run_key(sc);
	const struct bytes family = sc->families[0].name_bytes;
	uint64_t from = column_get(&c[BLOCK_VALUE_END], run->cell);
	uint64_t to;

	if (n > run->cell_end - run->cell)
		n = run->cell_end - run->cell;
	for (size_t i = 0; i < n; i++, from = to) {
		uint32_t cell = run->cell + (uint32_t)i;

		to = column_get(&c[BLOCK_VALUE_END], cell + 1);
		__builtin_prefetch(b->values + from + AHEAD);
		__builtin_prefetch(b->values + from + AHEAD + 64);
		out[i].row = row;
		out[i].family = family;
		out[i].qualifier =
			block_qualifier(b, column_get(&c[BLOCK_ID], cell));
		out[i].ts = (int64_t)column_get(&c[BLOCK_TS], cell);
		out[i].seq = column_get(&c[BLOCK_SEQ], cell);
		out[i].ttl_ms = 0;
		out[i].kind = CELL_PUT;
		out[i].value = bytes_of(sc->keys_only ? NULL : b->values + from,
					to - from);
	}
	run->cell += (uint32_t)n;
	return n;
}

/* The key of the run's present row at @to, which has room. */
static size_t put_key(const struct run *run, uint8_t *to)
{
	struct bytes prefix = run->block->prefix;
	struct bytes suffix = block_suffix(run->block, run->row);

	if (prefix.len <= SHORT && suffix.len <= SHORT) {
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

/* To the run's next row; false if this call has no room for its key. */
static bool next_row(struct lsm_scan *sc, bool first)
{
	struct run *run = &sc->run;
	size_t at = first ? 0 : run->key_at + run->stride;

	if (at + run->stride > sc->row.cap)
		return false;
	run->row++;
	run->cell = run->cell_end;
	run->cell_end = block_row_cell(run->block, run->row + 1);
	run->key_at = at;
	sc->row.len = put_key(run, sc->row.data + at);
	sc->rows++;
	return true;
}

/* Moves the reader to where the run has come. */
static int end_run(struct lsm_scan *sc)
{
	struct run *run = &sc->run;
	int r = merge_to_row(&sc->families[0].reader.merge, run->row);

	if (run->key_at)
		memmove(sc->row.data, sc->row.data + run->key_at, sc->row.len);
	run->block = NULL;
	return r < 0 ? r : 0;
}

int scan_run_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct run *run = &sc->run;
	bool cells = sc->granularity >= SCAN_COLUMNS;
	size_t done = 0;

	if (n > INT_MAX)
		n = INT_MAX;
	if (run->part)
		return scan_part_next(sc, out, n);
	while (done < n) {
		if (cells && run->cell < run->cell_end) {
			done += scan_run_fill(sc, out + done, n - done);
			continue;
		}
		if (run->row + 1 == run->end ||
		    (sc->limit_rows && sc->rows == sc->limit_rows) ||
		    !next_row(sc, done == 0))
			break;
		if (!cells)
			out[done++] = (struct cell){.row = run_key(sc)};
	}
	return done ? (int)done : end_run(sc);
}
