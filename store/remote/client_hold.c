/*
 * The client's holds: the list comes whole when it is taken, in parts.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/remote/client_inside.h"

struct remote_hold {
	struct hold base;
	uint32_t handle;
};

static int take_hold(struct remote *r, struct bytes text, struct hold *h)
{
	struct decoder d = decoder_of(text);
	int result = take_fields(&d, "h", FIELDS({.hold = h}));

	if (result == 0 && (d.bad || decoder_left(&d)))
		return call_nonsense(r);
	return result;
}

/* Reads the @bytes of the list. */
static int fetch(struct remote *r, struct field handle, uint64_t bytes,
		 struct buf *text)
{
	int result = 0;

	while (result == 0 && text->len < bytes) {
		struct field got[FIELDS_MAX] = {0};
		struct buf reply = {0};

		result = call_holding(r, WIRE_HOLD_READ,
				      FIELDS(handle, field_number(text->len)),
				      got, &reply);
		if (result == 0 &&
		    (!got[0].s.len || got[0].s.len > bytes - text->len))
			result = call_nonsense(r);
		if (result == 0 &&
		    buf_append(text, got[0].s.data, got[0].s.len) < 0)
			result = why(-ENOMEM, "out of memory for the list of "
					      "files");
		buf_free(&reply);
	}
	return result;
}

int remote_hold(struct store *s, struct hold **out)
{
	struct field got[FIELDS_MAX] = {0};
	struct remote_hold *h = calloc(1, sizeof(*h));
	struct remote *r = remote_of(s);
	struct buf text = {0};
	int result = h ? call_fields(r, WIRE_HOLD, NULL, got)
		       : why(-ENOMEM, "out of memory for the list of files");

	if (result < 0) {
		free(h);
		return result;
	}
	h->handle = (uint32_t)got[0].n;
	h->base.store = s;
	result = fetch(r, got[0], got[1].n, &text);
	if (result == 0)
		result = take_hold(r, buf_bytes(&text), &h->base);
	buf_free(&text);
	if (result < 0)
		hold_release(&h->base);
	else
		*out = &h->base;
	return result;
}

int remote_keep_log(struct store *s, uint64_t bytes)
{
	return ask(s, WIRE_KEEP_LOG, FIELDS(field_number(bytes)));
}

void remote_hold_release(struct hold *base)
{
	struct remote_hold *h = (struct remote_hold *)base;

	call_close(remote_of(base->store), WIRE_HOLD_RELEASE,
		   field_number(h->handle));
	free(h);
}
