/*
 * Any bytes as what a server says in a handshake of SASL, and as its packets:
 * what is read lies inside, and packets say the same however they are cut.
 */
#include <assert.h>
#include <stdlib.h>

#include "store/hbase/transport/sasl.h"
#include "store/value/why.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_inside(struct bytes part, struct bytes in)
{
	return !part.len || (part.data >= in.data &&
			     part.data + part.len <= in.data + in.len);
}

static void check_reply(struct bytes in)
{
	struct sasl_reply reply;
	ssize_t n = sasl_reply_take(in, &reply);

	if (n <= 0)
		return;
	assert((size_t)n <= in.len);
	assert(is_inside(reply.token, in));
	assert(is_inside(reply.class, in) && is_inside(reply.words, in));
	/* The same is read of nothing less, and of nothing more. */
	assert(sasl_reply_take(bytes_of(in.data, (size_t)n), &reply) == n);
	assert(sasl_reply_take(bytes_of(in.data, (size_t)n - 1), &reply) == 0);
}

/* A packet that begins with a zero is what follows it. */
static int unwrap(struct sasl_mechanism *m, struct bytes packet,
		  struct buf *out)
{
	if (!packet.len || packet.data[0])
		return why(-71, "no zero");
	return buf_append(out, packet.data + 1, packet.len - 1);
}

static void free_none(struct sasl_mechanism *m)
{
}

/* Unseals @in in pieces of @step: the first error. */
static int unseal(struct bytes in, size_t step, struct buf *plain)
{
	static const struct sasl_mechanism_ops ops = {.unwrap = unwrap,
						      .free = free_none};
	struct sasl_mechanism m = {&ops, 1};
	struct buf reply = {0};
	struct layer *l;
	int r = sasl_layer_new(&m, &l);

	if (r < 0)
		abort();
	for (size_t at = 0; r == 0 && at < in.len; at += step) {
		size_t n = in.len - at < step ? in.len - at : step;

		r = l->ops->unseal(l, bytes_of(in.data + at, n), plain, &reply);
	}
	l->ops->free(l);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = {0}, pieces = {0};
	struct bytes in = bytes_of(data, size);
	int r = unseal(in, size + 1, &whole);

	check_reply(in);
	assert(unseal(in, 3, &pieces) == r);
	assert(bytes_eq(buf_bytes(&whole), buf_bytes(&pieces)));
	buf_free(&whole);
	buf_free(&pieces);
	return 0;
}
