/*
 * The serving end: mutations, scans, single values.
 */
#include <errno.h>

#include "store/remote/server_inside.h"

/* The error that prevented the rest is a part of the reply. */
int run_mutate_many(struct served *sv, struct field *in, struct field *out)
{
	struct served_act act = act_of(WIRE_MUTATE_MANY, in);
	size_t done = 0;
	int r = served_before(sv, &act);

	if (r < 0)
		return r;
	r = table_mutate_many(act.table, in[2].rows, act.nrows,
			      in[1].n ? MUTATE_SYNC : 0, &done);
	r = served_after(sv, &act, r);
	out[0].rows = in[2].rows;
	out[0].n = done;
	out[1].n = (uint32_t)r;
	out[2].s = bytes_str(r < 0 ? store_why() : "");
	return 0;
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

/* Makes the scan's next batch in @batch; gives its state after it. */
static int make_batch(struct scan *sc, uint32_t want, struct buf *batch,
		      int *failed)
{
	struct encoder e = {.out = batch};
	int state;

	batch->len = 0;
	state = put_cells(sc, want, &e);
	put_state(&e, state, state < 0 ? store_why() : "");
	*failed = e.err;
	return state;
}

void serve_ahead(struct served *sv)
{
	struct ahead *a = &sv->ahead;
	struct slot *slot = slot_find(sv, a->due, SLOT_SCAN);

	if (slot && !a->of) {
		a->of = a->due;
		a->state = make_batch(slot->object, WIRE_BATCH_MAX, &a->batch,
				      &a->failed);
	}
	a->due = 0;
}

static int open_scan(struct served *sv, struct table *t, struct scan_spec *spec,
		     struct bytes filter_text, uint64_t *handle)
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
	return slot_add(sv, SLOT_SCAN, sc, filter, handle);
}

int run_scan_open(struct served *sv, struct field *in, struct field *out)
{
	struct scan_spec *spec = &in[3].spec;
	struct slot *slot;
	int r, state, failed;

	spec->snapshot = in[1].object;
	r = open_scan(sv, in[0].object, spec, in[3].s, &out[0].n);
	if (r < 0)
		return r;
	slot = slot_find(sv, (uint32_t)out[0].n, SLOT_SCAN);
	state = make_batch(slot->object, (uint32_t)in[2].n, &sv->hold, &failed);
	if (state <= 0 && state != -EUCLEAN)
		slot_close(slot);
	out[1].s = buf_bytes(&sv->hold);
	return failed < 0 ? why(failed, "out of memory for cells") : 0;
}

int run_scan_next(struct served *sv, struct field *in, struct field *out)
{
	uint32_t handle = (uint32_t)in[0].n;
	struct slot *slot = slot_find(sv, handle, SLOT_SCAN);
	struct ahead *a = &sv->ahead;
	int state, failed;

	if (!slot)
		return why(-EBADF, "the request names no open scan");
	if (a->of == handle) {
		a->of = 0;
		state = a->state;
		failed = a->failed;
		out[0].s = buf_bytes(&a->batch);
	} else {
		state = make_batch(slot->object, (uint32_t)in[1].n, &sv->hold,
				   &failed);
		out[0].s = buf_bytes(&sv->hold);
	}
	/* What is damaged may be passed. */
	if (state > 0)
		a->due = handle;
	else if (state != -EUCLEAN)
		slot_close(slot);
	return failed < 0 ? why(failed, "out of memory for cells") : 0;
}

int run_scan_pass(struct served *sv, struct field *in, struct field *out)
{
	struct slot *slot = slot_find(sv, (uint32_t)in[0].n, SLOT_SCAN);

	if (!slot)
		return why(-EBADF, "the request names no open scan");
	return scan_pass(slot->object);
}

int run_scan_close(struct served *sv, struct field *in, struct field *out)
{
	int r = close_handle(sv, (uint32_t)in[0].n, SLOT_SCAN);

	if (r == 0 && sv->ahead.of == in[0].n)
		sv->ahead.of = 0;
	return r;
}

int run_get(struct served *sv, struct field *in, struct field *out)
{
	struct cell *cell = &out[0].cell;
	bool exact = in[6].n, value = in[7].n;
	int r = (exact ? table_get_version : table_get)(
		in[0].object, in[2].s, in[3].s, in[4].s, (int64_t)in[5].n,
		in[1].object, cell, value ? &sv->hold : NULL);

	if (r > 0 && too_long(cell) < 0)
		return -EFBIG;
	/* The client has the names; a value is sent if asked for. */
	cell->row = cell->family = cell->qualifier = (struct bytes){0};
	if (value && !cell->value.data)
		cell->value.data = (const uint8_t *)"";
	if (!value)
		cell->value.data = NULL;
	return r;
}
