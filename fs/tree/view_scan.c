/*
 * Reading through a view: the scan that it narrows, and what lies behind.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/tree/place.h"
#include "fs/tree/view.h"

/* The last key that was counted, for a limit of @limit different ones. */
struct count {
	uint64_t limit, seen; /* limit 0 = none */
	struct buf key;
};

/* Cells that are taken from the scan at a time. */
#define READY_MAX 32

struct view_scan {
	struct fstable *table;
	struct scan *scan; /* NULL = nothing to be had */
	struct count rows, qualifiers;
	int nready, next; /* of those: what lies before is zeroed */
	struct cell ready[READY_MAX];
};

static bool is_one_row(const struct scan_spec *s)
{
	return s->row_stop_inclusive && bytes_eq(s->row_start, s->row_stop);
}

static void bound_rows(const struct view_bounds *b, struct scan_spec *s)
{
	struct bytes start = buf_bytes(&b->start), stop = buf_bytes(&b->stop);
	int c;

	if (b->has_start) {
		c = s->row_start.len ? bytes_cmp(start, s->row_start) : 1;
		if (c > 0 || (c == 0 && b->start_exclusive)) {
			s->row_start = start;
			s->row_start_exclusive = b->start_exclusive;
		}
	}
	if (b->has_stop &&
	    (!s->row_stop.len || bytes_cmp(stop, s->row_stop) <= 0)) {
		s->row_stop = stop;
		s->row_stop_inclusive = false;
	}
}

static void bound_qualifiers(const struct view_bounds *b, struct scan_spec *s)
{
	struct bytes start = buf_bytes(&b->start), stop = buf_bytes(&b->stop);
	int c;

	if (b->has_start) {
		c = s->has_qual_start ? bytes_cmp(start, s->qual_start) : 1;
		if (c > 0 || (c == 0 && b->start_exclusive)) {
			s->has_qual_start = true;
			s->qual_start = start;
			s->qual_start_exclusive = b->start_exclusive;
		}
	}
	if (b->has_stop &&
	    (!s->has_qual_stop || bytes_cmp(stop, s->qual_stop) <= 0)) {
		s->has_qual_stop = true;
		s->qual_stop = stop;
		s->qual_stop_inclusive = false;
	}
}

/* A backwards scan begins at the greater end. */
static void turn_around(struct scan_spec *s)
{
	struct bytes start = s->row_start;
	bool exclusive = s->row_start_exclusive;

	s->reversed = true;
	s->row_start = s->row_stop;
	s->row_start_exclusive = s->row_stop.len && !s->row_stop_inclusive;
	s->row_stop = start;
	s->row_stop_inclusive = start.len && !exclusive;
}

static bool is_empty(const struct scan_spec *s)
{
	int c;

	if (s->ts_max && s->ts_min >= s->ts_max)
		return true;
	if (s->has_qual_start && s->has_qual_stop &&
	    bytes_cmp(s->qual_start, s->qual_stop) > 0)
		return true;
	if (!s->row_start.len || !s->row_stop.len)
		return false;
	c = bytes_cmp(s->row_start, s->row_stop);
	return c > 0 ||
	       (c == 0 && (s->row_start_exclusive || !s->row_stop_inclusive));
}

/* Whether there can be anything. */
static bool apply(const struct view *v, struct scan_spec *s)
{
	bool one_row = is_one_row(s);

	if (v->empty)
		return false;
	if (!one_row)
		bound_rows(&v->rows, s);
	bound_qualifiers(&v->qualifiers, s);
	if (v->ts_min > s->ts_min)
		s->ts_min = v->ts_min;
	if (v->ts_max && (!s->ts_max || v->ts_max < s->ts_max))
		s->ts_max = v->ts_max;
	if (is_empty(s))
		return false;
	s->raw |= v->raw;
	if (v->has_at)
		s->versions = 1;
	if (v->has_at && v->at != TS_MAX &&
	    (!s->has_as_of || v->at < s->as_of)) {
		s->has_as_of = true;
		s->as_of = v->at;
	}
	if (v->reversed && !one_row)
		turn_around(s);
	return true;
}

int view_scan_open(struct fstable *ft, const struct view *v,
		   const struct scan_spec *spec, struct view_scan **out)
{
	struct view_scan *vs = malloc(sizeof(*vs));
	struct scan_spec s = *spec;
	bool some = true;
	int r = 0;

	if (!vs)
		return why(-ENOMEM, "out of memory for a scan");
	memset(vs, 0, offsetof(struct view_scan, ready));
	vs->table = ft;
	if (fstable_snapshot(ft))
		s.snapshot = fstable_snapshot(ft);
	if (v) {
		some = apply(v, &s);
		if (!is_one_row(spec))
			vs->rows.limit = v->rows.limit;
		vs->qualifiers.limit = v->qualifiers.limit;
	}
	if (some)
		r = scan_open(fstable_table(ft), &s, &vs->scan);
	if (r < 0) {
		free(vs);
		return r;
	}
	fstable_ref(ft);
	*out = vs;
	return 0;
}

int view_scan_pass(struct view_scan *vs)
{
	return scan_pass(vs->scan);
}

void view_scan_close(struct view_scan *vs)
{
	if (!vs)
		return;
	scan_close(vs->scan);
	fstable_unref(vs->table);
	buf_free(&vs->rows.key);
	buf_free(&vs->qualifiers.key);
	free(vs);
}

static int is_lost(void)
{
	return why(-ENODATA, "what was there then may have been pushed out by "
			     "newer versions: the family keeps too few to "
			     "tell (versions)");
}

/* 1: within the limit; 0: beyond it. */
static int within(struct count *n, struct bytes key)
{
	if (n->seen && bytes_eq(key, buf_bytes(&n->key)))
		return 1;
	if (n->seen >= n->limit)
		return 0;
	if (buf_set(&n->key, key) < 0)
		return -ENOMEM;
	n->seen++;
	return 1;
}

static int next_cell(struct view_scan *vs, struct cell *out)
{
	if (vs->next == vs->nready) {
		int r = scan_next_many(vs->scan, vs->ready, READY_MAX);

		vs->next = vs->nready = 0;
		if (r <= 0)
			return r;
		vs->nready = r;
	}
	*out = vs->ready[vs->next++];
	return 1;
}

int view_scan_next(struct view_scan *vs, struct cell *out)
{
	int r;

	if (!vs->scan)
		return 0;
	r = next_cell(vs, out);
	if (r <= 0)
		return r;
	if (vs->rows.limit)
		r = within(&vs->rows, out->row);
	if (r > 0 && vs->qualifiers.limit)
		r = within(&vs->qualifiers, out->qualifier);
	/* One that may not have been there cannot be counted. */
	if (r > 0 && out->kind == CELL_LOST &&
	    (vs->rows.limit || vs->qualifiers.limit))
		r = is_lost();
	/* The next call comes to it again. */
	vs->next -= r < 0;
	return r;
}

static bool admits(const struct view_bounds *b, struct bytes key)
{
	int c;

	if (b->has_start) {
		c = bytes_cmp(key, buf_bytes(&b->start));
		if (c < 0 || (c == 0 && b->start_exclusive))
			return false;
	}
	return !b->has_stop || bytes_cmp(key, buf_bytes(&b->stop)) < 0;
}

const struct view_bounds *view_bounds_of(const struct place *p)
{
	uint8_t key = kind_of(p->kind)->key;

	if (!p->view || (key != KEY_ROW && key != KEY_QUALIFIER))
		return NULL;
	return key == KEY_ROW ? &p->view->rows : &p->view->qualifiers;
}

/*
 * Is the key of @p (a row's, a column's) one that the bounds of the view
 * admit? The number of rows is not looked at.
 */
static bool place_admitted(const struct place *p)
{
	const struct view_bounds *bounds = view_bounds_of(p);

	if (!p->view)
		return true;
	return !p->view->empty && (!bounds || admits(bounds, place_key(p)));
}

/* Everything of the place's row, family or column. */
static struct scan_spec spec_of(const struct place *p, uint8_t granularity,
				struct column_name *column)
{
	struct scan_spec s = {
		.granularity = granularity,
		.row_start = p->row,
		.row_stop = p->row,
		.row_stop_inclusive = true,
	};

	*column = (struct column_name){.family = p->family,
				       .qualifier = p->qualifier};
	column->whole_family = p->kind == NODE_FAMILY;
	if (p->kind != NODE_ROW) {
		s.columns = column;
		s.ncolumns = 1;
	}
	return s;
}

static int has_any(const struct place *p, const struct scan_spec *s)
{
	struct view_scan *vs;
	struct cell cell;
	int r = view_scan_open(p->table, p->view, s, &vs);

	if (r < 0)
		return r;
	r = view_scan_next(vs, &cell);
	view_scan_close(vs);
	return r > 0 && cell.kind == CELL_LOST ? is_lost() : r;
}

/* Some family of the row can tell that it is there, though not all can. */
static int has_some(const struct place *p, int r)
{
	struct column_name column;
	struct scan_spec s = spec_of(p, SCAN_ROWS, &column);
	struct schema schema;
	int found = 0;

	if (fstable_schema(p->table, &schema) < 0)
		return r;
	s.keys_only = true;
	s.columns = &column;
	s.ncolumns = 1;
	column.whole_family = true;
	for (uint32_t i = 0; found <= 0 && i < schema.nfamilies; i++) {
		column.family = bytes_str(schema.families[i].name);
		found = has_any(p, &s);
		if (found < 0)
			r = found;
	}
	schema_free(&schema);
	return found > 0 ? found : r;
}

/* May the view have it? 1, 0, an error. */
static int may_have(const struct place *p)
{
	if (!place_admitted(p))
		return 0;
	return view_is_counted(p) ? view_counts(p) : 1;
}

int view_has(const struct place *p)
{
	struct column_name column;
	struct scan_spec s = spec_of(p, SCAN_ROWS, &column);
	int r = may_have(p);

	if (r <= 0)
		return r;
	s.keys_only = true;
	r = has_any(p, &s);
	return r == -ENODATA && p->kind == NODE_ROW ? has_some(p, r) : r;
}

/* Is it, the @nth of its column, the cell that the file stands for? */
static bool is_it(const struct place *p, const struct cell *c, uint64_t nth)
{
	/* Of a time only where .raw shows no table as of it. */
	if (p->kind == NODE_PAST)
		return p->back ? nth > p->back : c->ts <= p->ts;
	if (p->kind == NODE_VERSION || p->kind == NODE_MARKER)
		return c->ts == p->ts && c->kind == p->cell_kind;
	return true;
}

static int take(const struct cell *found, struct cell *cell, struct buf *hold)
{
	*cell = *found;
	if (!hold)
		return 1;
	if (buf_set(hold, found->value) < 0)
		return why(-ENOMEM, "out of memory for a value");
	cell->value = buf_bytes(hold);
	return 1;
}

int view_get(const struct place *p, struct cell *cell, struct buf *hold)
{
	struct column_name column;
	struct scan_spec s = spec_of(p, SCAN_CELLS, &column);
	struct view_scan *vs;
	uint64_t nth = 0;
	struct cell c;
	int r = may_have(p);

	if (r <= 0)
		return r;
	s.keys_only = !hold;
	if (p->kind == NODE_PAST && !p->back && !(p->view && p->view->raw)) {
		s.has_as_of = true;
		s.as_of = p->ts;
	}
	r = view_scan_open(p->table, p->view, &s, &vs);
	if (r < 0)
		return r;
	do
		r = view_scan_next(vs, &c);
	while (r > 0 && c.kind != CELL_LOST && !is_it(p, &c, ++nth));
	if (r > 0)
		r = c.kind == CELL_LOST ? is_lost() : take(&c, cell, hold);
	view_scan_close(vs);
	if (r > 0) {
		cell->row = p->row;
		cell->family = p->family;
		cell->qualifier = p->qualifier;
	}
	return r;
}
