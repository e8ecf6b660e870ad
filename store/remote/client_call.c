/*
 * One call of the client: a request goes out, its reply comes back.
 */
#include <errno.h>

#include "store/remote/client_inside.h"

/* One read of this size gets most replies whole, a scan's batch too. */
#define RECEIVE_BYTES (WIRE_BATCH_MAX + (64u << 10))

void call_begin(struct call *c, struct remote *r, enum wire_op op)
{
	*c = (struct call){.remote = r};
	c->out.out = &c->request;
	wire_begin(&c->out);
	put_u32(&c->out, 0); /* place of the id, set on sending */
	put_u8(&c->out, op);
}

void call_end(struct call *c)
{
	buf_free(&c->request);
	buf_free(&c->reply);
}

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

static int exchange(struct call *c, struct bytes *frame)
{
	struct remote *r = c->remote;
	struct decoder d;
	uint32_t id;
	int err;

	if (r->is_lost)
		return why(-ENOTCONN, "the store is served no more");
	id = ++r->last_id;
	for (int i = 0; i < 4; i++)
		c->request.data[4 + i] = (uint8_t)(id >> (8 * i));
	err = r->channel->send(r->channel, buf_bytes(&c->request));
	if (err < 0)
		return lost(r, -err, NULL);
	err = receive(r, &c->reply, frame);
	if (err < 0)
		return err;
	d = decoder_of(*frame);
	if (take_u32(&d) != id || d.bad)
		return lost(r, 0, "a reply answers another request");
	return 0;
}

int call_run(struct call *c)
{
	struct remote *r = c->remote;
	struct bytes frame, sentence;
	int err = wire_end(&c->out, 0);

	if (err < 0)
		return err;
	pthread_mutex_lock(&r->lock);
	err = exchange(c, &frame);
	pthread_mutex_unlock(&r->lock);
	if (err < 0)
		return err;
	c->in = decoder_of(frame);
	take_u32(&c->in);
	err = take_result(&c->in);
	if (err < -4095 || err > 1)
		c->in.bad = true;
	if (err < 0) {
		sentence = take_bytes(&c->in, WIRE_FRAME_MAX);
		err = why(err, "%.*s", (int)sentence.len,
			  (const char *)sentence.data);
		return call_taken(c, err);
	}
	return c->in.bad ? call_taken(c, err) : err;
}

int call_nonsense(struct remote *r)
{
	int err;

	pthread_mutex_lock(&r->lock);
	err = lost(r, 0, "a field of a reply is out of range");
	pthread_mutex_unlock(&r->lock);
	return err;
}

int call_taken(struct call *c, int result)
{
	if (!c->in.bad && !decoder_left(&c->in))
		return result;
	return call_nonsense(c->remote);
}

int call_fields(struct remote *r, enum wire_op op, const struct field *in,
		struct field *out)
{
	const struct wire_row *row = &wire_rows[op];
	struct call c;
	int result;

	call_begin(&c, r, op);
	put_request(&c.out, row->request, in);
	result = call_run(&c);
	if (result > row->found)
		c.in.bad = true;
	if (result >= 0 && result == row->found)
		take_fields(&c.in, row->reply, out);
	if (result >= 0)
		result = call_taken(&c, result);
	if (result < 0)
		fields_free(row->reply, out);
	call_end(&c);
	return result;
}

void call_close(struct remote *r, enum wire_op op, uint32_t handle)
{
	struct why_kept kept;

	why_keep(&kept);
	(void)call_fields(r, op, FIELDS(field_number(handle)), NULL);
	why_restore(&kept);
}
