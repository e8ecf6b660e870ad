/*
 * A scan: what HBase can say is asked of HBase, the rest is done here.
 *
 *	table_scan ── cells ──▶ rows ──▶ results
 *
 * Rows are collected where that is needed: for a filter or a limit of families,
 * which see a row as a whole (pick.h), and for raw scans, whose markers of
 * families come first here and among the versions of the empty qualifier there.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/filter/pick.h"
#include "store/hbase/backend/inside.h"
#include "store/hbase/calls/table_scan.h"
#include "store/hbase/filters/filter_part.h"

/* The first batch is small, since many scans end soon. */
#define ROWS_FIRST 128

struct hbase_scan {
	struct scan base;
	struct table_scan *cells;
	bool ended; /* the cells have */
	uint8_t granularity;
	bool reversed, keys, raw;
	bool by_row;	/* whole rows are collected */
	bool by_filter; /* columns are picked by a filter */
	bool lengths;	/* values are lengths of values */
	uint64_t limit_rows, rows;

	/* What the request points to. */
	struct buf names;
	struct filter_list filters;
	struct pb_column *columns;
	struct pb_column *families; /* those of the columns, as a whole */
	size_t ncolumns;
	struct bytes *qualifiers;
	struct pb_family_range *ranges;
	struct pb_attribute attribute;

	/* The column of the last result. */
	bool has_last;
	struct buf last;
	size_t last_row, last_family;

	/* A cell that was read and belongs to the next row. */
	bool has_ahead;
	struct cell ahead;
	/* The row that was collected. */
	struct buf row; /* bytes of its cells */
	struct cell *row_cells;
	size_t ncells, cap, next;
	bool picks, has_results;
	struct pick pick;
};

static struct hbase_scan *scan_of(struct scan *sc)
{
	return (struct hbase_scan *)sc;
}

void hbase_scan_close(struct scan *base)
{
	struct hbase_scan *sc = scan_of(base);

	table_scan_free(sc->cells);
	buf_free(&sc->names);
	filter_list_free(&sc->filters);
	free(sc->columns);
	free(sc->families);
	free(sc->qualifiers);
	free(sc->ranges);
	buf_free(&sc->last);
	buf_free(&sc->row);
	free(sc->row_cells);
	if (sc->picks)
		pick_free(&sc->pick);
	free(sc);
}

static int no_memory(void)
{
	return why(-ENOMEM, "out of memory for a scan");
}

/* A copy of the caller's name. REQUIRES: room for it in sc->names. */
static struct bytes keep(struct hbase_scan *sc, struct bytes s)
{
	struct bytes copy = {sc->names.data + sc->names.len, s.len};

	buf_append(&sc->names, s.data, s.len);
	return copy;
}

static int reserve(struct hbase_scan *sc, const struct scan_spec *spec)
{
	size_t total = spec->row_start.len + spec->row_stop.len +
		       spec->qual_start.len + spec->qual_stop.len + 1;

	for (size_t i = 0; i < spec->ncolumns; i++)
		total += spec->columns[i].family.len +
			 spec->columns[i].qualifier.len;
	for (size_t i = 0; i < spec->nfamily_ranges; i++)
		total += spec->family_ranges[i].family.len;
	sc->columns = calloc(spec->ncolumns + 1, sizeof(*sc->columns));
	sc->qualifiers = calloc(spec->ncolumns + 1, sizeof(*sc->qualifiers));
	sc->ranges = calloc(spec->nfamily_ranges + 1, sizeof(*sc->ranges));
	return !sc->columns || !sc->qualifiers || !sc->ranges ||
			       buf_reserve(&sc->names, total) < 0
		       ? no_memory()
		       : 0;
}

/* All that the spec says of one family: how many qualifiers, or a family. */
static int add_family(struct hbase_scan *sc, const struct scan_spec *spec,
		      struct bytes family, size_t *at, struct pb_column *out)
{
	bool whole = false;
	size_t first = *at;

	*out = (struct pb_column){.here = true, .family = keep(sc, family)};
	for (size_t i = 0; i < spec->ncolumns; i++) {
		const struct column_name *c = &spec->columns[i];

		if (!bytes_eq(c->family, family))
			continue;
		whole |= c->whole_family;
		sc->qualifiers[(*at)++] = keep(sc, c->qualifier);
	}
	if (!whole)
		out->qualifiers = (struct proto_list){
			.items = &sc->qualifiers[first], .n = *at - first};
	return 0;
}

static bool is_of_one_row(const struct scan_spec *spec)
{
	return spec->row_start.len && !spec->row_start_exclusive &&
	       spec->row_stop_inclusive &&
	       bytes_eq(spec->row_start, spec->row_stop);
}

/*
 * May a server be told the columns by name? With new_version_behavior it goes
 * round for ever where a file's filter of rows and columns (bloom rowcol, now or
 * when the file was written) says that it does not hold one of them. It looks
 * there but for one column of one row.
 */
static bool may_be_named(const struct scan_spec *spec,
			 const struct family_attrs *attrs,
			 const struct pb_column *column)
{
	return !attrs->new_version_behavior || !column->qualifiers.n ||
	       (column->qualifiers.n == 1 && is_of_one_row(spec));
}

/* 1, or 0 if the table has none of the columns that are asked for. */
static int add_columns(struct hbase_scan *sc, struct table *t,
		       const struct scan_spec *spec, struct pb_scan *scan)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < spec->ncolumns; i++) {
		struct bytes family = spec->columns[i].family;
		struct family_attrs attrs;
		bool known = false;
		int r;

		for (size_t j = 0; j < i && !known; j++)
			known = bytes_eq(spec->columns[j].family, family);
		if (known)
			continue;
		r = hbase_family(t, family, &attrs);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		add_family(sc, spec, family, &at, &sc->columns[n]);
		sc->by_filter |= !may_be_named(spec, &attrs, &sc->columns[n]);
		n++;
	}
	sc->ncolumns = n;
	scan->columns = (struct proto_list){.items = sc->columns, .n = n};
	return n || !spec->ncolumns;
}

static struct pb_time_range range_of(int64_t from, int64_t to)
{
	return (struct pb_time_range){
		.here = from || to,
		.from = (uint64_t)from,
		.to = to ? (uint64_t)to : INT64_MAX,
	};
}

static void add_times(struct hbase_scan *sc, const struct scan_spec *spec,
		      struct pb_scan *scan)
{
	scan->range = range_of(spec->ts_min, spec->ts_max);
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		const struct family_range *r = &spec->family_ranges[i];

		sc->ranges[i] = (struct pb_family_range){
			.here = true,
			.family = keep(sc, r->family),
			.range = range_of(r->ts_min, r->ts_max),
		};
		/* "All times" is something to say here. */
		sc->ranges[i].range.here = true;
		if (!sc->ranges[i].range.to)
			sc->ranges[i].range.to = INT64_MAX;
	}
	scan->family_ranges = (struct proto_list){.items = sc->ranges,
						  .n = spec->nfamily_ranges};
}

/*
 * May a server jump to the first qualifier? It does so from the first cell of a
 * row, and markers of the family stand between versions of the empty qualifier:
 * it would jump over them. In one row we can look whether there is one.
 */
static int may_jump(struct table *t, const struct scan_spec *spec)
{
	const struct column_name *c = spec->columns;
	int64_t ts;
	int r;

	if (!spec->qual_start.len && !spec->qual_start_exclusive)
		return 1;
	if (!is_of_one_row(spec) || spec->ncolumns != 1 || !c->whole_family)
		return 0;
	r = hbase_newest(t, spec->row_start, c->family, (struct bytes){0},
			 false, false, 0, &ts);
	return r < 0 ? r : !r;
}

static int add_range(struct hbase_scan *sc, struct table *t,
		     const struct scan_spec *spec)
{
	struct bytes start = {0}, stop = {0};
	int r = 1;

	if (spec->has_qual_start) {
		start = keep(sc, spec->qual_start);
		r = may_jump(t, spec);
	}
	if (r < 0)
		return r;
	if (spec->has_qual_stop)
		stop = keep(sc, spec->qual_stop);
	if (r == 0) {
		filter_add_from(&sc->filters, start,
				!spec->qual_start_exclusive);
		start = (struct bytes){0};
	}
	if (r > 0 || spec->has_qual_stop)
		filter_add_range(&sc->filters, start,
				 !spec->qual_start_exclusive, stop,
				 spec->qual_stop_inclusive);
	return 0;
}

static int add_filters(struct hbase_scan *sc, struct table *t,
		       const struct scan_spec *spec, struct pb_scan *scan)
{
	bool range = spec->has_qual_start || spec->has_qual_stop;
	int r;

	if (sc->by_filter && !spec->raw)
		filter_add_columns(&sc->filters, sc->columns, sc->ncolumns);
	r = range ? add_range(sc, t, spec) : 0;
	if (r < 0)
		return r;
	if (spec->filter && !spec->raw &&
	    filter_add_part(&sc->filters, spec->filter) < 0)
		return no_memory();
	/* Behind the range, so that it is the first cell of the range. */
	if (spec->granularity == SCAN_ROWS && !sc->by_row)
		filter_add_first(&sc->filters);
	if (!spec->filter &&
	    (spec->keys_only || spec->granularity < SCAN_COLUMNS)) {
		/* show() says nothing of the values of rows and families. */
		sc->lengths = spec->granularity >= SCAN_COLUMNS || sc->by_row;
		filter_add_keys(&sc->filters, sc->lengths);
	}
	if (spec->granularity == SCAN_FAMILIES && !range && !sc->by_row)
		scan->store_limit = 1;
	return filter_message(&sc->filters, &scan->filter);
}

static void add_rows(struct hbase_scan *sc, const struct scan_spec *spec,
		     struct range_scan_options *o)
{
	struct pb_scan *scan = &o->scan;

	if (spec->row_start.len)
		scan->start_row = keep(sc, spec->row_start);
	if (spec->row_stop.len)
		scan->stop_row = keep(sc, spec->row_stop);
	scan->include_start = !spec->row_start_exclusive;
	scan->include_stop = spec->row_stop_inclusive && spec->row_stop.len;
	scan->reversed = spec->reversed;
	/* A filter may leave rows out, and so may limits of families. */
	if (!sc->picks && spec->limit_rows && spec->limit_rows < INT32_MAX)
		o->rows_max = (uint32_t)spec->limit_rows;
	o->rows_first = o->rows_max && o->rows_max < ROWS_FIRST ? o->rows_max
								: ROWS_FIRST;
}

/*
 * Is there no row, or no time, between the bounds? HBase would take equal rows
 * for a get. A family may have a range of its own instead of the scan's.
 */
static bool is_empty(const struct scan_spec *spec)
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

/* Asks for the families of the columns as a whole. */
static int ask_families(struct hbase_scan *sc, struct pb_scan *scan)
{
	if (!sc->ncolumns)
		return 0;
	sc->families = calloc(sc->ncolumns, sizeof(*sc->families));
	if (!sc->families)
		return no_memory();
	for (size_t i = 0; i < sc->ncolumns; i++) {
		sc->families[i].here = true;
		sc->families[i].family = sc->columns[i].family;
	}
	scan->columns.items = sc->families;
	return 0;
}

/* HBase gives whole families to a raw scan: is_wanted() does the rest. */
static int ask_raw(struct hbase_scan *sc, struct pb_scan *scan)
{
	static const uint8_t yes = 0xff;

	sc->attribute = (struct pb_attribute){true, bytes_str("_raw_"),
					      bytes_of(&yes, 1)};
	scan->attributes = (struct proto_list){.items = &sc->attribute, .n = 1};
	return ask_families(sc, scan);
}

/* Is the cell of a raw scan of a column that was asked for? */
static bool is_wanted(const struct hbase_scan *sc, const struct cell *c)
{
	for (size_t i = 0; i < sc->ncolumns; i++) {
		const struct pb_column *column = &sc->columns[i];
		const struct bytes *q = column->qualifiers.items;

		if (!bytes_eq(column->family, c->family))
			continue;
		for (size_t k = 0; k < column->qualifiers.n; k++)
			if (bytes_eq(q[k], c->qualifier))
				return true;
		return !column->qualifiers.n;
	}
	return !sc->ncolumns;
}

/*
 * Can HBase count the results of each family? It counts what its filters let
 * through, and of a raw scan markers too.
 */
static bool limits_there(const struct scan_spec *spec)
{
	return !spec->filter && !spec->raw &&
	       spec->family_limit <= INT32_MAX / 2 &&
	       spec->family_offset <= INT32_MAX / 2;
}

/* 1, or 0 for nothing to read. */
static int prepare(struct hbase_scan *sc, struct table *t,
		   const struct scan_spec *spec, struct range_scan_options *o)
{
	struct pb_scan *scan = &o->scan;
	int r = reserve(sc, spec);

	proto_init(&pb_scan, scan);
	if (r == 0 && is_empty(spec))
		return 0;
	if (r == 0)
		r = add_columns(sc, t, spec, scan);
	if (r <= 0)
		return r;
	add_rows(sc, spec, o);
	add_times(sc, spec, scan);
	r = add_filters(sc, t, spec, scan);
	scan->versions = INT32_MAX;
	if (!spec->filter) {
		if (!spec->raw && spec->granularity < SCAN_CELLS)
			scan->versions = 1;
		else if (spec->versions && spec->versions < INT32_MAX)
			scan->versions = spec->versions;
	}
	if (limits_there(spec) && pick_needed(spec)) {
		scan->store_limit = (uint32_t)spec->family_limit;
		scan->store_offset = (uint32_t)spec->family_offset;
	}
	scan->families_on_demand = false;
	if (r == 0 && spec->raw)
		r = ask_raw(sc, scan);
	else if (r == 0 && sc->by_filter)
		r = ask_families(sc, scan);
	return r < 0 ? r : 1;
}

static int begin(struct hbase_scan *sc, struct table *t,
		 const struct scan_spec *spec)
{
	struct range_scan_options o = {
		.cluster = cluster_of(t),
		.table = name_of(t),
	};
	int r;

	sc->granularity = spec->granularity;
	sc->reversed = spec->reversed;
	sc->keys = spec->keys_only;
	sc->raw = spec->raw;
	sc->limit_rows = spec->limit_rows;
	if (pick_needed(spec) && !limits_there(spec)) {
		r = pick_init(&sc->pick, spec);
		if (r < 0)
			return r;
		sc->picks = true;
	}
	sc->by_row = sc->picks || sc->raw;
	r = prepare(sc, t, spec, &o);
	sc->ended = r == 0;
	return r > 0 ? table_scan_new(&o, &sc->cells) : r;
}

int hbase_scan_open(struct table *t, const struct scan_spec *spec,
		    struct scan **out)
{
	struct scan_spec narrowed = *spec;
	struct hbase_scan *sc;
	int r;

	r = hbase_shown(spec->snapshot, &t);
	if (r == 0 && spec->has_as_of && !is_empty(spec)) {
		r = hbase_past(t, spec);
		narrowed.ts_max = spec->as_of + (spec->as_of < TS_MAX);
		narrowed.versions = 1;
	}
	if (r < 0)
		return r;
	sc = calloc(1, sizeof(*sc));
	if (!sc)
		return no_memory();
	if (spec->filter)
		pick_rows(&narrowed);
	r = begin(sc, t, &narrowed);
	if (r < 0) {
		struct why_kept kept;

		why_keep(&kept);
		hbase_scan_close(&sc->base);
		why_restore(&kept);
		return r;
	}
	*out = &sc->base;
	return 0;
}

/* The next cell from HBase. */
static int next_cell(struct hbase_scan *sc, struct cell *out)
{
	int r;

	if (sc->has_ahead) {
		*out = sc->ahead;
		sc->has_ahead = false;
		return 1;
	}
	do
		r = sc->ended ? 0 : table_scan_next(sc->cells, out);
	while (r > 0 && sc->raw && !is_wanted(sc, out));
	if (r <= 0) {
		sc->ended = true;
		return r;
	}
	if (sc->lengths)
		out->value = (struct bytes){
			.len = out->value.len == 4
				       ? be32toh(bytes_load32(out->value.data))
				       : 0};
	out->seq = ((uint64_t)out->ts << 20 ^ out->value.len) | 1;
	return 1;
}

/* Copies a cell behind the row's other ones; addresses are set in the end. */
static int collect(struct hbase_scan *sc, const struct cell *c)
{
	struct encoder e = {.out = &sc->row};

	if (sc->ncells == sc->cap) {
		size_t cap = sc->cap ? 2 * sc->cap : 16;
		struct cell *all = realloc(sc->row_cells, cap * sizeof(*all));

		if (!all)
			return no_memory();
		sc->row_cells = all;
		sc->cap = cap;
	}
	sc->row_cells[sc->ncells++] = *c;
	put_raw(&e, c->row.data, c->row.len);
	put_raw(&e, c->family.data, c->family.len);
	put_raw(&e, c->qualifier.data, c->qualifier.len);
	if (c->value.data)
		put_raw(&e, c->value.data, c->value.len);
	return e.err ? no_memory() : 0;
}

static void set_addresses(struct hbase_scan *sc)
{
	const uint8_t *at = sc->row.data;

	for (size_t i = 0; i < sc->ncells; i++) {
		struct cell *c = &sc->row_cells[i];
		struct bytes *parts[] = {&c->row, &c->family, &c->qualifier,
					 &c->value};

		for (size_t k = 0; k < 4; k++)
			if (k < 3 || c->value.data) {
				parts[k]->data = at;
				at += parts[k]->len;
			}
	}
}

/* Markers of a family go before its cells; else the order stays. */
static void put_markers_first(struct hbase_scan *sc)
{
	for (size_t i = 1; i < sc->ncells; i++) {
		struct cell c = sc->row_cells[i];
		size_t k = i;

		if (!kind_is_family_marker(c.kind))
			continue;
		while (k > 0 &&
		       bytes_eq(sc->row_cells[k - 1].family, c.family) &&
		       !kind_is_family_marker(sc->row_cells[k - 1].kind)) {
			sc->row_cells[k] = sc->row_cells[k - 1];
			k--;
		}
		sc->row_cells[k] = c;
	}
}

/* Collects the next row: 1, or 0 at the end. */
static int collect_row(struct hbase_scan *sc)
{
	struct bytes row;
	struct cell c;
	int r;

	sc->row.len = 0;
	sc->ncells = sc->next = 0;
	while ((r = next_cell(sc, &c)) > 0) {
		row = bytes_of(sc->row.data,
			       sc->ncells ? sc->row_cells[0].row.len : 0);
		if (sc->ncells && !bytes_eq(c.row, row)) {
			sc->ahead = c;
			sc->has_ahead = true;
			break;
		}
		r = collect(sc, &c);
		if (r < 0)
			return r;
	}
	if (r < 0 || !sc->ncells)
		return r;
	set_addresses(sc);
	if (sc->raw)
		put_markers_first(sc);
	return 1;
}

static bool same_family(const struct cell *a, const struct cell *b)
{
	return bytes_eq(a->family, b->family);
}

static bool same_column(const struct cell *a, const struct cell *b)
{
	return same_family(a, b) && bytes_eq(a->qualifier, b->qualifier);
}

/* The first cell behind @i that the filter's answer does not jump over. */
static size_t jump(const struct hbase_scan *sc, size_t i,
		   const struct filter_answer *a)
{
	const struct cell *from = &sc->row_cells[i];

	for (i++; i < sc->ncells; i++) {
		const struct cell *to = &sc->row_cells[i];

		if (a->jump == JUMP_CELL || !same_family(from, to) ||
		    (a->jump == JUMP_COLUMN && !same_column(from, to)) ||
		    (a->jump == JUMP_SEEK &&
		     bytes_cmp(to->qualifier, a->hint) >= 0))
			break;
	}
	return i;
}

/* Has the filter look at the row that was collected: 1 if it has results. */
static int pick_row(struct hbase_scan *sc)
{
	int r = pick_begin(&sc->pick, sc->row_cells[0].row);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < sc->ncells;) {
		struct filter_answer a;

		r = pick_cell(&sc->pick, &sc->row_cells[i], &a);
		if (r < 0)
			return r;
		i = jump(sc, i, &a);
	}
	return pick_end(&sc->pick);
}

static int next_picked(struct hbase_scan *sc, struct cell *out)
{
	int r;

	for (;;) {
		if (sc->has_results && pick_next(&sc->pick, out) > 0)
			return 1;
		sc->has_results = false;
		if ((sc->limit_rows && sc->rows == sc->limit_rows) ||
		    pick_done(&sc->pick))
			return 0;
		r = collect_row(sc);
		if (r > 0)
			r = pick_row(sc);
		else if (r == 0)
			return 0;
		if (r < 0)
			return r;
		sc->has_results = r > 0;
		sc->rows += r > 0;
	}
}

/* Is the cell of another row, family or column than the last result? */
static bool is_new(const struct hbase_scan *sc, const struct cell *c,
		   bool *new_row)
{
	struct bytes row, family, qualifier;

	*new_row = true;
	if (!sc->has_last)
		return true;
	row = bytes_of(sc->last.data, sc->last_row);
	family = bytes_of(row.data + row.len, sc->last_family);
	qualifier = bytes_of(family.data + family.len,
			     sc->last.len - row.len - family.len);
	*new_row = !bytes_eq(row, c->row);
	if (*new_row || sc->granularity == SCAN_CELLS)
		return true;
	if (sc->granularity == SCAN_ROWS)
		return false;
	if (!bytes_eq(family, c->family))
		return true;
	return sc->granularity == SCAN_COLUMNS &&
	       !bytes_eq(qualifier, c->qualifier);
}

static int remember(struct hbase_scan *sc, const struct cell *c)
{
	struct encoder e = {.out = &sc->last};

	sc->last.len = 0;
	put_raw(&e, c->row.data, c->row.len);
	put_raw(&e, c->family.data, c->family.len);
	put_raw(&e, c->qualifier.data, c->qualifier.len);
	sc->last_row = c->row.len;
	sc->last_family = c->family.len;
	sc->has_last = true;
	return e.err ? no_memory() : 0;
}

static int next_of_row(struct hbase_scan *sc, struct cell *out)
{
	int r;

	if (!sc->raw)
		return next_cell(sc, out);
	if (sc->next == sc->ncells) {
		r = collect_row(sc);
		if (r <= 0)
			return r;
	}
	*out = sc->row_cells[sc->next++];
	return 1;
}

/* Only what the granularity says is set. */
static void show(const struct hbase_scan *sc, struct cell *c)
{
	if (sc->granularity < SCAN_COLUMNS)
		*c = (struct cell){
			.row = c->row,
			.family = sc->granularity == SCAN_ROWS
					  ? (struct bytes){0}
					  : c->family,
		};
	if (sc->keys)
		c->value.data = NULL;
}

static int next_result(struct hbase_scan *sc, struct cell *out)
{
	bool new_row;
	int r;

	do {
		r = next_of_row(sc, out);
		if (r <= 0)
			return r;
	} while (!is_new(sc, out, &new_row));
	if (new_row && sc->limit_rows && sc->rows == sc->limit_rows)
		return 0;
	sc->rows += new_row;
	r = remember(sc, out);
	return r < 0 ? r : 1;
}

int hbase_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct hbase_scan *sc = scan_of(base);
	int r;

	(void)n;
	if (sc->picks)
		return next_picked(sc, out);
	r = next_result(sc, out);
	if (r > 0)
		show(sc, out);
	/* The table's family has been dropped meanwhile. */
	return r == -EPERM ? 0 : r;
}
