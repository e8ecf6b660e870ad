/*
 * A connection to a server of HBase, of which a thread here plays the server: it
 * answers, or not, as a script of the test says.
 */
#include <pthread.h>

#include "tests/unit/unit.h"
#include "store/value/why.h"
#include "tests/unit/hbase_server.h"

/* What the server's thread does with a connection that it has accepted. */
typedef void (*script_fn)(int fd);

struct server {
	int fd;
	script_fn script;
	pthread_t thread;
};

static uint32_t read_request(int fd)
{
	char method[64];

	return server_request(fd, method);
}

/* Answers with a cluster's id, which is the call's in digits. */
static void answer(int fd, uint32_t id)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", id);
	const struct pb_cluster_id m = {.id = bytes_of(text, (size_t)n)};

	server_answer(fd, id, &pb_cluster_id, &m);
}

static void refuse(int fd, uint32_t id)
{
	server_refuse(fd, id, "org.example.RegionMovedException");
}

static void *serve(void *arg)
{
	struct server *s = arg;
	int fd = accept(s->fd, NULL, NULL);

	if (fd >= 0) {
		server_greet(fd);
		s->script(fd);
		close(fd);
	}
	return NULL;
}

static struct connection *begin_with(struct server *s, script_fn script,
				     uint32_t frame_max)
{
	struct connection_options o = {
		.os = os_posix(),
		.host = "127.0.0.1",
		.service = "ClientService",
		.user = "u",
		.frame_max = frame_max,
	};
	struct connection *c = NULL;

	s->script = script;
	s->fd = server_listen(&o.port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
	assert_int_equal(
		connection_open(&o, os_monotonic_ns(o.os) + 60 * SECOND, &c),
		0);
	return c;
}

static struct connection *begin(struct server *s, script_fn script)
{
	return begin_with(s, script, 0);
}

static void end(struct server *s, struct connection *c)
{
	connection_close(c);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

static int start(struct connection *c, struct rpc *rpc, uint64_t timeout_ns)
{
	static const struct pb_nothing nothing;
	const struct rpc_request q = {
		.method = "GetClusterId",
		.type = &pb_nothing,
		.message = &nothing,
		.deadline_ns = os_monotonic_ns(os_posix()) + timeout_ns,
	};

	return rpc_start(c, rpc, &q);
}

/* A call that nobody answers: it ends soon, if it begins before it has to. */
static void assert_times_out(struct connection *c)
{
	struct rpc rpc;
	uint64_t timeout = SECOND / 20;
	int r;

	while ((r = start(c, &rpc, timeout)) == -ETIMEDOUT &&
	       timeout < 60 * SECOND) {
		rpc_end(&rpc);
		timeout *= 2;
	}
	assert_int_equal(r, 0);
	assert_int_equal(rpc_wait(&rpc), -ETIMEDOUT);
	rpc_end(&rpc);
}

/* The call's answer is its own. */
static void assert_answered(struct rpc *rpc)
{
	struct pb_cluster_id m;
	char text[16];

	assert_int_equal(rpc_wait(rpc), 0);
	assert_int_equal(proto_take(rpc->answer.message, &pb_cluster_id, &m),
			 0);
	snprintf(text, sizeof(text), "%u", rpc->id);
	assert_true(bytes_eq(m.id, bytes_str(text)));
}

static void answer_each(int fd)
{
	uint32_t id;

	while ((id = read_request(fd)))
		answer(fd, id);
}

TEST(calls_are_answered)
{
	struct server s;
	struct connection *c = begin(&s, answer_each);

	for (int i = 0; i < 3; i++) {
		struct rpc rpc;

		assert_int_equal(start(c, &rpc, 60 * SECOND), 0);
		assert_answered(&rpc);
		rpc_end(&rpc);
	}
	assert_true(connection_is_up(c));
	end(&s, c);
}

static void answer_backwards(int fd)
{
	uint32_t ids[4];

	for (int i = 0; i < 4; i++)
		ids[i] = read_request(fd);
	for (int i = 4; i-- > 0;)
		answer(fd, ids[i]);
	read_request(fd);
}

TEST(answers_come_in_any_order)
{
	struct server s;
	struct connection *c = begin(&s, answer_backwards);
	struct rpc rpc[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(start(c, &rpc[i], 60 * SECOND), 0);
	for (int i = 0; i < 4; i++) {
		assert_answered(&rpc[i]);
		rpc_end(&rpc[i]);
	}
	end(&s, c);
}

/* The first call is answered when the second one comes. */
static void answer_late(int fd)
{
	uint32_t late = read_request(fd), id = read_request(fd);

	answer(fd, late);
	answer(fd, id);
	read_request(fd);
}

TEST(a_late_answer_is_dropped)
{
	struct server s;
	struct connection *c = begin(&s, answer_late);
	struct rpc rpc;

	assert_times_out(c);
	assert_non_null(strstr(store_why(), "GetClusterId"));
	assert_int_equal(start(c, &rpc, 60 * SECOND), 0);
	assert_answered(&rpc);
	rpc_end(&rpc);
	end(&s, c);
}

static void hang_up(int fd)
{
	read_request(fd);
	read_request(fd);
}

/* Who closes it after a failure tells of the failure. */
TEST(closing_keeps_the_reason)
{
	struct server s;
	struct connection *c = begin(&s, hang_up);

	assert_times_out(c);
	end(&s, c);
	assert_non_null(strstr(store_why(), "did not answer in time"));
}

TEST(no_time_is_left)
{
	struct server s;
	struct connection *c = begin(&s, answer_each);
	struct rpc rpc;

	assert_int_equal(start(c, &rpc, 0), -ETIMEDOUT);
	rpc_end(&rpc);
	assert_true(connection_is_up(c));
	end(&s, c);
}

static void refuse_each(int fd)
{
	uint32_t id;

	while ((id = read_request(fd)))
		refuse(fd, id);
}

TEST(an_exception_is_told)
{
	struct server s;
	struct connection *c = begin(&s, refuse_each);
	struct rpc rpc;

	assert_int_equal(start(c, &rpc, 60 * SECOND), 0);
	assert_int_equal(rpc_wait(&rpc), -EREMOTEIO);
	assert_true(rpc.answer.exception.here);
	assert_non_null(strstr(store_why(), "RegionMovedException"));
	rpc_end(&rpc);
	assert_true(connection_is_up(c));
	end(&s, c);
}

/* All calls end with what happened, and new ones too. */
static void assert_fails(script_fn script, uint32_t frame_max, int err)
{
	struct server s;
	struct connection *c = begin_with(&s, script, frame_max);
	struct rpc rpc[2], later;
	struct why_kept reason;

	for (int i = 0; i < 2; i++)
		assert_int_equal(start(c, &rpc[i], 60 * SECOND), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rpc_wait(&rpc[i]), err);
		why_keep(&reason);
		rpc_end(&rpc[i]);
	}
	assert_non_null(strstr(reason.text, ": GetClusterId: "));
	assert_false(connection_is_up(c));
	why_clear();
	assert_int_equal(start(c, &later, 60 * SECOND), err);
	assert_string_equal(store_why(), reason.text);
	rpc_end(&later);
	end(&s, c);
}

static void send_nonsense(int fd)
{
	struct buf frame = {0};

	read_request(fd);
	read_request(fd);
	buf_append(&frame, "\xff\xff\xff", 3);
	server_send(fd, &frame);
	read_request(fd);
}

static void announce_much(int fd)
{
	read_request(fd);
	read_request(fd);
	(void)!send(fd, "\x00\x01\x00\x00", 4, MSG_NOSIGNAL);
	read_request(fd);
}

static void answer_nobody(int fd)
{
	read_request(fd);
	read_request(fd);
	answer(fd, 4711);
	read_request(fd);
}

TEST(a_failure_ends_all_calls)
{
	assert_fails(hang_up, 0, -ECONNRESET);
	assert_fails(send_nonsense, 0, -EPROTO);
	assert_fails(announce_much, 65535, -EPROTO);
	assert_fails(answer_nobody, 0, -EPROTO);
}

static void *cancel_soon(void *arg)
{
	os_sleep_ms(os_posix(), 20);
	rpc_cancel(arg);
	return NULL;
}

static void *cut_soon(void *arg)
{
	os_sleep_ms(os_posix(), 20);
	connection_cut(arg);
	return NULL;
}

TEST(calls_can_be_ended)
{
	struct server s;
	struct connection *c = begin(&s, hang_up);
	struct rpc rpc;
	pthread_t thread;

	assert_int_equal(start(c, &rpc, 60 * SECOND), 0);
	pthread_create(&thread, NULL, cancel_soon, &rpc);
	assert_int_equal(rpc_wait(&rpc), -ECANCELED);
	pthread_join(thread, NULL);
	rpc_end(&rpc);
	assert_true(connection_is_up(c));
	assert_int_equal(start(c, &rpc, 60 * SECOND), 0);
	pthread_create(&thread, NULL, cut_soon, c);
	assert_true(rpc_wait(&rpc) < 0);
	pthread_join(thread, NULL);
	rpc_end(&rpc);
	end(&s, c);
}

/* Answers in bursts, the last first. */
static void answer_in_bursts(int fd)
{
	uint32_t ids[5];
	int n = 0;

	while ((ids[n] = read_request(fd))) {
		/* Who waits for its answer sends no further request. */
		if (++n == 5) {
			while (n > 0)
				answer(fd, ids[--n]);
		}
	}
}

#define THREADS 5
#define CALLS 100

static void *call_often(void *arg)
{
	for (int i = 0; i < CALLS; i++) {
		struct rpc rpc;

		assert_int_equal(start(arg, &rpc, 60 * SECOND), 0);
		assert_answered(&rpc);
		rpc_end(&rpc);
	}
	return NULL;
}

TEST(many_threads_call)
{
	struct server s;
	struct connection *c = begin(&s, answer_in_bursts);
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, call_often, c);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	end(&s, c);
}

/* The server takes its time to read: what is sent waits, and no caller does. */
static void read_slowly(int fd)
{
	os_sleep_ms(os_posix(), 300);
	answer_each(fd);
}

TEST(nobody_waits_for_the_socket)
{
	static uint8_t cells[12 << 20];
	static const struct pb_nothing nothing;
	struct server s;
	struct connection *c = begin(&s, read_slowly);
	uint64_t before = os_monotonic_ns(os_posix());
	struct rpc_request q = {
		.method = "Multi",
		.type = &pb_nothing,
		.message = &nothing,
		.cells = bytes_of(cells, sizeof(cells)),
		.deadline_ns = before + 60 * SECOND,
	};
	struct rpc big, small;

	assert_int_equal(rpc_start(c, &big, &q), 0);
	assert_int_equal(start(c, &small, 60 * SECOND), 0);
	assert_answered(&small);
	assert_answered(&big);
	rpc_end(&big);
	rpc_end(&small);
	end(&s, c);
}

TEST(nobody_listens)
{
	struct connection_options o = {
		.os = os_posix(),
		.host = "127.0.0.1",
		.port = 1,
		.service = "ClientService",
		.user = "u",
	};
	struct connection *c;
	uint64_t until = os_monotonic_ns(o.os) + 60 * SECOND;

	assert_int_equal(connection_open(&o, until, &c), -ECONNREFUSED);
	assert_non_null(strstr(store_why(), "127.0.0.1:1"));
	/* No name server is asked for it, which might be slow. */
	o.host = "no..such.host";
	assert_int_equal(connection_open(&o, until, &c), -EHOSTUNREACH);
	assert_non_null(strstr(store_why(), "no..such.host"));
}
