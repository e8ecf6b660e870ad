/*
 * A mount as it works: looks at its metrics again and again.
 *
 * A thread reads .cellfs/trace meanwhile, for the prefixes; it waits in the
 * kernel for the next request, and ends with the program. On a terminal the
 * screen is drawn anew, and q ends it; elsewhere frames follow each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "fs/host/mountpoint.h"
#include "store/os/clock.h"
#include "store/value/why.h"
#include "tools/cellctl.h"
#include "tools/cmds.h"
#include "tools/watch/frame.h"

#define METRICS_BYTES_MAX (64u << 20)

/* One look. */
struct look {
	struct buf text;
	struct samples samples;
	double at; /* seconds of the monotonic clock */
};

static struct {
	FILE *file;
	const char *none; /* why there is no trace; NULL */
	pthread_mutex_t lock;
	struct heat heat; /* under lock */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static volatile sig_atomic_t ended;

static void end(int signal)
{
	ended = signal;
}

static void *read_trace(void *arg)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, trace.file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		pthread_mutex_lock(&trace.lock);
		heat_add(&trace.heat, line);
		pthread_mutex_unlock(&trace.lock);
	}
	free(line);
	return NULL;
}

static void watch_trace(const char *mountpoint)
{
	static char none[128];
	char *path;
	pthread_t thread;

	if (asprintf(&path, "%s/.cellfs/trace", mountpoint) < 0)
		path = NULL;
	trace.file = path ? fopen(path, "re") : NULL;
	if (!trace.file ||
	    pthread_create(&thread, NULL, read_trace, NULL) != 0) {
		snprintf(none, sizeof(none), "%s: %s", path ? path : "",
			 strerror(errno));
		trace.none = none;
	} else {
		pthread_detach(thread);
	}
	free(path);
}

/* The counts so far, which begin anew. */
static void take_heat(struct heat *out)
{
	pthread_mutex_lock(&trace.lock);
	*out = trace.heat;
	trace.heat.n = 0;
	pthread_mutex_unlock(&trace.lock);
}

static double seconds_now(void)
{
	return (double)monotonic_ns() / NS_PER_S;
}

static void look_free(struct look *l)
{
	samples_free(&l->samples);
	buf_free(&l->text);
}

static int look_at(const char *metrics, struct look *out)
{
	int code = read_file(metrics, METRICS_BYTES_MAX, &out->text);

	out->at = seconds_now();
	if (code)
		return code;
	if (buf_append(&out->text, "", 1) < 0 ||
	    samples_read((char *)out->text.data, &out->samples) < 0)
		return fail_memory();
	return EXIT_DONE;
}

/* Waits so long, or until somebody ends it. */
static void pause_for(double s, bool keys)
{
	double until = seconds_now() + s, left;
	struct pollfd p = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
	char key;

	while (!ended && (left = until - seconds_now()) > 0) {
		if (poll(&p, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) <= 0)
			p.fd = -1;
		else if (key == 'q')
			ended = SIGINT;
	}
}

static int show(const char *mountpoint, const struct look *before,
		const struct look *now, bool drawn)
{
	static struct heat heat;
	struct frame f = {
		.title = mountpoint,
		.before = &before->samples,
		.now = &now->samples,
		.seconds = now->at - before->at,
		.no_heat = trace.none,
		.heat = trace.none ? NULL : &heat,
	};
	struct buf out = {0};
	int r = drawn ? buf_printf(&out, "\033[H\033[J") : 0;

	take_heat(&heat);
	if (r == 0)
		r = frame_text(&f, &out);
	if (r == 0)
		r = buf_printf(&out, "%s\n", drawn ? "(q ends it)" : "");
	if (r == 0)
		fwrite(out.data, 1, out.len, stdout);
	buf_free(&out);
	if (r < 0)
		return fail_memory();
	/* main() says why. */
	return fflush(stdout) ? EXIT_STORE : EXIT_DONE;
}

static int watch(const struct request *rq, const char *mountpoint,
		 const char *metrics, bool drawn)
{
	struct look before = {.at = 0}, now = {.at = 0};
	int code = look_at(metrics, &before);

	for (uint64_t n = 0; code == EXIT_DONE && (!rq->times || n < rq->times);
	     n++) {
		pause_for(rq->every_s, drawn);
		if (ended)
			break;
		code = look_at(metrics, &now);
		if (code == EXIT_DONE)
			code = show(mountpoint, &before, &now, drawn);
		look_free(&before);
		before = now;
		now = (struct look){.at = 0};
	}
	look_free(&before);
	look_free(&now);
	return code;
}

static int watch_on(const struct request *rq, const char *mountpoint,
		    const char *metrics)
{
	bool drawn = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
	struct sigaction on_end = {.sa_handler = end};
	struct termios kept, raw;
	int code;

	sigaction(SIGINT, &on_end, NULL);
	sigaction(SIGTERM, &on_end, NULL);
	drawn = drawn && tcgetattr(STDIN_FILENO, &kept) == 0;
	if (drawn) {
		raw = kept;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	code = watch(rq, mountpoint, metrics, drawn);
	if (drawn)
		tcsetattr(STDIN_FILENO, TCSANOW, &kept);
	return code;
}

int cmd_top(struct request *rq)
{
	char *mountpoint = NULL, *metrics = NULL;
	int r = mountpoint_find(rq->words[0], &mountpoint), code;

	if (r == 0 && access(rq->words[0], F_OK) < 0 && errno == EACCES)
		r = why(-EACCES, "only who mounted it may watch it");
	if (r < 0)
		return fail_store(rq->words[0]);
	if (r == 0) {
		fprintf(stderr,
			"cellctl: %s is not mounted: top watches a mount\n"
			"  to list what is mounted: cellctl status\n",
			rq->words[0]);
		return EXIT_STORE;
	}
	if (asprintf(&metrics, "%s/.cellfs/metrics", mountpoint) < 0) {
		free(mountpoint);
		return fail_memory();
	}
	watch_trace(mountpoint);
	code = watch_on(rq, mountpoint, metrics);
	free(metrics);
	free(mountpoint);
	return code;
}
