/*
 * cellfs-bench: the workloads on every engine, interleaved.
 *
 * A run is every workload once on every engine, engine after engine, so that
 * other load on the machine affects all alike. Workloads that share data follow
 * each other: the data is made for each engine, then all runs read it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fs/host/descriptors.h"
#include "fs/host/mountpoint.h"
#include "tools/bench/report.h"
#include "tools/progress/progress.h"

enum {
	EXIT_DONE = 0,
	EXIT_WRONG = 1, /* an engine failed or gave a wrong answer */
	EXIT_USAGE = 2,
	EXIT_TROUBLE = 3
};

static const char usage_text[] =
	"usage: cellfs-bench [--list] [--only NAME,...] [--engines NAME,...]\n"
	"                    [--cells N] [--runs N] [--seconds S] [--cache "
	"MIB]\n"
	"                    [--buffer MIB] [--dir DIR] [--json FILE] "
	"[--progress]\n";

static const char help_text[] =
	"\nRuns named workloads on a store of its own and on the engines that\n"
	"cellfs-bench was built with, interleaved, and prints medians and "
	"ratios.\n"
	"  --list     names of engines and workloads\n"
	"  --only     these workloads; NAME* is all that begin so\n"
	"  --engines  these engines\n"
	"  --cells    cells of the data (default 5000000)\n"
	"  --runs     of each workload (default 3)\n"
	"  --seconds  of a workload that reads (default 1)\n"
	"  --cache    MiB of block cache at most (default: what the data "
	"wants)\n"
	"  --buffer   MiB of write buffer (default 64)\n"
	"  --dir      where files are made, and removed (default .)\n"
	"  --json     all figures of all runs, to FILE\n"
	"  --progress how far it is also where no terminal is\n"
	"Exits 1 when an engine failed or answered wrong.\n"
	"\nexample: cellfs-bench --cells 200000 --only 'get*'\n";

extern const struct engine bench_cellfs, bench_rocksdb, bench_leveldb,
	bench_lmdb, bench_sqlite;

const struct engine *const bench_engines[] = {
	&bench_cellfs,
#ifdef BENCH_ROCKSDB
	&bench_rocksdb,
#endif
#ifdef BENCH_LEVELDB
	&bench_leveldb,
#endif
#ifdef BENCH_LMDB
	&bench_lmdb,
#endif
#ifdef BENCH_SQLITE
	&bench_sqlite,
#endif
	NULL,
};

struct bench {
	struct settings set;
	struct report report;
	struct result *shared;	 /* with the child */
	bool ready[ENGINES_MAX]; /* has the present data */
	char dir[300], what[64];
	const char *json;
};

static int help(void)
{
	printf("%s%s", usage_text, help_text);
	return EXIT_DONE;
}

static int list(void)
{
	printf("engines:");
	for (size_t e = 0; bench_engines[e]; e++)
		printf(" %s", bench_engines[e]->name);
	printf("\n\n");
	for (const struct workload *w = bench_workloads; w->name; w++)
		printf("  %-20s %s\n", w->name, w->line);
	return EXIT_DONE;
}

/* Is @name in the list A,B,C? A list entry ending in * matches a prefix. */
static bool in_list(const char *list, const char *name)
{
	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n && list[n - 1] == '*' && !strncmp(list, name, n - 1))
			return true;
		if (n == strlen(name) && !strncmp(list, name, n))
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static bool known(const char *list, bool engines)
{
	while (*list) {
		size_t n = strcspn(list, ",");
		char one[64];
		bool found = false;

		snprintf(one, sizeof(one), "%.*s", (int)n, list);
		for (size_t i = 0; engines && bench_engines[i]; i++)
			found |= in_list(one, bench_engines[i]->name);
		for (size_t i = 0; !engines && bench_workloads[i].name; i++)
			found |= in_list(one, bench_workloads[i].name);
		if (!found) {
			fprintf(stderr,
				"cellfs-bench: there is no %s '%s': --list "
				"names all\n",
				engines ? "engine" : "workload", one);
			return false;
		}
		list += n + (list[n] == ',');
	}
	return true;
}

static int select_all(struct bench *b, const char *only, const char *engines)
{
	struct report *rep = &b->report;

	if ((only && !known(only, false)) || (engines && !known(engines, true)))
		return EXIT_USAGE;
	for (size_t e = 0; bench_engines[e]; e++)
		if (!engines || in_list(engines, bench_engines[e]->name))
			rep->engines[rep->nengines++] = bench_engines[e];
	while (bench_workloads[rep->nworkloads].name) {
		const char *name = bench_workloads[rep->nworkloads].name;

		rep->wanted[rep->nworkloads++] = !only || in_list(only, name);
	}
	return EXIT_DONE;
}

static bool runs(const struct bench *b, unsigned w)
{
	for (unsigned i = 0; i < b->report.nworkloads; i++)
		if (b->report.wanted[i] && report_source(&b->report, i) == w)
			return true;
	return false;
}

static bool needs(const struct bench *b, enum dataset data)
{
	for (unsigned w = 0; w < b->report.nworkloads; w++)
		if (runs(b, w) && bench_workloads[w].data == data)
			return true;
	return false;
}

static struct job make_job(struct bench *b, unsigned e, unsigned w)
{
	return (struct job){
		.engine = b->report.engines[e],
		.workload = &bench_workloads[w],
		.set = &b->set,
		.result = b->shared,
	};
}

static void say(struct bench *b, const char *what, unsigned run,
		const struct engine *e)
{
	snprintf(b->what, sizeof(b->what), "%.20s, run %u, %.10s", what,
		 run + 1, e->name);
	(void)progress_add(0);
}

/* How often an engine runs a workload. */
static uint64_t all_runs(const struct bench *b)
{
	uint64_t n = 0;

	for (unsigned w = 0; w < b->report.nworkloads; w++)
		n += runs(b, w);
	return n * b->set.runs * b->report.nengines;
}

/* Three datasets share a directory: a later one needs the earlier ones. */
static void prepare(struct bench *b, enum dataset data)
{
	bool later = data == DATA_SETTLED &&
		     (needs(b, DATA_MAJOR) || needs(b, DATA_CHURN));
	bool compact = data == DATA_MAJOR && needs(b, DATA_CHURN);

	if (data == DATA_EMPTY || data == DATA_CHURN)
		return;
	if (!needs(b, data) && !later && !compact)
		return;
	for (unsigned e = 0; e < b->report.nengines; e++) {
		struct job j = make_job(b, e, 0);

		if (progress_stopped())
			return;
		if (data == DATA_MAJOR && !b->ready[e])
			continue;
		j.workload = NULL;
		say(b, "data", 0, j.engine);
		job_prepare(&j, data);
		b->ready[e] = b->shared->done;
		if (!b->ready[e] && !progress_stopped())
			fprintf(stderr, "\ndata for %s: %s\n", j.engine->name,
				b->shared->why);
	}
}

static void run_once(struct bench *b, unsigned w, unsigned run)
{
	for (unsigned e = 0; e < b->report.nengines; e++) {
		struct job j = make_job(b, e, w);
		struct result *to = &b->report.results[w][e][run];

		if (bench_workloads[w].data != DATA_EMPTY && !b->ready[e]) {
			snprintf(to->why, sizeof(to->why), "no data");
			(void)progress_add(1);
			continue;
		}
		say(b, bench_workloads[w].name, run, j.engine);
		job_run(&j);
		*to = *b->shared;
		if (!progress_add(1))
			return;
	}
}

static void run_part(struct bench *b, enum dataset data)
{
	prepare(b, data);
	for (unsigned run = 0; run < b->set.runs; run++)
		for (unsigned w = 0; w < b->report.nworkloads; w++)
			if (runs(b, w) && bench_workloads[w].data == data &&
			    !progress_stopped())
				run_once(b, w, run);
	if (data == DATA_SETTLED || data == DATA_MAJOR)
		return;
	for (unsigned e = 0; e < b->report.nengines; e++) {
		struct job j = make_job(b, e, 0);

		job_dir(&j, data);
		job_remove(j.dir);
	}
}

static int set_up(struct bench *b)
{
	size_t size = sizeof(*b->shared);

	b->report.set = &b->set;
	b->report.results = calloc(WORKLOADS_MAX, sizeof(*b->report.results));
	b->shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!b->report.results || b->shared == MAP_FAILED)
		return -ENOMEM;
	if (mkdir(b->set.dir, 0755) != 0 && errno != EEXIST)
		return -errno;
	snprintf(b->dir, sizeof(b->dir), "%s/cellfs-bench-XXXXXX", b->set.dir);
	if (!mkdtemp(b->dir))
		return -errno;
	b->set.dir = b->dir;
	data_init();
	return 0;
}

static int run_bench(struct bench *b)
{
	unsigned failures;
	int r = set_up(b);

	if (r < 0) {
		fprintf(stderr, "cellfs-bench: %s: %s\n", b->set.dir,
			strerror(-r));
		return EXIT_TROUBLE;
	}
	progress_begin(b->what, "runs", all_runs(b));
	for (enum dataset d = 0; d < DATASETS && !progress_stopped(); d++)
		run_part(b, d);
	job_remove(b->dir);
	progress_clear();
	if (progress_stopped()) {
		progress_say_stopped("%llu of %llu runs were done, of which "
				     "nothing is kept",
				     (unsigned long long)progress_done(),
				     (unsigned long long)all_runs(b));
		return EXIT_TROUBLE;
	}
	report_table(&b->report, stdout);
	fflush(stdout);
	failures = report_failures(&b->report, stderr);
	if (b->json && (r = report_json(&b->report, b->json)) < 0) {
		fprintf(stderr, "cellfs-bench: %s: %s\n", b->json,
			strerror(-r));
		return EXIT_TROUBLE;
	}
	return failures ? EXIT_WRONG : EXIT_DONE;
}

static bool number(const char *text, double min, double max, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return !errno && end > text && !*end && *out >= min && *out <= max;
}

/* Prints a sentence, if there is one, and the usage. */
__attribute__((format(printf, 1, 2))) static int fail_usage(const char *fmt,
							    ...)
{
	va_list ap;

	if (fmt) {
		fputs("cellfs-bench: ", stderr);
		va_start(ap, fmt);
		vfprintf(stderr, fmt, ap);
		va_end(ap);
		fputs("\n", stderr);
	}
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

/* Refuses a mount: it would be measured, and the files would be cells. */
static int check_dir(const char *dir)
{
	char *mountpoint = NULL;
	int r = mountpoint_find(dir, &mountpoint);

	if (r > 0)
		fprintf(stderr,
			"cellfs-bench: %s is mounted at %s: name a directory "
			"of a disk\n",
			dir, mountpoint);
	else if (r < 0)
		fprintf(stderr, "cellfs-bench: %s: %s\n", dir, strerror(-r));
	free(mountpoint);
	return r ? EXIT_TROUBLE : EXIT_DONE;
}

static int run_words(int argc, char **argv)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"list", no_argument, NULL, 'l'},
		{"only", required_argument, NULL, 'o'},
		{"engines", required_argument, NULL, 'e'},
		{"cells", required_argument, NULL, 'c'},
		{"runs", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"cache", required_argument, NULL, 'm'},
		{"buffer", required_argument, NULL, 'b'},
		{"dir", required_argument, NULL, 'd'},
		{"json", required_argument, NULL, 'j'},
		{"progress", no_argument, NULL, 'p'},
		{0}};
	const char *only = NULL, *engines = NULL;
	double cells = 5e6, times = 3, seconds = 1, cache_mib = 0;
	double buffer_mib = 64;
	struct bench b = {.set = {.dir = "."}};
	bool good = true;
	int c, code;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'h')
			return help();
		else if (c == 'l')
			return list();
		else if (c == 'o')
			only = optarg;
		else if (c == 'e')
			engines = optarg;
		else if (c == 'c')
			good &= number(optarg, 4000, 1e9, &cells);
		else if (c == 'r')
			good &= number(optarg, 1, RUNS_MAX, &times);
		else if (c == 's')
			good &= number(optarg, 0.01, 600, &seconds);
		else if (c == 'm')
			good &= number(optarg, 1, 1e6, &cache_mib);
		else if (c == 'b')
			good &= number(optarg, 1, 1e6, &buffer_mib);
		else if (c == 'd')
			b.set.dir = optarg;
		else if (c == 'p')
			progress_force();
		else if (c == 'j')
			b.json = optarg;
		else
			return fail_usage(NULL);
	}
	if (!good || optind < argc)
		return fail_usage("cells are 4,000 to 1e9, runs 1 to %d, "
				  "seconds 0.01 to 600, MiB of cache and of "
				  "write buffer 1 to 1e6",
				  RUNS_MAX);
	b.set.cells = (uint64_t)cells / 1000 * 1000;
	b.set.runs = (unsigned)times;
	b.set.seconds = seconds;
	b.set.cache_bytes = (size_t)(cache_mib * (1 << 20));
	b.set.buffer_bytes = (size_t)(buffer_mib * (1 << 20));
	code = check_dir(b.set.dir);
	if (code == EXIT_DONE)
		code = select_all(&b, only, engines);
	if (code == EXIT_DONE)
		code = run_bench(&b);
	free(b.report.results);
	if (b.shared)
		munmap(b.shared, sizeof(*b.shared));
	return code;
}

int main(int argc, char **argv)
{
	int code;

	descriptors_fill();
	code = run_words(argc, argv);
	if (progress_stopped() && code == EXIT_TROUBLE)
		progress_end(progress_stopped());
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fprintf(stderr, "cellfs-bench: cannot write the output: %s\n",
		strerror(errno));
	return EXIT_TROUBLE;
}
