#include "tools/progress/progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR 20
#define DRAW_MS 100
#define LINE_MS 1000

static struct {
	const char *what, *unit;
	uint64_t done, total;
	uint64_t begun_ms, next_ms; /* when to draw again */
	bool forced, drawn;
} now;

static volatile sig_atomic_t stopped;

static uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void on_signal(int sig)
{
	stopped = sig;
}

/* The handler is gone when it is called: the second signal kills. */
static void catch (int sig)
{
	struct sigaction is;

	if (sigaction(sig, NULL, &is) < 0 || is.sa_handler != SIG_DFL)
		return;
	is = (struct sigaction){.sa_handler = on_signal,
				.sa_flags = (int)SA_RESETHAND};
	sigemptyset(&is.sa_mask);
	(void)sigaction(sig, &is, NULL);
}

void progress_force(void)
{
	now.forced = true;
}

void progress_begin(const char *what, const char *unit, uint64_t total)
{
	bool forced = now.forced;

	progress_clear();
	memset(&now, 0, sizeof(now));
	now.forced = forced;
	now.what = what;
	now.unit = unit;
	now.total = total;
	now.begun_ms = clock_ms();
	now.next_ms = now.begun_ms + DRAW_MS;
	catch (SIGINT);
	catch (SIGTERM);
	catch (SIGHUP);
}

static bool in_bytes(void)
{
	return !strcmp(now.unit, "MiB");
}

static unsigned long long shown(uint64_t n)
{
	return in_bytes() ? n >> 20 : n;
}

static int put_amount(char *to, size_t len)
{
	uint64_t done = now.done < now.total ? now.done : now.total;
	int at = 0, full = 0;

	if (!now.total)
		return snprintf(to, len, "%s  %llu %s", now.what,
				shown(now.done), now.unit);
	full = (int)((double)done / (double)now.total * BAR);
	at = snprintf(to, len, "%s [", now.what);
	for (int i = 0; i < BAR; i++)
		at += snprintf(to + at, len - (size_t)at, "%c",
			       i < full ? '#' : '.');
	return at + snprintf(to + at, len - (size_t)at,
			     "] %3.0f %%  %llu of %llu %s",
			     (double)done / (double)now.total * 100,
			     shown(now.done), shown(now.total), now.unit);
}

/* Ends the line with the rate and what time is left by it. */
static void put_rate(char *to, size_t len, uint64_t ms)
{
	double rate = ms ? (double)now.done * 1000 / (double)ms : 0;
	uint64_t left;
	int at;

	if (rate < 1)
		return;
	at = in_bytes() ? snprintf(to, len, "  %.1f MiB/s", rate / (1 << 20))
			: snprintf(to, len, "  %.0f/s", rate);
	if (now.total <= now.done)
		return;
	left = (uint64_t)((double)(now.total - now.done) / rate);
	snprintf(to + at, len - (size_t)at, "  %llu:%02llu left",
		 (unsigned long long)left / 60, (unsigned long long)left % 60);
}

static void draw(void)
{
	bool terminal = isatty(STDERR_FILENO);
	uint64_t ms = clock_ms();
	char line[200];
	int at;

	if (ms < now.next_ms || (!terminal && !now.forced))
		return;
	now.next_ms = ms + (terminal && !now.forced ? DRAW_MS : LINE_MS);
	at = put_amount(line, sizeof(line));
	put_rate(line + at, sizeof(line) - (size_t)at, ms - now.begun_ms);
	if (terminal && !now.forced)
		fprintf(stderr, "\r%.79s\033[K", line);
	else
		fprintf(stderr, "%s\n", line);
	now.drawn = terminal && !now.forced;
}

bool progress_at(uint64_t done, uint64_t total)
{
	now.done = done;
	now.total = total;
	draw();
	return !stopped;
}

bool progress_add(uint64_t more)
{
	return progress_at(now.done + more, now.total);
}

void progress_clear(void)
{
	if (now.drawn)
		fputs("\r\033[K", stderr);
	now.drawn = false;
}

uint64_t progress_done(void)
{
	return now.done;
}

int progress_stopped(void)
{
	return stopped;
}
