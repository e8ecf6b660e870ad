/*
 * The serving end: mutations, scans, single values.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/front/guard.h"
#include "store/remote/server_inside.h"

int serve_mutate(struct served *sv, struct decoder *in, struct encoder *out)
{
	struct served_act act = {.what = SERVED_ROWS, .nrows = 1};
	struct mutation m = {0};
	bool sync;
	int r = take_table(sv, in, &act.table), err;

	sync = take_bool(in);
	err = take_mutation(in, &m);
	if (r == 0)
		r = err < 0 ? err : wire_done(in);
	act.rows = &m;
	act.deletes = guard_deletes(&m);
	if (r == 0)
		r = served_before(sv, &act);
	if (r == 0)
		r = served_after(
			sv, &act,
			table_mutate(act.table, &m, sync ? MUTATE_SYNC : 0));
	if (r > 0)
		put_given(out, &m);
	wire_mutation_free(&m);
	return r;
}

/* The least size: the lengths of row, checks and changes. */
#define MUTATION_MIN 12

static int take_many(struct decoder *in, struct mutation **out, uint32_t *n)
{
	struct mutation *m;
	int r = 0;

	*n = take_u32(in);
	if (*n > WIRE_ROWS_MAX || *n > decoder_left(in) / MUTATION_MIN)
		in->bad = true;
	if (in->bad || !*n) {
		*n = 0;
		return 0;
	}
	*out = m = calloc(*n, sizeof(*m));
	if (!m) {
		*n = 0;
		return why(-ENOMEM, "out of memory for mutations");
	}
	for (uint32_t i = 0; r == 0 && i < *n; i++)
		r = take_mutation(in, &m[i]);
	return r;
}

int serve_mutate_many(struct served *sv, struct decoder *in,
		      struct encoder *out)
{
	struct served_act act = {.what = SERVED_ROWS};
	struct mutation *m = NULL;
	size_t done = 0;
	uint32_t n;
	bool sync;
	int r = take_table(sv, in, &act.table), err;

	sync = take_bool(in);
	err = take_many(in, &m, &n);
	if (r == 0)
		r = err < 0 ? err : wire_done(in);
	act.rows = m;
	act.nrows = n;
	for (uint32_t i = 0; i < n; i++)
		act.deletes |= guard_deletes(&m[i]);
	if (r == 0)
		r = served_before(sv, &act);
	if (r == 0) {
		r = table_mutate_many(act.table, m, n, sync ? MUTATE_SYNC : 0,
				      &done);
		served_after(sv, &act, r);
		put_u32(out, (uint32_t)done);
		for (size_t i = 0; i < done; i++)
			put_given(out, &m[i]);
		put_result(out, r);
		put_bytes(out, bytes_str(r < 0 ? store_why() : ""));
		r = 0;
	}
	for (uint32_t i = 0; i < n; i++)
		wire_mutation_free(&m[i]);
	free(m);
	return r;
}

static int too_long(const struct cell *c)
{
	if (c->value.len <= WIRE_VALUE_MAX || !c->value.data)
		return 0;
	return why(-EFBIG,
		   "a value of %zu bytes: at most %u go through a mount at "
		   "once; read it as a file",
		   c->value.len, WIRE_VALUE_MAX);
}

/* Puts cells until @want bytes are reached. 1 = maybe more, 0 = end, < 0. */
static int put_cells(struct scan *sc, uint32_t want, struct encoder *out)
{
	struct cells_out cells = {.e = out};
	size_t begin = out->out->len;
	struct cell cell = {0};
	int r;

	if (want > WIRE_BATCH_MAX)
		want = WIRE_BATCH_MAX;
	do {
		r = scan_next(sc, &cell);
		if (r > 0 && too_long(&cell) < 0)
			return -EFBIG;
		if (r > 0)
			put_cell(&cells, &cell);
		if (out->err)
			return why(out->err, "out of memory for cells");
	} while (r > 0 && out->out->len - begin < want);
	return r;
}

static int put_batch(struct scan *sc, uint32_t want, struct encoder *out)
{
	int state = put_cells(sc, want, out);

	put_state(out, state, state < 0 ? store_why() : "");
	return state;
}

void serve_ahead(struct served *sv)
{
	struct ahead *a = &sv->ahead;
	struct slot *slot = slot_find(sv, a->due, SLOT_SCAN);
	struct encoder e = {.out = &a->batch};

	if (slot && !a->of) {
		a->of = a->due;
		a->batch.len = 0;
		a->state = put_batch(slot->object, WIRE_BATCH_MAX, &e);
		a->failed = e.err;
	}
	a->due = 0;
}

/* Sends the batch made ahead and gives the scan's state after it. */
static int put_ahead(struct ahead *a, struct encoder *out)
{
	put_raw(out, a->batch.data, a->batch.len);
	a->of = 0;
	/* Do not keep the memory that one long value needed. */
	if (a->batch.cap > 2 * WIRE_BATCH_MAX)
		buf_free(&a->batch);
	return a->failed ? why(a->failed, "out of memory for cells") : a->state;
}

static int take_snapshot(struct served *sv, struct decoder *in,
			 const struct snapshot **out)
{
	uint32_t handle = take_u32(in);
	struct slot *slot = slot_find(sv, handle, SLOT_SNAPSHOT);

	*out = slot ? slot->object : NULL;
	if (slot || !handle)
		return 0;
	return why(-EBADF, "the request names no open snapshot");
}

static int open_scan(struct served *sv, struct table *t, struct scan_spec *spec,
		     struct bytes filter_text, uint32_t *handle)
{
	struct filter *filter = NULL;
	struct scan *sc = NULL;
	int r = filter_text.data ? filter_parse(filter_text, &filter) : 0;

	spec->filter = filter;
	if (r == 0)
		r = scan_open(t, spec, &sc);
	if (r < 0) {
		filter_free(filter);
		return r;
	}
	*handle = slot_add(sv, SLOT_SCAN, sc, filter);
	if (*handle)
		return 0;
	scan_close(sc);
	filter_free(filter);
	return -EMFILE;
}

int serve_scan_open(struct served *sv, struct decoder *in, struct encoder *out)
{
	const struct snapshot *snap = NULL;
	struct scan_spec spec = {0};
	struct bytes filter = {0};
	uint32_t want, handle = 0;
	struct slot *slot;
	struct table *t;
	int r = take_table(sv, in, &t);

	if (r == 0)
		r = take_snapshot(sv, in, &snap);
	want = take_u32(in);
	if (r == 0)
		r = take_spec(in, &spec, &filter);
	if (r == 0)
		r = wire_done(in);
	spec.snapshot = snap;
	if (r == 0)
		r = open_scan(sv, t, &spec, filter, &handle);
	wire_spec_free(&spec);
	if (r < 0)
		return r;
	put_u32(out, handle);
	slot = slot_find(sv, handle, SLOT_SCAN);
	if (put_batch(slot->object, want, out) <= 0)
		slot_close(slot);
	return 0;
}

int serve_scan_next(struct served *sv, struct decoder *in, struct encoder *out)
{
	uint32_t handle = take_u32(in), want = take_u32(in);
	struct slot *slot = slot_find(sv, handle, SLOT_SCAN);
	int r = wire_done(in), state;

	if (r == 0 && !slot)
		r = why(-EBADF, "the request names no open scan");
	if (r < 0)
		return r;
	if (sv->ahead.of == handle) {
		state = put_ahead(&sv->ahead, out);
		r = sv->ahead.failed;
	} else {
		state = put_batch(slot->object, want, out);
	}
	if (state > 0)
		sv->ahead.due = handle;
	else
		slot_close(slot);
	return r;
}

int run_scan_close(struct served *sv, struct field *in, struct field *out)
{
	int r = close_handle(sv, (uint32_t)in[0].n, SLOT_SCAN);

	if (r == 0 && sv->ahead.of == in[0].n)
		sv->ahead.of = 0;
	return r;
}

int serve_get(struct served *sv, struct decoder *in, struct encoder *out)
{
	struct cells_out cells = {.e = out};
	const struct snapshot *snap = NULL;
	struct bytes row, family, qualifier;
	struct buf hold = {0};
	struct cell cell = {0};
	struct table *t;
	bool exact, value;
	int64_t ts;
	int r = take_table(sv, in, &t);

	if (r == 0)
		r = take_snapshot(sv, in, &snap);
	row = take_bytes(in, ROW_LEN_MAX);
	family = take_bytes(in, FAMILY_LEN_MAX);
	qualifier = take_bytes(in, QUALIFIER_LEN_MAX);
	ts = take_i64(in);
	exact = take_bool(in);
	value = take_bool(in);
	if (r == 0)
		r = wire_done(in);
	if (r == 0)
		r = (exact ? table_get_version
			   : table_get)(t, row, family, qualifier, ts, snap,
					&cell, value ? &hold : NULL);
	if (r > 0 && too_long(&cell) < 0)
		r = -EFBIG;
	if (r > 0) {
		/* The client has the names; a value is sent if asked for. */
		cell.row = cell.family = cell.qualifier = (struct bytes){0};
		if (value && !cell.value.data)
			cell.value.data = (const uint8_t *)"";
		if (!value)
			cell.value.data = NULL;
		put_cell(&cells, &cell);
	}
	buf_free(&hold);
	return r;
}
