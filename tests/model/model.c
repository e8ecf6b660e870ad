/*
 * The model test: the same random steps on the engine and on the reference,
 * and every answer compared.
 *
 *	model [--seed N] [--runs N] [--steps N] [--seconds N]
 *	      [--plant NAME | --plant all] [--classic] [--threads]
 *	      [--subject lsm|remote|hbase://...]
 *
 * A run is a new store and --steps steps that follow from its seed alone. A
 * difference prints the seed, the fewest steps that still show it, and both
 * answers; `model --seed N` with the printed number replays it.
 *
 * With --threads the engine flushes and compacts in its own threads, when it
 * likes: no answer may depend on that. A seed repeats the steps, not the
 * moments.
 *
 * --subject remote is the engine behind a session that serves it, and
 * hbase://... a cluster of HBase: what that cannot do is left out, and counted.
 * Its tables are made anew for each run, which takes seconds: many steps are
 * better than many runs.
 *
 * With --plant the engine is replaced by a second reference with the named
 * fault: the test must find it, or it proves nothing ("all": each of them).
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/model/ref_store.h"
#include "tests/model/subject.h"

struct options {
	uint64_t seed;
	unsigned runs, steps, seconds;
	bool classic, threads, remote;
	const char *cluster;
	enum ref_plant plant; /* PLANT_NONE: the engine is tested */
	bool plant_each;
};

/* A run: its steps, and where it first differed. */
struct run {
	struct step_mode mode;
	bool threads;
	enum ref_plant plant;
	bool remote;
	const char *cluster;
	size_t n;
	struct step *steps;
	struct buf answers[2]; /* of the step that differed */
};

static uint64_t steps_done;

#define LEFT_OUT_MAX 24

/* What steps were left out for, and how many; ends with a NULL. */
static struct left_out {
	const char *why;
	uint64_t n;
} left_out[LEFT_OUT_MAX + 1];

static void leave_out(const char *why)
{
	struct left_out *l = left_out;

	while (l->why && strcmp(l->why, why) != 0 &&
	       l < left_out + LEFT_OUT_MAX - 1)
		l++;
	l->why = why;
	l->n++;
}

static volatile uint64_t seed_now;
static volatile uint32_t step_now;

static void on_crash(int sig)
{
	char text[128];
	int n = snprintf(text, sizeof(text),
			 "model: signal %d at seed %llu, step %u\n", sig,
			 (unsigned long long)seed_now, (unsigned)step_now);

	if (write(2, text, (size_t)n) != n)
		_exit(3);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void fail(const char *what, int r)
{
	fprintf(stderr, "model: %s: %s (%s)\n", what, store_why(),
		strerror(-r));
	exit(2);
}

static int subject_open(const struct run *run, struct world *w)
{
	if (run->cluster)
		return subject_cluster(run->cluster, w);
	return (run->remote ? subject_remote : subject_lsm)(&run->mode, w);
}

static void subject_free(const struct run *run, struct world *w)
{
	if (run->cluster)
		subject_cluster_free(w);
	else
		(run->remote ? subject_remote_free : subject_lsm_free)(w);
}

static void worlds_open(const struct run *run, struct world w[2])
{
	int r = ref_store_open(world_clock, false, &w[1].store);

	if (r < 0)
		fail("the reference", r);
	if (run->plant == PLANT_NONE) {
		w[0].threads = run->threads;
		r = subject_open(run, &w[0]);
		if (r < 0)
			fail("the engine", r);
	} else {
		r = ref_store_open(world_clock, false, &w[0].store);
		if (r < 0)
			fail("the planted reference", r);
	}
	for (int i = 0; i < 2; i++) {
		w[i].classic = run->mode.classic;
		w[i].tiny = run->mode.tiny;
		w[i].keep = run->mode.keep;
		w[i].many = run->mode.many;
		w[i].cluster = run->cluster;
		r = world_begin(&w[i]);
		if (r < 0)
			fail("making the tables", r);
	}
	if (run->cluster)
		ref_store_as_hbase(w[1].store);
	if (run->plant != PLANT_NONE)
		ref_store_plant(w[0].store, run->plant);
}

static void worlds_close(const struct run *run, struct world w[2])
{
	for (int i = 0; i < 2; i++)
		world_detach(&w[i]);
	store_close(w[1].store);
	if (run->plant != PLANT_NONE)
		store_close(w[0].store);
	else
		subject_free(run, &w[0]);
}

static bool buf_eq(const struct buf *a, const struct buf *b)
{
	return bytes_eq(buf_bytes(a), buf_bytes(b));
}

static struct bytes next_line(struct bytes *text)
{
	const uint8_t *nl = memchr(text->data, '\n', text->len);
	size_t n = nl ? (size_t)(nl + 1 - text->data) : text->len;
	struct bytes line = bytes_of(text->data, n);

	text->data += n;
	text->len -= n;
	return line;
}

/* Is "? NAME" about the line "  NAME ..."? */
static bool is_about(struct bytes lost, struct bytes line)
{
	size_t n = lost.len - 1; /* without the end */

	return line.len > n && !memcmp(lost.data + 1, line.data + 1, n - 1) &&
	       (line.data[n] == '\n' ||
		(line.data[n] == ' ' && line.data[n + 1] == '@'));
}

/*
 * Of a moment in the past a store that has lost something may refuse, all or by
 * columns, and never be wrong.
 */
static bool past_agrees(const struct buf *store, const struct buf *reference)
{
	struct bytes got = buf_bytes(store), want = buf_bytes(reference);
	char refusal[16];

	snprintf(refusal, sizeof(refusal), "%d\n", -ENODATA);
	if (bytes_eq(got, bytes_str(refusal)))
		return true;
	while (got.len) {
		struct bytes line = next_line(&got), rest = want, other;

		other = next_line(&rest);
		if (line.data[0] != '?' && !bytes_eq(line, other))
			return false;
		if (line.data[0] != '?' || is_about(line, other))
			want = rest;
	}
	return !want.len;
}

static bool agree(const struct run *run, const struct world *w,
		  const struct step *s)
{
	const struct buf *a = run->answers;

	if (buf_eq(&a[0], &a[1]))
		return true;
	return s->kind == STEP_SCAN && s->scan.as_of && !s->scan.raw &&
	       !run->cluster && (!w->pristine || run->mode.ttl) &&
	       past_agrees(&a[0], &a[1]);
}

/*
 * Did the store say of the last step that it cannot do such a thing? Of a scan
 * the reference says it too.
 */
static bool is_refused(const struct run *run, const struct world *w,
		       const struct step *s)
{
	return run->cluster && w->result == -EOPNOTSUPP && s->kind != STEP_SCAN;
}

static bool is_refused_past(const struct world *w, const struct step *s)
{
	return s->kind == STEP_SCAN && s->scan.as_of && w->result < 0;
}

/* The index of the first step whose answers differ, or n. */
static size_t run_differs(struct run *run)
{
	struct world w[2] = {0};
	size_t i;

	worlds_open(run, w);
	for (i = 0; i < run->n; i++) {
		const struct step *s = &run->steps[i];
		const char *cannot =
			run->cluster ? subject_cluster_cannot(&w[0], s) : NULL;

		step_now = s->id;
		if (cannot) {
			leave_out(cannot);
			continue;
		}
		for (int k = 0; k < 2; k++) {
			run->answers[k].len = 0;
			if (k == 1 && (run->cluster || !w[0].pristine))
				ref_store_hint(w[1].store, w[0].given,
					       w[0].ngiven);
			/* What the cluster refuses nobody does. */
			if (k == 1 && is_refused(run, &w[0], s))
				break;
			world_apply(&w[k], s, &run->answers[k]);
		}
		if (is_refused(run, &w[0], s)) {
			leave_out(s->kind <= STEP_MANY
					  ? "changes that are refused"
					  : "acts on tables that are refused");
			continue;
		}
		steps_done++;
		if (!agree(run, &w[0], s))
			break;
		if (run->cluster && is_refused_past(&w[0], s))
			leave_out("moments of the past that are refused");
	}
	worlds_close(run, w);
	return i;
}

static void run_make(struct run *run, const struct options *o, uint64_t seed)
{
	uint64_t random = seed;
	struct step last = {.kind = STEP_DUMP, .id = o->steps};

	run->mode = step_mode_of(seed, o->classic);
	run->cluster = o->cluster;
	if (o->cluster)
		run->mode = subject_cluster_mode(seed, o->classic);
	run->plant = o->plant;
	run->remote = o->remote;
	run->threads = o->threads;
	run->n = o->steps + 1;
	run->steps = calloc(run->n, sizeof(*run->steps));
	if (!run->steps)
		fail("memory", -ENOMEM);
	for (uint32_t i = 0; i < o->steps; i++)
		step_make(&random, &run->mode, i, &run->steps[i]);
	run->steps[o->steps] = last;
}

static void run_free(struct run *run)
{
	free(run->steps);
	buf_free(&run->answers[0]);
	buf_free(&run->answers[1]);
}

/* Leaves out steps as long as what is left still differs. */
static void shrink(struct run *run, bool quiet)
{
	time_t end = time(NULL) + (run->cluster ? 100 : 20);
	size_t chunk = run->n / 2;

	while (chunk > 0 && time(NULL) < end) {
		bool less = false;

		for (size_t at = 0; at + chunk <= run->n && time(NULL) < end;) {
			struct run try = {.mode = run->mode,
					  .plant = run->plant,
					  .remote = run->remote,
					  .cluster = run->cluster,
					  .threads = run->threads,
					  .n = run->n - chunk};
			size_t bad;

			try.steps = calloc(try.n + 1, sizeof(*try.steps));
			if (!try.steps)
				fail("memory", -ENOMEM);
			memcpy(try.steps, run->steps, at * sizeof(*try.steps));
			memcpy(try.steps + at, run->steps + at + chunk,
			       (run->n - at - chunk) * sizeof(*try.steps));
			bad = run_differs(&try);
			if (bad == try.n) {
				run_free(&try);
				at += chunk;
				continue;
			}
			try.n = bad + 1;
			run_free(run);
			*run = try;
			less = true;
		}
		if (!less || chunk > run->n)
			chunk = chunk > run->n ? run->n / 2 : chunk / 2;
	}
	if (!quiet)
		fprintf(stderr, "model: %zu steps are enough:\n", run->n);
}

static void report(struct run *run, const struct options *o, uint64_t seed,
		   size_t bad)
{
	struct buf text = {0};

	fprintf(stderr,
		"model: seed %llu differs at step %zu; again with:\n"
		"model: model --seed %llu --runs 1 --steps %u%s%s%s%s\n",
		(unsigned long long)seed, bad, (unsigned long long)seed,
		o->steps, o->classic ? " --classic" : "",
		o->threads ? " --threads" : "",
		o->remote || o->cluster ? " --subject " : "",
		o->remote    ? "remote"
		: o->cluster ? o->cluster
			     : "");
	run->n = bad + 1;
	shrink(run, false);
	run_differs(run);
	for (size_t i = 0; i < run->n; i++)
		step_format(&run->steps[i], &text);
	say_difference(&text, &run->answers[0], &run->answers[1]);
	fprintf(stderr, "%.*s", (int)text.len, (const char *)text.data);
	buf_free(&text);
}

/* The seed that differed in *bad; 1 if one did. */
static int runs(const struct options *o, bool quiet, uint64_t *bad)
{
	time_t end = time(NULL) + o->seconds;

	for (unsigned i = 0; o->runs == 0 || i < o->runs; i++) {
		struct run run = {0};
		size_t at;

		if (o->seconds && time(NULL) >= end)
			break;
		seed_now = *bad = o->seed + i;
		run_make(&run, o, *bad);
		at = run_differs(&run);
		if (at < run.n) {
			if (!quiet)
				report(&run, o, *bad, at);
			run_free(&run);
			return 1;
		}
		run_free(&run);
	}
	return 0;
}

/* Each planted fault must be found. Returns how many were not. */
static int plants(struct options *o)
{
	int missed = 0;

	for (int p = PLANT_NONE + 1; p < PLANT_MAX; p++) {
		uint64_t seed;

		o->plant = (enum ref_plant)p;
		if (runs(o, true, &seed)) {
			printf("model: %s: found by seed %llu\n",
			       ref_plant_name(o->plant),
			       (unsigned long long)seed);
			continue;
		}
		printf("model: %s: NOT FOUND\n", ref_plant_name(o->plant));
		missed++;
	}
	return missed;
}

static void usage(void)
{
	fputs("usage: model [--seed N] [--runs N] [--steps N] [--seconds N]\n"
	      "             [--plant NAME | --plant all] [--classic] "
	      "[--threads]\n"
	      "             [--subject lsm|remote|hbase://HOST:PORT]\n",
	      stderr);
	exit(2);
}

static void plant_parse(struct options *o, const char *name)
{
	if (!strcmp(name, "all")) {
		o->plant_each = true;
		return;
	}
	for (int p = 0; p < PLANT_MAX; p++)
		if (!strcmp(name, ref_plant_name((enum ref_plant)p))) {
			o->plant = (enum ref_plant)p;
			return;
		}
	usage();
}

static void options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"seed", required_argument, NULL, 's'},
		{"runs", required_argument, NULL, 'r'},
		{"steps", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 't'},
		{"plant", required_argument, NULL, 'p'},
		{"classic", no_argument, NULL, 'c'},
		{"subject", required_argument, NULL, 'b'},
		{"threads", no_argument, NULL, 'm'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		switch (c) {
		case 's':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			o->runs = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 'n':
			o->steps = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 't':
			o->seconds = (unsigned)strtoul(optarg, NULL, 0);
			break;
		case 'p':
			plant_parse(o, optarg);
			break;
		case 'c':
			o->classic = true;
			break;
		case 'b':
			o->remote = !strcmp(optarg, "remote");
			o->cluster = store_is_directory(optarg) ? NULL : optarg;
			if (!o->remote && !o->cluster &&
			    strcmp(optarg, "lsm") != 0)
				usage();
			break;
		case 'm':
			o->threads = true;
			break;
		default:
			usage();
		}
	if (optind < argc)
		usage();
}

int main(int argc, char **argv)
{
	struct options o = {.seed = 1, .runs = 1000, .steps = 300};
	uint64_t seed;
	int r;

	options_parse(argc, argv, &o);
	signal(SIGSEGV, on_crash);
	signal(SIGABRT, on_crash);
	signal(SIGBUS, on_crash);
	if (o.plant_each)
		return plants(&o) ? 1 : 0;
	r = runs(&o, false, &seed);
	if (r == 0)
		printf("model: %llu steps in runs from seed %llu, no answer "
		       "differs\n",
		       (unsigned long long)steps_done,
		       (unsigned long long)o.seed);
	for (size_t i = 0; r == 0 && left_out[i].why; i++)
		printf("model: %llu steps left out: %s\n",
		       (unsigned long long)left_out[i].n, left_out[i].why);
	/* A planted fault is there to be found. */
	if (o.plant != PLANT_NONE)
		return r ? 0 : 1;
	return r;
}
