#include <errno.h>
#include <stdlib.h>

#include "store/filter/pick.h"
#include "tests/model/ref_filter.h"
#include "tests/model/ref_inside.h"

/* Rows of one family that a scan walks; each holds a reference. */
struct side {
	char name[FAMILY_LEN_MAX + 1];
	struct family_attrs attrs;
	struct ref_row **rows;
	size_t n, at; /* in the scan's direction */
};

struct range {
	char family[FAMILY_LEN_MAX + 1];
	int64_t ts_min, ts_max;
};

struct ref_scan {
	struct scan base;
	struct scan_spec spec; /* bounds and columns are in @names */
	struct buf names;
	struct column_name *columns;
	struct range *ranges;
	uint64_t seq_max, rows_found;
	int64_t now_ms;
	size_t nsides;
	struct side *sides;
	/* Results of the present row. */
	struct ref_row *row;
	struct ref_filter *filter; /* NULL: all are handed out */
	struct cell *results;
	size_t nresults, cap, next;
};

static struct ref_scan *scan_of(struct scan *sc)
{
	return (struct ref_scan *)sc;
}

static bool family_wanted(const struct scan_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->ncolumns; i++)
		if (bytes_eq(spec->columns[i].family, bytes_str(name)))
			return true;
	return spec->ncolumns == 0;
}

/* Rows of the range are [*lo, *hi) of the ascending array. */
static void rows_range(const struct ref_family *f, const struct scan_spec *spec,
		       enum ref_plant plant, size_t *lo, size_t *hi)
{
	struct bytes low = spec->row_start, high = spec->row_stop;
	bool after_low = spec->row_start_exclusive;
	bool after_high = spec->row_stop_inclusive;

	/* Backwards the start is the higher row. */
	if (spec->reversed) {
		low = spec->row_stop;
		high = spec->row_start;
		after_low = !spec->row_stop_inclusive;
		after_high = !spec->row_start_exclusive ||
			     plant == PLANT_REVERSED_BOUND;
	}
	*lo = low.len ? ref_rows_find(f, low, after_low) : 0;
	*hi = high.len ? ref_rows_find(f, high, after_high) : f->n;
	if (*hi < *lo)
		*hi = *lo;
}

/* A named snapshot shows the family by the settings of its time. */
static const struct family_attrs *
attrs_of(const struct snapshot *snap, const struct ref_table *t, int family)
{
	const struct family_schema *f = &t->schema.families[family];
	const struct snapshot_table *was =
		snap ? snapshot_tables_find(&snap->tables, t->base.id) : NULL;
	int at = was ? schema_find(&was->schema, bytes_str(f->name)) : -1;

	return at < 0 ? &f->attrs : &was->schema.families[at].attrs;
}

static int side_open(struct ref_scan *sc, struct ref_table *t, uint32_t family)
{
	const struct ref_family *f = &t->families[family];
	struct side *side = &sc->sides[sc->nsides];
	size_t lo, hi;

	rows_range(f, &sc->spec, store_of(t->base.store)->plant, &lo, &hi);
	side->rows = malloc((hi - lo + 1) * sizeof(*side->rows));
	if (!side->rows)
		return -ENOMEM;
	memcpy(side->name, t->schema.families[family].name, sizeof(side->name));
	side->attrs = *attrs_of(sc->spec.snapshot, t, (int)family);
	for (size_t i = lo; i < hi; i++) {
		size_t from = sc->spec.reversed ? hi - 1 - (i - lo) : i;

		side->rows[side->n] = f->rows[from];
		ref_row_ref(side->rows[side->n++]);
	}
	sc->nsides++;
	return 0;
}

/* Copies what the spec points to: it is the caller's after the call. */
static int spec_copy(struct ref_scan *sc, const struct scan_spec *spec)
{
	size_t total = spec->row_start.len + spec->row_stop.len +
		       spec->qual_start.len + spec->qual_stop.len;
	struct bytes *all[] = {&sc->spec.row_start, &sc->spec.row_stop,
			       &sc->spec.qual_start, &sc->spec.qual_stop};
	int r;

	sc->spec = *spec;
	sc->columns = calloc(spec->ncolumns + 1, sizeof(*sc->columns));
	if (!sc->columns)
		return -ENOMEM;
	for (size_t i = 0; i < spec->ncolumns; i++)
		total += spec->columns[i].family.len +
			 spec->columns[i].qualifier.len;
	/* Room for all first, so that nothing moves. */
	r = buf_reserve(&sc->names, total + 1);
	if (r < 0)
		return r;
	for (size_t i = 0; i < 4; i++) {
		uint8_t *p = sc->names.data + sc->names.len;

		buf_append(&sc->names, all[i]->data, all[i]->len);
		all[i]->data = p;
	}
	for (size_t i = 0; i < spec->ncolumns; i++) {
		const struct column_name *c = &spec->columns[i];
		uint8_t *p = sc->names.data + sc->names.len;

		buf_append(&sc->names, c->family.data, c->family.len);
		buf_append(&sc->names, c->qualifier.data, c->qualifier.len);
		sc->columns[i] = (struct column_name){
			.family = bytes_of(p, c->family.len),
			.qualifier =
				bytes_of(p + c->family.len, c->qualifier.len),
			.whole_family = c->whole_family,
		};
	}
	sc->spec.columns = sc->columns;
	sc->ranges = calloc(spec->nfamily_ranges + 1, sizeof(*sc->ranges));
	if (!sc->ranges)
		return -ENOMEM;
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		const struct family_range *f = &spec->family_ranges[i];

		memcpy(sc->ranges[i].family, f->family.data, f->family.len);
		sc->ranges[i].ts_min = f->ts_min;
		sc->ranges[i].ts_max = f->ts_max;
	}
	return 0;
}

static void scan_free(struct ref_scan *sc)
{
	for (size_t i = 0; i < sc->nsides; i++) {
		for (size_t j = 0; j < sc->sides[i].n; j++)
			ref_row_unref(sc->sides[i].rows[j]);
		free(sc->sides[i].rows);
	}
	free(sc->sides);
	free(sc->columns);
	free(sc->results);
	ref_filter_free(sc->filter);
	free(sc->ranges);
	buf_free(&sc->names);
	free(sc);
}

static int scan_fill(struct ref_scan *sc, struct ref_store *rs,
		     struct ref_table *t, const struct scan_spec *spec)
{
	int r = spec_copy(sc, spec);

	if (r < 0)
		return r;
	sc->now_ms = rs->now();
	sc->seq_max = rs->last_seq;
	if (spec->snapshot)
		sc->seq_max =
			((const struct ref_snapshot *)spec->snapshot)->seq;
	if (spec->filter || spec->family_limit || spec->family_offset)
		r = ref_filter_new(&sc->spec, &sc->filter);
	if (r < 0)
		return r;
	if (sc->filter)
		ref_filter_plant(sc->filter, rs->plant);
	sc->sides = calloc(t->schema.nfamilies + 1, sizeof(*sc->sides));
	if (!sc->sides)
		return -ENOMEM;
	for (uint32_t f = 0; r == 0 && f < t->schema.nfamilies; f++)
		if (family_wanted(&sc->spec, t->schema.families[f].name))
			r = side_open(sc, t, f);
	return r;
}

static bool column_wanted(const struct scan_spec *spec, const char *family,
			  struct bytes qualifier);
static bool qualifier_wanted(const struct scan_spec *spec, struct bytes q);

/* Has a column of the scan had as many versions as are kept? */
static bool is_full(const struct scan_spec *spec, const struct side *side,
		    const struct ref_row *row)
{
	for (size_t i = 0; i < row->nall; i++) {
		const struct ref_change *c = row->all[i];
		uint32_t puts = 0;

		if (!column_wanted(spec, side->name, c->qualifier) ||
		    !qualifier_wanted(spec, c->qualifier))
			continue;
		for (size_t k = 0; k < row->nall; k++) {
			const struct ref_change *put = row->all[k];
			bool again = put->kind != CELL_PUT ||
				     !bytes_eq(put->qualifier, c->qualifier);

			for (size_t j = 0; j < k && !again; j++)
				again = row->all[j]->kind == CELL_PUT &&
					row->all[j]->ts == put->ts &&
					bytes_eq(row->all[j]->qualifier,
						 put->qualifier);
			puts += !again;
		}
		if (puts >= side->attrs.versions)
			return true;
	}
	return false;
}

/* No row, or no time, between the bounds? A family may have a range of its own. */
static bool is_of_nothing(const struct scan_spec *spec)
{
	int order = bytes_cmp(spec->row_start, spec->row_stop);

	if (spec->ts_max && spec->ts_min >= spec->ts_max &&
	    !spec->nfamily_ranges)
		return true;
	if (!spec->row_start.len || !spec->row_stop.len)
		return false;
	if (order == 0)
		return spec->row_start_exclusive || !spec->row_stop_inclusive;
	return spec->reversed ? order < 0 : order > 0;
}

/* What a cluster of HBase says of the moment that a scan asks for. */
static int past_as_hbase(const struct ref_scan *sc)
{
	const struct scan_spec *spec = &sc->spec;
	int r = 0;

	if (is_of_nothing(spec))
		return 0;
	if (spec->nfamily_ranges ||
	    (spec->ts_max && spec->ts_max <= spec->as_of))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < sc->nsides; i++)
		if (sc->sides[i].attrs.keep_deleted != KEEP_DELETED_YES)
			return -EOPNOTSUPP;
	for (size_t i = 0; i < sc->nsides && r == 0; i++)
		for (size_t k = 0; k < sc->sides[i].n && r == 0; k++)
			if (is_full(spec, &sc->sides[i], sc->sides[i].rows[k]))
				r = -ENODATA;
	return r;
}

int ref_scan_open(struct table *base, const struct scan_spec *spec,
		  struct scan **out)
{
	struct ref_scan *sc = calloc(1, sizeof(*sc));
	struct ref_store *rs;
	int r;

	if (!sc)
		return -ENOMEM;
	rs = ref_lock(base->store);
	r = ref_gone(table_of(base));
	if (r == 0)
		r = scan_fill(sc, rs, table_of(base), spec);
	if (r == 0 && rs->as_hbase && spec->has_as_of)
		r = past_as_hbase(sc);
	if (r < 0)
		scan_free(sc);
	else
		*out = &sc->base;
	return ref_unlock(rs, r);
}

void ref_scan_close(struct scan *base)
{
	struct ref_store *rs = ref_lock(base->store);

	scan_free(scan_of(base));
	ref_unlock(rs, 0);
}

static bool column_wanted(const struct scan_spec *spec, const char *family,
			  struct bytes qualifier)
{
	for (size_t i = 0; i < spec->ncolumns; i++) {
		const struct column_name *c = &spec->columns[i];

		if (bytes_eq(c->family, bytes_str(family)) &&
		    (c->whole_family || bytes_eq(c->qualifier, qualifier)))
			return true;
	}
	return spec->ncolumns == 0;
}

static bool qualifier_wanted(const struct scan_spec *spec, struct bytes q)
{
	int c;

	if (spec->has_qual_start) {
		c = bytes_cmp(q, spec->qual_start);
		if (c < 0 || (c == 0 && spec->qual_start_exclusive))
			return false;
	}
	if (spec->has_qual_stop) {
		c = bytes_cmp(q, spec->qual_stop);
		if (c > 0 || (c == 0 && !spec->qual_stop_inclusive))
			return false;
	}
	return true;
}

/* Is a change, given the one before it in its family, a result? */
static bool is_result(const struct ref_scan *sc, const struct ref_change *c,
		      const struct ref_change *last)
{
	/* A filter sees all versions of a column. */
	if (sc->spec.granularity == SCAN_CELLS || sc->spec.filter)
		return true;
	if (sc->spec.granularity == SCAN_COLUMNS)
		return !last || !bytes_eq(last->qualifier, c->qualifier);
	return !last;
}

static void cell_set(const struct ref_scan *sc, const struct side *side,
		     const struct ref_change *c, struct cell *out)
{
	*out = (struct cell){.row = sc->row->key};
	if (sc->spec.granularity == SCAN_ROWS)
		return;
	out->family = bytes_str(side->name);
	if (sc->spec.granularity == SCAN_FAMILIES)
		return;
	out->qualifier = c->qualifier;
	out->ts = c->ts;
	out->seq = c->seq;
	out->ttl_ms = c->ttl_ms;
	out->kind = c->kind;
	out->value = c->value;
}

static int result_add(struct ref_scan *sc, const struct side *side,
		      const struct ref_change *c)
{
	if (sc->nresults == sc->cap) {
		size_t cap = sc->cap ? 2 * sc->cap : 16;
		void *p = realloc(sc->results, cap * sizeof(*sc->results));

		if (!p)
			return -ENOMEM;
		sc->results = p;
		sc->cap = cap;
	}
	cell_set(sc, side, c, &sc->results[sc->nresults++]);
	return 0;
}

/* Which versions of the family the scan looks at. */
static struct ref_look look_of(const struct ref_scan *sc,
			       const struct ref_store *rs,
			       const struct side *side)
{
	const struct scan_spec *spec = &sc->spec;
	struct ref_look look = {
		.attrs = &side->attrs,
		.now_ms = sc->now_ms,
		.seq_max = sc->seq_max,
		.ts_min = spec->ts_min,
		.ts_max = spec->ts_max,
		.versions = spec->versions,
		.raw = spec->raw,
		.has_as_of = spec->has_as_of,
		.as_of = spec->as_of,
	};

	if (spec->has_as_of)
		look.versions = 1;
	if (spec->filter && rs->plant != PLANT_FILTER_SEES_LESS)
		look.versions = 0;
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		const struct range *own = &sc->ranges[i];

		if (strcmp(own->family, side->name) ||
		    rs->plant == PLANT_FAMILY_RANGE)
			continue;
		look.ts_min = own->ts_min;
		look.ts_max = own->ts_max;
	}
	if (!look.ts_max)
		look.ts_max = INT64_MAX;
	return look;
}

static int read_side(struct ref_scan *sc, struct ref_store *rs,
		     const struct side *side, const struct ref_row *row)
{
	const struct ref_change *last = NULL;
	struct ref_list l = {0};
	struct ref_look look = look_of(sc, rs, side);
	int r = ref_visible(rs, row, &look, &l);

	for (size_t i = 0; r == 0 && i < l.n; i++) {
		const struct ref_change *c = l.at[i];

		if (!column_wanted(&sc->spec, side->name, c->qualifier) ||
		    !qualifier_wanted(&sc->spec, c->qualifier))
			continue;
		if (is_result(sc, c, last) &&
		    (sc->spec.granularity != SCAN_ROWS || !sc->nresults))
			r = result_add(sc, side, c);
		last = c;
	}
	ref_list_free(&l);
	return r;
}

/* The next row that any side holds, in the scan's direction. */
static struct ref_row *next_row(const struct ref_scan *sc)
{
	struct ref_row *best = NULL;

	for (size_t i = 0; i < sc->nsides; i++) {
		const struct side *s = &sc->sides[i];
		int c;

		if (s->at == s->n)
			continue;
		c = best ? bytes_cmp(s->rows[s->at]->key, best->key) : 0;
		if (!best || (sc->spec.reversed ? c > 0 : c < 0))
			best = s->rows[s->at];
	}
	return best;
}

static int read_row(struct ref_scan *sc, struct ref_store *rs)
{
	int r = 0;

	sc->nresults = sc->next = 0;
	for (size_t i = 0; i < sc->nsides; i++) {
		struct side *s = &sc->sides[i];

		if (s->at == s->n ||
		    !bytes_eq(s->rows[s->at]->key, sc->row->key))
			continue;
		if (r == 0)
			r = read_side(sc, rs, s, s->rows[s->at]);
		s->at++;
	}
	if (r == 0 && sc->filter)
		r = ref_filter_row(sc->filter, sc->results, &sc->nresults);
	return r;
}

int ref_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct ref_scan *sc = scan_of(base);
	struct ref_store *rs = ref_lock(base->store);
	int r;

	while (sc->next == sc->nresults) {
		if (sc->spec.limit_rows &&
		    sc->rows_found == sc->spec.limit_rows)
			return ref_unlock(rs, 0);
		sc->row = next_row(sc);
		if (!sc->row || (sc->filter && ref_filter_over(sc->filter)))
			return ref_unlock(rs, 0);
		r = read_row(sc, rs);
		if (r < 0)
			return ref_unlock(rs, r);
		sc->rows_found += sc->nresults > 0;
	}
	*out = sc->results[sc->next++];
	if (sc->spec.keys_only)
		out->value.data = NULL;
	return ref_unlock(rs, 1);
}

static int cell_found(const struct ref_change *c, struct cell *cell,
		      struct buf *hold)
{
	int r = hold ? buf_set(hold, c->value) : 0;

	if (r < 0)
		return r;
	*cell = (struct cell){
		.ts = c->ts,
		.seq = c->seq,
		.ttl_ms = c->ttl_ms,
		.kind = c->kind,
		.value = bytes_of(hold ? hold->data : NULL, c->value.len),
	};
	return 1;
}

static int get(struct ref_store *rs, struct ref_table *t, struct bytes key,
	       struct bytes family, struct bytes qualifier,
	       const struct snapshot *snap, struct ref_look *look,
	       struct cell *cell, struct buf *hold)
{
	int f = schema_find(&t->schema, family);
	struct ref_row *row = f < 0 ? NULL : ref_row_find(&t->families[f], key);
	struct ref_list l = {0};
	int r;

	if (!row)
		return 0;
	look->attrs = attrs_of(snap, t, f);
	r = ref_visible(rs, row, look, &l);
	for (size_t i = 0; r == 0 && i < l.n; i++)
		if (bytes_eq(l.at[i]->qualifier, qualifier))
			r = cell_found(l.at[i], cell, hold);
	ref_list_free(&l);
	return r;
}

int ref_get(struct table *base, struct bytes row, struct bytes family,
	    struct bytes qualifier, int64_t ts, bool exact,
	    const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	struct ref_store *rs = ref_lock(base->store);
	struct ref_look look = {
		.now_ms = rs->now(),
		.seq_max = rs->last_seq,
		.ts_min = exact ? ts : 0,
		.ts_max = ts + 1,
		.whole = exact,
		.versions = 1,
	};
	int r = ref_gone(table_of(base));

	if (snap)
		look.seq_max = ((const struct ref_snapshot *)snap)->seq;
	if (r == 0)
		r = get(rs, table_of(base), row, family, qualifier, snap, &look,
			cell, hold);
	return ref_unlock(rs, r);
}
