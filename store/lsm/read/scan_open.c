/*
 * Opening scans: a copy of what is asked for, the families' readers, and the
 * memory of all that, which the next scan takes over. Scans of strips begin in
 * strips.c.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/read/read.h"
#include "store/lsm/state/tombstone_stats.h"
#include "store/lsm/state/pins.h"

/* Buffers that have grown beyond it are not kept for the next scan. */
#define SPARE_BUFFER_MAX 4096

/* Zeroes it, but for buffers with memory from the scan before. */
static void scan_clear(struct lsm_scan *sc)
{
	struct buf start = sc->row_start, stop = sc->row_stop, row = sc->row;

	memset(sc, 0, offsetof(struct lsm_scan, memory));
	sc->row_start = start;
	sc->row_stop = stop;
	sc->row = row;
}

/* Not zeroed, but for the buffers. */
static struct lsm_scan *scan_new(struct lsm *db)
{
	struct reader_slot *slot = reader_slot(db);
	struct lsm_scan *sc;

	if (slot_is_own(db, slot)) {
		sc = atomic_load_explicit(&slot->scan, memory_order_relaxed);
		atomic_store_explicit(&slot->scan, NULL, memory_order_relaxed);
	} else {
		sc = atomic_exchange(&slot->scan, NULL);
	}
	if (!sc) {
		sc = malloc(sizeof(*sc));
		if (sc)
			memset(sc, 0, offsetof(struct lsm_scan, memory));
	}
	return sc;
}

static void scan_free(struct lsm_scan *sc)
{
	buf_free(&sc->row_start);
	buf_free(&sc->row_stop);
	buf_free(&sc->row);
	free(sc);
}

/* Keeps it for the next, if there is none; nobody else has an own slot's. */
static bool keep_spare(struct lsm *db, struct lsm_scan *sc)
{
	struct reader_slot *slot = reader_slot(db);
	struct lsm_scan *none = NULL;

	if (!slot_is_own(db, slot))
		return atomic_compare_exchange_strong(&slot->scan, &none, sc);
	if (atomic_load_explicit(&slot->scan, memory_order_relaxed))
		return false;
	atomic_store_explicit(&slot->scan, sc, memory_order_relaxed);
	return true;
}

static void scan_spare(struct lsm *db, struct lsm_scan *sc)
{
	if (sc->row_start.cap > SPARE_BUFFER_MAX ||
	    sc->row_stop.cap > SPARE_BUFFER_MAX ||
	    sc->row.cap > SPARE_BUFFER_MAX || !keep_spare(db, sc))
		scan_free(sc);
}

void scan_free_spares(struct lsm *db)
{
	for (int i = 0; i < READER_SLOTS; i++) {
		struct lsm_scan *sc = atomic_exchange(&db->slots[i].scan, NULL);

		if (sc)
			scan_free(sc);
	}
}

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
	sc->one_row = scan_of_one_row(spec);
	return r;
}

/* Rows that the filter never lets through need not be looked at. */
static int narrow_rows(struct lsm_scan *sc, const struct scan_spec *spec)
{
	struct buf *low = sc->reversed ? &sc->row_stop : &sc->row_start;
	struct buf *high = sc->reversed ? &sc->row_start : &sc->row_stop;
	struct bytes min = buf_bytes(low), max = buf_bytes(high);
	int r = 0;

	filter_rows(spec->filter, &min, &max);
	if (min.data != low->data) {
		r = buf_set(low, min);
		if (sc->reversed)
			sc->stop_inclusive = true;
		else
			sc->start_exclusive = false;
	}
	if (r == 0 && max.data != high->data) {
		r = buf_set(high, max);
		if (sc->reversed)
			sc->start_exclusive = false;
		else
			sc->stop_inclusive = true;
	}
	return r;
}

static int prepare_pick(struct lsm_scan *sc, const struct scan_spec *spec)
{
	int r;

	sc->picking = pick_needed(spec);
	r = sc->picking ? pick_init(&sc->pick, spec) : 0;
	return r == 0 && spec->filter ? narrow_rows(sc, spec) : r;
}

static void family_times(const struct scan_spec *spec, const char *family,
			 struct visible_spec *v)
{
	int64_t max = spec->ts_max;

	v->ts_min = spec->ts_min;
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		const struct family_range *f = &spec->family_ranges[i];

		if (!bytes_eq(f->family, bytes_str(family)))
			continue;
		v->ts_min = f->ts_min;
		max = f->ts_max;
	}
	v->ts_max = max ? max : INT64_MAX;
}

static void row_hull(const struct lsm_scan *sc, struct reader_spec *rs)
{
	rs->row_min = buf_bytes(sc->reversed ? &sc->row_stop : &sc->row_start);
	rs->row_max = buf_bytes(sc->reversed ? &sc->row_start : &sc->row_stop);
}

/* As of the spec's moment: can the family tell? What it must know of it. */
static int family_past(const struct lsm_scan *sc, const struct scan_spec *spec,
		       const struct family_schema *f,
		       const struct history *lost, int64_t now_ms,
		       struct visible_spec *v)
{
	struct history_rows rows = {
		.min = buf_bytes(sc->reversed ? &sc->row_stop : &sc->row_start),
		.max = buf_bytes(sc->reversed ? &sc->row_start : &sc->row_stop),
		.max_inclusive = sc->reversed ? !sc->start_exclusive
					      : sc->stop_inclusive,
	};
	uint64_t ttl = f->attrs.ttl_ms;

	if (!spec->has_as_of)
		return 0;
	v->has_as_of = true;
	v->as_of = spec->as_of;
	v->versions = 1;
	v->pushed_seq = lost->pushed_seq;
	v->pushed_versions = lost->pushed_versions;
	if (ttl < (uint64_t)now_ms && spec->as_of < now_ms - (int64_t)ttl)
		return why(-ENODATA,
			   "what family %s held as of %lld has expired (ttl)",
			   f->name, (long long)spec->as_of);
	return history_tells(lost, &rows, spec->as_of);
}

static int open_families(struct lsm *db, struct lsm_scan *sc,
			 const struct scan_spec *spec, uint64_t seq)
{
	const struct table_state *st = sc->view->st;
	struct reader_spec rs = {.seq = seq,
				 .alive = &db->alive,
				 .memory = sc->memory,
				 .memory_bytes = sizeof(sc->memory)};
	int64_t now_ms = 0;
	int r = 0;

	/* Families must agree on the time; one may ask when it needs it. */
	if (st->schema.nfamilies > 1 || spec->has_as_of)
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
		size_t count;
		bool whole;

		f->tree = st->trees[i];
		f->at = i;
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
			.versions =
				sc->granularity == SCAN_CELLS || spec->filter
					? pick_versions(spec)
					: 1,
			.raw = spec->raw,
		};
		family_times(spec, f->name, &rs.visible);
		r = family_past(sc, spec, &st->schema.families[i],
				&sc->view->levels[i]->lost, now_ms,
				&rs.visible);
		if (r < 0) {
			free(f->names);
			return r;
		}
		f->fresh = true;
		rs.any = sc->granularity == SCAN_ROWS && !sc->picking;
		r = reader_open(&f->reader, sc->view, i, &rs);
		rs.memory_bytes = 0; /* the first one's now */
		sc->nfamilies++;
	}
	sc->may_run = sc->nfamilies == 1 && !sc->reversed && !sc->picking &&
		      !sc->families[0].restricted &&
		      sc->granularity != SCAN_FAMILIES;
	sc->may_part = sc->nfamilies == 1 && !sc->reversed && !sc->picking &&
		       !sc->as_of && sc->granularity == SCAN_CELLS &&
		       !spec->has_qual_stop &&
		       (!sc->families[0].restricted ||
			sc->families[0].columns.nnames == 1);
	return r;
}

static void close_scan(struct lsm_scan *sc)
{
	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		tombstone_stats_add(sc->db, sc->families[i].tree,
				    reader_markers(&sc->families[i].reader));
		reader_learn(sc->db, &sc->families[i].reader, sc->view,
			     sc->families[i].at);
		reader_close(&sc->families[i].reader);
		free(sc->families[i].names);
	}
	if (sc->families != &sc->one)
		free(sc->families);
	superversion_give(sc->db, reader_slot(sc->db), sc->view);
	pick_free(&sc->pick);
	buf_free(&sc->qual_start);
	buf_free(&sc->qual_stop);
	buf_free(&sc->qual_last);
	scan_spare(sc->db, sc);
}

/*
 * With readers, on the view that the scan has taken, up to @seq. On failure the
 * scan is as lsm_scan_close() wants it.
 */
static int open_readers(struct lsm_scan *sc, const struct scan_spec *spec,
			uint64_t seq)
{
	struct lsm *db = sc->db;
	struct superversion *view = sc->view;
	int r;

	scan_clear(sc);
	sc->db = db;
	sc->view = view;
	sc->granularity = spec->granularity;
	sc->reversed = spec->reversed;
	sc->keys_only = spec->keys_only;
	sc->as_of = spec->has_as_of;
	sc->limit_rows = spec->limit_rows;
	r = copy_bounds(sc, spec);
	if (r == 0)
		r = prepare_pick(sc, spec);
	if (r < 0)
		return why(r, "out of memory");
	r = open_families(db, sc, spec, seq);
	sc->current = sc->nfamilies;
	return r;
}

int lsm_scan_open(struct table *base, const struct scan_spec *spec,
		  struct scan **out)
{
	struct lsm *db = lsm_of(base->store);
	struct lsm_scan *sc = scan_new(db);
	uint64_t seq = 0;
	int r;

	if (!sc)
		return why(-ENOMEM, "out of memory");
	r = superversion_take(db, reader_slot(db), (struct lsm_table *)base,
			      &sc->view, &seq);
	if (r < 0) {
		scan_spare(db, sc);
		return r;
	}
	if (spec->snapshot)
		seq = ((const struct lsm_snapshot *)spec->snapshot)->seq;
	sc->db = db;
	sc->granularity = spec->granularity;
	sc->keys_only = spec->keys_only;
	sc->limit_rows = spec->limit_rows;
	sc->rows = 0;
	if (!scan_strips_open(sc, spec, seq))
		r = open_readers(sc, spec, seq);
	if (r < 0) {
		close_scan(sc);
		return r;
	}
	*out = &sc->base;
	return 0;
}

void lsm_scan_close(struct scan *base)
{
	struct lsm_scan *sc = (struct lsm_scan *)base;

	if (!sc->strips.on) {
		close_scan(sc);
		return;
	}
	strips_close(sc);
	superversion_give(sc->db, reader_slot(sc->db), sc->view);
	scan_spare(sc->db, sc);
}
