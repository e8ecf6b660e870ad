/*
 * The crash test: every moment of a workload, every disk that a crash at that
 * moment may leave, each opened and judged.
 *
 *	crash [--seed N] [--workloads N] [--steps N] [--states N] [--seconds N]
 *	      [--jobs N] [--at ENTRY] [--thorough N] [--nested N] [--step N]
 *	      [--random N] [--corners N] [--all N] [--plant]
 *	crash --sequences [--sample N] [--sequence N] [the same]
 *	crash --leave-out [--say]
 *	crash --faults [--workloads N] [--states N] [--plant]
 *
 * Each --step-th entry of a workload's log is taken, 1 = all. One image in
 * --thorough goes on with more work after it was judged; one in --nested is
 * crashed again while it recovers. All choices of up to --all pending entries
 * are tried, of more some --corners and --random ones. A failure prints what
 * repeats it: `crash --seed N --workloads 1 --at ENTRY`. After --seconds, or
 * --states, the figures so far are printed, as they are each minute.
 *
 * --sequences takes short histories instead (sequences.h), each or one in
 * --sample. --leave-out shows that the test can see: for each place that
 * syncs, some sync of it is left out, and a bad image must be found; --say
 * tells which. --faults makes calls fail instead (faults.h), in --states runs.
 * --plant promises mutations that were not synced, and must be found too.
 */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/crash/faults.h"
#include "tests/crash/leave_out.h"
#include "tests/crash/pages.h"
#include "tests/crash/search.h"
#include "tests/crash/sequences.h"

static void print_plan(const struct plan *p)
{
	struct buf text = {0};

	for (size_t i = 0; i < p->nsteps; i++)
		step_format(&p->steps[i], &text);
	run_print(&text);
	buf_free(&text);
}

/* 1 if something bad was found. */
static int workload(const struct options *o, uint64_t seed, struct totals *t)
{
	struct os *os = sim_new(seed);
	struct buf reason = {0};
	struct seen seen = {0};
	char again[96];
	struct plan p;
	struct search s = {.o = o,
			   .plan = &p,
			   .totals = t,
			   .seen = &seen,
			   .again = again,
			   .reason = &reason};
	int r;

	snprintf(again, sizeof(again), "--seed %llu --workloads 1 --steps %u",
		 (unsigned long long)seed, o->steps);
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
			run_print(&reason);
		}
	}
	t->runs++;
	buf_free(&reason);
	seen_free(&seen);
	plan_free(&p);
	sim_free(os);
	return r;
}

static int workloads_job(const struct options *o, unsigned nth,
			 struct totals *t)
{
	int r = 0;

	for (unsigned i = nth; r == 0 && !run_is_over(o); i += o->jobs) {
		if (o->workloads && i >= o->workloads)
			break;
		r = workload(o, o->seed + i, t);
	}
	return r;
}

#define FAULTS_A_WORKLOAD 600

static void say_faults(const struct options *o, const struct faults_report *f,
		       unsigned workloads, const char *verdict)
{
	printf("crash: %llu runs of %u workloads from seed %llu with a failing "
	       "call, %llu noticed: %s\n",
	       (unsigned long long)f->fired, workloads,
	       (unsigned long long)o->seed, (unsigned long long)f->failed_runs,
	       verdict);
	fflush(stdout);
}

static int faults_all(const struct options *o)
{
	struct faults_report f = {.plant = o->plant};
	time_t start = time(NULL), said = start, now;
	unsigned i = 0;
	int r = 0;

	if (o->fault >= 0) {
		r = faults_one(o->seed, o->steps, (unsigned)o->fault,
			       (uint64_t)o->at, &f);
		i = 1;
	}
	while (o->fault < 0 && r == 0) {
		now = time(NULL);
		if ((o->workloads && i >= o->workloads) ||
		    (o->seconds && now - start >= (time_t)o->seconds) ||
		    (o->states && f.fired >= o->states))
			break;
		r = faults(o->seed + i++, o->steps, FAULTS_A_WORKLOAD, &f);
		if (now - said < 60)
			continue;
		said = now;
		say_faults(o, &f, i, "none bad so far");
	}
	if (!o->plant)
		run_print(&f.reason);
	say_faults(o, &f, i, r ? "BAD" : "none bad");
	buf_free(&f.reason);
	if (o->plant)
		return r ? 0 : 1;
	/* A run in which nothing failed has proven nothing. */
	return r || f.failed_runs == 0;
}

static void usage(void)
{
	fputs("usage: crash [--seed N] [--workloads N] [--steps N]\n"
	      "             [--states N] [--seconds N] [--jobs N] [--at "
	      "ENTRY]\n"
	      "             [--thorough N] [--nested N] [--random N]\n"
	      "             [--corners N] [--all N] [--step N] [--plant]\n"
	      "             [--leave-out] [--say] [--faults [--fault N]]\n"
	      "             [--sequences [--sample N] [--sequence N]]\n",
	      stderr);
	exit(2);
}

enum option_kind {
	FLAG,
	UNSIGNED,
	LONG,
	BIG,
};

static const struct known_option {
	const char *name;
	enum option_kind kind;
	size_t at;
} known[] = {
	{"seed", BIG, offsetof(struct options, seed)},
	{"states", BIG, offsetof(struct options, states)},
	{"workloads", UNSIGNED, offsetof(struct options, workloads)},
	{"steps", UNSIGNED, offsetof(struct options, steps)},
	{"seconds", UNSIGNED, offsetof(struct options, seconds)},
	{"jobs", UNSIGNED, offsetof(struct options, jobs)},
	{"thorough", UNSIGNED, offsetof(struct options, thorough)},
	{"nested", UNSIGNED, offsetof(struct options, nested)},
	{"random", UNSIGNED, offsetof(struct options, random)},
	{"corners", UNSIGNED, offsetof(struct options, corners)},
	{"all", UNSIGNED, offsetof(struct options, all)},
	{"step", UNSIGNED, offsetof(struct options, step)},
	{"sample", UNSIGNED, offsetof(struct options, sample)},
	{"at", LONG, offsetof(struct options, at)},
	{"fault", LONG, offsetof(struct options, fault)},
	{"sequence", LONG, offsetof(struct options, sequence)},
	{"plant", FLAG, offsetof(struct options, plant)},
	{"leave-out", FLAG, offsetof(struct options, leave_out)},
	{"say", FLAG, offsetof(struct options, say)},
	{"faults", FLAG, offsetof(struct options, faults)},
	{"sequences", FLAG, offsetof(struct options, sequences)},
};

#define UNSAID UINT64_MAX
#define KNOWN (sizeof(known) / sizeof(*known))

static void take(struct options *o, const struct known_option *k,
		 const char *text)
{
	uint8_t *member = (uint8_t *)o + k->at;
	unsigned long n = 1;
	char *end = NULL;

	if (text) {
		n = strtoul(text, &end, 0);
		if (end == text || *end)
			usage();
	}
	switch (k->kind) {
	case FLAG:
		*(bool *)member = true;
		break;
	case UNSIGNED:
		*(unsigned *)member = (unsigned)n;
		break;
	case LONG:
		*(long *)member = (long)n;
		break;
	case BIG:
		*(uint64_t *)member = n;
		break;
	}
}

static void options_parse(int argc, char **argv, struct options *o)
{
	struct option longs[KNOWN + 1] = {0};
	int c, which = 0;

	for (size_t i = 0; i < KNOWN; i++)
		longs[i] = (struct option){
			.name = known[i].name,
			.has_arg = known[i].kind == FLAG ? no_argument
							 : required_argument,
		};
	while ((c = getopt_long(argc, argv, "", longs, &which)) != -1) {
		if (c)
			usage();
		take(o, &known[which], optarg);
	}
	if (o->states == UNSAID)
		o->states = o->faults || o->sequences ? 0 : 20000;
	if (o->sequence >= 0)
		o->jobs = 1;
	if (o->faults && !o->states && !o->seconds && !o->workloads)
		o->workloads = 10;
	if (optind < argc || o->jobs < 1 || o->jobs > RUN_JOBS_MAX ||
	    o->sample < 1)
		usage();
}

int main(int argc, char **argv)
{
	struct options o = {
		.seed = 1,
		.states = UNSAID,
		.steps = 60,
		.thorough = 10,
		.nested = 100,
		.step = 3,
		.random = 8,
		.corners = 6,
		.at = -1,
		.fault = -1,
		.sequence = -1,
		.sample = 1,
		.jobs = 1,
	};

	options_parse(argc, argv, &o);
	pages_begin();
	search_guard();
	if (o.faults)
		return faults_all(&o);
	if (o.sequences || o.sequence >= 0)
		return sequences(&o);
	if (o.leave_out)
		return leave_out_all(&o);
	return run_all(&o, "workloads", workloads_job);
}
