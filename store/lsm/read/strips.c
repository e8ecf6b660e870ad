/*
 * Opening strips: which sources have something of the range, where in them it
 * begins, and what is fetched meanwhile.
 *
 * A scan of a row or of a few is over before cursors have been placed one after
 * the other, so what all of them wait for is fetched at once.
 */
#include "store/lsm/read/strips.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/state/tombstone_stats.h"
#include "store/lsm/table/sst_format.h"

/* Where in the range strips begin. */
struct beginning {
	struct bytes row;
	bool exclusive;
};

/* One more, without its cursor; there is room. */
static struct strip *new_strip(struct strips *st)
{
	struct strip *s = &st->at[st->n++];

	s->level = NULL;
	s->in_memory = false;
	s->lost = false;
	s->over = false;
	s->in_row = false;
	s->in_cell = false;
	s->rests = false;
	s->known = false;
	s->wide = false;
	s->file_over = false;
	s->ahead = false;
	return s;
}

/* Room for as many strips as there can be. 0 or -ENOMEM. */
static int make_room(struct lsm_scan *sc, struct family_scan *f)
{
	const struct levels *l = sc->view->levels[f->at];
	struct strips *st = &f->strips;
	/* Levels from 1 on have a strip each. */
	size_t max = sc->view->nmem + l->level[0].nfiles + l->end;
	size_t size = max * (sizeof(*st->at) + sizeof(*st->sources));

	st->n = 0;
	st->memory = NULL;
	st->at = (struct strip *)sc->memory;
	st->sources = sc->sources;
	if (f == sc->families && max <= STRIPS_MAX)
		return 0;
	st->memory = malloc(size);
	if (!st->memory)
		return why(-ENOMEM, "out of memory");
	st->at = st->memory;
	st->sources = (struct merge_source *)(st->at + max);
	return 0;
}

/* Adds a file, or the level from @file on. */
static void add_file(struct strips *st, struct sstable *t,
		     const struct level *level, uint32_t file)
{
	struct strip *s = new_strip(st);

	sst_cursor(t, &s->in.file);
	s->level = level;
	s->file = file;
}

/* The last row that is asked for, or what lies behind it; empty: open. */
static struct bytes last_row(const struct lsm_scan *sc, struct bytes start)
{
	return sc->one_row ? start : buf_bytes(&sc->row_stop);
}

static bool lies_behind(struct bytes row, struct bytes last)
{
	return last.len && bytes_cmp(row, last) > 0;
}

/* All that may have something of the range. */
static void add_files(struct lsm_scan *sc, struct family_scan *f,
		      struct bytes start)
{
	const struct levels *l = sc->view->levels[f->at];
	struct bytes last = last_row(sc, start);
	struct strips *st = &f->strips;
	bool one = sc->one_row;

	st->expected = one && sc->direct && l->begin &&
		       l->end == l->begin + 1 &&
		       reader_expects(reader_slot(sc->db));
	if (one && !st->expected)
		st->row_hash = sst_hash_row(start);
	for (int i = l->begin; i < l->end; i++) {
		const struct level *lv = &l->level[i];
		uint32_t at = i && lv->nfiles ? levels_find(lv, start) : 0;
		uint32_t end = i && at < lv->nfiles ? at + 1 : lv->nfiles;

		for (; at < end; at++) {
			struct sstable *t = lv->files[at];
			const struct sst_info *info = sst_info(t);

			if (one ? !sst_spans(t, start)
				: lies_behind(buf_bytes(&info->row_min),
					      last) ||
					    bytes_cmp(buf_bytes(&info->row_max),
						      start) < 0)
				continue;
			if (!i && !reader_needs(info, &f->visible))
				continue;
			if (one && !st->expected)
				sst_filter_ahead(t, st->row_hash);
			add_file(st, t, i ? lv : NULL, at);
		}
	}
}

/* To its first row of the range. 1, 0 or -ENOMEM. */
static int place_memory(struct lsm_scan *sc, struct strip *s,
			struct memtable *mt, uint32_t tree,
			const struct beginning *b)
{
	struct bytes start = b->row;
	int r;

	memtable_cursor(mt, tree, &s->in.memory);
	s->in_memory = true;
	r = sc->one_row ? cursor_seek_exact(&s->in.base, start)
			: cursor_seek_row(&s->in.base, start);
	if (r <= 0 || lies_behind(s->in.base.row, last_row(sc, start)))
		return r < 0 ? r : 0;
	s->hard = true;
	s->in_row = b->exclusive && bytes_eq(s->in.base.row, start);
	return 1;
}

/* What memory has of the range. 0 or -ENOMEM. */
static int add_memory(struct lsm_scan *sc, struct family_scan *f,
		      const struct beginning *b)
{
	const struct superversion *view = sc->view;
	uint32_t tree = view->st->trees[f->at]->id;
	struct strips *st = &f->strips;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < view->nmem; i++) {
		if (memtable_empty(view->mem[i]))
			continue;
		r = place_memory(sc, new_strip(st), view->mem[i], tree, b);
		if (r == 0)
			st->n--;
	}
	return r < 0 ? r : 0;
}

/*
 * As sst_cursor_take(). Of one row that is expected the filter is asked where
 * the block would have to be read; 1 if it says no.
 */
static int take(const struct strips *st, struct sst_cursor *in,
		struct bytes row)
{
	int r;

	in->at_hand = st->expected;
	r = sst_cursor_take(in);
	in->at_hand = false;
	if (!in->missed)
		return r;
	return sst_may_have_row(in->table, row) ? sst_cursor_take(in) : 1;
}

/* Makes what is left of a block the strip's. */
static void take_rows(struct strip *s, const struct family_scan *f,
		      const struct block_rows *at)
{
	const struct known k = block_known(at->block);

	s->hard = !visible_puts(&f->visible, &k);
	s->wide = false;
	assert(at->row <= at->end && at->end <= at->block->nrow);
	s->row = at->row;
	s->end = at->end;
	if (s->row == s->end)
		strip_widen(s);
}

void strip_follow(struct strip *s, const struct family_scan *f)
{
	struct block_rows at;

	sst_cursor_rows(&s->in.file, &at);
	take_rows(s, f, &at);
	s->ahead = true;
}

int strip_lose(struct strip *s)
{
	s->lost = true;
	s->over = s->in_row = s->in_cell = s->rests = s->known = false;
	s->hard = s->wide = false;
	/* It is never at the end of its block. */
	s->row = 0;
	s->end = 1;
	return sst_cursor_missing(&s->in.file);
}

int strip_why(struct strip *s)
{
	struct sst_cursor *c = &s->in.file;
	int r;

	c->near_index = c->missing;
	r = sst_cursor_take(c);
	return r < 0 ? r
		     : why(-EUCLEAN, "a block of file %llu could not be read",
			   (unsigned long long)sst_info(c->table)->number);
}

/*
 * Does the damaged block end at the beginning of the range, or before it?
 * Negative: no memory.
 */
static int is_in_front(const struct strip *s, const struct beginning *b)
{
	struct buf row = {0};
	bool exclusive;
	int c, r = sst_cursor_behind_missing(&s->in.file, &row, &exclusive);

	c = r < 0 ? 0 : bytes_cmp(buf_bytes(&row), b->row);
	buf_free(&row);
	if (r < 0)
		return r;
	return c < 0 || (c == 0 && (b->exclusive || !exclusive));
}

static int place_file(struct lsm_scan *sc, struct family_scan *f,
		      struct strip *s, const struct beginning *b);

/*
 * A block is damaged where the strip begins. 1: it is lost, or stands in a block
 * behind that; 0: it is over.
 */
static int lose_file(struct lsm_scan *sc, struct family_scan *f,
		     struct strip *s, const struct beginning *b)
{
	int r;

	while ((r = is_in_front(s, b)) > 0) {
		r = sst_cursor_past_missing(&s->in.file);
		if (r > 0)
			return place_file(sc, f, s, b);
		if (r == 0) {
			s->row = s->end = 0;
			s->file_over = true;
			f->strips.at_end = true;
			return 1;
		}
		if (r != -EUCLEAN)
			break;
	}
	if (r == 0)
		r = strip_lose(s);
	/* The one row that is asked for may lie in front of the block. */
	s->over =
		r == 0 && sc->one_row && bytes_cmp(s->in.base.row, b->row) > 0;
	return r < 0 ? r : !s->over;
}

/* To the first row of a file's strip; of one row, to that one. */
static int place_file(struct lsm_scan *sc, struct family_scan *f,
		      struct strip *s, const struct beginning *b)
{
	struct bytes start = b->row;
	struct block_rows at;
	bool equal;
	int r = sst_cursor_from(&s->in.file, start, &at, &equal);

	s->lost = false;
	if (r == -EUCLEAN)
		return lose_file(sc, f, s, b);
	if (r < 0)
		return r;
	if (r == 0 || (sc->one_row && !equal)) {
		s->over = true;
		return 0;
	}
	take_rows(s, f, &at);
	s->in_row = equal && b->exclusive;
	if (f->strips.n == 1)
		return 1;
	r = sst_cursor_key(&s->in.file, s->row);
	return r < 0 ? r : 1;
}

/*
 * Of one row: keeps of the files from strip @from on those whose filters, which
 * add_files() has fetched, say that they may have it.
 */
static void ask_filters(struct strips *st, uint32_t from)
{
	uint32_t n = from;

	for (uint32_t i = from; i < st->n; i++) {
		if (!sst_filter_has(st->at[i].in.file.table, st->row_hash))
			continue;
		if (n != i)
			st->at[n] = st->at[i];
		n++;
	}
	st->n = n;
}

/* The first row of each from strip @from on; how many have one. */
static int place_files(struct lsm_scan *sc, struct family_scan *f,
		       uint32_t from, const struct beginning *b)
{
	struct bytes start = b->row;
	struct strips *st = &f->strips;
	struct strip *s = st->at;
	int kept = 0;

	assert(from <= st->n);
	if (sc->one_row && !st->expected)
		ask_filters(st, from);
	for (uint32_t i = from; i < st->n; i++)
		sst_cursor_near(&s[i].in.file, start);
	for (uint32_t i = from; i < st->n; i++) {
		int r = take(st, &s[i].in.file, start);

		s[i].lost = r == -EUCLEAN;
		if (r < 0 && !s[i].lost)
			return r;
		s[i].over = r > 0;
	}
	for (uint32_t i = from; i < st->n; i++) {
		int r = s[i].over   ? 0
			: s[i].lost ? lose_file(sc, f, &s[i], b)
				    : place_file(sc, f, &s[i], b);

		if (r < 0)
			return r;
		kept += r;
	}
	return kept;
}

static void close_cursors(struct strips *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		cursor_close(&st->at[i].in.base);
	st->n = 0;
	if (st->memory)
		free(st->memory);
	st->memory = NULL;
}

/*
 * Places a strip in each source that may have something of the range, from its
 * beginning on, and chooses the first row. 0 or negative.
 */
static int place(struct lsm_scan *sc, struct family_scan *f,
		 const struct beginning *b)
{
	struct strips *st = &f->strips;
	uint32_t from = 0;
	int r = make_room(sc, f);

	st->chosen = false;
	st->at_end = false;
	if (r == 0)
		r = add_memory(sc, f, b);
	if (r == 0) {
		from = st->n;
		add_files(sc, f, b->row);
		r = place_files(sc, f, from, b);
	}
	if (r >= 0 && sc->one_row && sc->direct)
		reader_found(reader_slot(sc->db), r > 0);
	st->ended = r == 0 && from == 0;
	if (r >= 0 && !st->ended)
		r = rows_begin(sc, f);
	if (r < 0)
		close_cursors(st);
	return r < 0 ? r : 0;
}

/* No row is begun. */
static void reset(struct strips *st)
{
	st->in_row = false;
	st->walked = false;
	st->rests = false;
	st->found = NULL;
	st->part = NULL;
	st->lost = NULL;
}

int strips_open(struct lsm_scan *sc, struct family_scan *f, struct bytes start)
{
	const struct beginning b = {start, sc->start_exclusive};

	f->damaged = false;
	f->strips.dead = 0;
	reset(&f->strips);
	return place(sc, f, &b);
}

/* Gives back what a reader has found; returns the markers that it walked over. */
static uint64_t close_reader(struct lsm_scan *sc, struct family_scan *f)
{
	uint64_t markers;

	if (!f->opened)
		return 0;
	markers = reader_markers(&f->reader);
	reader_learn(sc->db, &f->reader, sc->view, f->at);
	reader_close(&f->reader);
	f->opened = false;
	return markers;
}

int strips_pass(struct lsm_scan *sc, struct family_scan *f)
{
	struct strips *st = &f->strips;
	struct beginning b = {.exclusive = true};
	struct buf row = {0};
	int r;

	if (st->lost)
		r = sst_cursor_behind_missing(&st->lost->in.file, &row,
					      &b.exclusive);
	else
		r = buf_set(&row, st->best->in.base.row);
	b.row = buf_bytes(&row);
	st->dead += close_reader(sc, f);
	close_cursors(st);
	reset(st);
	if (r == 0 && !sc->one_row)
		r = place(sc, f, &b);
	if (r < 0 || sc->one_row)
		st->ended = true;
	buf_free(&row);
	return r < 0 ? why(r, "out of memory") : 0;
}

void strips_close(struct lsm_scan *sc, struct family_scan *f)
{
	uint64_t markers = f->strips.dead + close_reader(sc, f);

	if (markers)
		tombstone_stats_add(sc->view->st->trees[f->at], markers);
	close_cursors(&f->strips);
}

/* To the first block of the level's next file: 1, 0 or negative. */
static int next_file(struct strip *s, struct block_rows *at)
{
	struct sst_cursor *c = &s->in.file;
	bool equal;
	int r;

	assert(!s->in_memory);
	if (!s->level || s->file + 1 == s->level->nfiles)
		return 0;
	assert(s->file + 1 < s->level->nfiles);
	cursor_close(&c->base);
	sst_cursor(s->level->files[++s->file], c);
	s->file_over = false;
	sst_cursor_near(c, bytes_of(NULL, 0));
	r = sst_cursor_take(c);
	return r < 0 ? r : sst_cursor_from(c, bytes_of(NULL, 0), at, &equal);
}

int strip_ahead(struct family_scan *f, struct strip *s)
{
	struct block_rows at;
	int r = s->file_over ? 0 : sst_cursor_ahead(&s->in.file, &at);

	if (r == 0)
		r = next_file(s, &at);
	if (r == -EUCLEAN)
		return strip_lose(s);
	s->over = r == 0;
	if (r <= 0)
		return r;
	s->ahead = true;
	take_rows(s, f, &at);
	return f->strips.n > 1 ? sst_cursor_key(&s->in.file, s->row) : 0;
}
