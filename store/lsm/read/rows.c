/*
 * Rows: the least of those on which the strips of a family stand, and how it is
 * read.
 *
 * Rows that one strip has alone, and all of which is shown, are taken from the
 * block as a run (scan_run.c), up to the next row of another strip. Of others
 * the cells are merged, or walked by a reader (row_cells.c), unless a marker of
 * the family hides the row whole. Keys that one call hands out lie one behind
 * the other in lsm_scan.row.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>
#include <limits.h>

/* A run that others may end is worth beginning for so many rows. */
#define RUN_ROWS 3

/* From a row that goes on in other blocks. */
static int leave_wide(struct family_scan *f, struct strip *s)
{
	struct sst_cursor *c = &s->in.file;
	int r = f->strips.walked ? 1 : sst_cursor_to_row(c, s->row);

	if (r > 0)
		r = cursor_next_row(&c->base);
	if (r > 0) {
		strip_follow(s, f);
	} else if (r == 0) {
		s->row = s->end;
		s->file_over = true;
		f->strips.at_end = true;
	} else if (r == -EUCLEAN) {
		r = strip_lose(s);
	}
	return r;
}

/*
 * Moves what has the present row behind it, but not to another block unless it
 * goes on there.
 */
static int leave_row(struct family_scan *f)
{
	struct strips *st = &f->strips;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < st->n; i++) {
		struct strip *s = &st->at[i];

		if (!s->in_row)
			continue;
		s->in_row = false;
		if (s->in_memory) {
			r = cursor_next_row(&s->in.base);
			s->over = r == 0;
			continue;
		}
		if (s->wide) {
			r = leave_wide(f, s);
			continue;
		}
		if (++s->row == s->end)
			strip_widen(s);
		if (s->row == s->end)
			st->at_end = true;
		else if (st->n > 1)
			r = sst_cursor_key(&s->in.file, s->row);
	}
	st->walked = false;
	return r < 0 ? r : 0;
}

/* To the next blocks of strips that are at the end of theirs. */
static int leave_blocks(struct family_scan *f)
{
	struct strips *st = &f->strips;
	int r = 0;

	st->at_end = false;
	for (uint32_t i = 0; r == 0 && i < st->n; i++) {
		struct strip *s = &st->at[i];

		if (!s->over && !s->in_memory && s->row == s->end)
			r = strip_ahead(f, s);
	}
	return r;
}

/* Marks the strips that stand on the least row; false if all are over. */
static bool choose(struct strips *st)
{
	struct strip *s = st->at, *best = NULL;
	uint32_t first = 0, n = 0;
	bool hard = false;

	st->lost = NULL;

	for (uint32_t i = 0; i < st->n; i++) {
		int c = -1;

		if (s[i].over)
			continue;
		if (best)
			c = bytes_cmp(s[i].in.base.row, best->in.base.row);
		s[i].in_row = c <= 0;
		if (c < 0) {
			/* Those chosen until now wait after all. */
			for (; first < i; first++)
				s[first].in_row = false;
			best = &s[i];
			st->lost = NULL;
			n = 0;
			hard = false;
		}
		if (c <= 0 && s[i].lost)
			st->lost = &s[i];
		n += c <= 0;
		hard |= c <= 0 && s[i].hard;
	}
	st->best = best;
	st->alone = n == 1;
	st->hard = hard;
	return best != NULL;
}

/* Need what the strip has of the row more than a look at puts? */
static bool is_hard(const struct lsm_scan *sc, const struct family_scan *f,
		    const struct strip *s)
{
	struct known k;

	if (!s->in_memory) {
		block_row_known(s->in.file.block, s->row, &k);
		return !visible_puts(&f->visible, &k);
	}
	memtable_cursor_known(&s->in.memory, &k);
	if (visible_puts(&f->visible, &k))
		return false;
	memtable_cursor_row_known(&s->in.memory, sc->seq, &k);
	return !visible_puts(&f->visible, &k);
}

static bool row_is_hard(const struct lsm_scan *sc, const struct family_scan *f)
{
	const struct strips *st = &f->strips;

	for (uint32_t i = 0; i < st->n; i++) {
		const struct strip *s = &st->at[i];

		if (s->in_row && s->hard && is_hard(sc, f, s))
			return true;
	}
	return false;
}

/* The marker of a whole family that the strip has of the row, if it has one. */
static bool find_cover(const struct lsm_scan *sc, const struct family_scan *f,
		       const struct strip *s, struct cover *out)
{
	const struct block *b;
	uint32_t cell;
	uint8_t kind;

	if (s->in_memory) {
		kind = s->in.base.at.kind;
		*out = (struct cover){s->in.base.at.ts, s->in.base.at.seq};
	} else {
		b = s->in.file.block;
		cell = block_row_cell(b, s->row);
		kind = block_kind(b, cell);
		out->ts = (int64_t)block_number(b, BLOCK_TS, cell);
		out->seq = block_number(b, BLOCK_SEQ, cell);
	}
	if (kind != CELL_DELETE_FAMILY || out->seq > sc->seq)
		return false;
	if (!f->visible.attrs->new_version_behavior)
		out->seq = UINT64_MAX;
	return true;
}

static bool is_covered(const struct strip *s, const struct cover *k)
{
	const struct block *b;

	if (s->in_memory)
		return memtable_cursor_covered(&s->in.memory, k);
	b = s->in.file.block;
	return !s->wide && block_covered(b, block_row_cell(b, s->row),
					 block_row_cell(b, s->row + 1), k);
}

/* Does one marker hide all that the strips have of the row? */
static bool row_is_dead(const struct lsm_scan *sc, const struct family_scan *f)
{
	const struct visible_spec *v = &f->visible;
	const struct strips *st = &f->strips;
	const struct strip *s = st->at;
	struct cover k;
	uint32_t i = 0;

	if (v->raw || v->has_as_of || v->attrs->keep_deleted != KEEP_DELETED_NO)
		return false;
	while (i < st->n && !(s[i].in_row && find_cover(sc, f, &s[i], &k)))
		i++;
	if (i == st->n)
		return false;
	for (i = 0; i < st->n; i++)
		if (s[i].in_row && !is_covered(&s[i], &k))
			return false;
	return true;
}

/* The least row of the strips that do not have the present one. */
static const struct bytes *next_other_row(const struct strips *st)
{
	const struct bytes *least = NULL;

	for (uint32_t i = 0; i < st->n; i++) {
		const struct strip *s = &st->at[i];

		if (!s->over && !s->in_row &&
		    (!least || bytes_cmp(s->in.base.row, *least) < 0))
			least = &s->in.base.row;
	}
	return least;
}

/* Rows that the best strip has alone and that show all they hold. */
static bool find_run(const struct lsm_scan *sc, const struct family_scan *f,
		     struct block_rows *out)
{
	const struct strips *st = &f->strips;
	const struct strip *s = st->best;
	const struct bytes *other = NULL;
	const struct block *b;
	struct known k;

	if (!st->alone || s->in_memory || s->wide || f->restricted)
		return false;
	b = s->in.file.block;
	/* The index lists rows that fill blocks. */
	if (sc->granularity == SCAN_ROWS && b->nrow <= 2 && !sc->one_row)
		return false;
	k = block_known(b);
	if (!visible_all(&f->visible, sc->seq, &k,
			 sc->granularity == SCAN_ROWS))
		return false;
	*out = (struct block_rows){b, s->row, s->end};
	if (sc->one_row)
		out->end = s->row + 1;
	else if (st->n > 1)
		other = next_other_row(st);
	if (!other)
		return true;
	if (block_row_cmp(b, s->end - 1, *other) < 0)
		return true;
	if (s->row + RUN_ROWS >= s->end ||
	    block_row_cmp(b, s->row + RUN_ROWS, *other) >= 0)
		return false;
	out->end = block_find_row(b, *other, false);
	return true;
}

/* A list goes on with what the index has, where it has the rows that come. */
static bool begin_keys(struct lsm_scan *sc, const struct family_scan *f)
{
	const struct strips *st = &f->strips;

	if (!st->alone || st->best->in_memory || st->ended || st->walked ||
	    f->restricted || st->best->in.file.block->nrow - st->best->row > 2)
		return false;
	return scan_keys_begin(sc, next_other_row(st));
}

/* Makes @rows the run, as far as they are asked for. 1, 0 = not at all. */
static int begin_run(struct lsm_scan *sc, struct family_scan *f,
		     struct block_rows *rows)
{
	struct strip *s = f->strips.best;
	struct bytes stop = buf_bytes(&sc->row_stop);

	if (sc->one_row) {
		f->strips.ended = true;
	} else if (stop.len &&
		   block_row_cmp(rows->block, rows->end - 1, stop) >= 0) {
		rows->end =
			block_find_row(rows->block, stop, sc->stop_inclusive);
		f->strips.ended = true;
		if (rows->end <= rows->row)
			return 0;
	}
	if (scan_run_take(sc, f, rows) < 0)
		return why(-ENOMEM, "out of memory");
	/* One block was not enough: one more is not, either. */
	if (s->ahead && rows->end == s->end)
		scan_run_fetch(sc, sst_cursor_behind(&s->in.file));
	return 1;
}

/* Where the chosen row lies: -1 in front of the range's last row, 0 is it. */
static int place_in_range(const struct lsm_scan *sc,
			  const struct family_scan *f)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	int c;

	if (sc->one_row)
		return 0;
	if (!stop.len)
		return -1;
	c = bytes_cmp(f->strips.best->in.base.row, stop);
	return c == 0 && !sc->stop_inclusive ? 1 : c;
}

/*
 * The key of the chosen row behind those that were handed out by this call: 1,
 * 0 where it has no room behind them, or -ENOMEM.
 */
static int put_key(struct lsm_scan *sc, const struct family_scan *f,
		   bool borrowed)
{
	struct bytes key = f->strips.best->in.base.row;
	size_t at = borrowed ? sc->run.key_at + sc->row.len : 0;

	if (at + key.len > sc->row.cap) {
		if (borrowed)
			return 0;
		sc->row.len = 0;
		if (buf_reserve(&sc->row, SCAN_KEYS_BYTES + key.len) < 0)
			return why(-ENOMEM, "out of memory");
	}
	if (key.len)
		memcpy(sc->row.data + at, key.data, key.len);
	sc->run.key_at = at;
	sc->row.len = key.len;
	return 1;
}

/*
 * Chooses the next row: 1, 0 = there is none, or what is @borrowed must be given
 * back first.
 */
static int next_choice(const struct lsm_scan *sc, struct family_scan *f,
		       bool borrowed)
{
	struct strips *st = &f->strips;
	int r = leave_row(f);

	if (r == 0 && st->at_end) {
		/* Keys are no part of a block. */
		if (borrowed && sc->granularity != SCAN_ROWS)
			return 0;
		r = leave_blocks(f);
	}
	if (r < 0)
		return r;
	st->chosen = choose(st);
	st->ended = !st->chosen;
	return st->chosen;
}

/*
 * Of the row that is chosen: does it show anything? Stands there if so. Where it
 * does not, strips may rest: what is @borrowed must be given back first.
 */
static int enter_row(struct lsm_scan *sc, struct family_scan *f, bool hard,
		     bool borrowed)
{
	const struct strip *s = f->strips.best;

	if (hard)
		return cells_walk(sc, f);
	if (sc->granularity < SCAN_COLUMNS && !f->restricted && !s->in_memory &&
	    s->in.file.block->seq_max <= sc->seq)
		return 1;
	return cells_enter(sc, f, borrowed);
}

/* What cannot be read begins here: -EUCLEAN, or 0 if behind the range. */
__attribute__((noinline, cold)) static int lost_row(struct lsm_scan *sc,
						    struct family_scan *f)
{
	if (place_in_range(sc, f) <= 0)
		return strip_why(f->strips.lost);
	f->strips.ended = true;
	return 0;
}

/*
 * To the next row: 1; 0: there is none, a run has begun, or what is @borrowed
 * must be given back first. @direct: the scan's, known as this is compiled.
 */
__attribute__((always_inline)) static inline int next_row(struct lsm_scan *sc,
							  struct family_scan *f,
							  bool borrowed,
							  const bool direct)
{
	struct strips *st = &f->strips;
	struct block_rows rows;
	bool hard, dead;
	int place, r;

	for (;;) {
		if (st->ended || (direct && scan_at_limit(sc)))
			return 0;
		if (!st->chosen) {
			r = next_choice(sc, f, borrowed);
			if (r <= 0)
				return r;
		}
		if (st->lost)
			return borrowed ? 0 : lost_row(sc, f);
		dead = st->hard && row_is_dead(sc, f);
		hard = !dead && (f->walks || (st->hard && row_is_hard(sc, f)));
		if (borrowed && hard)
			return 0;
		if (direct && !dead && !hard && find_run(sc, f, &rows)) {
			if (borrowed)
				return 0;
			st->chosen = false;
			r = begin_run(sc, f, &rows);
			return r < 0 ? r : 0;
		}
		if (st->n == 1 && !st->best->in_memory) {
			r = sst_cursor_key(&st->best->in.file, st->best->row);
			if (r < 0)
				return r;
		}
		place = place_in_range(sc, f);
		if (place > 0) {
			st->ended = true;
			return 0;
		}
		if (dead) {
			st->dead++;
			st->chosen = false;
			st->ended = place == 0;
			continue;
		}
		/* What walks the row may move its key. */
		r = direct ? put_key(sc, f, borrowed) : 1;
		if (r <= 0)
			return r;
		f->lost = false;
		r = enter_row(sc, f, hard, borrowed);
		if (r < 0 || (r == 0 && borrowed && st->rests))
			return r;
		st->chosen = false;
		st->ended = place == 0;
		st->in_row = r > 0 && sc->granularity >= SCAN_COLUMNS;
		if (r > 0)
			return 1;
	}
}

int rows_step(struct lsm_scan *sc, struct family_scan *f)
{
	return next_row(sc, f, false, false);
}

/*
 * Rows that are no run, or their cells, up to @n. Apart, so that a call within a
 * run saves no registers for it.
 */
__attribute__((noinline)) static int next_mixed(struct lsm_scan *sc,
						struct cell *out, size_t n)
{
	struct family_scan *f = &sc->one;
	struct strips *st = &f->strips;
	size_t done = 0;
	int r;

	if (n > INT_MAX)
		n = INT_MAX;
	while (done < n) {
		if (!st->in_row) {
			r = next_row(sc, f, done > 0, true);
			if (r < 0)
				return r;
			if (r == 0)
				break;
			sc->rows++;
			if (sc->granularity == SCAN_ROWS) {
				scan_put_row(&out[done], scan_key(sc));
				out[done++].kind =
					sc->as_of && f->lost ? CELL_LOST : 0;
				if (begin_keys(sc, f))
					break;
				continue;
			}
		}
		r = cells_next(sc, f, done > 0, out + done, n - done);
		if (r < 0)
			return r;
		done += (size_t)r;
		if (st->in_row)
			break;
	}
	return (int)done;
}

int rows_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct strips *st = &sc->one.strips;
	int r;

	for (;;) {
		if (sc->run.block) {
			r = scan_run_next(sc, out, n);
			if (r)
				return r;
			/* The strip stands on its last row. */
			st->best->row = sc->run.end - 1;
		} else if (sc->run.keys.rest) {
			r = scan_keys_next(sc, out, n);
			if (r)
				return r;
		}
		if (!st->in_row && (st->ended || scan_at_limit(sc)))
			return 0;
		r = next_mixed(sc, out, n);
		if (!sc->run.block)
			return r;
	}
}

int rows_begin(struct lsm_scan *sc, struct family_scan *f)
{
	return next_choice(sc, f, false);
}
