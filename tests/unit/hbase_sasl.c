/*
 * The handshake of SASL and its packets, with a mechanism that only turns bits,
 * against a server that says what a test wants.
 */
#include <pthread.h>

#include "tests/unit/unit.h"
#include "store/hbase/transport/sasl.h"
#include "store/value/why.h"
#include "tests/unit/hbase_server.h"

#define PIECE 10
#define MARK 0x5a

struct turning {
	struct sasl_mechanism base;
	int steps; /* done so far */
	unsigned *freed;
};

/* Two tokens, of which the server answers the first. */
static int step(struct sasl_mechanism *m, struct bytes in, struct buf *token)
{
	struct turning *t = (struct turning *)m;

	assert_true(t->steps < 2);
	if (t->steps == 1 && !bytes_eq(in, bytes_str("answer")))
		return why(-EACCES, "that is no answer");
	assert_int_equal(buf_append(token, t->steps ? "two" : "one", 3), 0);
	return t->steps++;
}

/* A mark, and each byte with its bits turned. */
static int wrap(struct sasl_mechanism *m, struct bytes plain, struct buf *out)
{
	uint8_t mark = MARK;

	assert_true(plain.len <= m->piece_max);
	assert_int_equal(buf_append(out, &mark, 1), 0);
	for (size_t i = 0; i < plain.len; i++) {
		uint8_t c = (uint8_t)~plain.data[i];

		assert_int_equal(buf_append(out, &c, 1), 0);
	}
	return 0;
}

static int unwrap(struct sasl_mechanism *m, struct bytes packet,
		  struct buf *out)
{
	if (!packet.len || packet.data[0] != MARK)
		return why(-EPROTO, "no mark");
	for (size_t i = 1; i < packet.len; i++) {
		uint8_t c = (uint8_t)~packet.data[i];

		assert_int_equal(buf_append(out, &c, 1), 0);
	}
	return 0;
}

static void free_turning(struct sasl_mechanism *m)
{
	struct turning *t = (struct turning *)m;

	++*t->freed;
	free(t);
}

static const struct sasl_mechanism_ops turning_ops = {
	.step = step,
	.wrap = wrap,
	.unwrap = unwrap,
	.free = free_turning,
};

static struct sasl_mechanism *turning_new(size_t piece_max, unsigned *freed)
{
	struct turning *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	*t = (struct turning){{&turning_ops, piece_max}, 0, freed};
	return &t->base;
}

/* What the server says behind the first token, and whether it goes then. */
struct server {
	int fd;
	struct bytes says;
	bool stays;
	bool heard; /* the preamble and both tokens, as they should be */
};

static void *serve(void *arg)
{
	static const char first[] = "HBas\0\x51\0\0\0\3one";
	static const char second[] = "\0\0\0\3two";
	struct server *s = arg;
	char got[sizeof(first)];
	int fd = accept(s->fd, NULL, NULL);

	if (fd < 0)
		return NULL;
	if (server_read(fd, got, sizeof(first) - 1) &&
	    !memcmp(got, first, sizeof(first) - 1)) {
		(void)!send(fd, s->says.data, s->says.len, MSG_NOSIGNAL);
		if (s->stays && server_read(fd, got, sizeof(second) - 1))
			s->heard = !memcmp(got, second, sizeof(second) - 1);
	}
	close(fd);
	return NULL;
}

/* Shakes hands with a server that says @says: what comes of it. */
static int shake(const void *says, size_t len, bool stays, size_t piece_max,
		 bool *heard, bool *has_layer)
{
	struct os *os = os_posix();
	uint64_t until = os_monotonic_ns(os) + 60 * SECOND;
	struct server s = {.says = bytes_of(says, len), .stays = stays};
	struct transport *t = NULL;
	struct layer *l = NULL;
	unsigned freed = 0;
	pthread_t thread;
	uint16_t port;
	int r;

	s.fd = server_listen(&port);
	pthread_create(&thread, NULL, serve, &s);
	assert_int_equal(transport_open(os, "127.0.0.1", port, until, &t), 0);
	r = sasl_start(t, turning_new(piece_max, &freed), until, &l);
	*has_layer = l;
	if (l)
		l->ops->free(l);
	assert_int_equal(freed, 1);
	transport_close(t);
	pthread_join(thread, NULL);
	close(s.fd);
	*heard = s.heard;
	return r;
}

TEST(hands_are_shaken)
{
	static const char says[] = "\0\0\0\0\0\0\0\6answer";
	bool heard, has_layer;

	assert_int_equal(
		shake(says, sizeof(says) - 1, true, PIECE, &heard, &has_layer),
		0);
	assert_true(heard && has_layer);
	/* Without protection there are no packets. */
	assert_int_equal(
		shake(says, sizeof(says) - 1, true, 0, &heard, &has_layer), 0);
	assert_true(heard && !has_layer);
}

/* The server's part is @says, and the handshake fails with @err and @words. */
static void assert_fails(const void *says, size_t len, int err,
			 const char *words)
{
	bool heard, has_layer;

	why_clear();
	assert_int_equal(shake(says, len, false, PIECE, &heard, &has_layer),
			 err);
	assert_false(has_layer);
	assert_non_null(strstr(store_why(), words));
}

#define SAYS(text) (text), sizeof(text) - 1

TEST(a_server_may_refuse)
{
	assert_fails(SAYS("\0\0\0\1\0\0\0\1X\0\0\0\7no way\n"), -EACCES,
		     "no way; principal=");
	/* It would go on without: that is not what was asked for. */
	assert_fails(SAYS("\0\0\0\0\xff\xff\xff\xa8"), -EACCES,
		     "knows no Kerberos");
	assert_fails(SAYS("\0\0\0\0\0\0\0\5wrong"), -EACCES, "no answer");
}

TEST(what_is_no_handshake_fails)
{
	assert_fails(SAYS("HTTP/1.1"), -EPROTO, "speaks no SASL");
	assert_fails(SAYS("\0\0\0\0\0\1\0\1"), -EPROTO, "token of 65537");
	assert_fails(SAYS("\0\0\0\0\xff\xff\xff\xff"), -EPROTO, "token of");
	assert_fails(SAYS("\0\0\0\1\0\1\0\1"), -EPROTO, "text of 65537");
	assert_fails(SAYS("\0\0\0\1\0\0\0\0\x7f\0\0\0"), -EPROTO, "text of");
	assert_fails(SAYS("\0\0\0\0\0\0\0\6answer!"), -EPROTO, "1 bytes more");
	/* It goes in the middle. */
	assert_fails(SAYS("\0\0\0\0\0\0\0\6answ"), -ECONNRESET, "closed");
	assert_fails(SAYS("\0\0"), -ECONNRESET, "closed");
	assert_fails("", 0, -ECONNRESET, "closed");
}

/*
 * A clock that the socket goes by, and a step does not, which goes by the machine's:
 * a test says which of them is at the deadline, however slow the machine is.
 */
static uint64_t socket_ns;
static struct os_ops clock_ops;
static struct os clock_os = {&clock_ops};

static uint64_t clock_ns(struct os *os)
{
	return socket_ns;
}

BEFORE_MAIN(take_the_clock)
{
	clock_ops = *os_posix()->ops;
	clock_ops.monotonic_ns = clock_ns;
}

static struct transport *connected(uint16_t port)
{
	struct transport *t = NULL;

	socket_ns = os_monotonic_ns(os_posix());
	assert_int_equal(transport_open(&clock_os, "127.0.0.1", port,
					socket_ns + 600 * SECOND, &t),
			 0);
	return t;
}

TEST(a_silent_server_is_left_at_the_deadline)
{
	struct transport *t;
	struct layer *l = NULL;
	unsigned freed = 0;
	uint16_t port;
	uint64_t until;
	int fd = server_listen(&port);

	t = connected(port);
	until = socket_ns + 600 * SECOND;
	socket_ns = until;
	assert_int_equal(sasl_start(t, turning_new(PIECE, &freed), until, &l),
			 -ETIMEDOUT);
	assert_int_equal(freed, 1);
	transport_close(t);
	close(fd);
}

/* A mechanism that waits for a KDC, until the test ends that. */
struct waiting {
	struct sasl_mechanism base;
	int go, freed; /* a byte comes, or is sent */
};

static int wait_for_kdc(struct sasl_mechanism *m, struct bytes in,
			struct buf *token)
{
	uint8_t byte;

	assert_true(server_read(((struct waiting *)m)->go, &byte, 1));
	return buf_append(token, "one", 3);
}

static void free_waiting(struct sasl_mechanism *m)
{
	struct waiting *w = (struct waiting *)m;
	int freed = w->freed;

	free(w);
	assert_int_equal(write(freed, "f", 1), 1);
}

/* What waits then has the mechanism, and frees it. */
TEST(a_silent_kdc_is_left_at_the_deadline)
{
	static const struct sasl_mechanism_ops ops = {
		.step = wait_for_kdc,
		.free = free_waiting,
	};
	struct waiting *w = calloc(1, sizeof(*w));
	struct transport *t;
	struct layer *l;
	int go[2], freed[2], fd;
	uint16_t port;
	uint8_t byte;

	assert_non_null(w);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(freed), 0);
	*w = (struct waiting){{&ops, 0}, go[0], freed[1]};
	fd = server_listen(&port);
	t = connected(port);
	socket_ns = 0;
	assert_int_equal(
		sasl_start(t, &w->base, os_monotonic_ns(os_posix()), &l),
		-EHOSTUNREACH);
	assert_non_null(strstr(store_why(), "KDC"));
	transport_close(t);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_true(server_read(freed[0], &byte, 1));
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(freed[i]);
	}
	close(fd);
}

TEST(each_cut_of_a_reply_waits_for_more)
{
	static const char refusal[] = "\0\0\0\1\0\0\0\1X\0\0\0\2no";
	struct sasl_reply reply;

	for (size_t i = 0; i + 1 < sizeof(refusal); i++)
		assert_int_equal(sasl_reply_take(bytes_of(refusal, i), &reply),
				 0);
	assert_int_equal(sasl_reply_take(bytes_of(SAYS(refusal)), &reply),
			 sizeof(refusal) - 1);
	assert_true(reply.is_refused);
	assert_true(bytes_eq(reply.class, bytes_str("X")));
	assert_true(bytes_eq(reply.words, bytes_str("no")));
}

static struct layer *packets(unsigned *freed)
{
	struct layer *l;

	assert_int_equal(sasl_layer_new(turning_new(PIECE, freed), &l), 0);
	return l;
}

/* Packets are cut as the server wants, and put together however they come. */
TEST(packets_carry_any_bytes)
{
	static const char text[] = "twenty-five letters, here";
	struct buf wire = {0}, reply = {0};
	unsigned freed = 0;
	struct layer *l = packets(&freed);

	assert_int_equal(l->ops->seal(l, bytes_str(text), &wire), 0);
	assert_int_equal(wire.len, strlen(text) + 3 * (4 + 1));
	assert_memory_equal(wire.data, "\0\0\0\x0b\x5a", 5);
	for (size_t step = 1; step <= wire.len; step++) {
		struct buf plain = {0};

		for (size_t at = 0; at < wire.len; at += step) {
			size_t n = wire.len - at < step ? wire.len - at : step;

			assert_int_equal(
				l->ops->unseal(l, bytes_of(wire.data + at, n),
					       &plain, &reply),
				0);
		}
		assert_true(bytes_eq(buf_bytes(&plain), bytes_str(text)));
		buf_free(&plain);
	}
	assert_int_equal(reply.len, 0);
	buf_free(&wire);
	l->ops->free(l);
	assert_int_equal(freed, 1);
}

TEST(a_packet_that_is_none_fails)
{
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
		{SAYS("\0\0\0\2\x5b\0")},   /* changed on the way */
		{SAYS("\0\0\0\0")},	    /* of nothing */
		{SAYS("\x11\x10\0\1\x5a")}, /* too long: before it comes */
		{SAYS("\xff\xff\xff\xff")},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buf plain = {0}, reply = {0};
		unsigned freed = 0;
		struct layer *l = packets(&freed);

		assert_int_equal(
			l->ops->unseal(l, bytes_of(bad[i].bytes, bad[i].n),
				       &plain, &reply),
			-EPROTO);
		assert_int_equal(plain.len, 0);
		l->ops->free(l);
		buf_free(&plain);
	}
}
