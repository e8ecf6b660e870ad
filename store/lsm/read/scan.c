/*
 * Scans of a table: its families read side by side, row by row.
 *
 * Each family stands on its next row with something to show. The scan's row is
 * the least (reversed: the greatest) of them; families that stand on it give
 * their entries in family order, then step on. A listing of rows takes only the
 * first visible entry of a row and never walks the rest.
 *
 * Forwards a family has strips (strips.h), and where it is the only one rows.c
 * hands out the results itself. Backwards it has a reader that walks each row.
 *
 * The bound of the range is tested on every row before its cells are looked
 * at: a reader of one row does not walk the deleted rows behind it.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>

#include "store/lsm/read/read.h"
#include "store/lsm/state/damage.h"

/* Is the row in a reversed scan's bounds? */
static bool in_bounds(const struct lsm_scan *sc, struct bytes row)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	int c = stop.len ? bytes_cmp(row, stop) : 1;

	return c > 0 || (c == 0 && sc->stop_inclusive);
}

int scan_find_certain(const struct lsm_scan *sc, struct family_scan *f)
{
	int r = 1;

	f->lost = false;
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

/* Of a family that stands on one. */
static struct bytes present_row(const struct lsm_scan *sc,
				const struct family_scan *f)
{
	return sc->reversed ? f->reader.merge.base.row
			    : f->strips.best->in.base.row;
}

/* Does the family stand on the present row? */
static bool is_on_row(const struct lsm_scan *sc, const struct family_scan *f)
{
	return f->at_row && !f->damaged &&
	       bytes_eq(present_row(sc, f), scan_key(sc));
}

/* Is nothing of the present row certain? */
static bool row_lost(struct lsm_scan *sc)
{
	for (uint32_t i = 0; sc->as_of && i < sc->nfamilies; i++)
		if (is_on_row(sc, &sc->families[i]) && !sc->families[i].lost)
			return false;
	return sc->as_of;
}

/* Backwards to the family's next row that has something to show. */
static int step_back(struct lsm_scan *sc, struct family_scan *f)
{
	struct cursor *c = reader_cursor(&f->reader);
	int r;

	for (;;) {
		r = f->fresh ? cursor_seek_back(c, buf_bytes(&sc->row_start),
						!sc->start_exclusive)
			     : cursor_prev_row(c);
		f->fresh = false;
		if (r <= 0 || !in_bounds(sc, c->row))
			return r < 0 ? r : 0;
		r = reader_row(&f->reader);
		if (r > 0 && sc->as_of)
			r = scan_find_certain(sc, f);
		if (r == 0)
			continue;
		f->strips.walked = f->strips.first = true;
		return r;
	}
}

/* To the family's next row that has something to show. */
static int advance(struct lsm_scan *sc, struct family_scan *f)
{
	int r;

	sc->at = f->at;
	r = f->ended ? 0 : sc->reversed ? step_back(sc, f) : rows_step(sc, f);

	f->fresh = false;
	f->damaged = r == -EUCLEAN && !sc->reversed && f->strips.lost;
	f->at_row = r > 0 || f->damaged;
	f->ended = r == 0;
	return f->damaged ? 0 : r;
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
		c = best ? bytes_cmp(present_row(sc, f), present_row(sc, best))
			 : 0;
		/* What is known of a row comes first. */
		if (!best || (sc->reversed ? c > 0 : c < 0) ||
		    (c == 0 && best->damaged))
			best = f;
	}
	return best;
}

struct family_scan *scan_current(struct lsm_scan *sc)
{
	for (; sc->current < sc->nfamilies; sc->current++) {
		struct family_scan *f = &sc->families[sc->current];

		if (!is_on_row(sc, f))
			continue;
		sc->at = f->at;
		return f;
	}
	return NULL;
}

int scan_next_row(struct lsm_scan *sc)
{
	struct family_scan *best;

	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		struct family_scan *f = &sc->families[i];
		int r;

		if (!f->fresh && (!sc->in_row || !is_on_row(sc, f)))
			continue;
		r = advance(sc, f);
		if (r < 0)
			return r;
	}
	sc->in_row = false;
	if (scan_at_limit(sc))
		return 0;
	best = best_row(sc);
	if (!best)
		return 0;
	if (best->damaged) {
		sc->at = best->at;
		return strip_why(best->strips.lost);
	}
	if (buf_set(&sc->row, present_row(sc, best)) < 0)
		return why(-ENOMEM, "out of memory");
	sc->in_row = true;
	sc->rows++;
	sc->current = 0;
	return 1;
}

void scan_fill(const struct lsm_scan *sc, const struct family_scan *f,
	       struct cell *out)
{
	const struct entry *e = reader_entry(&f->reader);

	*out = (struct cell){
		.row = scan_key(sc),
		.family = f->name,
		.qualifier = e->qualifier,
		.ts = e->ts,
		.seq = e->seq,
		.ttl_ms = e->ttl_ms,
		.kind = e->kind,
		.value = e->value,
	};
	/* A filter may ask for the value. */
	if (sc->keys_only && !sc->picking)
		out->value.data = NULL;
	if (reader_lost(&f->reader)) {
		out->kind = CELL_LOST;
		out->value = (struct bytes){0};
	}
}

/* The next cells (family, columns) of the present row, up to @n. */
static int next_in_row(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct family_scan *f;

	for (; (f = scan_current(sc)); sc->current++) {
		int r;

		if (sc->granularity == SCAN_FAMILIES) {
			sc->current++;
			*out = (struct cell){
				.row = scan_key(sc),
				.family = f->name,
				.kind = f->lost ? CELL_LOST : 0,
			};
			return 1;
		}
		r = cells_next(sc, f, false, out, n);
		if (r)
			return r;
	}
	return 0;
}

static int next_of_all(struct lsm_scan *sc, struct cell *out, size_t n)
{
	int r;

	for (;;) {
		if (sc->in_row && sc->granularity != SCAN_ROWS) {
			r = next_in_row(sc, out, n);
			if (r)
				return r;
		}
		r = scan_next_row(sc);
		if (r <= 0)
			return r;
		if (sc->granularity == SCAN_ROWS) {
			*out = (struct cell){.row = scan_key(sc)};
			out->kind = row_lost(sc) ? CELL_LOST : 0;
			return 1;
		}
	}
}

int lsm_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct lsm_scan *sc = (struct lsm_scan *)base;
	int r;

	if (sc->direct) {
		r = rows_next(sc, out, n);
		sc->at = sc->one.at;
	} else if (sc->picking) {
		r = scan_next_picked(sc, out);
	} else {
		r = next_of_all(sc, out, n);
	}
	return r >= 0 ? r
		      : damage_found(sc->db, sc->view->st, sc->at,
				     sc->view->levels[sc->at], r);
}

int lsm_scan_pass(struct scan *base)
{
	struct lsm_scan *sc = (struct lsm_scan *)base;
	struct family_scan *f = sc->families;
	int r;

	if (sc->reversed)
		return -EUCLEAN;
	while (f->at != sc->at)
		f++;
	if (!f->strips.n)
		return -EUCLEAN;
	sc->run.block = NULL;
	sc->run.keys.rest = 0;
	r = strips_pass(sc, f);
	f->at_row = f->damaged = f->ended = false;
	f->fresh = true;
	return r;
}
