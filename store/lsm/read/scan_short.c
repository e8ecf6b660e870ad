/*
 * Short scans: rows of one family, forwards, with no reader.
 *
 * A scan of a row or of a few is over before the readers, their merge and what
 * sees to visibility have been made. Where the memory has nothing of the range
 * and files hold puts alone, blocks are all that is needed: a strip stands in
 * the block of a file, or of the files of a level one behind the other.
 *
 *	strip 0	| . b . . e |		one strip alone: its rows are a run
 *	strip 1	| a b . d . |		several: rows by their keys, the cells
 *	strip 2	| . b c . . |		of "b" by qualifier (scan_several.c)
 *
 * Of puts that neither end nor are deleted a reader sees the newest of each
 * column, or all where all are kept; of two with one timestamp the later.
 *
 * Whatever needs more thought ends the short way: a block with a marker, a row
 * that goes on in the next block, entries behind the reader's sequence. Then
 * readers go on behind the row that was handed out last.
 */
#include "store/lsm/read/scan_short.h"

#include <errno.h>

#include "store/lsm/read/read.h"
#include "store/lsm/table/block.h"
#include "store/lsm/table/sst_format.h"

/* Is all of the file seen as it is? */
static bool is_plain(const struct sstable *t)
{
	const struct sst_info *i = sst_info(t);

	return i->markers == 0 && !i->has_ttl;
}

/* Adds a file, or the level from @file on. False: there are too many. */
static bool add_strip(struct lsm_scan *sc, struct sstable *t,
		      const struct level *level, uint32_t file)
{
	struct strip *s = scan_strips(sc) + sc->brief.n;

	if (!is_plain(t) || sc->brief.n == STRIPS_MAX)
		return false;
	sst_cursor(t, &s->in);
	s->level = level;
	s->file = file;
	s->over = false;
	s->in_row = false;
	sc->brief.n++;
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
	struct brief *br = &sc->brief;

	sst_filter_ahead(t, br->row_hash);
	if (br->unsure &&
	    !sst_filter_has(scan_strips(sc)[br->n - 1].in.table, br->row_hash))
		br->n--;
	br->unsure = is_plain(t);
	if (!br->unsure && !sst_filter_has(t, br->row_hash))
		return true;
	return add_strip(sc, t, level, file);
}

/* All that may have something of the range; false as add_strip(). */
static bool add_files(struct lsm_scan *sc, const struct levels *l,
		      const struct scan_spec *spec)
{
	struct bytes start = spec->row_start;
	bool one = sc->brief.one_row;

	sc->brief.unsure = false;
	sc->brief.expected = one && l->begin && l->end == l->begin + 1 &&
			     reader_expects(reader_slot(sc->db));
	if (one && !sc->brief.expected)
		sc->brief.row_hash = sst_hash_row(start);
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
			if (one && !sc->brief.expected
				    ? !add_if_has(sc, t, i ? lv : NULL, at)
				    : !add_strip(sc, t, i ? lv : NULL, at))
				return false;
		}
	}
	return true;
}

/* Has memory nothing of the range? */
static bool memory_lacks(const struct view *view, uint32_t tree,
			 const struct bytes *row)
{
	struct memtree_stat st;
	struct mem_cursor c;
	int r;

	for (uint32_t i = 0; i < view->nmem; i++) {
		if (memtable_empty(view->mem[i]))
			continue;
		if (!row) {
			if (memtable_tree_stat(view->mem[i], tree, &st))
				return false;
			continue;
		}
		memtable_cursor(view->mem[i], tree, &c);
		r = cursor_seek_exact(&c.base, *row);
		cursor_close(&c.base);
		if (r)
			return false;
	}
	return true;
}

/* Needs no entry of the strip's block a thought? */
static bool block_is_plain(const struct lsm_scan *sc, const struct strip *s)
{
	const struct brief *br = &sc->brief;
	const struct block *b = s->in.block;

	if (!b->simple || b->seq_max > br->seq || s->row == s->end)
		return false;
	/* The index alone lists rows that fill blocks (scan_keys.c). */
	if (sc->granularity == SCAN_ROWS && !br->one_row && b->nrow <= 2)
		return false;
	if (br->n == 1)
		return sc->granularity == SCAN_ROWS || b->copies <= br->shown;
	if (!br->all && br->shown != 1)
		return false;
	return b->row_len_max <= STRIP_KEY_MAX;
}

static void take_rows(struct strip *s, const struct block_rows *at)
{
	s->row = at->row;
	s->end = at->end;
}

/* Fails: readers must go on. */
static int go_no_further(struct lsm_scan *sc)
{
	sc->brief.beyond = true;
	return -EAGAIN;
}

int scan_strip_ahead(struct lsm_scan *sc, struct strip *s)
{
	struct block_rows at;
	bool equal;
	int r;

	if (s->end < s->in.block->nrow)
		return go_no_further(sc);
	r = sst_cursor_ahead(&s->in, &at);
	if (r == 0 && s->level && s->file + 1 < s->level->nfiles) {
		struct sstable *t = s->level->files[s->file + 1];

		if (!is_plain(t))
			return go_no_further(sc);
		cursor_close(&s->in.base);
		sst_cursor(t, &s->in);
		s->file++;
		sst_cursor_near(&s->in, bytes_of(NULL, 0));
		r = sst_cursor_take(&s->in);
		if (r == 0)
			r = sst_cursor_from(&s->in, bytes_of(NULL, 0), &at,
					    &equal);
	}
	if (r <= 0)
		return r;
	take_rows(s, &at);
	return block_is_plain(sc, s) ? 1 : go_no_further(sc);
}

/* Makes what is left of the strip's block the run. 1, 0 = none, negative. */
static int begin_run(struct lsm_scan *sc, struct strip *s)
{
	struct block_rows rows = {s->in.block, s->row, s->end};
	struct bytes stop = buf_bytes(&sc->row_stop);

	if (sc->brief.one_row) {
		rows.end = rows.row + 1;
		sc->brief.ended = true;
	} else if (stop.len &&
		   block_row_cmp(rows.block, rows.end - 1, stop) >= 0) {
		rows.end = block_find_row(rows.block, stop, sc->stop_inclusive);
		sc->brief.ended = true;
		if (rows.end <= rows.row)
			return 0;
	}
	return scan_run_take(sc, &rows) < 0 ? why(-ENOMEM, "out of memory") : 1;
}

static int next_of_run(struct lsm_scan *sc, struct cell *out, size_t n)
{
	for (;;) {
		int r = sc->run.block ? scan_run_next(sc, out, n) : 0;

		if (r || sc->brief.ended || scan_at_limit(sc))
			return r;
		r = scan_strip_ahead(sc, scan_strips(sc));
		if (r > 0)
			r = begin_run(sc, scan_strips(sc));
		if (r <= 0) {
			sc->brief.ended = r == 0;
			return r;
		}
		/* One block was not enough: one more is not, either. */
		scan_run_fetch(sc, sst_cursor_behind(&scan_strips(sc)->in));
	}
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

static void drop_strips(struct lsm_scan *sc)
{
	for (uint32_t i = 0; i < sc->brief.n; i++)
		cursor_close(&scan_strips(sc)[i].in.base);
	sc->brief.n = 0;
}

/*
 * As sst_cursor_take(). Of one row that is expected the filter is asked where
 * the block would have to be read; 1 if it says no.
 */
static int take(const struct lsm_scan *sc, struct sst_cursor *in,
		struct bytes row)
{
	int r;

	in->at_hand = sc->brief.expected;
	r = sst_cursor_take(in);
	in->at_hand = false;
	if (!in->missed)
		return r;
	return sst_may_have_row(in->table, row) ? sst_cursor_take(in) : 1;
}

/* The first row of each; of one row, all that do not have it go. */
static int place(struct lsm_scan *sc, const struct scan_spec *spec)
{
	struct brief *br = &sc->brief;
	uint32_t kept = 0;

	/* What all of them wait for is fetched at once. */
	for (uint32_t i = 0; i < br->n; i++)
		sst_cursor_near(&scan_strips(sc)[i].in, spec->row_start);
	if (br->unsure &&
	    !sst_filter_has(scan_strips(sc)[br->n - 1].in.table, br->row_hash))
		br->n--;
	for (uint32_t i = 0; i < br->n; i++) {
		int r = take(sc, &scan_strips(sc)[i].in, spec->row_start);

		if (r)
			return r < 0 ? r : 0;
	}
	for (uint32_t i = 0; i < br->n; i++) {
		struct strip *s = &scan_strips(sc)[i];
		struct block_rows at;
		bool equal;
		int r = sst_cursor_from(&s->in, spec->row_start, &at, &equal);

		if (r < 0)
			return r;
		if (r == 0 || (br->one_row && !equal)) {
			s->over = true;
			continue;
		}
		take_rows(s, &at);
		if (equal && spec->row_start_exclusive && s->row < s->end)
			s->row++;
		if (!block_is_plain(sc, s))
			return go_no_further(sc);
		kept++;
	}
	return (int)kept;
}

static int begin(struct lsm_scan *sc, const struct scan_spec *spec)
{
	struct brief *br = &sc->brief;
	int r = place(sc, spec);

	if (br->one_row && r >= 0)
		reader_found(reader_slot(sc->db), r > 0);
	if (r <= 0) {
		br->ended = true;
		return r;
	}
	if (br->n == 1)
		return begin_run(sc, scan_strips(sc));
	return scan_several_begin(sc);
}

bool scan_short_open(struct lsm_scan *sc, const struct scan_spec *spec,
		     uint64_t seq)
{
	const struct table_state *st = sc->view->st;
	struct brief *br = &sc->brief;
	int f = spec_is_plain(spec) ? only_family(spec, &st->schema) : -1;
	const struct family_schema *family;

	br->n = 0;
	br->on = false;
	if (f < 0)
		return false;
	family = &st->schema.families[f];
	if (family->attrs.ttl_ms != TTL_FOREVER)
		return false;
	br->shown = versions_shown(
		&family->attrs,
		spec->granularity == SCAN_CELLS ? spec->versions : 1);
	br->all = br->shown == UINT32_MAX;
	br->one_row = scan_of_one_row(spec);
	if (!memory_lacks(sc->view, st->trees[f]->id,
			  br->one_row ? &spec->row_start : NULL))
		return false;
	br->seq = seq;
	br->family = (uint32_t)f;
	br->versions = spec->versions;
	br->ended = false;
	br->beyond = false;
	br->in_row = false;
	sc->run.block = NULL;
	sc->rows = 0;
	sc->stop_inclusive = spec->row_stop_inclusive;
	sc->families = &sc->one;
	sc->one.name_bytes = bytes_str(family->name);
	sc->row_stop.len = 0;
	if ((!br->one_row && spec->row_stop.len &&
	     buf_set(&sc->row_stop, spec->row_stop) < 0) ||
	    !add_files(sc, sc->view->levels[f], spec) || begin(sc, spec) < 0) {
		/*
		 * What fails here fails again, and is told, where it is read.
		 */
		drop_strips(sc);
		return false;
	}
	br->on = true;
	return true;
}

void scan_short_close(struct lsm_scan *sc)
{
	drop_strips(sc);
	sc->brief.on = false;
}

/* Readers go on behind the present row. */
static int go_on(struct lsm_scan *sc)
{
	struct column_name column = {
		.family = sc->one.name_bytes,
		.whole_family = true,
	};
	struct scan_spec spec = {
		.granularity = sc->granularity,
		.keys_only = sc->keys_only,
		.row_start =
			bytes_of(sc->row.data + sc->run.key_at, sc->row.len),
		.row_start_exclusive = true,
		.row_stop_inclusive = sc->stop_inclusive,
		.columns = &column,
		.ncolumns = 1,
		.versions = sc->brief.versions,
		.limit_rows = sc->limit_rows,
	};
	struct buf stop = sc->row_stop;
	int r;

	spec.row_stop = buf_bytes(&stop);
	sc->row_stop = (struct buf){0};
	scan_short_close(sc);
	r = scan_full_open(sc, &spec, sc->brief.seq);
	buf_free(&stop);
	return r;
}

int scan_short_next(struct lsm_scan *sc, struct cell *out, size_t n)
{
	int r;

	if (sc->brief.ended && !sc->run.block && !sc->brief.in_row)
		return 0;
	r = sc->brief.n == 1 ? next_of_run(sc, out, n)
			     : scan_several_next(sc, out, n);
	if (!sc->brief.beyond)
		return r;
	r = go_on(sc);
	return r < 0 ? r : lsm_scan_next(&sc->base, out, n);
}
