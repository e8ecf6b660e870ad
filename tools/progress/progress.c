#include "tools/progress/progress.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/os/clock.h"
#include "store/value/why.h"

#define BAR 20
#define WIDTH 79 /* of the line on a terminal */
#define DRAW_MS 100
#define LINE_MS 1000
/* So long a mounted store may take to answer who was asked to stop. */
#define GRACE_MS 300
#define POKE_MS 20

static struct {
	const char *what, *unit;
	uint64_t done, total;
	uint64_t begun_ms, next_ms; /* when to draw again */
	bool forced;		    /* a line each time */
	bool terminal;		    /* or one that is drawn anew */
} now;

static bool forced;
static atomic_bool drawn;
static atomic_int stopped;

/* Of a command on a mounted store: who ends it once it was asked to stop. */
enum {
	NOBODY_YET,
	ITSELF,
	THE_WATCH
};
static atomic_int ends;
static sigset_t caught; /* the signals that ask to stop */
static bool catches, watches;
static char *mounted;	 /* the mountpoint */
static pthread_t worker; /* who may be in a call of the mounted store */

static const int asking[] = {SIGINT, SIGTERM, SIGHUP};

/* The second signal kills, whichever it is. */
static void on_signal(int sig)
{
	for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
		if (sigismember(&caught, asking[i]))
			signal(asking[i], SIG_DFL);
	stopped = sig;
}

static void catch_first(int sig)
{
	struct sigaction is;

	if (stopped || sigaction(sig, NULL, &is) < 0 ||
	    is.sa_handler != SIG_DFL)
		return;
	is = (struct sigaction){.sa_handler = on_signal};
	sigemptyset(&is.sa_mask);
	/* Before it can be called. */
	sigaddset(&caught, sig);
	if (sigaction(sig, &is, NULL) < 0)
		sigdelset(&caught, sig);
}

void progress_end(int sig)
{
	sigset_t it;

	sigemptyset(&it);
	sigaddset(&it, sig);
	signal(sig, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &it, NULL);
	raise(sig);
}

static bool is_asked(void)
{
	int none = NOBODY_YET;

	if (!stopped)
		return false;
	/* Both do not say it: the other thread ends the program. */
	while (!atomic_compare_exchange_strong(&ends, &none, ITSELF) &&
	       none == THE_WATCH)
		pause();
	return true;
}

static void on_poke(int sig)
{
}

/*
 * A thread that waits for a mounted store has no handler called until that answers:
 * another one takes the signals. Until the command sees the first one, what it
 * waits for is interrupted, as a handler would do.
 */
static void *watch(void *arg)
{
	const struct timespec poke = {.tv_nsec = POKE_MS * NS_PER_MS};
	int sig, none = NOBODY_YET;

	if (sigwait(&caught, &sig))
		return NULL;
	stopped = sig;
	for (int ms = 0; ms < GRACE_MS && ends == NOBODY_YET; ms += POKE_MS) {
		pthread_kill(worker, SIGURG);
		if (sigtimedwait(&caught, NULL, &poke) > 0)
			break;
	}
	if (atomic_compare_exchange_strong(&ends, &none, THE_WATCH))
		progress_say_stopped("the store that is mounted at %s has not "
				     "answered, and goes on\n  with what it "
				     "was asked: see %s/.cellfs/stats; to go "
				     "on do this again",
				     mounted, mounted);
	else if (sigwait(&caught, &sig))
		return NULL;
	progress_wipe();
	progress_end(sig);
	return NULL;
}

static void begin_watch(void)
{
	struct sigaction on = {.sa_handler = on_poke};
	pthread_t thread;

	if (watches || !catches || !mounted)
		return;
	worker = pthread_self();
	sigemptyset(&on.sa_mask);
	(void)sigaction(SIGURG, &on, NULL);
	pthread_sigmask(SIG_BLOCK, &caught, NULL);
	watches = pthread_create(&thread, NULL, watch, NULL) == 0;
	if (watches)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &caught, NULL);
}

void progress_mounted(const char *mountpoint)
{
	if (!mounted)
		mounted = strdup(mountpoint);
	begin_watch();
}

void progress_force(void)
{
	forced = true;
}

static bool in_bytes(void)
{
	return !strcmp(now.unit, "MiB");
}

static unsigned long long shown(uint64_t n)
{
	return in_bytes() ? n >> 20 : n;
}

/* What is done, as it stands behind the bar if there is one. */
static int put_amount(char *to, size_t len)
{
	uint64_t s = (monotonic_ms() - now.begun_ms) / 1000;

	if (!now.total && !now.done)
		return snprintf(to, len, "%llu:%02llu",
				(unsigned long long)s / 60,
				(unsigned long long)s % 60);
	/* An estimate may be passed. */
	if (now.total < now.done)
		return snprintf(to, len, "%llu %s", shown(now.done), now.unit);
	return snprintf(to, len, "%3.0f %%  %llu of %llu %s",
			(double)now.done / (double)now.total * 100,
			shown(now.done), shown(now.total), now.unit);
}

/* A bar, as long as there is room beside @beside characters, or a blank. */
static void put_bar(char *to, size_t len, int beside)
{
	int room = WIDTH - beside - (int)sizeof("[] "), at, full;

	if (room > BAR)
		room = BAR;
	snprintf(to, len, " ");
	if (!now.total || now.total < now.done || room < 1)
		return;
	full = (int)((double)now.done / (double)now.total * room);
	at = snprintf(to, len, "[");
	for (int i = 0; i < room; i++)
		at += snprintf(to + at, len - (size_t)at, "%c",
			       i < full ? '#' : '.');
	snprintf(to + at, len - (size_t)at, "] ");
}

/* Ends the line with the rate and what time is left by it. */
static void put_rate(char *to, size_t len, uint64_t ms)
{
	double rate = ms ? (double)now.done * 1000 / (double)ms : 0;
	uint64_t left;
	int at = 0;

	to[0] = '\0';
	if (rate <= 0)
		return;
	if (in_bytes())
		at = snprintf(to, len, "  %.1f MiB/s", rate / (1 << 20));
	else if (rate >= 1)
		at = snprintf(to, len, "  %.0f/s", rate);
	if (now.total <= now.done)
		return;
	left = (uint64_t)((double)(now.total - now.done) / rate);
	snprintf(to + at, len - (size_t)at, "  %llu:%02llu left",
		 (unsigned long long)left / 60, (unsigned long long)left % 60);
}

static void draw(void)
{
	uint64_t ms = monotonic_ms();
	char text[200], bar[BAR + 8];
	int at;

	if (ms < now.next_ms)
		return;
	now.next_ms = ms + (now.terminal ? DRAW_MS : LINE_MS);
	at = put_amount(text, sizeof(text));
	put_rate(text + at, sizeof(text) - (size_t)at, ms - now.begun_ms);
	put_bar(bar, sizeof(bar), (int)(strlen(now.what) + 1 + strlen(text)));
	fprintf(stderr, now.terminal ? "\r%s %s%s\033[K" : "%s %s%s\n",
		now.what, bar, text);
	drawn = now.terminal;
}

void progress_begin(const char *what, const char *unit, uint64_t total)
{
	memset(&now, 0, sizeof(now));
	now.forced = forced;
	now.what = what;
	now.unit = unit;
	now.total = total;
	now.begun_ms = monotonic_ms();
	now.next_ms = now.begun_ms + (forced ? 0 : DRAW_MS);
	if (!catches)
		sigemptyset(&caught);
	if (!watches) {
		for (size_t i = 0; i < sizeof(asking) / sizeof(*asking); i++)
			catch_first(asking[i]);
	}
	catches = true;
	begin_watch();
	now.terminal = !forced && isatty(STDERR_FILENO);
	if (forced)
		draw();
}

void progress_begin_output(const char *what, uint64_t total)
{
	progress_begin(what, "cells", total);
	now.terminal &= !isatty(STDOUT_FILENO);
}

bool progress_at(uint64_t done, uint64_t total)
{
	now.done = done;
	now.total = total;
	if (now.forced || now.terminal)
		draw();
	return !is_asked();
}

bool progress_add(uint64_t more)
{
	return progress_at(now.done + more, now.total);
}

bool progress_went(void *arg, uint64_t more)
{
	return progress_add(more);
}

void progress_spared(void *arg, uint64_t bytes)
{
	now.total -= bytes < now.total ? bytes : now.total;
}

void progress_wipe(void)
{
	if (atomic_exchange(&drawn, false))
		fputs("\r\033[K", stderr);
}

void progress_clear(void)
{
	progress_wipe();
	/* Where lines are wanted the last one says all. */
	if (now.forced && now.done) {
		now.next_ms = 0;
		draw();
	}
	now.terminal = now.forced = false;
}

uint64_t progress_done(void)
{
	return now.done;
}

int progress_stopped(void)
{
	return is_asked() ? stopped : 0;
}

void progress_say_stopped(const char *fmt, ...)
{
	va_list ap;

	if (ends == THE_WATCH)
		progress_wipe();
	else
		progress_clear();
	fprintf(stderr, "%s: stopped; ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\n", stderr);
}

/* Of the files with a greater number than @above; *last is the greatest. */
static uint64_t files_since(const char *dir, uint64_t above, uint64_t *last)
{
	DIR *d = dir ? opendir(dir) : NULL;
	struct dirent *e;
	uint64_t bytes = 0, n;
	struct stat st;
	int end;

	while (d && (e = readdir(d))) {
		end = 0;
		if (sscanf(e->d_name, "%20" SCNu64 ".sst%n", &n, &end) != 1 ||
		    !end || e->d_name[end] || n <= above ||
		    fstatat(dirfd(d), e->d_name, &st, 0) < 0)
			continue;
		bytes += (uint64_t)st.st_size;
		*last = n > *last ? n : *last;
	}
	if (d)
		closedir(d);
	return bytes;
}

uint64_t progress_files(const char *dir)
{
	uint64_t last = 0;

	return files_since(dir, 0, &last);
}

struct running {
	int (*call)(void *arg);
	void *arg;
	int result;
	struct why_kept why;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool done; /* lock, as all above but the call */
};

static void *run(void *arg)
{
	struct running *r = arg;
	int result = r->call(r->arg);

	pthread_mutex_lock(&r->lock);
	r->result = result;
	why_keep(&r->why);
	r->done = true;
	pthread_cond_signal(&r->ended);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* A tenth of a second, or until it has ended. */
static bool wait_for(struct running *r)
{
	uint64_t until = monotonic_ns() + DRAW_MS * NS_PER_MS;
	bool done;

	pthread_mutex_lock(&r->lock);
	if (!r->done)
		clock_cond_wait(&r->ended, &r->lock, until);
	done = r->done;
	pthread_mutex_unlock(&r->lock);
	return done;
}

static void end_now(const char *advice)
{
	progress_say_stopped("%s", advice);
	progress_end(stopped);
}

int progress_run(const char *what, const char *dir, uint64_t total,
		 int (*call)(void *arg), void *arg, const char *advice)
{
	struct running r = {
		.call = call, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER};
	uint64_t last = 0, ignored = 0;
	pthread_t thread;

	clock_cond_init(&r.ended);
	files_since(dir, 0, &last);
	progress_begin(what, "MiB", total);
	if (pthread_create(&thread, NULL, run, &r))
		return call(arg);
	while (!wait_for(&r))
		if (!progress_at(files_since(dir, last, &ignored), total))
			end_now(advice);
	pthread_join(thread, NULL);
	progress_clear();
	why_restore(&r.why);
	return r.result;
}
