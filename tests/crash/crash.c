/*
 * The crash test: every moment of a workload, every disk that a crash at that
 * moment may leave, each opened and judged.
 *
 *	crash [--seed N] [--workloads N] [--steps N] [--states N] [--seconds N]
 *	      [--at ENTRY] [--thorough N] [--nested N] [--step N]
 *	      [--plant] [--leave-out [--say]] [--faults]
 *
 * Each --step-th entry of a workload's log is taken, 1 = all. One image in
 * --thorough goes on with more work after it was judged; one in --nested is
 * crashed again while it recovers. A failure names the seed and the entry:
 * `crash --seed N --workloads 1 --at ENTRY` repeats it.
 *
 * --leave-out shows that the test can see: for each place that syncs, some
 * sync of it is left out, and a bad image must be found; --say tells which.
 * --faults makes calls fail instead (faults.h).
 * --plant promises mutations that were not synced, and must be found too.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/crash/faults.h"
#include "tests/crash/sites.h"
#include "tests/crash/verdict.h"

struct options {
	uint64_t seed, states;
	unsigned workloads, steps, seconds, thorough, nested, random, corners;
	unsigned step;
	long at; /* -1 = all */
	long fault;
	bool plant, leave_out, say, faults;
};

struct totals {
	uint64_t images, repeats, nested, thorough;
	unsigned workloads;
};

/* One workload that has run, and what is looked for in it. */
struct search {
	const struct options *o;
	const struct plan *plan;
	struct totals *totals;
	size_t from, to;    /* log entries, 0 = all */
	size_t step;	    /* each step-th of them */
	uint64_t limit;	    /* images, 0 = all */
	struct buf *reason; /* of the first bad one */
};

static volatile uint64_t seed_now;
static volatile size_t entry_now;

static void on_crash(int sig)
{
	char text[128];
	int n = snprintf(text, sizeof(text),
			 "crash: signal %d at seed %llu, entry %zu\n", sig,
			 (unsigned long long)seed_now, entry_now);

	if (write(2, text, (size_t)n) != n)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t state = a * 0x100000001b3 ^ b;

	return step_random(&state);
}

static void print(const struct buf *text)
{
	fprintf(stderr, "%.*s", (int)text->len, (const char *)text->data);
}

static void say_where(const struct search *s, const struct sim_image *image,
		      const char *what)
{
	say(s->reason,
	    "crash: seed %llu, before entry %zu, %s: %s%s; again with:\n"
	    "crash: crash --seed %llu --workloads 1 --steps %u --at %zu\n",
	    (unsigned long long)s->plan->seed, image->at,
	    image->killed ? "the process died" : "the power went", image->how,
	    what, (unsigned long long)s->plan->seed, s->o->steps, image->at);
}

/* Recovery is crashed too: whatever it left must be judged the same. */
static int judge_nested(const struct search *s, struct os *os,
			const struct verdict_options *v,
			const struct sim_image *outer)
{
	const struct sim_crash_options o = {
		.seed = v->seed, .random = 2, .corners = 2};
	struct sim_crash *c;
	struct sim_image image;
	struct verdict_options inner = *v;
	int r = 0;

	c = sim_crash_new(os, &o);
	while (r == 0 && sim_crash_next(c, &image) > 0) {
		s->totals->nested++;
		inner.thorough = s->totals->nested % 64 == 0;
		r = verdict(&inner, image.os, s->reason);
		if (r) {
			say_where(s, outer, ", and again in recovery:");
			say(s->reason, "crash: recovery at entry %zu: %s\n",
			    image.at, image.how);
		}
	}
	sim_crash_free(c);
	return r;
}

static int judge(const struct search *s, const struct sim_image *image)
{
	struct totals *t = s->totals;
	bool nested = s->o->nested && t->images % s->o->nested == 0;
	struct verdict_options v = {
		.plan = s->plan,
		.thorough = s->o->thorough &&
			    t->images % s->o->thorough == 1 % s->o->thorough,
		.seed = mix(s->plan->seed, t->images),
	};
	int r;

	t->images++;
	t->thorough += v.thorough;
	entry_now = image->at;
	verdict_bounds(s->plan, image, &v.lowest, &v.highest);
	/* Not both: what goes on leaves the states of the plan. */
	if (nested)
		v.thorough = false;
	r = verdict(&v, image->os, s->reason);
	if (r) {
		say_where(s, image, "");
		if (s->o->say)
			print(s->reason);
		return r;
	}
	return nested ? judge_nested(s, image->os, &v, image) : 0;
}

static int search(const struct search *s, struct os *os)
{
	const struct sim_crash_options o = {
		.from = s->from,
		.to = s->to,
		.step = s->step,
		.seed = s->plan->seed,
		.random = s->o->random,
		.corners = s->o->corners,
	};
	struct sim_crash *c = sim_crash_new(os, &o);
	struct sim_image image;
	uint64_t n = 0;
	int r = 0;

	while (r == 0 && (!s->limit || n < s->limit) &&
	       sim_crash_next(c, &image) > 0) {
		r = judge(s, &image);
		n++;
	}
	s->totals->repeats += sim_crash_repeats(c);
	sim_crash_free(c);
	return r;
}

static void print_plan(const struct plan *p)
{
	struct buf text = {0};

	for (size_t i = 0; i < p->nsteps; i++)
		step_format(&p->steps[i], &text);
	print(&text);
	buf_free(&text);
}

/* 1 if something bad was found. */
static int workload(const struct options *o, uint64_t seed, struct totals *t)
{
	struct os *os = sim_new(seed);
	struct buf reason = {0};
	struct plan p;
	struct search s = {.o = o, .plan = &p, .totals = t, .reason = &reason};
	int r;

	seed_now = seed;
	plan_make(&p, seed, o->steps);
	p.early = o->plant;
	r = plan_run(&p, os, os);
	plan_states(&p);
	if (r < 0) {
		fprintf(stderr,
			"crash: seed %llu: the workload fails: %d, %s\n",
			(unsigned long long)seed, r, store_why());
		r = 1;
	} else {
		if (o->at >= 0) {
			s.from = (size_t)o->at;
			s.to = (size_t)o->at + 1;
		} else {
			/* Many workloads rather than every entry of few. */
			s.step = o->step;
			s.from = o->step ? seed / 4 % o->step : 0;
		}
		r = search(&s, os);
		if (r && !o->plant) {
			print_plan(&p);
			print(&reason);
		}
	}
	t->workloads++;
	buf_free(&reason);
	plan_free(&p);
	sim_free(os);
	return r;
}

static int workloads(const struct options *o)
{
	time_t start = time(NULL);
	struct totals t = {0};
	int r = 0;

	for (unsigned i = 0; r == 0; i++) {
		if (o->workloads && i >= o->workloads)
			break;
		if (o->states && t.images >= o->states)
			break;
		if (o->seconds && time(NULL) - start >= (time_t)o->seconds)
			break;
		r = workload(o, o->seed + i, &t);
	}
	printf("crash: %llu different disks after %u workloads from seed %llu "
	       "(%llu repeats left out), %llu went on, %llu crashed again in "
	       "recovery: %s\n",
	       (unsigned long long)t.images, t.workloads,
	       (unsigned long long)o->seed, (unsigned long long)t.repeats,
	       (unsigned long long)t.thorough, (unsigned long long)t.nested,
	       r ? "BAD" : "none bad");
	if (o->plant)
		return r ? 0 : 1;
	return r;
}

#define SITES_MAX 64
#define TRIES_MAX 12

struct site_found {
	struct site_sync example;
	unsigned syncs, tries;
	uint64_t images;
	bool found;
	struct buf reason;
};

struct leaving_out {
	const struct options *o;
	struct site_found sites[SITES_MAX];
	size_t nsites;
};

static struct site_found *site_of(struct leaving_out *l,
				  const struct site_sync *s)
{
	for (size_t i = 0; i < l->nsites; i++)
		if (l->sites[i].example.site == s->site)
			return &l->sites[i];
	if (l->nsites == SITES_MAX)
		return NULL;
	l->sites[l->nsites] = (struct site_found){.example = *s};
	return &l->sites[l->nsites++];
}

/* Runs the plan without its @nth sync and looks for a bad image after it. */
static void leave_out(struct leaving_out *l, const struct plan *base,
		      size_t nth, const struct site_sync *sync,
		      struct site_found *site)
{
	struct os *os = sim_new(base->seed);
	struct totals t = {0};
	struct plan p = *base;
	struct search s = {
		.o = l->o,
		.plan = &p,
		.totals = &t,
		.from = sync->at,
		.limit = 4000,
		.reason = &site->reason,
	};

	site->reason.len = 0;
	sim_ignore(os, SIM_FDATASYNC | SIM_DIR_SYNC, NULL, nth);
	if (plan_run(&p, os, os) < 0)
		say(&site->reason, "the workload fails: %s\n", store_why());
	else
		site->found = search(&s, os);
	site->tries++;
	site->images += t.images;
	sim_free(os);
}

static void leave_out_of(struct leaving_out *l, uint64_t seed)
{
	struct os *os = sim_new(seed);
	struct sites sites = {0};
	struct plan p;

	seed_now = seed;
	plan_make(&p, seed, l->o->steps);
	sites_begin(os, &sites);
	if (plan_run(&p, os, os) < 0) {
		fprintf(stderr, "crash: seed %llu: the workload fails: %s\n",
			(unsigned long long)seed, store_why());
		exit(2);
	}
	sites_end(os);
	plan_states(&p);
	for (size_t i = 0; i < sites.n; i++) {
		struct site_found *f = site_of(l, &sites.syncs[i]);

		if (!f)
			continue;
		f->syncs++;
		if (!f->found && f->tries < TRIES_MAX)
			leave_out(l, &p, i + 1, &sites.syncs[i], f);
	}
	sites_free(&sites);
	plan_free(&p);
	sim_free(os);
}

static int leave_out_all(const struct options *o)
{
	struct leaving_out l = {.o = o};
	int missed = 0;

	for (unsigned i = 0; i < (o->workloads ? o->workloads : 4); i++)
		leave_out_of(&l, o->seed + i);
	for (size_t i = 0; i < l.nsites; i++) {
		struct site_found *f = &l.sites[i];

		printf("crash: %s sync from",
		       f->example.dir ? "directory" : "file");
		for (int k = 0; k < SITE_FRAMES; k++)
			printf(" %#zx", (size_t)f->example.frames[k]);
		printf(", %u of them: %s after %u left out, %llu disks\n",
		       f->syncs, f->found ? "found" : "NOT FOUND", f->tries,
		       (unsigned long long)f->images);
		missed += !f->found;
		buf_free(&f->reason);
	}
	return missed ? 1 : 0;
}

#define FAULTS_A_WORKLOAD 600

static int fault_all(const struct options *o)
{
	struct faults_report f = {.plant = o->plant};
	unsigned n = o->workloads ? o->workloads : 10, i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		seed_now = o->seed + i;
		if (o->fault >= 0) {
			n = 1;
			r = faults_one(o->seed, o->steps, (unsigned)o->fault,
				       (uint64_t)o->at, &f);
		} else {
			r = faults(o->seed + i, o->steps, FAULTS_A_WORKLOAD,
				   &f);
		}
	}
	if (!o->plant)
		print(&f.reason);
	printf("crash: %llu runs of %u workloads from seed %llu with a failing "
	       "call, %llu noticed: %s\n",
	       (unsigned long long)f.fired, i, (unsigned long long)o->seed,
	       (unsigned long long)f.failed_runs, r ? "BAD" : "none bad");
	buf_free(&f.reason);
	if (o->plant)
		return r ? 0 : 1;
	/* A run in which nothing failed has proven nothing. */
	return r || f.failed_runs == 0;
}

static void usage(void)
{
	fputs("usage: crash [--seed N] [--workloads N] [--steps N]\n"
	      "             [--states N] [--seconds N] [--at ENTRY]\n"
	      "             [--thorough N] [--nested N] [--random N]\n"
	      "             [--corners N] [--step N] [--plant] [--leave-out] "
	      "[--say]\n",
	      stderr);
	exit(2);
}

static void options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"seed", required_argument, NULL, 's'},
		{"workloads", required_argument, NULL, 'w'},
		{"steps", required_argument, NULL, 'n'},
		{"states", required_argument, NULL, 'i'},
		{"seconds", required_argument, NULL, 't'},
		{"at", required_argument, NULL, 'a'},
		{"thorough", required_argument, NULL, 'h'},
		{"nested", required_argument, NULL, 'e'},
		{"random", required_argument, NULL, 'r'},
		{"corners", required_argument, NULL, 'c'},
		{"step", required_argument, NULL, 'k'},
		{"plant", no_argument, NULL, 'p'},
		{"leave-out", no_argument, NULL, 'l'},
		{"say", no_argument, NULL, 'y'},
		{"faults", no_argument, NULL, 'f'},
		{"fault", required_argument, NULL, 'u'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 0) : 0;

		switch (c) {
		case 's':
			o->seed = n;
			break;
		case 'w':
			o->workloads = (unsigned)n;
			break;
		case 'n':
			o->steps = (unsigned)n;
			break;
		case 'i':
			o->states = n;
			break;
		case 't':
			o->seconds = (unsigned)n;
			break;
		case 'a':
			o->at = (long)n;
			break;
		case 'h':
			o->thorough = (unsigned)n;
			break;
		case 'e':
			o->nested = (unsigned)n;
			break;
		case 'r':
			o->random = (unsigned)n;
			break;
		case 'c':
			o->corners = (unsigned)n;
			break;
		case 'k':
			o->step = (unsigned)n;
			break;
		case 'p':
			o->plant = true;
			break;
		case 'l':
			o->leave_out = true;
			break;
		case 'f':
			o->faults = true;
			break;
		case 'u':
			o->fault = (long)n;
			break;
		case 'y':
			o->say = true;
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		usage();
}

int main(int argc, char **argv)
{
	struct options o = {
		.seed = 1,
		.states = 20000,
		.steps = 60,
		.thorough = 10,
		.nested = 100,
		.step = 3,
		.random = 8,
		.corners = 6,
		.at = -1,
		.fault = -1,
	};

	options_parse(argc, argv, &o);
	signal(SIGSEGV, on_crash);
	signal(SIGABRT, on_crash);
	signal(SIGBUS, on_crash);
	if (o.faults)
		return fault_all(&o);
	return o.leave_out ? leave_out_all(&o) : workloads(&o);
}
