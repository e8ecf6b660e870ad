/*
 * The client's reads: scans in batches, single values.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter.h"
#include "store/remote/client_inside.h"

/* Many scans end soon: the first batch is small, the next ones grow. */
#define BATCH_FIRST (16u << 10)

struct remote_scan {
	struct scan base;
	uint32_t handle; /* 0 = the server has closed the scan */
	uint32_t want;	 /* size of the next batch in bytes */
	bool is_ended;
	struct call call; /* the current batch: reply and its unread rest */
	bool any;	  /* a cell of the current batch was read */
	struct cell last;
};

static struct remote_scan *scan_of(struct scan *sc)
{
	return (struct remote_scan *)sc;
}

int remote_scan_open(struct table *t, const struct scan_spec *spec,
		     struct scan **out)
{
	struct remote_scan *sc = calloc(1, sizeof(*sc));
	struct call *c;
	int r;

	if (!sc)
		return why(-ENOMEM, "out of memory for a scan");
	c = &sc->call;
	call_begin(c, remote_of(t->store), WIRE_SCAN_OPEN);
	put_u32(&c->out, table_handle(t));
	put_u32(&c->out, snapshot_handle(spec->snapshot));
	put_u32(&c->out, BATCH_FIRST);
	put_spec(&c->out, spec,
		 spec->filter ? filter_text(spec->filter) : (struct bytes){0});
	r = call_run(c);
	if (r >= 0) {
		sc->handle = take_u32(&c->in);
		if (c->in.bad)
			r = call_taken(c, r);
	}
	if (r < 0) {
		call_end(c);
		free(sc);
		return r;
	}
	sc->want = BATCH_FIRST;
	*out = &sc->base;
	return 0;
}

static int fetch(struct remote_scan *sc)
{
	struct call *c = &sc->call;
	struct remote *r = c->remote;

	call_end(c);
	call_begin(c, r, WIRE_SCAN_NEXT);
	sc->want =
		sc->want * 4 < WIRE_BATCH_MAX ? sc->want * 4 : WIRE_BATCH_MAX;
	put_u32(&c->out, sc->handle);
	put_u32(&c->out, sc->want);
	sc->last = (struct cell){0};
	sc->any = false;
	return call_run(c);
}

/* Reads the state after a batch's last cell: 1 = more cells follow. */
static int batch_end(struct remote_scan *sc)
{
	struct call *c = &sc->call;
	int state = take_result(&c->in);
	struct bytes sentence = take_bytes(&c->in, WIRE_FRAME_MAX);
	int r;

	/* Empty batches that claim more would make an endless loop. */
	if (state > 1 || state < -4095 || (state == 1 && !sc->any))
		c->in.bad = true;
	r = call_taken(c, state);
	if (r <= 0) {
		sc->is_ended = true;
		sc->handle = 0;
	}
	if (r < 0 && r == state)
		why(r, "%.*s", (int)sentence.len, (const char *)sentence.data);
	return r;
}

int remote_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct remote_scan *sc = scan_of(base);
	int r;

	while (!sc->is_ended) {
		if (take_cell(&sc->call.in, &sc->last)) {
			sc->any = true;
			*out = sc->last;
			return 1;
		}
		r = batch_end(sc);
		if (r > 0)
			r = fetch(sc);
		if (r < 0) {
			sc->is_ended = true;
			return r;
		}
	}
	return 0;
}

void remote_scan_close(struct scan *base)
{
	struct remote_scan *sc = scan_of(base);
	struct remote *r = sc->call.remote;

	call_end(&sc->call);
	if (sc->handle)
		call_close(r, WIRE_SCAN_CLOSE, sc->handle);
	free(sc);
}

int remote_get(struct table *t, struct bytes row, struct bytes family,
	       struct bytes qualifier, int64_t ts, bool exact,
	       const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	struct cell found = {0};
	struct call c;
	int r;

	call_begin(&c, remote_of(t->store), WIRE_GET);
	put_u32(&c.out, table_handle(t));
	put_u32(&c.out, snapshot_handle(snap));
	put_bytes(&c.out, row);
	put_bytes(&c.out, family);
	put_bytes(&c.out, qualifier);
	put_i64(&c.out, ts);
	put_u8(&c.out, exact);
	put_u8(&c.out, hold != NULL);
	r = call_run(&c);
	if (r > 0 && !take_cell(&c.in, &found))
		c.in.bad = true;
	/* The reply has a value exactly if the caller asked for one. */
	if (r > 0 && (found.value.data != NULL) != (hold != NULL))
		c.in.bad = true;
	if (r >= 0)
		r = call_taken(&c, r);
	if (r > 0 && hold) {
		int err = buf_set(hold, found.value);

		found.value.data = hold->data;
		if (err < 0)
			r = why(err, "out of memory for a value");
	}
	if (r > 0)
		*cell = found;
	call_end(&c);
	return r;
}
