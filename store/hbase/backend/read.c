#include <errno.h>
#include <stdlib.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/backend/scan_request.h"
#include "store/hbase/calls/multi.h"
#include "store/hbase/calls/range_scan.h"
#include "store/hbase/cellblock/cellblock.h"
#include "store/hbase/filters/filter_message.h"

/* So many questions go in one call: a server warns of more than 5,000. */
#define GETS_MANY 4096

/* Asks for one row, and leaves the answer's cells in *cells until attempt_end(). */
static int ask(struct table *t, struct pb_get_request *m, struct attempt *call,
	       struct decoder *cells)
{
	struct region_call rc = {
		.cluster = cluster_of(t),
		.table = name_of(t),
		.row = m->get.row,
		.request = {.method = "Get",
			    .type = &pb_get_request,
			    .message = m},
		.region = &m->region,
		.is_repeatable = true,
	};
	struct retry retry = cluster_retry(rc.cluster);
	struct failure f;
	int r = region_call(&rc, &retry, call, NULL, &f);

	if (r == 0)
		*cells = decoder_of(call->rpc.answer.cells);
	return r;
}

void hbase_mark(struct cell *c)
{
	c->seq = ((uint64_t)c->ts << 20 ^ c->value.len) | 1;
}

struct bytes hbase_length(struct bytes value)
{
	return (struct bytes){
		.len = value.len == 4 ? be32toh(bytes_load32(value.data)) : 0};
}

/*
 * One column, as keys or with its value; the first version in *cell. With @ts the version
 * of that time: the server filters what it would show otherwise.
 */
static int get_column(struct table *t, struct bytes row,
		      const struct pb_column *column,
		      const struct pb_time_range *range, const int64_t *ts,
		      struct attempt *call, bool keys, uint32_t versions,
		      struct decoder *cells)
{
	struct filter_list filters = {0};
	struct pb_get_request m;
	int r;

	proto_init(&pb_get_request, &m);
	m.get.here = true;
	m.get.row = row;
	m.get.columns = (struct proto_list){.items = column, .n = 1};
	m.get.range = *range;
	/* The server counts the versions that the filter leaves out, too. */
	m.get.versions = ts ? INT32_MAX : versions;
	if (ts)
		filter_add_ts(&filters, *ts);
	if (keys)
		filter_add_keys(&filters, true);
	r = filter_message(&filters, &m.get.filter);
	if (r == 0)
		r = ask(t, &m, call, cells);
	filter_list_free(&filters);
	return r;
}

int hbase_get(struct table *t, struct bytes row, struct bytes family,
	      struct bytes qualifier, int64_t ts, bool exact,
	      const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	const struct pb_column column = {
		.here = true,
		.family = family,
		.qualifiers = {.items = &qualifier, .n = 1},
	};
	struct pb_time_range range = {
		.here = exact || ts < TS_MAX,
		.from = exact ? (uint64_t)ts : 0,
		.to = (uint64_t)ts + 1,
	};
	struct family_attrs attrs;
	struct decoder cells;
	struct attempt call = {0};
	bool keys, whole;
	int r = hbase_shown(snap, &t), mob = 0;

	if (r == 0)
		r = hbase_family(t, family, &attrs);
	if (r > 0 && !hold)
		mob = hbase_has_mob(t);
	if (r <= 0 || mob < 0)
		return r <= 0 ? r : mob;
	keys = !hold && !mob;
	/* Where a range of one time would show more. */
	whole = exact && (!attrs.new_version_behavior ||
			  attrs.keep_deleted != KEEP_DELETED_NO);
	range.here &= !whole;
	r = get_column(t, row, &column, &range, whole ? &ts : NULL, &call, keys,
		       1, &cells);
	if (r == 0)
		r = cellblock_next(&cells, cell);
	if (r > 0 && !hold) {
		cell->value = keys ? hbase_length(cell->value)
				   : (struct bytes){.len = cell->value.len};
	} else if (r > 0) {
		r = buf_set(hold, cell->value) < 0
			    ? why(-ENOMEM, "out of memory for a value")
			    : 1;
		cell->value = buf_bytes(hold);
	}
	if (r > 0)
		hbase_mark(cell);
	attempt_end(&call);
	/* The family has been dropped since its schema was read. */
	return r == -EPERM ? 0 : r;
}

/* A scan of the keys of all that is stored in a family of a row, or a part. */
struct raw_scan {
	struct filter_list filters;
	struct pb_column column;
	struct range_scan *scan;
};

static void raw_scan_free(struct raw_scan *s)
{
	range_scan_free(s->scan);
	filter_list_free(&s->filters);
}

/* Of one column, or with @qualifier NULL of the whole family. */
static int raw_scan_new(struct table *t, struct bytes row, struct bytes family,
			const struct bytes *qualifier, struct raw_scan *s)
{
	struct range_scan_options o = {
		.cluster = cluster_of(t),
		.table = name_of(t),
		.rows_max = 1,
	};
	int r;

	*s = (struct raw_scan){.column = {.here = true, .family = family}};
	proto_init(&pb_scan, &o.scan);
	if (qualifier)
		filter_add_range(&s->filters, *qualifier, true, *qualifier,
				 true);
	filter_add_keys(&s->filters, true);
	r = filter_message(&s->filters, &o.scan.filter);
	o.scan.columns = (struct proto_list){.items = &s->column, .n = 1};
	o.scan.attributes = scan_raw();
	o.scan.versions = INT32_MAX;
	o.scan.start_row = o.scan.stop_row = row;
	o.scan.include_stop = true;
	return r < 0 ? r : range_scan_new(&o, &s->scan);
}

/* Raises *ts to what the scan gives of the column, and markers of its family. */
static int raw_scan_newest(struct raw_scan *s, const struct bytes *qualifier,
			   bool *found, int64_t *ts)
{
	struct cell cell;
	int r;

	while ((r = range_scan_next(s->scan, &cell)) > 0) {
		if (qualifier && !kind_is_family_marker(cell.kind) &&
		    !bytes_eq(cell.qualifier, *qualifier))
			continue;
		if (!*found || cell.ts > *ts)
			*ts = cell.ts;
		*found = true;
	}
	return r;
}

/*
 * The newest timestamp in a row's family, or of one column of it, markers
 * included. Those of the family stand in front of it, as if they were of the
 * column without a name, and are read beside the column: nothing else is, for
 * a row may have a million of them.
 */
static int newest_raw(struct table *t, struct bytes row, struct bytes family,
		      const struct bytes *qualifier, int64_t *ts)
{
	const struct bytes none = bytes_str("");
	bool has_front = qualifier && qualifier->len;
	struct retry retry = cluster_retry(cluster_of(t));
	struct raw_scan column, front = {0};
	bool found = false;
	int r;

	if (qualifier && !has_front)
		qualifier = &none;
	r = raw_scan_new(t, row, family, qualifier, &column);
	if (r == 0 && has_front)
		r = raw_scan_new(t, row, family, &none, &front);
	if (r == 0 && has_front)
		r = range_scan_start(front.scan, &retry);
	if (r == 0)
		r = raw_scan_newest(&column, qualifier, &found, ts);
	if (r == 0 && has_front)
		r = raw_scan_newest(&front, qualifier, &found, ts);
	raw_scan_free(&front);
	raw_scan_free(&column);
	return r < 0 ? r : found;
}

int hbase_newest(struct table *t, struct bytes row, struct bytes family,
		 struct bytes qualifier, bool whole, bool raw, uint32_t nth,
		 int64_t *ts)
{
	const struct pb_column column = {
		.here = true,
		.family = family,
		.qualifiers = {.items = &qualifier, .n = whole ? 0 : 1},
	};
	const struct pb_time_range all = {0};
	struct decoder cells;
	struct attempt call = {0};
	struct cell cell;
	bool found = false;
	int r;

	if (raw)
		return newest_raw(t, row, family, whole ? NULL : &qualifier,
				  ts);
	r = get_column(t, row, &column, &all, NULL, &call, true, nth + 1,
		       &cells);
	for (uint32_t i = 0; r == 0 && (r = cellblock_next(&cells, &cell)) > 0;
	     i++) {
		r = 0;
		if (whole ? found && cell.ts <= *ts : i != nth)
			continue;
		*ts = cell.ts;
		found = true;
	}
	attempt_end(&call);
	return r < 0 ? r : found;
}

/* A question about one column, and what its message points to. */
struct question {
	struct pb_column column;
	struct filter_list filters;
	size_t at; /* of which change */
};

struct questions {
	struct table *t;
	struct question *all;
	struct row_actions *rows; /* as they are sent */
	bool *done;
	size_t n;
};

static void questions_free(struct questions *qs)
{
	for (size_t i = 0; i < qs->n; i++) {
		filter_list_free(&qs->all[i].filters);
		row_actions_free(&qs->rows[i]);
	}
	free(qs->all);
	free(qs->rows);
	free(qs->done);
}

/*
 * Asks for the keys of a column, that of the change or the one without a name that
 * markers of its family are in: of the newest version, or of all that is stored.
 */
static int ask_column(struct questions *qs, struct bytes row, size_t at,
		      const struct change *c, const struct bytes *qualifier,
		      bool raw)
{
	struct question *q = &qs->all[qs->n];
	struct row_actions *ra = &qs->rows[qs->n++];
	struct pb_get get;
	int r;

	q->at = at;
	q->column = (struct pb_column){
		.here = true,
		.family = c->family,
		.qualifiers = {.items = qualifier, .n = raw ? 0 : 1}};
	ra->of = c->qualifier;
	proto_init(&pb_get, &get);
	get.here = true;
	get.row = ra->row = row;
	get.columns = (struct proto_list){.items = &q->column, .n = 1};
	if (raw) {
		get.attributes = scan_raw();
		get.versions = INT32_MAX;
		filter_add_range(&q->filters, *qualifier, true, *qualifier,
				 true);
	}
	filter_add_keys(&q->filters, true);
	r = filter_message(&q->filters, &get.filter);
	return r < 0 ? r : row_actions_get(ra, &get);
}

/* As hbase_newest() would, about each put of the mutation that is to be the newest. */
static int ask_mutation(struct questions *qs, const struct mutation *m,
			size_t at)
{
	static const struct bytes none = {.data = (const uint8_t *)""};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];
		struct family_attrs attrs;
		bool raw;

		if (!change_asks_newest(c))
			continue;
		r = hbase_family(qs->t, c->family, &attrs);
		if (r <= 0)
			continue;
		raw = !attrs.new_version_behavior;
		r = ask_column(qs, m->row, at + i, c,
			       c->qualifier.len ? &c->qualifier : &none, raw);
		if (r == 0 && raw && c->qualifier.len)
			r = ask_column(qs, m->row, at + i, c, &none, raw);
	}
	return r < 0 ? r : 0;
}

static int ask_all(struct questions *qs, int64_t *newest)
{
	struct cluster *c = cluster_of(qs->t);
	int r = 0;

	for (size_t i = 0, n; r == 0 && i < qs->n; i += n) {
		n = qs->n - i < GETS_MANY ? qs->n - i : GETS_MANY;
		r = multi_rows(c, name_of(qs->t), qs->rows + i, n,
			       DURABILITY_TABLE, qs->done + i);
	}
	for (size_t i = 0; r == 0 && i < qs->n; i++) {
		int64_t *ts = &newest[qs->all[i].at];

		if (*ts == NEWEST_UNASKED || qs->rows[i].newest > *ts)
			*ts = qs->rows[i].newest;
	}
	return r;
}

int hbase_newest_many(struct table *t, const struct mutation *m, size_t n,
		      int64_t **out)
{
	struct questions qs = {.t = t};
	size_t changes = 0, puts = 0, at = 0;
	int r = 0;

	*out = NULL;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m[i].nchanges; k++, changes++)
			puts += change_asks_newest(&m[i].changes[k]);
	if (puts < 2)
		return 0;
	*out = calloc(changes, sizeof(**out));
	qs.all = calloc(2 * puts, sizeof(*qs.all));
	qs.rows = calloc(2 * puts, sizeof(*qs.rows));
	qs.done = calloc(2 * puts, sizeof(*qs.done));
	if (!*out || !qs.all || !qs.rows || !qs.done)
		r = why(-ENOMEM, "out of memory for changes");
	for (size_t i = 0; r == 0 && i < changes; i++)
		(*out)[i] = NEWEST_UNASKED;
	for (size_t i = 0; r == 0 && i < n; at += m[i++].nchanges)
		r = ask_mutation(&qs, &m[i], at);
	if (r == 0)
		r = ask_all(&qs, *out);
	questions_free(&qs);
	return r;
}
