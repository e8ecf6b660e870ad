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
#include "store/hbase/backend/scan_request.h"
#include "store/hbase/backend/scan_row.h"
#include "store/hbase/calls/table_scan.h"

struct hbase_scan {
	struct scan base;
	struct table_scan *cells;
	bool ended; /* the cells have */
	uint8_t granularity;
	bool keys, raw;
	uint64_t limit_rows, rows;
	struct scan_request request;

	struct cell_name last; /* of the last result; no row: there is none */

	/* A cell that was read and belongs to the next row. */
	bool has_ahead;
	struct cell ahead;
	/* The row that was collected. */
	struct scan_row row;
	size_t next; /* of its cells */
	bool has_results;
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
	scan_request_free(&sc->request);
	cell_name_free(&sc->last);
	scan_row_free(&sc->row);
	pick_free(&sc->pick);
	free(sc);
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
	sc->keys = spec->keys_only;
	sc->raw = spec->raw;
	sc->limit_rows = spec->limit_rows;
	r = scan_request_init(&sc->request, t, spec, &o);
	sc->ended = r == 0;
	if (r >= 0 && sc->request.picks) {
		int err = pick_init(&sc->pick, spec);

		r = err < 0 ? err : r;
	}
	return r > 0 ? table_scan_new(&o, &sc->cells) : r;
}

int hbase_scan_open(struct table *t, const struct scan_spec *spec,
		    struct scan **out)
{
	struct scan_spec narrowed = *spec;
	struct hbase_scan *sc;
	int r = hbase_shown(spec->snapshot, &t);

	if (r == 0 && spec->has_as_of && !scan_request_is_empty(spec)) {
		r = hbase_past(t, spec);
		narrowed.ts_max = spec->as_of + (spec->as_of < TS_MAX);
		narrowed.versions = 1;
	}
	if (r < 0)
		return r;
	sc = calloc(1, sizeof(*sc));
	if (!sc)
		return scan_no_memory();
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
	while (r > 0 && sc->raw && !scan_request_wants(&sc->request, out));
	if (r <= 0) {
		sc->ended = true;
		return r;
	}
	if (sc->request.lengths)
		out->value = hbase_length(out->value);
	hbase_mark(out);
	return 1;
}

/* Collects the next row: 1, or 0 at the end. */
static int collect_row(struct hbase_scan *sc)
{
	struct cell c;
	int r;

	scan_row_begin(&sc->row);
	sc->next = 0;
	while ((r = next_cell(sc, &c)) > 0) {
		if (sc->row.n && !bytes_eq(c.row, scan_row_name(&sc->row))) {
			sc->ahead = c;
			sc->has_ahead = true;
			break;
		}
		r = scan_row_add(&sc->row, &c);
		if (r < 0)
			return r;
	}
	if (r < 0 || !sc->row.n)
		return r;
	scan_row_end(&sc->row, sc->raw);
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
	const struct cell *from = &sc->row.cells[i];
	/* Of a column that has its result the filter sees no more. */
	bool column =
		a->jump == JUMP_COLUMN || (a->jump == JUMP_CELL && a->take &&
					   sc->granularity == SCAN_COLUMNS);

	for (i++; i < sc->row.n; i++) {
		const struct cell *to = &sc->row.cells[i];

		if (!same_family(from, to) ||
		    (column ? !same_column(from, to) : a->jump == JUMP_CELL) ||
		    (a->jump == JUMP_SEEK &&
		     bytes_cmp(to->qualifier, a->hint) >= 0))
			break;
	}
	return i;
}

/* Has the filter look at the row that was collected: 1 if it has results. */
static int pick_row(struct hbase_scan *sc)
{
	int r = pick_begin(&sc->pick, sc->row.cells[0].row);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < sc->row.n;) {
		struct filter_answer a;

		r = pick_cell(&sc->pick, &sc->row.cells[i], &a);
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
	*new_row = !bytes_eq(sc->last.row, c->row);
	if (*new_row || sc->granularity == SCAN_CELLS)
		return true;
	if (sc->granularity == SCAN_ROWS)
		return false;
	if (!bytes_eq(sc->last.family, c->family))
		return true;
	return sc->granularity == SCAN_COLUMNS &&
	       !bytes_eq(sc->last.qualifier, c->qualifier);
}

static int next_of_row(struct hbase_scan *sc, struct cell *out)
{
	int r;

	if (!sc->raw)
		return next_cell(sc, out);
	if (sc->next == sc->row.n) {
		r = collect_row(sc);
		if (r <= 0)
			return r;
	}
	*out = sc->row.cells[sc->next++];
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
	return cell_name_set(&sc->last, out) < 0 ? scan_no_memory() : 1;
}

/*
 * A family that was asked for has been dropped. Alone, and before anything of it
 * was given, it is as one that is empty; else what is given would look whole.
 */
static int end_without_family(const struct hbase_scan *sc)
{
	if (sc->request.ncolumns == 1 && !sc->base.cells)
		return 0;
	return why(-EBUSY, "a family was dropped while it was read: read again "
			   "what is left");
}

int hbase_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct hbase_scan *sc = scan_of(base);
	int r = sc->request.picks ? next_picked(sc, out) : next_result(sc, out);

	if (r > 0 && !sc->request.picks)
		show(sc, out);
	return r == -EPERM ? end_without_family(sc) : r;
}
