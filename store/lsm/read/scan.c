/*
 * Scans of a table: its families read side by side, row by row.
 *
 * Each family has a reader that stands on its next row with something to show.
 * The scan's row is the least (reversed: the greatest) of them; families that
 * stand on it give their entries in family order, then step on. A listing of
 * rows takes only the first visible entry of a row and never walks the rest.
 *
 * What one block holds alone and every entry of which is visible is taken from
 * the block itself, as a run: scan_run.c. Forward scans of one family have
 * strips instead of a reader with cursors of its own: strips.h.
 *
 * The bound of the range is tested on every row before its cells are looked
 * at: a reader of one row does not walk the deleted rows behind it.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>

#include "store/lsm/read/read.h"

static bool in_bounds(const struct lsm_scan *sc, struct bytes row)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	int c;

	if (!stop.len)
		return true;
	c = bytes_cmp(row, stop);
	if (sc->reversed)
		c = -c;
	return c < 0 || (c == 0 && sc->stop_inclusive);
}

static int first_row(struct lsm_scan *sc, struct cursor *c)
{
	struct bytes start = buf_bytes(&sc->row_start);
	int r;

	if (sc->one_row)
		return cursor_seek_exact(c, start);
	if (sc->reversed)
		return cursor_seek_back(c, start, !sc->start_exclusive);
	r = cursor_seek_row(c, start);
	if (r > 0 && sc->start_exclusive && start.len &&
	    bytes_eq(c->row, start))
		r = cursor_next_row(c);
	return r;
}

static int step_row(struct lsm_scan *sc, struct family_scan *f)
{
	struct cursor *c = reader_cursor(&f->reader);
	int r;

	if (sc->one_row && !f->fresh)
		return 0;
	if (f->fresh)
		r = first_row(sc, c);
	else
		r = sc->reversed ? cursor_prev_row(c) : cursor_next_row(c);
	f->fresh = false;
	if (r <= 0 || sc->reversed)
		return r;
	return reader_pass_dead(&f->reader, buf_bytes(&sc->row_stop));
}

/*
 * As of a moment: a row or family is there if any column is of which that can
 * be told. The reader stands on a visible entry.
 */
static int find_certain(struct lsm_scan *sc, struct family_scan *f)
{
	int r = 1;

	f->lost = false;
	if (sc->run.block)
		return 1;
	while (r > 0 && reader_lost(&f->reader)) {
		f->lost = true;
		if (sc->granularity >= SCAN_COLUMNS)
			return 1;
		r = reader_next_column(&f->reader);
	}
	if (r > 0)
		f->lost = false;
	return r < 0 ? r : 1;
}

/* Is nothing of the present row certain? */
static bool row_lost(struct lsm_scan *sc)
{
	for (uint32_t i = 0; sc->as_of && i < sc->nfamilies; i++)
		if (scan_on_row(sc, &sc->families[i]) && !sc->families[i].lost)
			return false;
	return sc->as_of;
}

/* To the family's next row that has something to show. */
static int advance(struct lsm_scan *sc, struct family_scan *f)
{
	bool known;
	int r;

	f->at_row = false;
	for (;;) {
		r = f->ended ? 0 : step_row(sc, f);
		if (r <= 0 || !in_bounds(sc, reader_cursor(&f->reader)->row)) {
			f->ended = true;
			return r < 0 ? r : 0;
		}
		known = true;
		if (scan_run_begin(sc, f))
			r = 1;
		else
			r = scan_part_begin(sc, f, &known);
		if (!known)
			r = reader_row(&f->reader);
		if (r > 0 && sc->as_of)
			r = find_certain(sc, f);
		if (r < 0)
			return r;
		if (r > 0) {
			f->at_row = true;
			return 1;
		}
	}
}

/* The least row that a family stands on (reversed: the greatest). */
static struct family_scan *best_row(struct lsm_scan *sc)
{
	struct family_scan *best = NULL;

	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		struct family_scan *f = &sc->families[i];
		int c;

		if (!f->at_row)
			continue;
		if (!best) {
			best = f;
			continue;
		}
		c = bytes_cmp(reader_cursor(&f->reader)->row,
			      reader_cursor(&best->reader)->row);
		if (sc->reversed ? c > 0 : c < 0)
			best = f;
	}
	return best;
}

bool scan_on_row(const struct lsm_scan *sc, struct family_scan *f)
{
	return f->at_row &&
	       bytes_eq(reader_cursor(&f->reader)->row, buf_bytes(&sc->row));
}

/* Leaves the present row, goes to the next one that shows something. */
int scan_next_row(struct lsm_scan *sc)
{
	struct family_scan *best;

	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		struct family_scan *f = &sc->families[i];
		int r;

		if (!f->fresh && (!sc->in_row || !scan_on_row(sc, f)))
			continue;
		r = advance(sc, f);
		if (r < 0)
			return r;
	}
	sc->in_row = false;
	if (sc->limit_rows && sc->rows == sc->limit_rows)
		return 0;
	best = best_row(sc);
	if (!best)
		return 0;
	if (buf_set(&sc->row, reader_cursor(&best->reader)->row) < 0)
		return why(-ENOMEM, "out of memory");
	sc->in_row = true;
	sc->rows++;
	sc->current = sc->nfamilies; /* before the first */
	return 1;
}

void scan_fill(struct lsm_scan *sc, const struct family_scan *f,
	       struct cell *out)
{
	const struct entry *e = reader_entry(&f->reader);

	*out = (struct cell){
		.row = buf_bytes(&sc->row),
		.family = f->name_bytes,
	};
	if (sc->granularity == SCAN_FAMILIES) {
		out->kind = f->lost ? CELL_LOST : 0;
		return;
	}
	out->qualifier = e->qualifier;
	out->ts = e->ts;
	out->seq = e->seq;
	out->ttl_ms = e->ttl_ms;
	out->kind = e->kind;
	out->value = e->value;
	/* A filter may ask for the value. */
	if (sc->keys_only && !sc->picking)
		out->value.data = NULL;
	if (reader_lost(&f->reader)) {
		out->kind = CELL_LOST;
		out->value = (struct bytes){0};
	}
}

/* The next family that stands on the row, from @from on. */
static int next_family(struct lsm_scan *sc, uint32_t from, struct cell *out)
{
	for (uint32_t i = from; i < sc->nfamilies; i++) {
		if (!scan_on_row(sc, &sc->families[i]))
			continue;
		sc->current = i;
		scan_fill(sc, &sc->families[i], out);
		return 1;
	}
	return 0;
}

/* The next cell (family, column) of the present row. */
static int next_in_row(struct lsm_scan *sc, struct cell *out)
{
	struct family_scan *f;
	int r;

	if (sc->current == sc->nfamilies)
		return next_family(sc, 0, out);
	f = &sc->families[sc->current];
	if (sc->granularity == SCAN_FAMILIES)
		return next_family(sc, sc->current + 1, out);
	if (sc->granularity == SCAN_COLUMNS)
		r = reader_next_column(&f->reader);
	else
		r = reader_next(&f->reader);
	if (r < 0)
		return r;
	if (r == 0)
		return next_family(sc, sc->current + 1, out);
	scan_fill(sc, f, out);
	return 1;
}

int lsm_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct lsm_scan *sc = (struct lsm_scan *)base;
	int r;

	if (sc->strips.on)
		return rows_next(sc, out, n);
	if (sc->picking)
		return scan_next_picked(sc, out);
	for (;;) {
		r = 0;
		if (sc->run.block)
			r = scan_run_next(sc, out, n);
		else if (sc->in_row && sc->granularity != SCAN_ROWS)
			r = next_in_row(sc, out);
		if (r != 0)
			return r;
		r = scan_next_row(sc);
		if (r <= 0)
			return r;
		if (sc->granularity == SCAN_ROWS) {
			*out = (struct cell){.row = buf_bytes(&sc->row)};
			out->kind = row_lost(sc) ? CELL_LOST : 0;
			return 1;
		}
	}
}
