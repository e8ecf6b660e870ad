/* What .cellfs/trace says: which requests, in which words, and how many. */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "tests/unit/unit.h"
#include "fs/report/trace.h"
#include "store/value/why.h"

static struct trace *begin(uint64_t *seq)
{
	struct trace *t = NULL;

	assert_int_equal(trace_new(&t), 0);
	assert_int_equal(trace_watch(t, seq), 0);
	return t;
}

static void add(struct trace *t, const char *path, uint64_t ns)
{
	trace_add(t, &(struct trace_request){.op = "read",
					     .path = path,
					     .end_ms = 1700000000123,
					     .ns = ns});
}

/* The paths 0 .. n - 1. */
static void add_numbers(struct trace *t, int n)
{
	char path[16];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%d", i);
		add(t, path, 1);
	}
}

/* All lines behind *seq that fit into @size bytes. */
static const char *lines(struct trace *t, uint64_t *seq, size_t size)
{
	static struct buf out;
	int r;

	out.len = 0;
	r = trace_lines(t, seq, size, 0, &out);
	assert_int_equal(r, out.len > 0);
	assert_true(out.len <= size);
	assert_int_equal(buf_append(&out, "", 1), 0);
	return (const char *)out.data;
}

static int count(const char *text)
{
	int n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

TEST(a_request_is_a_line)
{
	uint64_t seq;
	struct trace *t = begin(&seq);

	trace_add(t, &(struct trace_request){.op = "mkdir",
					     .path = "/T/R",
					     .end_ms = 1700000000007,
					     .ns = 12345678,
					     .err = -EEXIST});
	trace_add(t, &(struct trace_request){.op = "lookup",
					     .path = "/T",
					     .end_ms = 1700000001999,
					     .ns = 999});
	assert_string_equal(
		lines(t, &seq, 4096),
		"2023-11-14T22:13:20.007Z\t12.345 ms\tmkdir\tEEXIST\t/T/R\n"
		"2023-11-14T22:13:21.999Z\t0.000 ms\tlookup\tok\t/T\n");
	assert_string_equal(lines(t, &seq, 4096), "");
	trace_free(t);
}

TEST(what_came_before_the_watcher_is_not_shown)
{
	uint64_t first, second;
	struct trace *t = begin(&first);

	add(t, "/before", 1);
	assert_int_equal(trace_watch(t, &second), 0);
	assert_string_equal(lines(t, &second, 4096), "");
	add(t, "/behind", 1);
	assert_int_equal(count(lines(t, &first, 4096)), 2);
	assert_non_null(strstr(lines(t, &second, 4096), "\t/behind\n"));
	assert_int_equal(first, second);
	trace_free(t);
}

TEST(as_many_as_are_kept_are_all_shown)
{
	uint64_t seq;
	struct trace *t = begin(&seq);
	const char *text;

	add_numbers(t, TRACE_KEPT);
	text = lines(t, &seq, 1 << 20);
	assert_int_equal(count(text), TRACE_KEPT);
	assert_null(strstr(text, "left out"));
	assert_non_null(strstr(text, "\t0\n"));
	trace_free(t);
}

TEST(one_more_than_are_kept_is_said_to_be_left_out)
{
	static const char said[] = "# 1 requests are left out\n";
	uint64_t seq;
	struct trace *t = begin(&seq);
	const char *text;

	add_numbers(t, TRACE_KEPT + 1);
	text = lines(t, &seq, 1 << 20);
	assert_memory_equal(text, said, sizeof(said) - 1);
	assert_int_equal(count(text), TRACE_KEPT + 1);
	assert_null(strstr(text, "\t0\n"));
	assert_non_null(strstr(text, "\t1\n"));
	/* Once. */
	assert_string_equal(lines(t, &seq, 1 << 20), "");
	trace_free(t);
}

TEST(lines_that_find_no_room_come_next)
{
	char path[1000], last[16];
	uint64_t seq;
	struct trace *t = begin(&seq);
	size_t len = 0;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 20; i++) {
		path[0] = (char)('a' + i);
		add(t, path, UINT64_MAX);
	}
	for (int i = 0; i < 20; i++) {
		const char *text = lines(t, &seq, TRACE_LINE_MAX);

		/* A long path is cut, and no line. */
		assert_int_equal(count(text), 1);
		snprintf(last, sizeof(last), "\t%cxxx", 'a' + i);
		assert_non_null(strstr(text, last));
		len = strlen(text);
		assert_in_range(len, TRACE_PATH_KEPT, TRACE_LINE_MAX);
		assert_string_equal(lines(t, &seq, TRACE_LINE_MAX - 1), "");
	}
	assert_string_equal(lines(t, &seq, 1 << 20), "");
	trace_free(t);
}

TEST(what_is_slow_is_kept)
{
	uint64_t seq;
	struct trace *t = begin(&seq);

	assert_int_equal(trace_slow(t), 0);
	trace_set_slow(t, UINT64_MAX);
	assert_int_equal(trace_slow(t), UINT64_MAX);
	trace_free(t);
}

TEST(so_many_watch_at_a_time)
{
	struct trace *t = NULL;
	uint64_t seq;

	assert_int_equal(trace_new(&t), 0);
	assert_false(trace_is_watched(t));
	for (int i = 0; i < TRACE_WATCHERS_MAX; i++)
		assert_int_equal(trace_watch(t, &seq), 0);
	assert_int_equal(trace_watch(t, &seq), -EBUSY);
	assert_string_equal(store_why(),
			    "4 programs watch the requests already");
	trace_unwatch(t);
	assert_int_equal(trace_watch(t, &seq), 0);
	for (int i = 0; i < TRACE_WATCHERS_MAX; i++) {
		assert_true(trace_is_watched(t));
		trace_unwatch(t);
	}
	assert_false(trace_is_watched(t));
	trace_free(t);
}

TEST(a_wait_ends_when_there_is_nothing)
{
	struct buf out = {0};
	uint64_t seq;
	struct trace *t = begin(&seq);

	assert_int_equal(trace_lines(t, &seq, 4096, 1, &out), 0);
	assert_int_equal(out.len, 0);
	/* What is there is given without one. */
	add(t, "/T", 1);
	assert_int_equal(trace_lines(t, &seq, 4096, INT32_MAX, &out), 1);
	assert_true(out.len > 0);
	buf_free(&out);
	trace_free(t);
	trace_free(NULL);
}

#define MANY 5000

struct reader {
	struct trace *trace;
	uint64_t seq;
	_Atomic bool began;
	int shown, left_out; /* of all that were added */
	bool in_order;
};

/* Reads until it has all, or knows what it has not. */
static void *reads(void *arg)
{
	struct reader *rd = arg;
	struct buf out = {0};
	unsigned long long n;

	rd->in_order = true;
	rd->began = true;
	while (rd->shown + rd->left_out < MANY) {
		char *line, *rest;

		out.len = 0;
		if (trace_lines(rd->trace, &rd->seq, 4096, INT32_MAX, &out) <=
			    0 ||
		    buf_append(&out, "", 1) < 0)
			break;
		rest = (char *)out.data;
		while ((line = strsep(&rest, "\n")) && *line) {
			if (sscanf(line, "# %llu requests are left out", &n) ==
			    1) {
				rd->left_out += (int)n;
				continue;
			}
			n = strtoull(strrchr(line, '\t'), NULL, 10);
			if (n != (unsigned)(rd->shown + rd->left_out))
				rd->in_order = false;
			rd->shown++;
		}
	}
	buf_free(&out);
	return NULL;
}

TEST(a_reader_that_waits_misses_nothing_that_is_not_said)
{
	const struct timespec a_while = {.tv_nsec = 20 * 1000 * 1000};
	struct reader rd = {0};
	pthread_t thread;

	rd.trace = begin(&rd.seq);
	assert_int_equal(pthread_create(&thread, NULL, reads, &rd), 0);
	while (!rd.began)
		sched_yield();
	/* So that it mostly waits by now; nothing depends on it. */
	nanosleep(&a_while, NULL);
	add_numbers(rd.trace, MANY);
	pthread_join(thread, NULL);
	assert_int_equal(rd.shown + rd.left_out, MANY);
	assert_true(rd.in_order);
	assert_true(rd.shown >= TRACE_KEPT);
	trace_free(rd.trace);
}
