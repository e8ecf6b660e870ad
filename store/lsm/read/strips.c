/*
 * Opening strips: which sources have something of the range, where in them it
 * begins, and what comes near meanwhile.
 *
 * A scan of a row or of a few is over before cursors of readers have been
 * placed one after the other. Of puts that neither end nor are deleted a reader
 * sees the newest of each column, as many as are asked for; of two with one
 * timestamp the later: mostly that is all that need be known (rows.c).
 */
#include "store/lsm/read/strips.h"

#include <errno.h>

#include "store/lsm/read/read.h"
#include "store/lsm/state/tombstone_stats.h"
#include "store/lsm/table/sst_format.h"

/* One more, without its cursor; NULL: there are too many. */
static struct strip *new_strip(struct lsm_scan *sc)
{
	struct strip *s = scan_strips(sc) + sc->strips.n;

	if (sc->strips.n == STRIPS_MAX)
		return NULL;
	s->level = NULL;
	s->in_memory = false;
	s->over = false;
	s->in_row = false;
	s->in_cell = false;
	s->known = false;
	s->wide = false;
	s->file_over = false;
	s->ahead = false;
	sc->strips.n++;
	return s;
}

/* Adds a file, or the level from @file on. False: there are too many. */
static bool add_file(struct lsm_scan *sc, struct sstable *t,
		     const struct level *level, uint32_t file)
{
	struct strip *s = new_strip(sc);

	if (!s)
		return false;
	sst_cursor(t, &s->in.file);
	s->level = level;
	s->file = file;
	return true;
}

static bool lies_behind(struct bytes row, const struct scan_spec *spec)
{
	return spec->row_stop.len && bytes_cmp(row, spec->row_stop) > 0;
}

/*
 * A file that spans the one row that is asked for. The filter of the file
 * before was loaded meanwhile; that of the last one is asked in place().
 */
static bool add_if_has(struct lsm_scan *sc, struct sstable *t,
		       const struct level *level, uint32_t file)
{
	struct strips *st = &sc->strips;

	sst_filter_ahead(t, st->row_hash);
	if (st->unsure &&
	    !sst_filter_has(scan_strips(sc)[st->n - 1].in.file.table,
			    st->row_hash))
		st->n--;
	st->unsure = true;
	return add_file(sc, t, level, file);
}

/* All that may have something of the range; false as add_file(). */
static bool add_files(struct lsm_scan *sc, const struct levels *l,
		      const struct scan_spec *spec)
{
	struct bytes start = spec->row_start;
	bool one = sc->strips.one_row;

	sc->strips.unsure = false;
	sc->strips.expected = one && l->begin && l->end == l->begin + 1 &&
			      reader_expects(reader_slot(sc->db));
	if (one && !sc->strips.expected)
		sc->strips.row_hash = sst_hash_row(start);
	for (int i = 0; i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];
		uint32_t at = i && lv->nfiles ? levels_find(lv, start) : 0;
		uint32_t end = i && at < lv->nfiles ? at + 1 : lv->nfiles;

		for (; at < end; at++) {
			struct sstable *t = lv->files[at];
			const struct sst_info *info = sst_info(t);

			if (one ? !sst_spans(t, start)
				: lies_behind(buf_bytes(&info->row_min),
					      spec) ||
					    bytes_cmp(buf_bytes(&info->row_max),
						      start) < 0)
				continue;
			if (one && !sc->strips.expected
				    ? !add_if_has(sc, t, i ? lv : NULL, at)
				    : !add_file(sc, t, i ? lv : NULL, at))
				return false;
		}
	}
	return true;
}

/* To its first row of the range. 1, 0 or -ENOMEM. */
static int place_memory(struct lsm_scan *sc, struct strip *s,
			struct memtable *mt, const struct scan_spec *spec,
			uint32_t tree)
{
	struct bytes start = spec->row_start;
	int r;

	memtable_cursor(mt, tree, &s->in.memory);
	s->in_memory = true;
	r = sc->strips.one_row ? cursor_seek_exact(&s->in.base, start)
			       : cursor_seek_row(&s->in.base, start);
	if (r <= 0 || lies_behind(s->in.base.row, spec))
		return r < 0 ? r : 0;
	s->hard = true;
	s->in_row =
		spec->row_start_exclusive && bytes_eq(s->in.base.row, start);
	return 1;
}

/* What memory has of the range. 0, -ENOMEM, or -ENOBUFS: there are too many. */
static int add_memory(struct lsm_scan *sc, const struct scan_spec *spec,
		      uint32_t tree)
{
	const struct superversion *view = sc->view;
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < view->nmem; i++) {
		struct strip *s;

		if (memtable_empty(view->mem[i]))
			continue;
		s = new_strip(sc);
		r = s ? place_memory(sc, s, view->mem[i], spec, tree)
		      : -ENOBUFS;
		if (r == 0)
			sc->strips.n--;
	}
	return r < 0 ? r : 0;
}

/*
 * As sst_cursor_take(). Of one row that is expected the filter is asked where
 * the block would have to be read; 1 if it says no.
 */
static int take(const struct lsm_scan *sc, struct sst_cursor *in,
		struct bytes row)
{
	int r;

	in->at_hand = sc->strips.expected;
	r = sst_cursor_take(in);
	in->at_hand = false;
	if (!in->missed)
		return r;
	return sst_may_have_row(in->table, row) ? sst_cursor_take(in) : 1;
}

void strip_take(struct strip *s, const struct block_rows *at)
{
	s->hard = !at->block->puts;
	s->wide = false;
	s->row = at->row;
	s->end = at->end;
	if (s->row == s->end)
		strip_widen(s);
}

/* To the first row of a file's strip; of one row, to that one. */
static int place_file(struct lsm_scan *sc, struct strip *s,
		      const struct scan_spec *spec)
{
	struct block_rows at;
	bool equal;
	int r = sst_cursor_from(&s->in.file, spec->row_start, &at, &equal);

	if (r < 0)
		return r;
	if (r == 0 || (sc->strips.one_row && !equal)) {
		s->over = true;
		return 0;
	}
	strip_take(s, &at);
	s->in_row = equal && spec->row_start_exclusive;
	if (sc->strips.n == 1)
		return 1;
	r = sst_cursor_key(&s->in.file, s->row);
	return r < 0 ? r : 1;
}

/* The first row of each from strip @from on; how many have one. */
static int place_files(struct lsm_scan *sc, const struct scan_spec *spec,
		       uint32_t from)
{
	struct strips *st = &sc->strips;
	struct strip *s = scan_strips(sc);
	int kept = 0;

	/* What all of them wait for is fetched at once. */
	for (uint32_t i = from; i < st->n; i++)
		sst_cursor_near(&s[i].in.file, spec->row_start);
	if (st->unsure &&
	    !sst_filter_has(s[st->n - 1].in.file.table, st->row_hash))
		st->n--;
	for (uint32_t i = from; i < st->n; i++) {
		int r = take(sc, &s[i].in.file, spec->row_start);

		if (r < 0)
			return r;
		s[i].over = r > 0;
	}
	for (uint32_t i = from; i < st->n; i++) {
		int r = s[i].over ? 0 : place_file(sc, &s[i], spec);

		if (r < 0)
			return r;
		kept += r;
	}
	return kept;
}

/*
 * Places a strip in each source that may have something of the range: 1, 0 =
 * none has, or negative.
 */
static int place_strips(struct lsm_scan *sc, const struct scan_spec *spec,
			uint32_t family)
{
	struct strips *st = &sc->strips;
	uint32_t from;
	int r = add_memory(sc, spec, sc->view->st->trees[family]->id);

	if (r < 0)
		return r;
	from = st->n;
	if (!add_files(sc, sc->view->levels[family], spec))
		return -ENOBUFS;
	r = place_files(sc, spec, from);
	if (st->one_row && r >= 0)
		reader_found(reader_slot(sc->db), r > 0);
	return r < 0 ? r : r > 0 || from > 0;
}

void strips_close(struct lsm_scan *sc)
{
	struct strips *st = &sc->strips;
	struct reader *r = &sc->one.reader;

	if (st->opened) {
		tombstone_stats_add(sc->db, sc->view->st->trees[st->family],
				    reader_markers(r));
		reader_learn(sc->db, r, sc->view, st->family);
		reader_close(r);
		buf_free(&sc->qual_last);
	}
	for (uint32_t i = 0; i < st->n; i++)
		cursor_close(&scan_strips(sc)[i].in.base);
	st->n = 0;
	st->on = false;
	st->opened = false;
}

/* To the first block of the level's next file: 1, 0 or negative. */
static int next_file(struct strip *s, struct block_rows *at)
{
	struct sst_cursor *c = &s->in.file;
	bool equal;
	int r;

	if (!s->level || s->file + 1 == s->level->nfiles)
		return 0;
	cursor_close(&c->base);
	sst_cursor(s->level->files[++s->file], c);
	s->file_over = false;
	sst_cursor_near(c, bytes_of(NULL, 0));
	r = sst_cursor_take(c);
	return r < 0 ? r : sst_cursor_from(c, bytes_of(NULL, 0), at, &equal);
}

int strip_ahead(struct lsm_scan *sc, struct strip *s)
{
	struct block_rows at;
	int r = s->file_over ? 0 : sst_cursor_ahead(&s->in.file, &at);

	if (r == 0)
		r = next_file(s, &at);
	s->over = r == 0;
	if (r <= 0)
		return r;
	s->ahead = true;
	strip_take(s, &at);
	return sc->strips.n > 1 ? sst_cursor_key(&s->in.file, s->row) : 0;
}

/* The only family that is asked for, or -1. */
static int only_family(const struct scan_spec *spec, const struct schema *s)
{
	if (spec->ncolumns == 0)
		return s->nfamilies == 1 ? 0 : -1;
	if (spec->ncolumns > 1 || !spec->columns[0].whole_family)
		return -1;
	return schema_find(s, spec->columns[0].family);
}

static bool spec_is_plain(const struct scan_spec *spec)
{
	return spec->granularity != SCAN_FAMILIES && !spec->reversed &&
	       !spec->raw && !spec->has_qual_start && !spec->has_qual_stop &&
	       !spec->ts_min && !spec->ts_max && !spec->nfamily_ranges &&
	       !spec->has_as_of && !pick_needed(spec);
}

bool scan_strips_open(struct lsm_scan *sc, const struct scan_spec *spec,
		      uint64_t seq)
{
	const struct table_state *state = sc->view->st;
	struct strips *st = &sc->strips;
	int f = spec_is_plain(spec) ? only_family(spec, &state->schema) : -1;
	const struct family_schema *family;
	int r;

	st->n = 0;
	st->on = false;
	if (f < 0)
		return false;
	family = &state->schema.families[f];
	if (family->attrs.ttl_ms != TTL_FOREVER)
		return false;
	/* What else it has is never set, and so stays zero. */
	st->visible.attrs = &family->attrs;
	st->visible.ts_max = INT64_MAX;
	st->visible.versions =
		spec->granularity == SCAN_CELLS ? spec->versions : 1;
	st->one_row = scan_of_one_row(spec);
	st->seq = seq;
	st->family = (uint32_t)f;
	st->opened = false;
	st->walked = false;
	st->in_row = false;
	st->at_end = false;
	sc->run.block = NULL;
	sc->run.keys.rest = 0;
	sc->rows = 0;
	sc->reversed = sc->as_of = sc->picking = false;
	sc->may_part = sc->granularity == SCAN_CELLS;
	sc->qual_last = (struct buf){0};
	sc->stop_inclusive = spec->row_stop_inclusive;
	sc->families = &sc->one;
	sc->one.name_bytes = bytes_str(family->name);
	sc->one.restricted = false;
	sc->row_stop.len = 0;
	r = st->one_row || !spec->row_stop.len
		    ? 0
		    : buf_set(&sc->row_stop, spec->row_stop);
	if (r == 0)
		r = place_strips(sc, spec, (uint32_t)f);
	st->ended = r == 0;
	if (r > 0)
		r = rows_begin(sc);
	st->on = r >= 0;
	/* What fails here fails again, and is told, where it is read. */
	if (!st->on)
		strips_close(sc);
	return st->on;
}
