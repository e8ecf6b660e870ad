#include "tests/crash/run.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAY_EACH_S 60

/* What the processes share. */
struct shared {
	atomic_bool stop;
	struct totals totals[RUN_JOBS_MAX];
};

static struct shared *shared;
static const char *what_runs;
static time_t start, said;
static bool quiet; /* another process tells of this one */

void run_print(const struct buf *text)
{
	fprintf(stderr, "%.*s", (int)text->len, (const char *)text->data);
}

static struct totals sum(const struct options *o)
{
	struct totals t = {0};

	for (unsigned i = 0; i < o->jobs; i++) {
		t.images += shared->totals[i].images;
		t.repeats += shared->totals[i].repeats;
		t.nested += shared->totals[i].nested;
		t.thorough += shared->totals[i].thorough;
		t.runs += shared->totals[i].runs;
	}
	return t;
}

static void say_totals(const struct options *o, const char *verdict)
{
	struct totals t = sum(o);

	printf("crash: %llu different disks after %llu %s from seed %llu "
	       "(%llu repeats left out), %llu went on, %llu crashed again in "
	       "recovery, %ld s: %s\n",
	       (unsigned long long)t.images, (unsigned long long)t.runs,
	       what_runs, (unsigned long long)o->seed,
	       (unsigned long long)t.repeats, (unsigned long long)t.thorough,
	       (unsigned long long)t.nested, (long)(time(NULL) - start),
	       verdict);
	fflush(stdout);
}

static void say_progress(const struct options *o)
{
	time_t now = time(NULL);

	if (quiet || now - said < SAY_EACH_S)
		return;
	said = now;
	say_totals(o, "none bad so far");
}

bool run_is_over(const struct options *o)
{
	say_progress(o);
	if (atomic_load(&shared->stop))
		return true;
	if (o->seconds && time(NULL) - start >= (time_t)o->seconds)
		return true;
	return o->states && sum(o).images >= o->states;
}

static int wait_for_jobs(const struct options *o)
{
	const struct timespec tick = {.tv_nsec = 100 * 1000 * 1000};
	unsigned left = o->jobs;
	int r = 0;

	while (left > 0) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0) {
			say_progress(o);
			nanosleep(&tick, NULL);
			continue;
		}
		left--;
		if (status == 0)
			continue;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
			r = 2;
		else if (r == 0)
			r = 1;
		atomic_store(&shared->stop, true);
	}
	return r;
}

static int fork_jobs(const struct options *o, run_job job)
{
	for (unsigned i = 0; i < o->jobs; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("crash: fork");
			exit(2);
		}
		if (pid == 0) {
			quiet = true;
			exit(job(o, i, &shared->totals[i]));
		}
	}
	return wait_for_jobs(o);
}

int run_all(const struct options *o, const char *what, run_job job)
{
	int r;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("crash: mmap");
		exit(2);
	}
	what_runs = what;
	start = said = time(NULL);
	r = o->jobs == 1 ? job(o, 0, &shared->totals[0]) : fork_jobs(o, job);
	/* A run that has looked at nothing has proven nothing. */
	if (r == 0 && sum(o).images == 0)
		r = 2;
	say_totals(o, r == 0 ? "none bad" : r == 1 ? "BAD" : "FAILED");
	munmap(shared, sizeof(*shared));
	if (o->plant)
		return r == 1 ? 0 : 1;
	return r;
}
