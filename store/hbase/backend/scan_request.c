#include "store/hbase/backend/scan_request.h"

#include <errno.h>
#include <stdlib.h>

#include "store/filter/pick.h"
#include "store/hbase/backend/inside.h"

/* The first batch is small, since many scans end soon. */
#define ROWS_FIRST 128

int scan_no_memory(void)
{
	return why(-ENOMEM, "out of memory for a scan");
}

/* A copy of the caller's name. REQUIRES: room for it in q->names. */
static struct bytes keep(struct scan_request *q, struct bytes s)
{
	struct bytes copy = {q->names.data + q->names.len, s.len};

	buf_append(&q->names, s.data, s.len);
	return copy;
}

static int reserve(struct scan_request *q, const struct scan_spec *spec)
{
	size_t total = spec->qual_start.len + spec->qual_stop.len + 1;

	for (size_t i = 0; i < spec->ncolumns; i++)
		total += spec->columns[i].family.len +
			 spec->columns[i].qualifier.len;
	for (size_t i = 0; i < spec->nfamily_ranges; i++)
		total += spec->family_ranges[i].family.len;
	q->columns = calloc(spec->ncolumns + 1, sizeof(*q->columns));
	q->qualifiers = calloc(spec->ncolumns + 1, sizeof(*q->qualifiers));
	q->ranges = calloc(spec->nfamily_ranges + 1, sizeof(*q->ranges));
	return !q->columns || !q->qualifiers || !q->ranges ||
			       buf_reserve(&q->names, total) < 0
		       ? scan_no_memory()
		       : 0;
}

/* All that the spec says of one family: how many qualifiers, or a family. */
static void add_family(struct scan_request *q, const struct scan_spec *spec,
		       struct bytes family, size_t *at, struct pb_column *out)
{
	bool whole = false;
	size_t first = *at;

	*out = (struct pb_column){.here = true, .family = keep(q, family)};
	for (size_t i = 0; i < spec->ncolumns; i++) {
		const struct column_name *c = &spec->columns[i];

		if (!bytes_eq(c->family, family))
			continue;
		whole |= c->whole_family;
		q->qualifiers[(*at)++] = keep(q, c->qualifier);
	}
	if (!whole)
		out->qualifiers = (struct proto_list){
			.items = &q->qualifiers[first], .n = *at - first};
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
static int add_columns(struct scan_request *q, struct table *t,
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
		add_family(q, spec, family, &at, &q->columns[n]);
		q->by_filter |= !may_be_named(spec, &attrs, &q->columns[n]);
		n++;
	}
	q->ncolumns = n;
	scan->columns = (struct proto_list){.items = q->columns, .n = n};
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

static void add_times(struct scan_request *q, const struct scan_spec *spec,
		      struct pb_scan *scan)
{
	scan->range = range_of(spec->ts_min, spec->ts_max);
	for (size_t i = 0; i < spec->nfamily_ranges; i++) {
		const struct family_range *r = &spec->family_ranges[i];

		q->ranges[i] = (struct pb_family_range){
			.here = true,
			.family = keep(q, r->family),
			.range = range_of(r->ts_min, r->ts_max),
		};
		/* "All times" is something to say here. */
		q->ranges[i].range.here = true;
		if (!q->ranges[i].range.to)
			q->ranges[i].range.to = INT64_MAX;
	}
	scan->family_ranges = (struct proto_list){.items = q->ranges,
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

static int add_range(struct scan_request *q, struct table *t,
		     const struct scan_spec *spec)
{
	struct bytes start = {0}, stop = {0};
	int r = 1;

	if (spec->has_qual_start) {
		start = keep(q, spec->qual_start);
		r = may_jump(t, spec);
	}
	if (r < 0)
		return r;
	if (spec->has_qual_stop)
		stop = keep(q, spec->qual_stop);
	if (r == 0) {
		filter_add_from(&q->filters, start,
				!spec->qual_start_exclusive);
		start = (struct bytes){0};
	}
	if (r > 0 || spec->has_qual_stop)
		filter_add_range(&q->filters, start,
				 !spec->qual_start_exclusive, stop,
				 spec->qual_stop_inclusive);
	return 0;
}

static int add_filters(struct scan_request *q, struct table *t,
		       const struct scan_spec *spec, struct pb_scan *scan)
{
	bool range = spec->has_qual_start || spec->has_qual_stop;
	bool by_row = q->picks || spec->raw;
	/* Nobody is shown the values of rows and families. */
	bool keys = !spec->filter &&
		    (spec->keys_only || spec->granularity < SCAN_COLUMNS);
	bool sized = spec->granularity >= SCAN_COLUMNS || by_row;
	int r, mob = 0;

	if (q->by_filter && !spec->raw)
		filter_add_columns(&q->filters, q->columns, q->ncolumns);
	r = range ? add_range(q, t, spec) : 0;
	if (r == 0 && (spec->filter || (keys && sized)))
		r = mob = hbase_has_mob(t);
	if (r < 0)
		return r;
	if (spec->filter && !spec->raw && !mob &&
	    filter_add_part(&q->filters, spec->filter) < 0)
		return scan_no_memory();
	/* Behind the range, so that it is the first cell of the range. */
	if (spec->granularity == SCAN_ROWS && !by_row)
		filter_add_first(&q->filters);
	if (keys && !(mob && sized)) {
		q->lengths = sized;
		filter_add_keys(&q->filters, q->lengths);
	}
	if (spec->granularity == SCAN_FAMILIES && !range && !by_row)
		scan->store_limit = 1;
	return filter_message(&q->filters, &scan->filter);
}

void scan_ask_rows(struct pb_scan *scan, const struct scan_spec *spec)
{
	if (spec->row_start.len)
		scan->start_row = spec->row_start;
	if (spec->row_stop.len)
		scan->stop_row = spec->row_stop;
	scan->include_start = !spec->row_start_exclusive;
	scan->include_stop = spec->row_stop_inclusive && spec->row_stop.len;
	scan->reversed = spec->reversed;
}

static void add_rows(struct scan_request *q, const struct scan_spec *spec,
		     struct range_scan_options *o)
{
	scan_ask_rows(&o->scan, spec);
	/* A filter may leave rows out, and so may limits of families. */
	if (!q->picks && spec->limit_rows && spec->limit_rows < INT32_MAX)
		o->rows_max = (uint32_t)spec->limit_rows;
	o->rows_first = o->rows_max && o->rows_max < ROWS_FIRST ? o->rows_max
								: ROWS_FIRST;
}

bool scan_request_is_empty(const struct scan_spec *spec)
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

/* Asks for the families of the columns as a whole; scan_request_wants() does the rest. */
static int ask_families(struct scan_request *q, struct pb_scan *scan)
{
	if (!q->ncolumns)
		return 0;
	q->families = calloc(q->ncolumns, sizeof(*q->families));
	if (!q->families)
		return scan_no_memory();
	for (size_t i = 0; i < q->ncolumns; i++) {
		q->families[i].here = true;
		q->families[i].family = q->columns[i].family;
	}
	scan->columns.items = q->families;
	return 0;
}

struct proto_list scan_raw(void)
{
	static const struct pb_attribute raw = {
		.here = true,
		.name = {.data = (const uint8_t *)"_raw_", .len = 5},
		.value = {.data = (const uint8_t *)"\xff", .len = 1},
	};

	return (struct proto_list){.items = &raw, .n = 1};
}

bool scan_request_wants(const struct scan_request *q, const struct cell *c)
{
	for (size_t i = 0; i < q->ncolumns; i++) {
		const struct pb_column *column = &q->columns[i];
		const struct bytes *names = column->qualifiers.items;

		if (!bytes_eq(column->family, c->family))
			continue;
		for (size_t k = 0; k < column->qualifiers.n; k++)
			if (bytes_eq(names[k], c->qualifier))
				return true;
		return !column->qualifiers.n;
	}
	return !q->ncolumns;
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

/* Of a raw scan that it filters HBase counts markers as versions, too. */
static bool versions_here(const struct scan_spec *spec)
{
	return spec->raw && spec->versions && spec->granularity == SCAN_CELLS &&
	       (spec->keys_only || spec->has_qual_start || spec->has_qual_stop);
}

int scan_request_init(struct scan_request *q, struct table *t,
		      const struct scan_spec *spec,
		      struct range_scan_options *o)
{
	struct pb_scan *scan = &o->scan;
	int r = reserve(q, spec);

	q->picks = (pick_needed(spec) && !limits_there(spec)) ||
		   versions_here(spec);
	proto_init(&pb_scan, scan);
	if (r == 0 && scan_request_is_empty(spec))
		return 0;
	if (r == 0)
		r = add_columns(q, t, spec, scan);
	if (r <= 0)
		return r;
	add_rows(q, spec, o);
	add_times(q, spec, scan);
	r = add_filters(q, t, spec, scan);
	scan->versions = INT32_MAX;
	if (!spec->filter && !versions_here(spec)) {
		if (!spec->raw && spec->granularity < SCAN_CELLS)
			scan->versions = 1;
		else if (spec->versions && spec->versions < INT32_MAX)
			scan->versions = spec->versions;
	}
	if (pick_needed(spec) && !q->picks) {
		scan->store_limit = (uint32_t)spec->family_limit;
		scan->store_offset = (uint32_t)spec->family_offset;
	}
	scan->families_on_demand = false;
	if (spec->raw)
		scan->attributes = scan_raw();
	if (r == 0 && (spec->raw || q->by_filter))
		r = ask_families(q, scan);
	return r < 0 ? r : 1;
}

void scan_request_free(struct scan_request *q)
{
	buf_free(&q->names);
	filter_list_free(&q->filters);
	free(q->columns);
	free(q->families);
	free(q->qualifiers);
	free(q->ranges);
}
