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

static int take_files(struct decoder *d, struct hold *h)
{
	uint32_t n = take_u32(d);

	/* A file takes 28 bytes at least. */
	if (d->bad || n > decoder_left(d) / 28)
		return -EPROTO;
	h->files = calloc(n ? n : 1, sizeof(*h->files));
	if (!h->files)
		return -ENOMEM;
	for (; h->nfiles < n && !d->bad; h->nfiles++) {
		struct hold_file *f = &h->files[h->nfiles];
		struct bytes name = take_bytes(d, HOLD_NAME_MAX);

		/* A name is a file's in the store's directory, and only that. */
		if (!name.len || memchr(name.data, '/', name.len) ||
		    memchr(name.data, 0, name.len) || name.data[0] == '.')
			return -EPROTO;
		memcpy(f->name, name.data, name.len);
		f->bytes = take_u64(d);
		f->size = take_u64(d);
		f->sum = take_u64(d);
		if (f->bytes > f->size)
			return -EPROTO;
	}
	return d->bad || decoder_left(d) || !n ? -EPROTO : 0;
}

static int take_hold(struct bytes text, struct hold *h)
{
	struct decoder d = decoder_of(text);
	struct bytes catalog;

	h->store_id = take_u64(&d);
	h->taken_ms = (int64_t)take_u64(&d);
	catalog = take_bytes(&d, text.len);
	if (d.bad)
		return -EPROTO;
	if (buf_append(&h->catalog, catalog.data, catalog.len) < 0)
		return -ENOMEM;
	return take_files(&d, h);
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
		result = take_hold(buf_bytes(&text), &h->base);
	if (result == -EPROTO)
		result = call_nonsense(r);
	else if (result == -ENOMEM)
		why(result, "out of memory for the list of files");
	buf_free(&text);
	if (result < 0)
		hold_release(&h->base);
	else
		*out = &h->base;
	return result;
}

int remote_keep_log(struct store *s, uint64_t bytes)
{
	return call_fields(remote_of(s), WIRE_KEEP_LOG,
			   FIELDS(field_number(bytes)), NULL);
}

void remote_hold_release(struct hold *base)
{
	struct remote_hold *h = (struct remote_hold *)base;

	call_close(remote_of(base->store), WIRE_HOLD_RELEASE,
		   field_number(h->handle));
	free(h);
}
