/*
 * Reads: gets and scans.
 *
 * A scan takes results from the store in batches, which costs less than half of
 * one at a time, and hands them out one by one where they lie. The first batch
 * is of one result and each has twice the size of the one before it, so that who
 * wants a single result does not pay for more, nor for memory of many.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter.h"
#include "store/library/convert.h"

#define BATCH_FEW 4
#define BATCH_MAX 64

struct cellfs_scan {
	struct scan *scan;
	struct filter *filter; /* which @scan uses, or NULL */
	unsigned at, n;	       /* cells[at] up to cells[n - 1] come next */
	unsigned batch;	       /* how many to take from @scan */
	struct cell *cells;    /* @few, or BATCH_MAX that it owns */
	struct cell few[BATCH_FEW];
};

int cellfs_get(struct cellfs_table *t, struct cellfs_bytes row,
	       struct cellfs_bytes family, struct cellfs_bytes qualifier,
	       struct cellfs_buffer *value)
{
	return table_get(table_in(t), bytes_in(row), bytes_in(family),
			 bytes_in(qualifier), TS_MAX, NULL, NULL,
			 buf_in(value));
}

int cellfs_get_cell(struct cellfs_table *t, struct cellfs_bytes row,
		    struct cellfs_bytes family, struct cellfs_bytes qualifier,
		    const struct cellfs_which *which, struct cellfs_cell *cell,
		    struct cellfs_buffer *value)
{
	const struct snapshot *snap =
		which ? snapshot_in(which->snapshot) : NULL;
	bool set = which && which->ts.set;
	int64_t ts = set ? which->ts.ms : TS_MAX;

	if (set && which->exact)
		return table_get_version(table_in(t), bytes_in(row),
					 bytes_in(family), bytes_in(qualifier),
					 ts, snap, (struct cell *)cell,
					 buf_in(value));
	return table_get(table_in(t), bytes_in(row), bytes_in(family),
			 bytes_in(qualifier), ts, snap, (struct cell *)cell,
			 buf_in(value));
}

struct cellfs_bound cellfs_prefix_end(struct cellfs_bytes prefix, void *room)
{
	uint8_t *end = room;

	bytes_copy(end, prefix.data, prefix.len);
	for (size_t n = prefix.len; n > 0; n--)
		if (end[n - 1] < UINT8_MAX) {
			end[n - 1]++;
			return cellfs_exclusive(cellfs_bytes_of(end, n));
		}
	return (struct cellfs_bound){0};
}

static uint8_t granularity_in(enum cellfs_granularity g)
{
	switch (g) {
	case CELLFS_CELLS:
		return SCAN_CELLS;
	case CELLFS_COLUMNS:
		return SCAN_COLUMNS;
	case CELLFS_FAMILIES:
		return SCAN_FAMILIES;
	case CELLFS_ROWS:
		return SCAN_ROWS;
	}
	return UINT8_MAX;
}

/*
 * Bounds that let nothing in, which store.h would take for open ones: rows that
 * are not greater than the empty key, timestamps before 0. Rows before the least
 * key are none there, and all else of the call is looked at.
 */
static bool holds_nothing(const struct cellfs_scan_spec *s)
{
	const struct cellfs_bound *high =
		s->reversed ? &s->row_start : &s->row_stop;

	return (high->set && !high->at.len) ||
	       (s->ts_stop.set && s->ts_stop.ms == 0);
}

static int open_inner(struct table *t, const struct cellfs_scan_spec *s,
		      const struct filter *filter, struct scan **out)
{
	const struct cellfs_bound none =
		cellfs_exclusive(cellfs_bytes_of("", 1));
	const bool nothing = holds_nothing(s);
	const struct cellfs_bound start = nothing ? none : s->row_start;
	const struct cellfs_bound stop = nothing ? none : s->row_stop;
	const struct scan_spec spec = {
		.granularity = granularity_in(s->granularity),
		.reversed = s->reversed,
		.raw = s->raw,
		.keys_only = s->keys_only,
		.row_start_exclusive = start.set && !start.inclusive,
		.row_stop_inclusive = stop.set && stop.inclusive,
		.has_qual_start = s->qualifier_start.set,
		.has_qual_stop = s->qualifier_stop.set,
		.qual_start_exclusive =
			s->qualifier_start.set && !s->qualifier_start.inclusive,
		.qual_stop_inclusive =
			s->qualifier_stop.set && s->qualifier_stop.inclusive,
		.qual_start = bytes_in(s->qualifier_start.at),
		.qual_stop = bytes_in(s->qualifier_stop.at),
		.row_start = start.set ? bytes_in(start.at) : (struct bytes){0},
		.row_stop = stop.set ? bytes_in(stop.at) : (struct bytes){0},
		.columns = (const struct column_name *)s->columns,
		.ncolumns = s->ncolumns,
		.ts_min = s->ts_start.set ? s->ts_start.ms : 0,
		.ts_max = s->ts_stop.set ? s->ts_stop.ms : 0,
		.versions = s->versions,
		.limit_rows = s->limit_rows,
		.family_limit = s->family_limit,
		.family_offset = s->family_offset,
		.filter = filter,
		.snapshot = snapshot_in(s->snapshot),
	};

	return scan_open(t, &spec, out);
}

int cellfs_scan_open(struct cellfs_table *t,
		     const struct cellfs_scan_spec *spec,
		     struct cellfs_scan **out)
{
	static const struct cellfs_scan_spec all;
	struct cellfs_scan *sc = malloc(sizeof(*sc));
	int r = 0;

	why_clear();
	if (!sc)
		return why(-ENOMEM, "out of memory for a scan");
	sc->scan = NULL;
	sc->filter = NULL;
	sc->at = sc->n = 0;
	sc->batch = 1;
	sc->cells = sc->few;
	spec = spec ? spec : &all;
	if (spec->filter.len)
		r = with_reason(
			filter_parse(bytes_in(spec->filter), &sc->filter));
	if (r == 0)
		r = open_inner(table_in(t), spec, sc->filter, &sc->scan);
	if (r < 0)
		cellfs_scan_close(sc);
	else
		*out = sc;
	return r;
}

/* Takes the next batch: as scan_next_many(). */
static int take_batch(struct cellfs_scan *sc)
{
	int r;

	if (sc->batch > BATCH_FEW && sc->cells == sc->few) {
		sc->cells = malloc(BATCH_MAX * sizeof(*sc->cells));
		if (!sc->cells) {
			sc->cells = sc->few;
			return why(-ENOMEM, "out of memory for a scan");
		}
	}
	r = scan_next_many(sc->scan, sc->cells, sc->batch);
	if (r <= 0)
		return r;
	sc->at = 0;
	sc->n = (unsigned)r;
	if (sc->batch < BATCH_MAX)
		sc->batch *= 2;
	return r;
}

int cellfs_scan_next(struct cellfs_scan *sc, const struct cellfs_cell **cell)
{
	if (sc->at == sc->n) {
		int r = take_batch(sc);

		if (r <= 0)
			return r;
	}
	*cell = (const struct cellfs_cell *)&sc->cells[sc->at++];
	return 1;
}

void cellfs_scan_close(struct cellfs_scan *sc)
{
	if (!sc)
		return;
	scan_close(sc->scan);
	if (sc->cells != sc->few)
		free(sc->cells);
	filter_free(sc->filter);
	free(sc);
}
