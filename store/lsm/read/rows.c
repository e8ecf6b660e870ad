/*
 * Rows: the least of those on which the strips stand, and what it shows.
 *
 * Rows that one strip has alone, and all of which is shown, are taken from the
 * block as a run (scan_run.c), up to the next row of another strip. Of others
 * the cells come by qualifier and timestamp, from all strips that have the row;
 * keys that one call hands out lie one behind the other in lsm_scan.row.
 *
 * A row in which something is no mere put, or that goes on in another block, is
 * walked by a reader over the cursors of the strips: it merges what they have of
 * the row and sees what is visible. One that a marker hides whole is not.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>
#include <limits.h>

#include "store/lsm/base/heads.h"

/* Values are asked for so many bytes before they are handed out. */
#define AHEAD 512
/* A run that others may end is worth beginning for so many rows. */
#define RUN_ROWS 3
/* Versions that are too many: of a row so many are stepped over, then sought. */
#define STEPS_MAX 4

/* From a row that goes on in other blocks. */
static int leave_wide(struct lsm_scan *sc, struct strip *s)
{
	struct cursor *c = &s->in.base;
	struct block_rows at;
	int r = sc->strips.walked ? 1 : c->ops->to_row(c, s->row);

	if (r > 0)
		r = cursor_next_row(c);
	if (r > 0) {
		c->ops->rows(c, &at);
		strip_take(s, &at);
		s->ahead = true;
	} else if (r == 0) {
		s->row = s->end;
		s->file_over = true;
		sc->strips.at_end = true;
	}
	return r;
}

/*
 * Moves what has the present row behind it, but not to another block unless it
 * goes on there.
 */
static int leave_row(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < st->n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		if (!s->in_row)
			continue;
		s->in_row = false;
		if (s->in_memory) {
			r = cursor_next_row(&s->in.base);
			s->over = r == 0;
			continue;
		}
		if (s->wide) {
			r = leave_wide(sc, s);
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
static int leave_blocks(struct lsm_scan *sc)
{
	int r = 0;

	sc->strips.at_end = false;
	for (uint32_t i = 0; r == 0 && i < sc->strips.n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		if (!s->over && !s->in_memory && s->row == s->end)
			r = strip_ahead(sc, s);
	}
	return r;
}

/* Marks the strips that stand on the least row; false if all are over. */
static bool choose(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	struct strip *s = scan_strips(sc), *best = NULL;
	uint32_t first = 0, n = 0;
	bool hard = false;

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
			n = 0;
			hard = false;
		}
		n += c <= 0;
		hard |= c <= 0 && s[i].hard;
	}
	st->best = best;
	st->alone = n == 1;
	st->hard = hard;
	return best != NULL;
}

/* Need what the strip has of the row more than a look at puts? */
static bool is_hard(const struct lsm_scan *sc, const struct strip *s)
{
	const struct block *b;

	if (s->in_memory)
		return !memtable_cursor_plain(&s->in.memory, sc->strips.seq);
	b = s->in.file.block;
	if (s->wide &&
	    (sc->granularity != SCAN_ROWS || b->seq_max > sc->strips.seq))
		return true;
	return !block_row_plain(b, s->row);
}

static bool row_is_hard(struct lsm_scan *sc)
{
	for (uint32_t i = 0; sc->strips.hard && i < sc->strips.n; i++) {
		const struct strip *s = &scan_strips(sc)[i];

		if (s->in_row && s->hard && is_hard(sc, s))
			return true;
	}
	return false;
}

/* The marker of a whole family that the strip has of the row, if it has one. */
static bool find_cover(const struct lsm_scan *sc, const struct strip *s,
		       struct cover *out)
{
	const struct family_attrs *attrs = sc->strips.visible.attrs;
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
	if (kind != CELL_DELETE_FAMILY || out->seq > sc->strips.seq)
		return false;
	if (!attrs->new_version_behavior)
		out->seq = UINT64_MAX;
	return true;
}

static bool is_covered(const struct strip *s, const struct cover *k)
{
	const struct block *b;

	if (s->in_memory)
		return s->in.base.ops->covered(&s->in.base, k);
	b = s->in.file.block;
	return !s->wide && block_covered(b, block_row_cell(b, s->row),
					 block_row_cell(b, s->row + 1), k);
}

/* Does one marker hide all that the strips have of the row? */
static bool row_is_dead(struct lsm_scan *sc)
{
	const struct strip *s = scan_strips(sc);
	struct cover k;
	uint32_t i = 0;

	if (sc->strips.visible.attrs->keep_deleted != KEEP_DELETED_NO)
		return false;
	while (i < sc->strips.n && !(s[i].in_row && find_cover(sc, &s[i], &k)))
		i++;
	if (i == sc->strips.n)
		return false;
	for (i = 0; i < sc->strips.n; i++)
		if (s[i].in_row && !is_covered(&s[i], &k))
			return false;
	return true;
}

static void open_reader(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	struct reader_spec spec = {
		.visible = st->visible,
		.os = sc->db->os,
		.alive = &sc->db->alive,
		.seq = st->seq,
	};

	for (uint32_t i = 0; i < st->n; i++)
		sc->sources[i].cursor = &scan_strips(sc)[i].in.base;
	reader_over(&sc->one.reader, sc->view, st->family, &spec, sc->sources,
		    st->n);
	st->opened = true;
}

static inline struct reader *reader_of(struct lsm_scan *sc)
{
	if (!sc->strips.opened)
		open_reader(sc);
	return &sc->one.reader;
}

/* To the first entry of the chosen row that is visible. */
static int walk_row(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	struct reader *rd = reader_of(sc);
	bool known = false;
	int r = 1;

	st->walked = true;
	for (uint32_t i = 0; r > 0 && i < st->n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		sc->sources[i].in_row = s->in_row;
		if (s->in_row && !s->in_memory)
			r = s->in.base.ops->to_row(&s->in.base, s->row);
	}
	if (r > 0)
		r = merge_enter(&rd->merge);
	if (r <= 0)
		return r;
	r = scan_part_begin(sc, &sc->one, &known);
	return known ? r : reader_row(rd);
}

int rows_enter_again(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	struct bytes row = bytes_of(sc->row.data + sc->run.key_at, sc->row.len);
	int r = 1;

	for (uint32_t i = 0; r > 0 && i < st->n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		sc->sources[i].in_row = s->in_row;
		if (s->in_row)
			r = cursor_seek_row(&s->in.base, row);
	}
	return r > 0 ? merge_enter(&sc->one.reader.merge) : r;
}

/* The least row of the strips that do not have the present one. */
static const struct bytes *next_other_row(struct lsm_scan *sc)
{
	const struct bytes *least = NULL;

	for (uint32_t i = 0; i < sc->strips.n; i++) {
		const struct strip *s = &scan_strips(sc)[i];

		if (!s->over && !s->in_row &&
		    (!least || bytes_cmp(s->in.base.row, *least) < 0))
			least = &s->in.base.row;
	}
	return least;
}

/* Rows that the best strip has alone and that show all they hold. */
static bool find_run(struct lsm_scan *sc, struct block_rows *out)
{
	const struct strips *st = &sc->strips;
	const struct strip *s = st->best;
	const struct bytes *other = NULL;
	const struct block *b;
	struct known k;

	if (!st->alone || s->in_memory || s->wide)
		return false;
	b = s->in.file.block;
	/* The index lists rows that fill blocks. */
	if (sc->granularity == SCAN_ROWS && b->nrow <= 2 && !st->one_row)
		return false;
	k = block_known(b);
	if (!visible_all(&st->visible, st->seq, &k,
			 sc->granularity == SCAN_ROWS))
		return false;
	*out = (struct block_rows){b, s->row, s->end};
	if (st->one_row)
		out->end = s->row + 1;
	else if (st->n > 1)
		other = next_other_row(sc);
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
static bool begin_keys(struct lsm_scan *sc)
{
	const struct strips *st = &sc->strips;

	if (!st->alone || st->best->in_memory || st->ended || st->walked ||
	    st->best->in.file.block->nrow - st->best->row > 2)
		return false;
	return scan_keys_begin(sc, next_other_row(sc));
}

/* Makes @rows the run, as far as they are asked for. 1, 0 = not at all. */
static int begin_run(struct lsm_scan *sc, struct block_rows *rows)
{
	struct strip *s = sc->strips.best;
	struct bytes stop = buf_bytes(&sc->row_stop);

	if (sc->strips.one_row) {
		sc->strips.ended = true;
	} else if (stop.len &&
		   block_row_cmp(rows->block, rows->end - 1, stop) >= 0) {
		rows->end =
			block_find_row(rows->block, stop, sc->stop_inclusive);
		sc->strips.ended = true;
		if (rows->end <= rows->row)
			return 0;
	}
	if (scan_run_take(sc, rows) < 0)
		return why(-ENOMEM, "out of memory");
	/* One block was not enough: one more is not, either. */
	if (s->ahead && rows->end == s->end)
		scan_run_fetch(sc, sst_cursor_behind(&s->in.file));
	return 1;
}

static inline void look_in_block(struct strip *s)
{
	const struct block *b = s->in.file.block;

	s->qualifier = block_qualifier(b, block_number(b, BLOCK_ID, s->cell));
	s->head = head_of(s->qualifier);
	s->ts = (int64_t)block_number(b, BLOCK_TS, s->cell);
	s->seq = block_number(b, BLOCK_SEQ, s->cell);
}

static void look_in_memory(struct strip *s)
{
	const struct entry *e = &s->in.base.at;

	s->qualifier = e->qualifier;
	s->head = head_of(s->qualifier);
	s->ts = e->ts;
	s->seq = e->seq;
}

/* From the cell that it is at, if any, to one that the scan knows. */
static void settle_cell(const struct strips *st, struct strip *s, bool at)
{
	if (s->in_memory) {
		while (at && s->in.base.at.seq > st->seq)
			at = cursor_next(&s->in.base) > 0;
		if (at)
			look_in_memory(s);
	} else {
		const struct block *b = s->in.file.block;

		while (!s->known && s->cell < s->cell_end &&
		       block_number(b, BLOCK_SEQ, s->cell) > st->seq)
			s->cell++;
		at = s->cell < s->cell_end;
		if (at)
			look_in_block(s);
	}
	s->in_cell = at;
}

static inline void next_cell(const struct strips *st, struct strip *s)
{
	if (s->known && ++s->cell < s->cell_end)
		look_in_block(s);
	else if (s->known)
		s->in_cell = false;
	else if (s->in_memory)
		settle_cell(st, s, cursor_next(&s->in.base) > 0);
	else {
		s->cell++;
		settle_cell(st, s, true);
	}
}

/* Past what is left of the column in the strip's part of the row. */
static void pass_column(const struct strips *st, struct strip *s)
{
	bool at = true;

	if (s->in_memory)
		at = cursor_seek_column(&s->in.base, st->qualifier, -1) > 0;
	else
		s->cell = block_find_column(s->in.file.block, s->cell,
					    s->cell_end, st->qualifier, -1);
	settle_cell(st, s, at);
}

/* To the first cell of a block's row; does the scan know all of the block? */
static inline bool enter_block(const struct strips *st, struct strip *s)
{
	const struct block *b = s->in.file.block;

	s->cell = block_row_cell(b, s->row);
	s->cell_end = block_row_cell(b, s->row + 1);
	s->known = b->seq_max <= st->seq;
	if (s->known)
		look_in_block(s);
	return s->known;
}

/* To the first cells of the chosen row; false: the scan knows none of it. */
static bool enter_cells(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	bool any = false;

	for (uint32_t i = 0; i < st->n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		s->in_cell = s->in_row;
		if (!s->in_row)
			continue;
		if (s->in_memory || !enter_block(st, s))
			settle_cell(st, s, true);
		any |= s->in_cell;
	}
	st->in_column = false;
	st->steps = 0;
	return any;
}

/* Does the scan know any of the chosen row? */
static bool row_shows(struct lsm_scan *sc)
{
	const struct strip *s = sc->strips.best;

	return (!s->in_memory && s->in.file.block->seq_max <= sc->strips.seq) ||
	       enter_cells(sc);
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

/*
 * Rows are much alike, so the processor guesses well which strip is next, but
 * only at a branch: a conditional move would wait for all heads. So the compiler
 * is told that one outcome is rare.
 */
#define AT_BRANCH(c) __builtin_expect_with_probability(c, 0, 0.99)

static struct strip *least_cell(struct lsm_scan *sc)
{
	struct strip *best = NULL;

	for (uint32_t i = 0; i < sc->strips.n; i++) {
		struct strip *s = &scan_strips(sc)[i];

		if (AT_BRANCH(s->in_cell && (!best || comes_before(s, best))))
			best = s;
	}
	return best;
}

/*
 * Is the cell replaced by the one before, of its timestamp, or one version too
 * many? All of the column that comes behind one too many is.
 */
static bool is_hidden(struct strips *st, const struct strip *s)
{
	if (!st->in_column || st->head != s->head ||
	    head_tie(st->qualifier, s->qualifier) != 0) {
		st->in_column = true;
		st->head = s->head;
		st->qualifier = s->qualifier;
		st->left =
			versions_shown(st->visible.attrs, st->visible.versions);
	} else if (st->left == 0 || s->ts == st->ts) {
		return true;
	}
	st->ts = s->ts;
	st->left--;
	return false;
}

static void put_cell(const struct lsm_scan *sc, const struct strip *s,
		     struct cell *out)
{
	const uint8_t *value;
	uint64_t len;

	/* Not as one struct: what is stored in halves is slow to load whole. */
	if (s->in_memory) {
		value = s->in.base.at.value.data;
		len = s->in.base.at.value.len;
	} else {
		const struct block *b = s->in.file.block;

		value = b->values + block_value_at(b, s->cell, &len);
		__builtin_prefetch(value + AHEAD);
	}
	*out = (struct cell){
		.row = bytes_of(sc->row.data + sc->run.key_at, sc->row.len),
		.family = sc->one.name_bytes,
		.qualifier = s->qualifier,
		.ts = s->ts,
		.seq = s->seq,
		.ttl_ms = 0,
		.kind = CELL_PUT,
		.value = bytes_of(sc->keys_only ? NULL : value, len),
	};
}

/* Cells of the present row, up to @n. */
static size_t put_cells(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct strips *st = &sc->strips;
	size_t done = 0;

	while (done < n) {
		struct strip *s = least_cell(sc);

		if (!s) {
			st->in_row = false;
			break;
		}
		if (!is_hidden(st, s))
			put_cell(sc, s, &out[done++]);
		else if (st->left == 0 && ++st->steps > STEPS_MAX) {
			pass_column(st, s);
			continue;
		}
		next_cell(st, s);
	}
	return done;
}

/* Where the chosen row lies: -1 in front of the range's last row, 0 is it. */
static int place_in_range(const struct lsm_scan *sc)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	int c;

	if (sc->strips.one_row)
		return 0;
	if (!stop.len)
		return -1;
	c = bytes_cmp(sc->strips.best->in.base.row, stop);
	return c == 0 && !sc->stop_inclusive ? 1 : c;
}

/*
 * The key of the chosen row behind those that were handed out by this call: 1,
 * 0 where it has no room behind them, or -ENOMEM.
 */
static int put_key(struct lsm_scan *sc, bool borrowed)
{
	struct bytes key = sc->strips.best->in.base.row;
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
static int next_choice(struct lsm_scan *sc, bool borrowed)
{
	int r = leave_row(sc);

	if (r == 0 && sc->strips.at_end) {
		/* Keys are no part of a block. */
		if (borrowed && sc->granularity != SCAN_ROWS)
			return 0;
		r = leave_blocks(sc);
	}
	if (r < 0)
		return r;
	sc->strips.chosen = choose(sc);
	sc->strips.ended = !sc->strips.chosen;
	return sc->strips.chosen;
}

/* Of the row that is chosen: does it show anything? Stands there if so. */
static int enter_row(struct lsm_scan *sc, bool hard)
{
	if (hard)
		return walk_row(sc);
	return sc->granularity == SCAN_ROWS ? row_shows(sc) : enter_cells(sc);
}

/*
 * To the next row: 1; 0: there is none, a run has begun, or what is @borrowed
 * must be given back first.
 */
static int next_row(struct lsm_scan *sc, bool borrowed)
{
	struct strips *st = &sc->strips;
	struct block_rows rows;
	bool hard, dead;
	int place, r;

	for (;;) {
		if (st->ended || scan_at_limit(sc))
			return 0;
		if (!st->chosen) {
			r = next_choice(sc, borrowed);
			if (r <= 0)
				return r;
		}
		dead = st->hard && row_is_dead(sc);
		hard = !dead && row_is_hard(sc);
		if (borrowed && hard)
			return 0;
		if (!dead && !hard && find_run(sc, &rows)) {
			if (borrowed)
				return 0;
			st->chosen = false;
			r = begin_run(sc, &rows);
			return r < 0 ? r : 0;
		}
		if (st->n == 1 && !st->best->in_memory) {
			r = sst_cursor_key(&st->best->in.file, st->best->row);
			if (r < 0)
				return r;
		}
		place = place_in_range(sc);
		if (place > 0) {
			st->ended = true;
			return 0;
		}
		if (dead) {
			reader_of(sc)->dead++;
			st->chosen = false;
			st->ended = place == 0;
			continue;
		}
		/* What walks the row may move its key. */
		r = put_key(sc, borrowed);
		if (r <= 0)
			return r;
		r = enter_row(sc, hard);
		if (r < 0)
			return r;
		st->chosen = false;
		st->ended = place == 0;
		sc->rows += (uint64_t)r;
		if (r > 0)
			return 1;
	}
}

/* The next cell of a row that is walked. */
static int next_walked(struct lsm_scan *sc, struct cell *out)
{
	struct reader *rd = &sc->one.reader;
	int r = sc->granularity == SCAN_COLUMNS ? reader_next_column(rd)
						: reader_next(rd);

	sc->strips.in_row = r > 0;
	if (r > 0)
		scan_fill(sc, &sc->one, out);
	return r;
}

/*
 * Rows that are no run, or their cells, up to @n. Apart, so that a call within a run saves no registers
 * for it.
 */
__attribute__((noinline)) static int next_mixed(struct lsm_scan *sc,
						struct cell *out, size_t n)
{
	struct strips *st = &sc->strips;
	size_t done = 0;
	int r = 0;

	if (n > INT_MAX)
		n = INT_MAX;
	if (st->in_row && st->walked) {
		r = next_walked(sc, out);
		if (r)
			return r;
	}
	if (st->in_row)
		done = put_cells(sc, out, n);
	while (done < n) {
		r = next_row(sc, done > 0);
		if (r <= 0)
			break;
		if (sc->granularity == SCAN_ROWS) {
			scan_put_row(&out[done++],
				     bytes_of(sc->row.data + sc->run.key_at,
					      sc->row.len));
			if (begin_keys(sc))
				break;
			continue;
		}
		st->in_row = true;
		if (sc->run.block)
			break;
		if (st->walked) {
			scan_fill(sc, &sc->one, out);
			return 1;
		}
		done += put_cells(sc, out + done, n - done);
	}
	return r < 0 ? r : (int)done;
}

int rows_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	struct strips *st = &sc->strips;
	int r;

	for (;;) {
		if (sc->run.block) {
			r = scan_run_next(sc, out, n);
			if (r)
				return r;
			/* The strip stands on its last row. */
			if (sc->run.part)
				st->in_row = false;
			else
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

int rows_begin(struct lsm_scan *sc)
{
	return next_choice(sc, false);
}
