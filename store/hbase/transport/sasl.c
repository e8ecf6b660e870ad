#include "store/hbase/transport/sasl.h"

#include <errno.h>
#include <stdlib.h>

#include "store/hbase/transport/sasl_step.h"
#include "store/hbase/wire/frame.h"
#include "store/value/why.h"

#define STATUS_SUCCESS 0
#define STATUS_ERROR 1
#define SWITCH_TO_SIMPLE (-88)
#define HEAD 4
/* No mechanism needs as many. */
#define ROUNDS_MAX 16

struct sasl_layer {
	struct layer base;
	struct sasl_mechanism *m;
	struct buf part; /* of a packet that has not come whole */
};

static void put_length(uint8_t *to, size_t len)
{
	for (int i = 0; i < HEAD; i++)
		to[i] = (uint8_t)(len >> (24 - 8 * i));
}

/* A text of a refusal: 1, 0 = there is not all of it, -EPROTO. */
static int take_text(struct decoder *d, struct bytes *out)
{
	uint32_t len = (uint32_t)take_be(d, HEAD);

	if (d->bad)
		return 0;
	if (len > SASL_TOKEN_MAX)
		return why(-EPROTO, "the server announced a text of %u bytes",
			   len);
	*out = take_raw(d, len);
	return !d->bad;
}

ssize_t sasl_reply_take(struct bytes in, struct sasl_reply *out)
{
	struct decoder d = decoder_of(in);
	struct sasl_reply reply = {0};
	uint32_t status = (uint32_t)take_be(&d, HEAD), len;
	int r;

	if (d.bad)
		return 0;
	if (status == STATUS_ERROR) {
		reply.is_refused = true;
		r = take_text(&d, &reply.class);
		if (r > 0)
			r = take_text(&d, &reply.words);
		if (r <= 0)
			return r;
		goto out;
	}
	if (status != STATUS_SUCCESS)
		return why(-EPROTO,
			   "the server answers %#x where 0 or 1 is due: it "
			   "speaks no SASL",
			   status);
	len = (uint32_t)take_be(&d, HEAD);
	if (d.bad)
		return 0;
	if (len == (uint32_t)SWITCH_TO_SIMPLE) {
		reply.is_simple = true;
		goto out;
	}
	if (len > SASL_TOKEN_MAX)
		return why(-EPROTO, "the server announced a token of %u bytes",
			   len);
	reply.token = take_raw(&d, len);
	if (d.bad)
		return 0;
out:
	*out = reply;
	return (ssize_t)(in.len - decoder_left(&d));
}

/* Sends a token behind its length. */
static int put_token(struct transport *t, const struct buf *token,
		     uint64_t deadline_ns)
{
	struct buf out = {0};
	uint8_t head[HEAD];
	int r;

	put_length(head, token->len);
	r = buf_append(&out, head, sizeof(head));
	if (r == 0)
		r = buf_append(&out, token->data, token->len);
	if (r < 0)
		why_say("out of memory for a connection");
	else
		r = transport_put(t, buf_bytes(&out), deadline_ns);
	buf_free(&out);
	return r;
}

static int judge(const struct sasl_reply *reply)
{
	struct bytes s = frame_words(reply->words);

	if (reply->is_simple)
		return why(-EACCES,
			   "the server knows no Kerberos, and would believe "
			   "any name: leave out security=kerberos if that is "
			   "meant");
	if (!reply->is_refused)
		return 0;
	return why(-EACCES,
		   "the server does not accept the ticket: %.*s; principal= "
		   "says for whom tickets are had, and the server's log why it "
		   "refuses",
		   (int)s.len, (const char *)s.data);
}

/* Receives a reply into @in. 0 and *reply, which lies in @in. */
static int take_reply(struct transport *t, struct buf *in,
		      struct sasl_reply *reply, uint64_t deadline_ns)
{
	ssize_t n;
	int r;

	in->len = 0;
	while ((n = sasl_reply_take(buf_bytes(in), reply)) == 0) {
		r = transport_take(t, in, in->len + 1, deadline_ns);
		if (r < 0)
			return r;
	}
	if (n < 0)
		return (int)n;
	if ((size_t)n < in->len)
		return why(-EPROTO,
			   "the server sent %zu bytes more than its part of "
			   "the handshake",
			   in->len - (size_t)n);
	return judge(reply);
}

/* *m is NULL then if a step has it. */
static int shake_hands(struct transport *t, struct sasl_mechanism **m,
		       uint64_t deadline_ns)
{
	struct sasl_reply reply = {0};
	struct buf in = {0}, token = {0};
	int r = 0;

	if (frame_preamble(&token, FRAME_KERBEROS) < 0)
		r = why(-ENOMEM, "out of memory for a connection");
	if (r == 0)
		r = transport_put(t, buf_bytes(&token), deadline_ns);
	for (unsigned i = 0; r == 0; i++) {
		if (i == ROUNDS_MAX) {
			r = why(-EPROTO, "the handshake has no end");
			break;
		}
		token.len = 0;
		r = sasl_step(m, reply.token, &token, deadline_ns);
		if (r >= 0) {
			int sent = put_token(t, &token, deadline_ns);

			r = sent < 0 ? sent : r;
		}
		if (r == 0)
			r = take_reply(t, &in, &reply, deadline_ns);
	}
	buf_free(&in);
	buf_free(&token);
	return r < 0 ? r : 0;
}

static struct sasl_layer *layer_of(struct layer *l)
{
	return (struct sasl_layer *)l;
}

static int seal(struct layer *base, struct bytes plain, struct buf *wire)
{
	struct sasl_mechanism *m = layer_of(base)->m;
	static const uint8_t head[HEAD];

	while (plain.len) {
		size_t at = wire->len, n = plain.len;
		int r = buf_append(wire, head, HEAD);

		if (r < 0)
			return why(r, "out of memory for a request");
		n = n < m->piece_max ? n : m->piece_max;
		r = m->ops->wrap(m, bytes_of(plain.data, n), wire);
		if (r < 0)
			return r;
		put_length(wire->data + at, wire->len - at - HEAD);
		plain.data += n;
		plain.len -= n;
	}
	return 0;
}

/*
 * Unwraps the packets that @in has whole. How many bytes they had, or an error.
 */
static ssize_t unwrap_all(struct sasl_mechanism *m, struct bytes in,
			  struct buf *plain)
{
	size_t at = 0;

	for (;;) {
		struct decoder d =
			decoder_of(bytes_of(in.data + at, in.len - at));
		uint32_t len = (uint32_t)take_be(&d, HEAD);
		struct bytes packet;
		int r;

		if (d.bad)
			return (ssize_t)at;
		if (len > SASL_PACKET_MAX)
			return why(-EPROTO,
				   "the server announced a packet of %u bytes: "
				   "at most %u are taken",
				   len, SASL_PACKET_MAX);
		packet = take_raw(&d, len);
		if (d.bad)
			return (ssize_t)at;
		r = m->ops->unwrap(m, packet, plain);
		if (r < 0)
			return r;
		at += HEAD + len;
	}
}

static int unseal(struct layer *base, struct bytes wire, struct buf *plain,
		  struct buf *reply)
{
	struct sasl_layer *l = layer_of(base);
	struct bytes in = wire;
	ssize_t n;

	if (l->part.len) {
		if (buf_append(&l->part, wire.data, wire.len) < 0)
			return why(-ENOMEM, "out of memory for an answer");
		in = buf_bytes(&l->part);
	}
	n = unwrap_all(l->m, in, plain);
	if (n < 0)
		return (int)n;
	if (l->part.len) {
		memmove(l->part.data, l->part.data + n, l->part.len - n);
		l->part.len -= (size_t)n;
	} else if (buf_append(&l->part, in.data + n, in.len - (size_t)n) < 0) {
		return why(-ENOMEM, "out of memory for an answer");
	}
	/* A long answer leaves no big buffer behind. */
	if (!l->part.len && l->part.cap > RECEIVE_BYTES)
		buf_free(&l->part);
	return 0;
}

static void free_layer(struct layer *base)
{
	struct sasl_layer *l = layer_of(base);

	l->m->ops->free(l->m);
	buf_free(&l->part);
	free(l);
}

static const struct layer_ops sasl_ops = {
	.seal = seal,
	.unseal = unseal,
	.free = free_layer,
};

int sasl_layer_new(struct sasl_mechanism *m, struct layer **out)
{
	struct sasl_layer *l = calloc(1, sizeof(*l));

	if (!l) {
		m->ops->free(m);
		return why(-ENOMEM, "out of memory for a connection");
	}
	l->base.ops = &sasl_ops;
	l->m = m;
	*out = &l->base;
	return 0;
}

int sasl_start(struct transport *t, struct sasl_mechanism *m,
	       uint64_t deadline_ns, struct layer **out)
{
	int r = shake_hands(t, &m, deadline_ns);

	if (r == 0 && m->piece_max)
		return sasl_layer_new(m, out);
	if (m)
		m->ops->free(m);
	*out = NULL;
	return r;
}
