/*
 * One call of the client: a request goes out, its reply comes back.
 */
#include <errno.h>

#include "store/remote/client_inside.h"

/* One read of this size gets most replies whole, a scan's batch too. */
#define RECEIVE_BYTES (WIRE_BATCH_MAX + (64u << 10))

static int lost(struct remote *r, int err, const char *what)
{
	r->is_lost = true;
	return why(-ENOTCONN,
		   "the store is served no more: %s: is the mount there?",
		   err ? strerror(err) : what);
}

/* Reads the one frame that is expected. REQUIRES: lock. */
static int receive(struct remote *r, struct buf *reply, struct bytes *frame)
{
	ssize_t n;
	int whole;

	while ((whole = wire_whole(buf_bytes(reply), frame)) == 0) {
		size_t want = RECEIVE_BYTES;

		/* Once the length is known, ask for the whole rest. */
		if (reply->len >= 4) {
			struct decoder d = decoder_of(buf_bytes(reply));

			want = take_u32(&d) + 4 - reply->len;
		}
		if (buf_reserve(reply, want) < 0)
			return lost(r, ENOMEM, NULL);
		n = r->channel->receive(r->channel, reply->data + reply->len,
					want);
		if (n <= 0)
			return lost(r, (int)-n,
				    "it ended in the middle of a reply");
		reply->len += (size_t)n;
	}
	if (whole < 0 || frame->len + 4 != reply->len)
		return lost(r, 0, "a reply has a wrong length");
	return 0;
}

/* Sends the request; gives the reply behind its id. REQUIRES: lock. */
static int exchange(struct remote *r, struct buf *request, struct buf *reply,
		    struct decoder *d)
{
	struct bytes frame;
	uint32_t id;
	int err;

	if (r->is_lost)
		return why(-ENOTCONN, "the store is served no more");
	id = ++r->last_id;
	bytes_put_le32(request->data + 4, id);
	err = r->channel->send(r->channel, buf_bytes(request));
	if (err < 0)
		return lost(r, -err, NULL);
	err = receive(r, reply, &frame);
	if (err < 0)
		return err;
	*d = decoder_of(frame);
	if (take_u32(d) != id || d->bad)
		return lost(r, 0, "a reply answers another request");
	return 0;
}

int call_nonsense(struct remote *r)
{
	int err;

	pthread_mutex_lock(&r->lock);
	err = lost(r, 0, "a field of a reply is out of range");
	pthread_mutex_unlock(&r->lock);
	return err;
}

static int take_reply(struct remote *r, const struct wire_row *row,
		      struct decoder *d, struct field *out)
{
	int result = take_result(d), err = 0;

	if (result < -4095 || result > 1)
		d->bad = true;
	if (result < 0) {
		struct bytes s = take_bytes(d, WIRE_FRAME_MAX);

		why(result, "%.*s", (int)s.len, (const char *)s.data);
	} else if (result == row->found) {
		err = take_fields(d, row->reply, out);
	} else if (result > row->found) {
		d->bad = true;
	}
	if (err < 0)
		return err;
	return d->bad || decoder_left(d) ? call_nonsense(r) : result;
}

int call_holding(struct remote *r, enum wire_op op, struct field *in,
		 struct field *out, struct buf *reply)
{
	const struct wire_row *row = &wire_rows[op];
	struct buf request = {0};
	struct encoder e = {.out = &request};
	struct decoder d;
	bool was_lost = false;
	int result;

	wire_begin(&e);
	put_u32(&e, 0); /* place of the id, set on sending */
	put_u8(&e, op);
	put_fields(&e, row->request, in);
	result = wire_end(&e, 0);
	if (result == 0) {
		pthread_mutex_lock(&r->lock);
		was_lost = r->is_lost;
		result = exchange(r, &request, reply, &d);
		pthread_mutex_unlock(&r->lock);
	}
	buf_free(&request);
	if (result == 0)
		result = take_reply(r, row, &d, out);
	if (result == -ENOTCONN && !was_lost &&
	    (op == WIRE_MUTATE || op == WIRE_MUTATE_MANY))
		why(result, "%s; it is not known whether the change was made",
		    store_why());
	if (result < 0)
		fields_free(row->reply, out);
	return result;
}

int call_fields(struct remote *r, enum wire_op op, struct field *in,
		struct field *out)
{
	struct buf reply = {0};
	int result = call_holding(r, op, in, out, &reply);

	buf_free(&reply);
	return result;
}

int ask_next(struct store *s, enum wire_op op, struct field *in,
	     struct bytes after, struct field *out)
{
	int r = call_fields(remote_of(s), op, in, out);

	if (r > 0 && bytes_cmp(bytes_str(out[0].name), after) <= 0)
		return call_nonsense(remote_of(s));
	return r;
}

void call_close(struct remote *r, enum wire_op op, struct field handle)
{
	struct why_kept kept;

	why_keep(&kept);
	(void)call_fields(r, op, FIELDS(handle), NULL);
	why_restore(&kept);
}
