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
	struct remote *remote;
	struct field handle; /* its number 0 = the server has closed the scan */
	uint32_t want;	     /* size of the next batch in bytes */
	bool is_ended;
	struct buf reply;  /* the current batch */
	struct decoder in; /* its unread rest */
	bool any;	   /* a cell of it was read */
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
	struct field got[FIELDS_MAX] = {0};
	struct field spec_field = {.spec = *spec};
	int r;

	if (!sc)
		return why(-ENOMEM, "out of memory for a scan");
	sc->remote = remote_of(t->store);
	if (spec->filter)
		spec_field.s = filter_text(spec->filter);
	r = call_holding(sc->remote, WIRE_SCAN_OPEN,
			 FIELDS(field_table(t), field_snapshot(spec->snapshot),
				field_number(BATCH_FIRST), spec_field),
			 got, &sc->reply);
	if (r < 0) {
		buf_free(&sc->reply);
		free(sc);
		return r;
	}
	sc->handle = got[0];
	sc->in = decoder_of(got[1].s);
	sc->want = BATCH_FIRST;
	*out = &sc->base;
	return 0;
}

static int fetch(struct remote_scan *sc)
{
	struct field got[FIELDS_MAX] = {0};
	int r;

	sc->want =
		sc->want * 4 < WIRE_BATCH_MAX ? sc->want * 4 : WIRE_BATCH_MAX;
	sc->reply.len = 0;
	sc->last = (struct cell){0};
	sc->any = false;
	r = call_holding(sc->remote, WIRE_SCAN_NEXT,
			 FIELDS(sc->handle, field_number(sc->want)), got,
			 &sc->reply);
	sc->in = decoder_of(got[0].s);
	return r;
}

/* Reads the state after a batch's last cell: 1 = more cells follow. */
static int batch_end(struct remote_scan *sc)
{
	int state = take_result(&sc->in);
	struct bytes sentence = take_bytes(&sc->in, WIRE_FRAME_MAX);

	if (state <= 0)
		sc->is_ended = true;
	/* What is damaged may be passed: the server keeps the scan. */
	if (state <= 0 && state != -EUCLEAN)
		sc->handle.n = 0;
	/* Empty batches that claim more would make an endless loop. */
	if (state > 1 || state < -4095 || (state == 1 && !sc->any) ||
	    sc->in.bad || decoder_left(&sc->in))
		return call_nonsense(sc->remote);
	if (state < 0)
		why(state, "%.*s", (int)sentence.len,
		    (const char *)sentence.data);
	return state;
}

int remote_scan_next(struct scan *base, struct cell *out, size_t n)
{
	struct remote_scan *sc = scan_of(base);
	int r;

	while (!sc->is_ended) {
		if (take_cell(&sc->in, &sc->last)) {
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

int remote_scan_pass(struct scan *base)
{
	struct remote_scan *sc = scan_of(base);
	struct field got[FIELDS_MAX] = {0};
	int r;

	if (!sc->handle.n)
		return why(-EUCLEAN, "the scan cannot go on");
	r = call_fields(sc->remote, WIRE_SCAN_PASS, FIELDS(sc->handle), got);
	if (r == 0)
		r = fetch(sc);
	if (r == 0)
		sc->is_ended = false;
	return r;
}

void remote_scan_close(struct scan *base)
{
	struct remote_scan *sc = scan_of(base);

	buf_free(&sc->reply);
	if (sc->handle.n)
		call_close(sc->remote, WIRE_SCAN_CLOSE, sc->handle);
	free(sc);
}

int remote_get(struct table *t, struct bytes row, struct bytes family,
	       struct bytes qualifier, int64_t ts, bool exact,
	       const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	struct field got[FIELDS_MAX] = {0};
	struct cell *found = &got[0].cell;
	struct buf reply = {0};
	int r = call_holding(
		remote_of(t->store), WIRE_GET,
		FIELDS(field_table(t), field_snapshot(snap), field_bytes(row),
		       field_bytes(family), field_bytes(qualifier),
		       field_number((uint64_t)ts), field_number(exact),
		       field_number(hold != NULL)),
		got, &reply);

	/* The reply has a value exactly if the caller asked for one. */
	if (r > 0 && (found->value.data != NULL) != (hold != NULL))
		r = call_nonsense(remote_of(t->store));
	if (r > 0 && hold) {
		int err = buf_set(hold, found->value);

		found->value.data = hold->data;
		if (err < 0)
			r = why(err, "out of memory for a value");
	}
	if (r > 0)
		*cell = *found;
	buf_free(&reply);
	return r;
}
