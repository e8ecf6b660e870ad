/*
 * How a scan takes leave of a region server, which a thread here plays: one
 * table of one region, whose scans have no end.
 */
#include <stdatomic.h>
#include <poll.h>
#include <pthread.h>

#include "tests/unit/unit.h"
#include "store/hbase/calls/range_scan.h"
#include "store/hbase/cellblock/cellblock.h"
#include "tests/unit/hbase_server.h"
#include "tests/unit/gone_caller.h"
#include "store/os/clock.h"

#define SCANS_MAX 8
#define PATIENCE_MS 60000

/* A clock so far ahead that no wait ends because the machine is slow. */
static struct os_ops slow_ops;
static struct os slow_os = {&slow_ops};

static uint64_t ahead_ns(struct os *os)
{
	return os_monotonic_ns(os_posix()) + 1000 * SECOND;
}

BEFORE_MAIN(take_the_clock)
{
	slow_ops = *os_posix()->ops;
	slow_ops.monotonic_ns = ahead_ns;
}

struct scanned {
	int fd;
	uint16_t port;
	pthread_t thread;
	/* Before the answer to a scan of the table, the first is 0. */
	unsigned late_ms[SCANS_MAX];
	/* What came from the client while an answer was late: */
	bool spoke[SCANS_MAX], left[SCANS_MAX];
	_Atomic unsigned scans;
};

/* Answers a scan with @cells and says that there are more. */
static void answer_scan(int fd, uint32_t id, struct bytes cells)
{
	struct pb_scan_response m;

	proto_init(&pb_scan_response, &m);
	m.scanner = 7;
	server_answer_cells(fd, id, &pb_scan_response, &m, cells);
}

static void scan_table(struct scanned *s, int fd, uint32_t id)
{
	struct pollfd client = {.fd = fd, .events = POLLIN | POLLRDHUP};
	unsigned n = atomic_fetch_add(&s->scans, 1);
	struct buf cells = {0};
	struct encoder e = {.out = &cells};
	char row[8];

	assert_true(n < SCANS_MAX);
	if (poll(&client, 1, (int)s->late_ms[n]) > 0) {
		s->left[n] = client.revents & (POLLRDHUP | POLLHUP | POLLERR);
		s->spoke[n] = !s->left[n];
	}
	snprintf(row, sizeof(row), "r%u", n);
	server_put_cell(&e, row, "q", bytes_str("v"));
	answer_scan(fd, id, buf_bytes(&cells));
	buf_free(&cells);
}

static void answer(struct scanned *s, int fd, uint32_t id, const char *method)
{
	const struct pb_cluster_id cluster = {.id = bytes_str("c")};
	struct pb_location meta = {
		.here = true,
		.region = {.here = true,
			   .id = 1,
			   .table = table_name_of(bytes_str("hbase:meta"))},
		.server = {.here = true,
			   .host = bytes_str("127.0.0.1"),
			   .port = s->port},
	};
	const struct pb_meta_locations metas = {
		.locations = {.items = &meta, .n = 1},
	};
	struct buf cells = {0};
	struct encoder e = {.out = &cells};

	if (!strcmp(method, "GetClusterId")) {
		server_answer(fd, id, &pb_cluster_id, &cluster);
	} else if (!strcmp(method, "GetMetaRegionLocations")) {
		server_answer(fd, id, &pb_meta_locations, &metas);
	} else if (atomic_load(&s->scans)) {
		scan_table(s, fd, id);
	} else {
		/* The first scan is the one of hbase:meta. */
		atomic_store(&s->scans, 1);
		server_put_region(&e, s->port);
		answer_scan(fd, id, buf_bytes(&cells));
		buf_free(&cells);
	}
}

struct visitor {
	struct scanned *server;
	int fd;
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct visitor *v = arg;
	char method[64];
	uint32_t id;

	server_greet(v->fd);
	while ((id = server_request(v->fd, method)))
		answer(v->server, v->fd, id, method);
	close(v->fd);
	return NULL;
}

/* A client has a connection for each service. */
static void *accept_all(void *arg)
{
	struct scanned *s = arg;
	struct visitor visitors[4];
	unsigned n = 0;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		assert_true(n < 4);
		visitors[n] = (struct visitor){.server = s, .fd = fd};
		pthread_create(&visitors[n].thread, NULL, serve, &visitors[n]);
		n++;
	}
	while (n)
		pthread_join(visitors[--n].thread, NULL);
	return NULL;
}

/*
 * Reads @cells cells of the table, one a batch, and ends the scan, by that clock; in ms
 * how long the end took. The caller is gone by then, or not.
 */
static uint64_t read_and_leave_as(struct scanned *s, unsigned cells,
				  struct os *clock, bool gone)
{
	struct cluster_options o = {
		.os = clock,
		.user = "u",
		.timeout_ms = PATIENCE_MS,
	};
	struct range_scan_options what = {.table = bytes_str("t")};
	struct range_scan *scan;
	struct cell c;
	char name[32];
	uint64_t begin;

	s->fd = server_listen(&s->port);
	pthread_create(&s->thread, NULL, accept_all, s);
	snprintf(name, sizeof(name), "127.0.0.1:%u", s->port);
	o.masters = name;
	assert_int_equal(cluster_open(&o, &what.cluster), 0);
	proto_init(&pb_scan, &what.scan);
	assert_int_equal(range_scan_new(&what, &scan), 0);
	while (cells--)
		assert_int_equal(range_scan_next(scan, &c), 1);
	patience_begin_request_of(gone, is_gone);
	begin = monotonic_ns();
	range_scan_free(scan);
	begin = (monotonic_ns() - begin) / NS_PER_MS;
	patience_begin_request();
	cluster_close(what.cluster);
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	return begin;
}

static void read_and_leave(struct scanned *s, unsigned cells, struct os *clock)
{
	read_and_leave_as(s, cells, clock, false);
}

/*
 * A server passes over what a client has asked for that has left, and keeps the
 * scanner for a minute.
 */
TEST(the_answer_to_the_close_is_waited_for)
{
	struct scanned s = {.late_ms = {[2] = 200}};

	read_and_leave(&s, 1, &slow_os);
	assert_int_equal(s.scans, 3);
	assert_false(s.left[2]);
}

/* While a server works on a batch it refuses to close the scanner. */
TEST(a_batch_under_way_is_waited_for)
{
	struct scanned s = {.late_ms = {[3] = 500}};

	read_and_leave(&s, 2, &slow_os);
	/* Two batches, the one ahead and the close. */
	assert_int_equal(s.scans, 5);
	assert_false(s.spoke[3]);
	assert_false(s.left[3]);
}

/* A server that says nothing more holds up nobody for long. */
TEST(a_server_that_is_stuck_is_left)
{
	struct scanned s = {.late_ms = {[3] = PATIENCE_MS}};

	read_and_leave(&s, 2, os_posix());
	assert_true(s.spoke[3] || s.left[3]);
}

/* Several scans of one listing, say: what each of them waits adds up. */
TEST(who_is_gone_takes_no_leave)
{
	struct scanned s = {.late_ms = {[3] = PATIENCE_MS}};

	assert_in_range(read_and_leave_as(&s, 2, os_posix(), true), 0,
			PATIENCE_LOOK_MS / 2);
	assert_true(s.spoke[3] || s.left[3]);
}
