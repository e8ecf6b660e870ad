/*
 * The cells of a row: those of the strips that have it, merged.
 *
 * Of puts that no marker, ttl or time range concerns a reader sees the newest
 * of each column, as many as are shown; of two with one timestamp the later.
 * So they come by qualifier and timestamp from all strips, and are counted. What
 * one block has alone and shows whole is taken from it as a run is (a part).
 *
 * A row in which something else is stored is walked by a reader over the
 * cursors of the strips: it merges what they have of the row and decides what
 * is visible. Where that shows only in a later block of a wide row, the reader
 * goes on behind what was handed out.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>
#include <limits.h>

#include "store/lsm/base/heads.h"

/* Values are asked for so many bytes before they are handed out. */
#define AHEAD 512
/* Versions that are too many: of a row so many are stepped over, then sought. */
#define STEPS_MAX 4
/* So many cells of a block are worth being taken as a part. */
#define PART_CELLS 8

/* What each cell of a merged row goes through, from two places. */
#define ALWAYS_INLINE __attribute__((always_inline)) static inline

static void open_reader(struct lsm_scan *sc, struct family_scan *f)
{
	struct strips *st = &f->strips;
	const struct reader_spec spec = scan_reader(sc, f);

	for (uint32_t i = 0; i < st->n; i++)
		st->sources[i].cursor = &st->at[i].in.base;
	reader_over(&f->reader, sc->view, f->at, &spec, st->sources, st->n);
	f->opened = true;
}

/* The cursors stand where the row begins: to its first visible entry. */
static int enter_reader(struct lsm_scan *sc, struct family_scan *f)
{
	struct strips *st = &f->strips;
	int r;

	if (!f->opened)
		open_reader(sc, f);
	for (uint32_t i = 0; i < st->n; i++)
		st->sources[i].in_row = st->at[i].in_row;
	st->walked = true;
	st->first = true;
	r = merge_enter(&f->reader.merge);
	return r > 0 ? reader_row(&f->reader) : r;
}

/* To the first entry that is visible behind what the cursors were moved to. */
static int walk(struct lsm_scan *sc, struct family_scan *f, bool goes_on)
{
	int r = enter_reader(sc, f);

	if (r > 0 && goes_on)
		r = reader_seek_behind(&f->reader, f->strips.qualifier,
				       f->strips.ts);
	return r > 0 && sc->as_of ? scan_find_certain(sc, f) : r;
}

int cells_walk(struct lsm_scan *sc, struct family_scan *f)
{
	struct strips *st = &f->strips;
	int r = 1;

	for (uint32_t i = 0; r > 0 && i < st->n; i++) {
		struct strip *s = &st->at[i];

		if (s->in_row && !s->in_memory)
			r = sst_cursor_to_row(&s->in.file, s->row);
	}
	return r > 0 ? walk(sc, f, false) : r;
}

/*
 * Something in the row's next block needs more than a look at puts: the row is
 * walked from behind the last cell that was handed out.
 */
static int walk_on(struct lsm_scan *sc, struct family_scan *f)
{
	struct strips *st = &f->strips;
	int r = 1;

	for (uint32_t i = 0; r > 0 && i < st->n; i++) {
		struct strip *s = &st->at[i];

		if (!s->in_row)
			continue;
		r = cursor_seek_row(&s->in.base, s->in.base.row);
		/* It is no more in the block in which the strip was. */
		s->wide = !s->in_memory;
		s->rests = false;
	}
	st->rests = false;
	return r > 0 ? walk(sc, f, st->in_column) : r;
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
static void settle_cell(const struct lsm_scan *sc, struct strips *st,
			struct strip *s, bool at)
{
	if (s->in_memory) {
		while (at && s->in.base.at.seq > sc->seq)
			at = cursor_next(&s->in.base) > 0;
		if (at)
			look_in_memory(s);
	} else {
		const struct block *b = s->in.file.block;

		while (!s->known && s->cell < s->cell_end &&
		       block_number(b, BLOCK_SEQ, s->cell) > sc->seq)
			s->cell++;
		at = s->cell < s->cell_end;
		if (at)
			look_in_block(s);
		s->rests = !at && s->wide;
		st->rests |= s->rests;
	}
	s->in_cell = at;
}

static inline void next_cell(const struct lsm_scan *sc, struct strips *st,
			     struct strip *s)
{
	if (s->known && ++s->cell < s->cell_end)
		look_in_block(s);
	else if (s->known && !s->wide)
		s->in_cell = false;
	else if (s->in_memory)
		settle_cell(sc, st, s, cursor_next(&s->in.base) > 0);
	else {
		s->cell += !s->known;
		settle_cell(sc, st, s, true);
	}
}

/* To the first cell of the strip's row from (@qualifier, @ts) on. */
static void seek_cell(const struct lsm_scan *sc, struct strips *st,
		      struct strip *s, struct bytes qualifier, int64_t ts)
{
	bool at = true;

	if (s->in_memory)
		at = cursor_seek_column(&s->in.base, qualifier, ts) > 0;
	else
		s->cell = block_find_column(s->in.file.block, s->cell,
					    s->cell_end, qualifier, ts);
	settle_cell(sc, st, s, at);
}

static void seek_cells(const struct lsm_scan *sc, struct strips *st,
		       struct bytes qualifier)
{
	for (uint32_t i = 0; i < st->n; i++)
		if (st->at[i].in_cell)
			seek_cell(sc, st, &st->at[i], qualifier, INT64_MAX);
}

/* Does a row begin with the first column that it has? If not, where? */
static bool begins_at(const struct family_scan *f, struct bytes *qualifier)
{
	const struct reader_columns *k = &f->columns;

	if (!f->restricted || (!k->names && !k->has_start))
		return false;
	*qualifier = k->names ? k->names[f->strips.name] : k->start;
	return true;
}

/*
 * Where a resting strip's row goes on: at the next cell, or where the next one
 * may be that is handed out. As cursor_next().
 */
static int go_on_in_row(const struct family_scan *f, struct strip *s)
{
	const struct strips *st = &f->strips;
	struct sst_cursor *c = &s->in.file;
	struct bytes q;

	sst_cursor_pass(c, s->row);
	if (st->in_column && st->left == 0)
		return cursor_seek_column(&c->base, st->qualifier, -1);
	if (begins_at(f, &q))
		return cursor_seek_column(&c->base, q, INT64_MAX);
	return cursor_next(&c->base);
}

/*
 * Moves a strip that rests to the block where the row goes on. 1, 0 if more
 * than a look at puts is needed there, or negative.
 */
static int leave_block(struct lsm_scan *sc, struct family_scan *f,
		       struct strip *s)
{
	struct sst_cursor *c = &s->in.file;
	struct known k;
	int r = go_on_in_row(f, s);

	if (r < 0)
		return r;
	s->rests = false;
	strip_follow(s, f);
	if (r == 0)
		return 1;
	s->cell = c->cell_index;
	s->cell_end = c->cell_end;
	s->known = c->block->seq_max <= sc->seq;
	if (s->hard) {
		block_row_known(c->block, s->row, &k);
		if (!visible_puts(&f->visible, &k))
			return 0;
	}
	settle_cell(sc, &f->strips, s, true);
	return 1;
}

/* Moves what rests. As find_cell(). */
__attribute__((noinline)) static int leave_blocks(struct lsm_scan *sc,
						  struct family_scan *f)
{
	struct strips *st = &f->strips;
	int r = 1;

	if (st->in_column && st->qualifier.data != sc->qual_last.data) {
		if (buf_set(&sc->qual_last, st->qualifier) < 0)
			return why(-ENOMEM, "out of memory");
		st->qualifier = buf_bytes(&sc->qual_last);
	}
	while (st->rests && r > 0) {
		st->rests = false;
		for (uint32_t i = 0; r > 0 && i < st->n; i++)
			if (st->at[i].rests)
				r = leave_block(sc, f, &st->at[i]);
	}
	if (r == 0)
		return walk_on(sc, f);
	st->rests |= r < 0;
	return r;
}

ALWAYS_INLINE int compare_columns(const struct strip *a, const struct strip *b)
{
	if (a->head != b->head)
		return a->head < b->head ? -1 : 1;
	return head_tie(a->qualifier, b->qualifier);
}

/* Does the cell of @a come before that of @b, which is of a newer source? */
ALWAYS_INLINE bool comes_before(const struct strip *a, const struct strip *b)
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

ALWAYS_INLINE struct strip *least_cell(struct strip *at, uint32_t n)
{
	struct strip *best = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct strip *s = &at[i];

		if (AT_BRANCH(s->in_cell && (!best || comes_before(s, best))))
			best = s;
	}
	return best;
}

/*
 * Is the cell replaced by the one before, of its timestamp, or one version too
 * many? All of the column that comes behind one too many is.
 */
ALWAYS_INLINE bool is_hidden(const struct family_scan *f, struct strips *st,
			     const struct strip *s)
{
	if (!st->in_column || st->head != s->head ||
	    head_tie(st->qualifier, s->qualifier) != 0) {
		st->in_column = true;
		st->head = s->head;
		st->qualifier = s->qualifier;
		st->left =
			versions_shown(f->visible.attrs, f->visible.versions);
	} else if (st->left == 0 || s->ts == st->ts) {
		return true;
	}
	st->ts = s->ts;
	st->left--;
	return false;
}

/* Is the cell's column asked for: 0; before (-1) or behind (1) what is? */
static int place_in_columns(const struct family_scan *f, struct strips *st,
			    const struct strip *s)
{
	const struct reader_columns *k = &f->columns;
	int c = 0;

	if (k->names) {
		while (st->name < k->nnames &&
		       (c = bytes_cmp(s->qualifier, k->names[st->name])) > 0)
			st->name++;
		if (st->name == k->nnames)
			return 1;
		if (c < 0)
			return -1;
	}
	if (!k->has_stop)
		return 0;
	c = bytes_cmp(s->qualifier, k->stop);
	return c > 0 || (c == 0 && !k->stop_inclusive);
}

/*
 * Finds the next cell to hand out: 1, or the reader has it, which walks the
 * row; 0 at the row's end, or what is @borrowed must be given back first (then
 * strips rest); or negative.
 */
ALWAYS_INLINE int find_cell(struct lsm_scan *sc, struct family_scan *f,
			    bool borrowed, struct strip **out)
{
	struct strips *st = &f->strips;
	struct strip *const at = st->at, *s;
	const uint32_t n = st->n;
	const bool restricted = f->restricted;
	int c = 0, r;

	for (;;) {
		if (st->rests) {
			r = borrowed ? 0 : leave_blocks(sc, f);
			if (r <= 0 || st->walked)
				return r;
		}
		s = least_cell(at, n);
		if (!s)
			return 0;
		if (restricted)
			c = place_in_columns(f, st, s);
		if (c > 0)
			return 0;
		if (c < 0) {
			seek_cells(sc, st, f->columns.names[st->name]);
			continue;
		}
		if (!is_hidden(f, st, s)) {
			*out = s;
			return 1;
		}
		if (st->left == 0 && ++st->steps > STEPS_MAX)
			seek_cell(sc, st, s, st->qualifier, -1);
		else
			next_cell(sc, st, s);
	}
}

/* To the first cell of a block's row that the scan knows. */
static inline void enter_block(const struct lsm_scan *sc, struct strips *st,
			       struct strip *s)
{
	const struct block *b = s->in.file.block;

	s->cell = block_row_cell(b, s->row);
	s->cell_end = block_row_cell(b, s->row + 1);
	s->known = b->seq_max <= sc->seq;
	if (s->known)
		look_in_block(s);
	else
		settle_cell(sc, st, s, true);
}

/* To the first of the cells that is asked for, or that lies in other blocks. */
__attribute__((noinline)) static int
find_first(struct lsm_scan *sc, struct family_scan *f, bool borrowed)
{
	struct strips *st = &f->strips;
	struct bytes q;

	if (f->restricted && f->columns.names && !f->columns.nnames)
		return 0;
	if (begins_at(f, &q))
		seek_cells(sc, st, q);
	return find_cell(sc, f, borrowed, &st->found);
}

int cells_enter(struct lsm_scan *sc, struct family_scan *f, bool borrowed)
{
	struct strips *st = &f->strips;
	bool any = false;

	st->in_column = false;
	st->steps = 0;
	st->rests = false;
	st->found = NULL;
	st->part = NULL;
	st->name = 0;
	for (uint32_t i = 0; i < st->n; i++) {
		struct strip *s = &st->at[i];

		s->in_cell = s->in_row;
		s->rests = false;
		if (!s->in_row)
			continue;
		if (s->in_memory)
			settle_cell(sc, st, s, true);
		else
			enter_block(sc, st, s);
		any |= s->in_cell;
	}
	/* The first one of all is handed out. */
	return any && !f->restricted ? 1 : find_first(sc, f, borrowed);
}

static inline void put_cell(const struct lsm_scan *sc,
			    const struct family_scan *f, const struct strip *s,
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
		.row = scan_key(sc),
		.family = f->name,
		.qualifier = s->qualifier,
		.ts = s->ts,
		.seq = s->seq,
		.ttl_ms = 0,
		.kind = CELL_PUT,
		.value = bytes_of(sc->keys_only ? NULL : value, len),
	};
}

/* Where in the block what is asked for of its row ends. */
static uint32_t part_end(const struct family_scan *f, const struct strip *s)
{
	const struct reader_columns *k = &f->columns;
	const struct block *b = s->in.file.block;
	uint32_t end = s->cell_end;

	/* A column's versions may fill the block. */
	if (f->restricted && k->names &&
	    block_number(b, BLOCK_ID, end - 1) !=
		    block_number(b, BLOCK_ID, s->cell))
		end = block_find_column(b, s->cell, end,
					k->names[f->strips.name], -1);
	if (f->restricted && k->has_stop)
		end = block_find_column(b, s->cell, end, k->stop,
					k->stop_inclusive ? -1 : INT64_MAX);
	return end;
}

/*
 * The strip was found: begins a part with its cell if its block alone has the
 * row and shows all of it. Versions may lie in other blocks as well.
 */
static bool begin_part(struct lsm_scan *sc, struct family_scan *f,
		       struct strip *s)
{
	struct strips *st = &f->strips;
	struct known k;

	if (!st->alone || s->in_memory || s->cell_end - s->cell < PART_CELLS)
		return false;
	k = block_known(s->in.file.block);
	if (k.copies > 1)
		k.copies = UINT32_MAX;
	if (!visible_all(&f->visible, sc->seq, &k, false))
		return false;
	st->part_end = part_end(f, s);
	scan_run_names(sc, s->in.file.block, st->part_end - s->cell);
	st->part = s;
	return true;
}

/* Cells of the part, up to @n; how many. */
static size_t put_part(struct lsm_scan *sc, struct family_scan *f,
		       struct cell *out, size_t n)
{
	struct strips *st = &f->strips;
	struct strip *s = st->part;

	if (n > st->part_end - s->cell)
		n = st->part_end - s->cell;
	scan_run_part(sc, f, s->in.file.block, s->cell, out, n);
	s->cell += (uint32_t)n;
	if (s->cell < st->part_end)
		return n;
	/* As if its cells had been found one by one: its last one is counted. */
	st->part = NULL;
	s->cell--;
	look_in_block(s);
	(void)is_hidden(f, st, s);
	next_cell(sc, st, s);
	return n;
}

/* The next result of a row that is walked. */
static int next_walked(struct lsm_scan *sc, struct family_scan *f,
		       struct cell *out)
{
	struct strips *st = &f->strips;
	int r = 1;

	if (!st->first)
		r = sc->granularity == SCAN_COLUMNS
			    ? reader_next_column(&f->reader)
			    : reader_next(&f->reader);
	st->first = false;
	st->in_row = r > 0;
	if (r > 0)
		scan_fill(sc, f, out);
	return r;
}

int cells_next(struct lsm_scan *sc, struct family_scan *f, bool borrowed,
	       struct cell *out, size_t n)
{
	struct strips *st = &f->strips;
	struct strip *s = st->found;
	size_t done = 0;
	int r = 1;

	if (n > INT_MAX)
		n = INT_MAX;
	if (st->walked)
		return next_walked(sc, f, out);
	st->found = NULL;
	if (st->part)
		done = put_part(sc, f, out, n);
	for (; done < n; s = NULL) {
		if (!s)
			r = find_cell(sc, f, borrowed || done, &s);
		if (r > 0 && st->walked)
			return done ? (int)done : next_walked(sc, f, out);
		if (r <= 0) {
			st->in_row = st->rests;
			return r < 0 ? r : (int)done;
		}
		if (AT_BRANCH(st->alone) && n - done >= PART_CELLS &&
		    begin_part(sc, f, s)) {
			done += put_part(sc, f, out + done, n - done);
			continue;
		}
		put_cell(sc, f, s, &out[done++]);
		next_cell(sc, st, s);
	}
	return (int)done;
}
