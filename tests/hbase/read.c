#include <stdio.h>
#include <stdlib.h>

#include "store/filter/filter.h"
#include "tests/hbase/case.h"

struct reading {
	struct scan_spec spec;
	struct filter *filter;
	struct column_ranges {
		size_t n;
		struct family_range *at;
	} ranges;
	bool empty; /* a range that nothing can lie in */
};

/*
 * As the client's addFamily and addColumn: a family named after columns of it
 * means all of it, a column named after its family only the column.
 */
static size_t add_column(struct column_name *cols, size_t n,
			 struct column_name c)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++)
		if (!bytes_eq(cols[i].family, c.family) ||
		    (!c.whole_family && !cols[i].whole_family))
			cols[to++] = cols[i];
	cols[to++] = c;
	return to;
}

static int read_columns(struct run *r, json_t *step, struct scan_spec *spec)
{
	json_t *cols = json_object_get(step, "cols"), *at;
	struct column_name *names =
		step_alloc(r, (json_array_size(cols) + 1) * sizeof(*names));
	size_t i;

	json_array_foreach(cols, i, at) spec->ncolumns =
		add_column(names, spec->ncolumns, text_column(r, at));
	spec->columns = names;
	/* The client has no empty column list in a raw scan. */
	for (i = 0; spec->raw && i < spec->ncolumns; i++)
		if (!names[i].whole_family)
			return refuse(r, E_NO_RETRY);
	return 0;
}

static int read_range(struct run *r, json_t *tr, int64_t *min, int64_t *max)
{
	if (text_ts(r, json_array_get(tr, 0), min) < 0 ||
	    text_ts(r, json_array_get(tr, 1), max) < 0)
		return -1;
	if (*max == TS_CLOCK)
		*max = INT64_MAX;
	return *max < *min ? refuse(r, E_ILLEGAL) : 0;
}

static int read_times(struct run *r, json_t *step, struct reading *rd)
{
	json_t *tr = json_object_get(step, "tr");
	json_t *ts = json_object_get(step, "ts");
	json_t *per = json_object_get(step, "cf_tr"), *at;
	const char *family;

	if (tr) {
		if (read_range(r, tr, &rd->spec.ts_min, &rd->spec.ts_max) < 0)
			return -1;
		rd->empty = rd->spec.ts_min == rd->spec.ts_max;
	}
	if (ts) {
		if (text_ts(r, ts, &rd->spec.ts_min) < 0)
			return -1;
		rd->spec.ts_max = rd->spec.ts_min + 1;
	}
	if (!per)
		return 0;
	rd->ranges.at =
		step_alloc(r, json_object_size(per) * sizeof(*rd->ranges.at));
	json_object_foreach(per, family, at)
	{
		struct family_range *f = &rd->ranges.at[rd->ranges.n++];

		f->family = bytes_str(family);
		if (read_range(r, at, &f->ts_min, &f->ts_max) < 0)
			return -1;
	}
	rd->spec.family_ranges = rd->ranges.at;
	rd->spec.nfamily_ranges = rd->ranges.n;
	return 0;
}

/* ${T0-2001} in a filter's text becomes a number. */
static int read_filter(struct run *r, json_t *step, struct reading *rd)
{
	const char *s = json_string_value(json_object_get(step, "filter"));
	struct buf text = {0};
	const char *dollar;
	char number[32];
	int err;

	if (!s)
		return 0;
	while ((dollar = strstr(s, "${T0"))) {
		const char *end = strchr(dollar, '}');

		buf_append(&text, s, (size_t)(dollar - s));
		snprintf(number, sizeof(number), "%lld",
			 (long long)(r->t0 + strtoll(dollar + 4, NULL, 10)));
		buf_append(&text, number, strlen(number));
		s = end ? end + 1 : dollar + 4;
	}
	buf_append(&text, s, strlen(s));
	err = filter_parse(buf_bytes(&text), &rd->filter);
	buf_free(&text);
	if (err < 0)
		return refuse(r, E_ILLEGAL);
	rd->spec.filter = rd->filter;
	if (json_object_get(step, "batch") && filter_has_row(rd->filter))
		return refuse(r, E_NO_RETRY);
	return 0;
}

static int read_versions(struct run *r, json_t *step, struct scan_spec *spec)
{
	json_t *v = json_object_get(step, "versions");

	spec->versions = 1;
	if (json_is_string(v))
		spec->versions = 0;
	if (json_is_integer(v)) {
		if (json_integer_value(v) <= 0)
			return refuse(r, E_OTHER);
		spec->versions = (uint32_t)json_integer_value(v);
	}
	return 0;
}

static int read_step(struct run *r, json_t *step, struct reading *rd)
{
	struct scan_spec *spec = &rd->spec;
	json_t *limit = json_object_get(step, "store_limit");

	spec->granularity = SCAN_CELLS;
	spec->raw = json_is_true(json_object_get(step, "raw"));
	spec->reversed = json_is_true(json_object_get(step, "reversed"));
	spec->family_limit = (uint64_t)json_integer_value(limit);
	spec->family_offset = (uint64_t)json_integer_value(
		json_object_get(step, "store_offset"));
	if (limit && !spec->family_limit)
		rd->empty = true;
	if (read_versions(r, step, spec) < 0 ||
	    read_columns(r, step, spec) < 0 || read_times(r, step, rd) < 0)
		return -1;
	return read_filter(r, step, rd);
}

static int check_families(struct run *r, struct table *t,
			  const struct scan_spec *spec)
{
	struct schema s;
	int err = table_schema(t, &s);

	if (err < 0)
		return refuse_errno(r, err);
	for (size_t i = 0; i < spec->ncolumns && err == 0; i++)
		if (schema_find(&s, spec->columns[i].family) < 0)
			err = refuse(r, E_NO_FAMILY);
	schema_free(&s);
	return err;
}

static const char *type_name(uint8_t kind)
{
	switch (kind) {
	case CELL_DELETE:
		return "Delete";
	case CELL_DELETE_FAMILY_VERSION:
		return "DeleteFamilyVersion";
	case CELL_DELETE_COLUMN:
		return "DeleteColumn";
	case CELL_DELETE_FAMILY:
		return "DeleteFamily";
	}
	return "Put";
}

static void add_cell(struct run *r, const struct cell *c, bool with_row,
		     bool with_type)
{
	json_t *a = json_array();

	if (with_row)
		json_array_append_new(a, text_render(c->row));
	json_array_append_new(a, text_render_column(c));
	json_array_append_new(a, json_integer(c->ts));
	json_array_append_new(a, text_render(c->value));
	if (with_type)
		json_array_append_new(a, json_string(type_name(c->kind)));
	json_array_append_new(r->answer, a);
}

/* Results of at most @batch cells, none of two rows. */
struct chunks {
	struct buf row;
	size_t batch, n;
};

static void count_chunk(struct run *r, struct chunks *k, const struct cell *c)
{
	size_t last = json_array_size(r->chunks);

	if (!k->n || !bytes_eq(buf_bytes(&k->row), c->row) ||
	    (k->batch && k->n == k->batch)) {
		k->n = 1;
		buf_set(&k->row, c->row);
		json_array_append_new(r->chunks, json_integer(1));
		return;
	}
	json_array_set_new(r->chunks, last - 1,
			   json_integer((json_int_t)++k->n));
}

static int read_cells(struct run *r, json_t *step, struct reading *rd,
		      bool with_row)
{
	struct chunks chunks = {.batch = (size_t)json_integer_value(
					json_object_get(step, "batch"))};
	struct scan *sc = NULL;
	struct table *t;
	struct cell c;
	int err;

	if (step_table(r, step, &t) < 0)
		return -1;
	r->answer = json_array();
	r->chunks = json_array();
	err = check_families(r, t, &rd->spec);
	if (err < 0 || rd->empty)
		goto out;
	err = scan_open(t, &rd->spec, &sc);
	while (err >= 0 && (err = scan_next(sc, &c)) > 0) {
		add_cell(r, &c, with_row, rd->spec.raw);
		count_chunk(r, &chunks, &c);
	}
	scan_close(sc);
	if (err < 0)
		err = refuse_errno(r, err);
out:
	buf_free(&chunks.row);
	table_unref(t);
	return err;
}

int step_get(struct run *r, json_t *step)
{
	struct reading rd = {0};
	int err;

	rd.spec.row_start = rd.spec.row_stop =
		text_bytes(r, json_object_get(step, "row"));
	rd.spec.row_stop_inclusive = true;
	err = check_row(r, rd.spec.row_start);
	if (err == 0)
		err = read_step(r, step, &rd);
	if (err == 0)
		err = read_cells(r, step, &rd, false);
	filter_free(rd.filter);
	return err;
}

int step_exists(struct run *r, json_t *step)
{
	int err = step_get(r, step);
	bool found = json_array_size(r->answer) > 0;

	if (err < 0)
		return err;
	json_decref(r->answer);
	r->answer = json_boolean(found);
	return 0;
}

int step_scan(struct run *r, json_t *step)
{
	struct reading rd = {0};
	int err;

	rd.spec.row_start = text_bytes(r, json_object_get(step, "start"));
	rd.spec.row_stop = text_bytes(r, json_object_get(step, "stop"));
	rd.spec.row_stop_inclusive =
		json_is_true(json_object_get(step, "incl_stop"));
	rd.spec.limit_rows =
		(uint64_t)json_integer_value(json_object_get(step, "limit"));
	err = read_step(r, step, &rd);
	if (err == 0)
		err = read_cells(r, step, &rd, true);
	filter_free(rd.filter);
	return err;
}
