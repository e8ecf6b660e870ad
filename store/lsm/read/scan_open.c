/*
 * Opening scans: a copy of what is asked for, the families' strips or readers,
 * and the memory of all that, which the next scan takes over.
 */
#include "store/lsm/read/strips.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/read/read.h"
#include "store/lsm/state/pins.h"

/* Buffers that have grown beyond it are not kept for the next scan. */
#define SPARE_BUFFER_MAX 4096

/* Not zeroed, but for its three buffers. */
static struct lsm_scan *scan_new(struct lsm *db, struct reader_slot *slot)
{
	struct lsm_scan *sc = slot_take_scan(db, slot);

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

static void scan_spare(struct lsm *db, struct reader_slot *slot,
		       struct lsm_scan *sc)
{
	if (sc->row_start.cap > SPARE_BUFFER_MAX ||
	    sc->row_stop.cap > SPARE_BUFFER_MAX ||
	    sc->row.cap > SPARE_BUFFER_MAX || !slot_keep_scan(db, slot, sc))
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

/* What a scan of all of one family is spared, so that it opens fast. */
#define RARE __attribute__((noinline, cold))

/* Does the spec, which has a list, name the family? Counts its columns. */
RARE static bool names_family(const struct scan_spec *spec, const char *family,
			      size_t *count, bool *whole)
{
	struct bytes name = bytes_str(family);
	bool found = false;

	*count = 0;
	*whole = false;
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

		if (!bytes_eq(spec->columns[i].family, f->name) ||
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

RARE static int family_columns(struct lsm_scan *sc, struct family_scan *f,
			       const struct scan_spec *spec, size_t count,
			       bool whole)
{
	f->columns = (struct reader_columns){
		.has_start = spec->has_qual_start,
		.has_stop = spec->has_qual_stop,
		.stop_inclusive = spec->qual_stop_inclusive,
	};
	if (sc->bounded) {
		f->columns.start = buf_bytes(&sc->qual_start);
		f->columns.stop = buf_bytes(&sc->qual_stop);
	}
	return whole ? 0 : copy_names(f, spec, count);
}

RARE static int copy_qualifiers(struct lsm_scan *sc,
				const struct scan_spec *spec)
{
	int r = 0;

	sc->qual_start = sc->qual_stop = (struct buf){0};
	if (spec->qual_start.len)
		r = buf_set(&sc->qual_start, spec->qual_start);
	/* The next possible name behind one is the same with a NUL. */
	if (r == 0 && spec->qual_start_exclusive)
		r = buf_append(&sc->qual_start, "", 1);
	if (r == 0 && spec->qual_stop.len)
		r = buf_set(&sc->qual_stop, spec->qual_stop);
	return r;
}

/*
 * Copies the bounds that later calls need. Those of rows are empty where one
 * row is asked for.
 */
static int copy_bounds(struct lsm_scan *sc, const struct scan_spec *spec)
{
	int r = 0;

	sc->row_start.len = sc->row_stop.len = 0;
	sc->qual_last = (struct buf){0};
	if (sc->reversed && spec->row_start.len)
		r = buf_set(&sc->row_start, spec->row_start);
	if (r == 0 && spec->row_stop.len && !sc->one_row)
		r = buf_set(&sc->row_stop, spec->row_stop);
	sc->bounded = spec->has_qual_start;
	if (spec->has_qual_stop)
		sc->bounded = true;
	if (r == 0 && sc->bounded)
		r = copy_qualifiers(sc, spec);
	return r < 0 ? why(r, "out of memory") : 0;
}
/* A family may have a range of its own. */
RARE static void family_times(const struct scan_spec *spec, struct bytes family,
			      struct visible_spec *v)
{
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		const struct family_range *f = &spec->family_ranges[i];

		if (!bytes_eq(f->family, family))
			continue;
		v->ts_min = f->ts_min;
		v->ts_max = f->ts_max ? f->ts_max : INT64_MAX;
	}
}

/* As of the spec's moment: can the family tell? What it must know of it. */
RARE static int family_past(const struct lsm_scan *sc, struct family_scan *f,
			    const struct scan_spec *spec)
{
	const struct history_rows rows = {
		.min = sc->reversed ? spec->row_stop : spec->row_start,
		.max = sc->reversed ? spec->row_start : spec->row_stop,
		.max_inclusive = sc->reversed ? !spec->row_start_exclusive
					      : spec->row_stop_inclusive,
	};

	return visible_as_of(&f->visible, spec->as_of, f->name,
			     &sc->view->levels[f->at]->lost, &rows);
}

/* A reader of a reversed scan, with cursors of its own. */
RARE static int open_reader(struct lsm_scan *sc, struct family_scan *f)
{
	struct reader_spec rs = scan_reader(sc, f);
	int r;

	rs.row_min = buf_bytes(&sc->row_stop);
	rs.row_max = buf_bytes(&sc->row_start);
	rs.memory = sc->memory;
	rs.memory_bytes = f == sc->families ? sizeof(sc->memory) : 0;
	r = reader_open(&f->reader, sc->view, f->at, &rs);
	f->strips.n = 0;
	f->strips.memory = NULL;
	f->strips.dead = 0;
	f->opened = r == 0;
	return r;
}

/* What the family's reader or strips must know of what is asked for. */
static int prepare_family(struct lsm_scan *sc, struct family_scan *f,
			  const struct scan_spec *spec, uint32_t at)
{
	const struct family_schema *schema = &sc->view->st->schema.families[at];
	const struct family_attrs *attrs;
	bool all = sc->granularity == SCAN_CELLS || spec->filter;

	f->at = at;
	f->name = bytes_str(schema->name);
	f->names = NULL;
	f->walks = sc->picking || spec->raw;
	f->opened = f->at_row = f->ended = f->lost = false;
	f->fresh = true;
	f->visible = (struct visible_spec){
		.attrs = &schema->attrs,
		.versions = all ? pick_versions(spec) : 1,
		.raw = spec->raw,
		.replaced = spec->replaced,
		.ts_min = spec->ts_min,
		.ts_max = spec->ts_max ? spec->ts_max : INT64_MAX,
	};
	attrs = pin_attrs(spec->snapshot, sc->view->table_id, schema);
	if (attrs != &schema->attrs) {
		f->then = *attrs;
		f->visible.attrs = &f->then;
	}
	if (spec->nfamily_ranges)
		family_times(spec, f->name, &f->visible);
	/* Families must agree on the time; one may ask when it needs it. */
	if (!sc->now_ms && (sc->families != &sc->one || spec->has_as_of ||
			    f->visible.attrs->ttl_ms != TTL_FOREVER))
		sc->now_ms = os_now_ms(sc->db->os);
	f->visible.now_ms = sc->now_ms;
	return spec->has_as_of ? family_past(sc, f, spec) : 0;
}

/* All columns (@whole) of the family, or @count that the spec names. */
static inline int open_family(struct lsm_scan *sc, struct family_scan *f,
			      const struct scan_spec *spec, uint32_t at,
			      size_t count, bool whole)
{
	int r = prepare_family(sc, f, spec, at);

	f->restricted = !whole || sc->bounded;
	if (r == 0 && f->restricted &&
	    family_columns(sc, f, spec, count, whole) < 0)
		r = why(-ENOMEM, "out of memory");
	if (r == 0 && sc->reversed)
		r = open_reader(sc, f);
	if (r < 0) {
		free(f->names);
		return r;
	}
	sc->nfamilies++;
	return sc->reversed ? 0 : strips_open(sc, f, spec->row_start);
}

/* How many families the spec names. */
RARE static uint32_t count_families(const struct scan_spec *spec,
				    const struct schema *schema)
{
	uint32_t n = 0;
	size_t count;
	bool whole;

	for (uint32_t i = 0; i < schema->nfamilies; i++)
		n += names_family(spec, schema->families[i].name, &count,
				  &whole);
	return n;
}

static int open_families(struct lsm_scan *sc, const struct scan_spec *spec)
{
	const struct schema *schema = &sc->view->st->schema;
	const bool all = spec->ncolumns == 0;
	uint32_t n = all ? schema->nfamilies : count_families(spec, schema);
	struct family_scan *f;
	int r = 0;

	sc->direct = n == 1 && !sc->reversed && !sc->picking &&
		     sc->granularity != SCAN_FAMILIES;
	if (n > 1)
		sc->families = calloc(n, sizeof(*sc->families));
	if (!sc->families)
		return why(-ENOMEM, "out of memory");
	f = sc->families;
	for (uint32_t i = 0; r == 0 && i < schema->nfamilies; i++) {
		size_t count;
		bool whole;

		if (all)
			r = open_family(sc, f++, spec, i, 0, true);
		else if (names_family(spec, schema->families[i].name, &count,
				      &whole))
			r = open_family(sc, f++, spec, i, count, whole);
	}
	return r;
}

static int open_bounded(struct lsm_scan *sc, const struct scan_spec *spec)
{
	int r;

	/* A row is the same in both directions. */
	sc->one_row = spec->row_start.len && !spec->row_start_exclusive &&
		      spec->row_stop_inclusive &&
		      bytes_eq(spec->row_start, spec->row_stop);
	sc->reversed = spec->reversed && !sc->one_row;
	sc->start_exclusive = spec->row_start_exclusive;
	sc->stop_inclusive = spec->row_stop_inclusive;
	r = copy_bounds(sc, spec);
	return r < 0 ? r : open_families(sc, spec);
}

static void close_scan(struct lsm_scan *sc)
{
	struct reader_slot *slot = reader_slot(sc->db);

	for (uint32_t i = 0; i < sc->nfamilies; i++) {
		strips_close(sc, &sc->families[i]);
		if (sc->families[i].restricted)
			free(sc->families[i].names);
	}
	if (sc->families != &sc->one)
		free(sc->families);
	superversion_give(sc->db, slot, sc->view);
	if (sc->picking)
		pick_free(&sc->pick);
	if (sc->bounded) {
		buf_free(&sc->qual_start);
		buf_free(&sc->qual_stop);
	}
	if (sc->qual_last.data)
		buf_free(&sc->qual_last);
	scan_spare(sc->db, slot, sc);
}

/* As open_bounded(), with a filter or limits in the families. */
RARE static int open_picking(struct lsm_scan *sc, const struct scan_spec *spec)
{
	struct scan_spec narrowed = *spec;

	if (pick_init(&sc->pick, spec) < 0)
		return why(-ENOMEM, "out of memory");
	if (spec->filter)
		pick_rows(&narrowed);
	return open_bounded(sc, &narrowed);
}

/*
 * On the view that the scan has taken, up to sc->seq. On failure the scan is as
 * close_scan() wants it.
 */
static int open_scan(struct lsm_scan *sc, const struct scan_spec *spec)
{
	sc->granularity = spec->granularity;
	sc->keys_only = spec->keys_only;
	sc->as_of = spec->has_as_of;
	sc->limit_rows = spec->limit_rows;
	sc->rows = 0;
	sc->now_ms = 0;
	sc->in_row = false;
	sc->nfamilies = sc->current = 0;
	sc->families = &sc->one;
	sc->run.block = NULL;
	sc->run.keys.rest = 0;
	sc->run.key_at = 0;
	sc->picking = pick_needed(spec);
	return sc->picking ? open_picking(sc, spec) : open_bounded(sc, spec);
}

int lsm_scan_open(struct table *base, const struct scan_spec *spec,
		  struct scan **out)
{
	struct lsm *db = lsm_of(base->store);
	struct reader_slot *slot = reader_slot(db);
	struct lsm_scan *sc = scan_new(db, slot);
	int r;

	if (!sc)
		return why(-ENOMEM, "out of memory");
	r = superversion_take(db, slot, (struct lsm_table *)base, &sc->view,
			      &sc->seq);
	if (r < 0) {
		scan_spare(db, slot, sc);
		return r;
	}
	if (spec->snapshot)
		sc->seq = ((const struct lsm_snapshot *)spec->snapshot)->seq;
	sc->db = db;
	r = open_scan(sc, spec);
	if (r < 0) {
		close_scan(sc);
		return r;
	}
	*out = &sc->base;
	return 0;
}

void lsm_scan_close(struct scan *base)
{
	close_scan((struct lsm_scan *)base);
}
