/*
 * Scans of a table: its families read side by side, row by row.
 *
 * Each family has a reader that stands on its next row with something to show.
 * The scan's row is the least (reversed: the greatest) of them; families that
 * stand on it give their entries in family order, then step on. A listing of
 * rows takes only the first visible entry of a row and never walks the rest.
 *
 * What one block holds alone and every entry of which is visible is taken from
 * the block itself: a run of rows up to the end of the range or the next row
 * of another file. The reader stands on the run's first row meanwhile and is
 * moved to its last one in the end.
 *
 * The bound of the range is tested on every row before its cells are looked
 * at: a reader of one row does not walk the deleted rows behind it.
 */
#include "store/lsm/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/block.h"

struct run {
	const struct block *block; /* NULL: none */
	uint32_t row, end;
	uint32_t cell, cell_end; /* of the row */
};

struct family_scan {
	struct reader reader;
	const char *name;
	struct bytes name_bytes;
	struct reader_columns columns;
	bool restricted;
	struct bytes *names; /* of columns */
	bool at_row;	     /* stands on a row with something to show */
	bool fresh;	     /* not yet positioned */
	bool ended;
};

struct lsm_scan {
	struct scan base;
	struct lsm *db;
	struct table_state *st; /* names and attributes, referenced */
	uint8_t granularity;
	bool reversed, keys_only;
	struct buf row_start, row_stop;
	bool start_exclusive, stop_inclusive, one_row;
	struct buf qual_start, qual_stop; /* owned copies of the bounds */
	uint64_t limit_rows, rows;
	struct family_scan *families;
	uint32_t nfamilies;
	uint32_t current; /* family that gave the last cell; or nfamilies */
	bool in_row;
	bool may_run; /* rows or cells of all of one family, forwards */
	struct run run;
	struct buf row;		/* the present row */
	struct family_scan one; /* families, if there is only one */
	struct tree_view *one_view;
	_Alignas(max_align_t) uint8_t
		memory[READER_MEMORY]; /* of the first family's cursors */
};

/* -- memory ----------------------------------------------------------------
 */

/* Buffers that have grown beyond it are not kept for the next scan. */
#define SPARE_BUFFER_MAX 4096

static struct spare_scan *own_spare(struct lsm *db)
{
	static _Atomic unsigned given;
	static _Thread_local unsigned own;

	if (own == 0)
		own = atomic_fetch_add(&given, 1) % SPARE_SCANS + 1;
	return &db->spares[own - 1];
}

/* Zeroed, but for buffers with memory from the scan before. */
static struct lsm_scan *scan_new(struct lsm *db)
{
	struct lsm_scan *sc = atomic_exchange(&own_spare(db)->scan, NULL);
	struct buf start, stop, row;

	if (!sc) {
		sc = malloc(sizeof(*sc));
		if (sc)
			memset(sc, 0, offsetof(struct lsm_scan, memory));
		return sc;
	}
	start = sc->row_start;
	stop = sc->row_stop;
	row = sc->row;
	memset(sc, 0, offsetof(struct lsm_scan, memory));
	sc->row_start = start;
	sc->row_stop = stop;
	sc->row = row;
	return sc;
}

static void scan_free(struct lsm_scan *sc)
{
	buf_free(&sc->row_start);
	buf_free(&sc->row_stop);
	buf_free(&sc->row);
	free(sc);
}

static void scan_spare(struct lsm *db, struct lsm_scan *sc)
{
	struct lsm_scan *none = NULL;

	if (sc->row_start.cap > SPARE_BUFFER_MAX ||
	    sc->row_stop.cap > SPARE_BUFFER_MAX ||
	    sc->row.cap > SPARE_BUFFER_MAX ||
	    !atomic_compare_exchange_strong(&own_spare(db)->scan, &none, sc))
		scan_free(sc);
}

void scan_free_spares(struct lsm *db)
{
	for (int i = 0; i < SPARE_SCANS; i++) {
		struct lsm_scan *sc =
			atomic_exchange(&db->spares[i].scan, NULL);

		if (sc)
			scan_free(sc);
	}
}

/* -- opening ----------------------------------------------------------------
 */

static int compare_bytes(const void *a, const void *b)
{
	return bytes_cmp(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Does the spec name the family at all? Counts the columns that it names. */
static bool names_family(const struct scan_spec *spec, const char *family,
			 size_t *count, bool *whole)
{
	struct bytes name = bytes_str(family);
	bool found = spec->ncolumns == 0;

	*count = 0;
	*whole = spec->ncolumns == 0;
	for (size_t i = 0; i < spec->ncolumns; i++) {
		if (!bytes_eq(spec->columns[i].family, name))
			continue;
		found = true;
		if (spec->columns[i].whole_family)
			*whole = true;
		else
			++*count;
	}
	return found;
}

/*
 * Copies the qualifiers that the spec names for the family, sorted, without
 * those before the start; the reader looks at the stop.
 */
static int copy_names(struct family_scan *f, const struct scan_spec *spec,
		      size_t count)
{
	size_t size = count * sizeof(struct bytes), n = 0;
	uint8_t *p;

	for (size_t i = 0; i < spec->ncolumns; i++)
		size += spec->columns[i].qualifier.len;
	f->names = malloc(size + 1);
	if (!f->names)
		return -ENOMEM;
	p = (uint8_t *)(f->names + count);
	for (size_t i = 0; i < spec->ncolumns; i++) {
		struct bytes q = spec->columns[i].qualifier;

		if (!bytes_eq(spec->columns[i].family, bytes_str(f->name)) ||
		    spec->columns[i].whole_family)
			continue;
		if (f->columns.has_start && bytes_cmp(q, f->columns.start) < 0)
			continue;
		if (q.len)
			memcpy(p, q.data, q.len);
		f->names[n++] = bytes_of(p, q.len);
		p += q.len;
	}
	qsort(f->names, n, sizeof(*f->names), compare_bytes);
	f->columns.names = f->names;
	f->columns.nnames = n;
	f->restricted = true;
	return 0;
}

static int family_columns(struct lsm_scan *sc, struct family_scan *f,
			  const struct scan_spec *spec, size_t count,
			  bool whole)
{
	f->columns = (struct reader_columns){
		.has_start = spec->has_qual_start,
		.has_stop = spec->has_qual_stop,
		.stop_inclusive = spec->qual_stop_inclusive,
		.start = buf_bytes(&sc->qual_start),
		.stop = buf_bytes(&sc->qual_stop),
	};
	f->restricted = spec->has_qual_start || spec->has_qual_stop;
	return whole ? 0 : copy_names(f, spec, count);
}

static int copy_bounds(struct lsm_scan *sc, const struct scan_spec *spec)
{
	int r = buf_set(&sc->row_start, spec->row_start);

	if (r == 0)
		r = buf_set(&sc->row_stop, spec->row_stop);
	if (r == 0 && spec->qual_start.len)
		r = buf_set(&sc->qual_start, spec->qual_start);
	/* The next possible name behind one is the same with a NUL. */
	if (r == 0 && spec->qual_start_exclusive)
		r = buf_append(&sc->qual_start, "", 1);
	if (r == 0 && spec->qual_stop.len)
		r = buf_set(&sc->qual_stop, spec->qual_stop);
	sc->start_exclusive = spec->row_start_exclusive;
	sc->stop_inclusive = spec->row_stop_inclusive;
	sc->one_row = spec->row_start.len && !spec->row_start_exclusive &&
		      spec->row_stop_inclusive &&
		      bytes_eq(spec->row_start, spec->row_stop);
	return r;
}

/* References to the views of all families and the sequence, at one moment. */
static int take_views(struct lsm *db, struct lsm_table *t, struct lsm_scan *sc,
		      struct tree_view ***out, uint64_t *seq)
{
	struct tree_view **views;
	uint32_t n = 0;
	int r = 0;

	pthread_mutex_lock(&db->state);
	if (!t->now) {
		r = why(-ENOENT, "the table has been dropped");
		goto out;
	}
	views = &sc->one_view;
	if (t->now->schema.nfamilies > 1)
		views = calloc(t->now->schema.nfamilies, sizeof(*views));
	if (!views) {
		r = why(-ENOMEM, "out of memory");
		goto out;
	}
	for (; n < t->now->schema.nfamilies; n++) {
		r = tree_view_take(db, t->now->trees[n], &views[n]);
		if (r < 0) {
			while (n-- > 0)
				tree_view_unref(views[n]);
			if (views != &sc->one_view)
				free(views);
			goto out;
		}
	}
	sc->st = t->now;
	table_state_ref(sc->st);
	*seq = atomic_load(&db->seq);
	*out = views;
out:
	pthread_mutex_unlock(&db->state);
	return r;
}

static void row_hull(const struct lsm_scan *sc, struct reader_spec *rs)
{
	rs->row_min = buf_bytes(sc->reversed ? &sc->row_stop : &sc->row_start);
	rs->row_max = buf_bytes(sc->reversed ? &sc->row_start : &sc->row_stop);
}

static int open_families(struct lsm *db, struct lsm_scan *sc,
			 const struct scan_spec *spec, struct tree_view **views,
			 uint64_t seq)
{
	struct table_state *st = sc->st;
	struct reader_spec rs = {.seq = seq,
				 .memory = sc->memory,
				 .memory_bytes = sizeof(sc->memory)};
	int64_t now_ms = 0;
	int r = 0;

	/* Families must agree on the time; one may ask when it needs it. */
	if (st->schema.nfamilies > 1)
		now_ms = os_now_ms(db->os);
	else
		rs.os = db->os;
	row_hull(sc, &rs);
	sc->families = &sc->one;
	if (st->schema.nfamilies > 1)
		sc->families =
			calloc(st->schema.nfamilies, sizeof(*sc->families));
	if (!sc->families)
		return why(-ENOMEM, "out of memory");
	for (uint32_t i = 0; r == 0 && i < st->schema.nfamilies; i++) {
		struct family_scan *f = &sc->families[sc->nfamilies];
		struct tree_view *view = views[i];
		size_t count;
		bool whole;

		f->name = st->schema.families[i].name;
		f->name_bytes = bytes_str(f->name);
		if (!names_family(spec, f->name, &count, &whole))
			continue;
		r = family_columns(sc, f, spec, count, whole);
		if (r < 0) {
			free(f->names);
			return why(r, "out of memory");
		}
		rs.columns = f->restricted ? &f->columns : NULL;
		rs.visible = (struct visible_spec){
			.attrs = &st->schema.families[i].attrs,
			.now_ms = now_ms,
			.ts_min = spec->ts_min,
			.ts_max = spec->ts_max ? spec->ts_max : INT64_MAX,
			.versions = sc->granularity == SCAN_CELLS
					    ? spec->versions
					    : 1,
			.raw = spec->raw,
		};
		f->fresh = true;
		views[i] = NULL; /* the reader's now */
		r = reader_open(&f->reader, view, st->trees[i]->id, &rs);
		rs.memory_bytes = 0; /* the first one's now */
		sc->nfamilies++;
	}
	sc->may_run = sc->nfamilies == 1 && !sc->reversed &&
		      !sc->families[0].restricted &&
		      sc->granularity != SCAN_FAMILIES;
	return r;
}

static void close_scan(struct lsm_scan *sc)
{
	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		reader_close(&sc->families[i].reader);
		free(sc->families[i].names);
	}
	if (sc->families != &sc->one)
		free(sc->families);
	table_state_unref(sc->st);
	buf_free(&sc->qual_start);
	buf_free(&sc->qual_stop);
	scan_spare(sc->db, sc);
}

int lsm_scan_open(struct table *base, const struct scan_spec *spec,
		  struct scan **out)
{
	struct lsm *db = lsm_of(base->store);
	struct tree_view **views = NULL;
	struct lsm_scan *sc;
	uint64_t seq = 0;
	int r;

	sc = scan_new(db);
	if (!sc)
		return why(-ENOMEM, "out of memory");
	sc->db = db;
	sc->granularity = spec->granularity;
	sc->reversed = spec->reversed;
	sc->keys_only = spec->keys_only;
	sc->limit_rows = spec->limit_rows;
	r = copy_bounds(sc, spec);
	if (r < 0)
		why(r, "out of memory");
	if (r == 0)
		r = take_views(db, (struct lsm_table *)base, sc, &views, &seq);
	if (r == 0) {
		if (spec->snapshot)
			seq = ((const struct lsm_snapshot *)spec->snapshot)
				      ->seq;
		r = open_families(db, sc, spec, views, seq);
		for (uint32_t i = 0; i < sc->st->schema.nfamilies; i++)
			tree_view_unref(views[i]);
		if (views != &sc->one_view)
			free(views);
	}
	if (r < 0) {
		close_scan(sc);
		return r;
	}
	sc->current = sc->nfamilies;
	*out = &sc->base;
	return 0;
}

void lsm_scan_close(struct scan *base)
{
	close_scan((struct lsm_scan *)base);
}

/* -- rows -------------------------------------------------------------------
 */

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

	if (f->fresh) {
		f->fresh = false;
		return first_row(sc, c);
	}
	if (sc->one_row)
		return 0;
	return sc->reversed ? cursor_prev_row(c) : cursor_next_row(c);
}

/* Takes what it can of the rows from the family's on out of their block. */
static bool begin_run(struct lsm_scan *sc, struct family_scan *f)
{
	struct bytes stop = buf_bytes(&sc->row_stop);
	struct block_rows rows;

	if (!sc->may_run || !reader_rows(&f->reader, &rows))
		return false;
	/* The present row is in bounds; is the last one? */
	if (stop.len && rows.end > rows.row + 1 &&
	    block_row_cmp(rows.block, rows.end - 1, stop) >= 0)
		rows.end = block_find_row(rows.block, stop, sc->stop_inclusive);
	if (buf_reserve(&sc->row, rows.block->row_len_max + 1) < 0)
		return false;
	sc->run = (struct run){
		.block = rows.block,
		.row = rows.row,
		.end = rows.end,
		.cell = block_row_cell(rows.block, rows.row),
		.cell_end = block_row_cell(rows.block, rows.row + 1),
	};
	return true;
}

/* To the family's next row that has something to show. */
static int advance(struct lsm_scan *sc, struct family_scan *f)
{
	int r;

	f->at_row = false;
	for (;;) {
		r = f->ended ? 0 : step_row(sc, f);
		if (r <= 0 || !in_bounds(sc, reader_cursor(&f->reader)->row)) {
			f->ended = true;
			return r < 0 ? r : 0;
		}
		r = begin_run(sc, f) ? 1 : reader_row(&f->reader);
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

static bool on_row(const struct lsm_scan *sc, struct family_scan *f)
{
	return f->at_row &&
	       bytes_eq(reader_cursor(&f->reader)->row, buf_bytes(&sc->row));
}

/* Leaves the present row, goes to the next one that shows something. */
static int next_row(struct lsm_scan *sc)
{
	struct family_scan *best;

	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		struct family_scan *f = &sc->families[i];
		int r;

		if (!f->fresh && (!sc->in_row || !on_row(sc, f)))
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

/* -- cells ------------------------------------------------------------------
 */

static void fill(struct lsm_scan *sc, const struct family_scan *f,
		 struct cell *out)
{
	const struct entry *e = reader_entry(&f->reader);

	*out = (struct cell){
		.row = buf_bytes(&sc->row),
		.family = f->name_bytes,
	};
	if (sc->granularity == SCAN_FAMILIES)
		return;
	out->qualifier = e->qualifier;
	out->ts = e->ts;
	out->seq = e->seq;
	out->ttl_ms = e->ttl_ms;
	out->kind = e->kind;
	out->value = e->value;
	if (sc->keys_only)
		out->value.data = NULL;
}

/* The next family that stands on the row, from @from on. */
static int next_family(struct lsm_scan *sc, uint32_t from, struct cell *out)
{
	for (uint32_t i = from; i < sc->nfamilies; i++) {
		if (!on_row(sc, &sc->families[i]))
			continue;
		sc->current = i;
		fill(sc, &sc->families[i], out);
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
	fill(sc, f, out);
	return 1;
}

/* The cell of the run, as fill() has it. */
static void fill_run(struct lsm_scan *sc, struct cell *out)
{
	struct entry e;

	out->row = buf_bytes(&sc->row);
	out->family = sc->families[0].name_bytes;
	block_entry(sc->run.block, sc->run.cell, &e);
	out->qualifier = e.qualifier;
	out->ts = e.ts;
	out->seq = e.seq;
	out->ttl_ms = 0;
	out->kind = CELL_PUT;
	out->value = e.value;
	if (sc->keys_only)
		out->value.data = NULL;
	sc->run.cell++;
}

/* The run's next row into the scan's own; there is room for it. */
static void run_row(struct lsm_scan *sc)
{
	struct run *run = &sc->run;
	const struct block *b = run->block;
	struct bytes suffix = block_suffix(b, run->row);

	if (suffix.len)
		memcpy(sc->row.data + b->prefix.len, suffix.data, suffix.len);
	sc->row.len = b->prefix.len + suffix.len;
	run->cell = run->cell_end;
	run->cell_end = block_row_cell(b, run->row + 1);
	sc->rows++;
}

/* What comes next of the run; 0 and no run when it is at its end. */
static int next_of_run(struct lsm_scan *sc, struct cell *out)
{
	struct run *run = &sc->run;
	int r;

	if (sc->granularity >= SCAN_COLUMNS && run->cell < run->cell_end) {
		fill_run(sc, out);
		return 1;
	}
	if (run->row + 1 == run->end ||
	    (sc->limit_rows && sc->rows == sc->limit_rows)) {
		r = merge_to_row(&sc->families[0].reader.merge, run->row);
		run->block = NULL;
		return r < 0 ? r : 0;
	}
	run->row++;
	run_row(sc);
	if (sc->granularity >= SCAN_COLUMNS) {
		fill_run(sc, out);
		return 1;
	}
	*out = (struct cell){.row = buf_bytes(&sc->row)};
	return 1;
}

int lsm_scan_next(struct scan *base, struct cell *out)
{
	struct lsm_scan *sc = (struct lsm_scan *)base;
	int r;

	for (;;) {
		r = 0;
		if (sc->run.block)
			r = next_of_run(sc, out);
		else if (sc->in_row && sc->granularity != SCAN_ROWS)
			r = next_in_row(sc, out);
		if (r != 0)
			return r;
		r = next_row(sc);
		if (r <= 0)
			return r;
		if (sc->granularity == SCAN_ROWS) {
			*out = (struct cell){.row = buf_bytes(&sc->row)};
			return 1;
		}
	}
}
