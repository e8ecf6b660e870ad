/*
 * Asks a table of a cluster of HBase one thing again and again, as Speed.java
 * does with HBase's own client.
 *
 * usage: hbase-speed STORE TABLE WHAT CALLERS SECONDS ROWS
 *
 * The table has the family f with columns a to e, and ROWS rows, of which WHAT
 * is one of
 *	fill	all of them, once, 1,000 a batch
 *	get	a column of a row that is there
 *	row	all columns of a row
 *	put	a column of a row, at the clock
 *	auto	the same, above all versions that are there (an echo's)
 *	puts	1,000 different rows of a column in a batch
 *	scan	all cells of a tenth of the rows
 *	rows	the names of a tenth of the rows
 * CALLERS threads do it for SECONDS. Standard output has: calls a second (of
 * puts, scan and rows: rows a second) and microseconds of CPU for each.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "store/store.h"

enum {
	BATCH = 1000,
	COLUMNS = 5,
	VALUE_BYTES = 100,
	CALLERS_MAX = 64,
	SCATTERED = 97, /* from a row of a batch to the next */
};

static const char columns[COLUMNS] = "abcde";
static uint8_t value[VALUE_BYTES];

struct job;

struct what {
	const char *name;
	/* How many of what is counted were done, or -errno. */
	int64_t (*run)(struct job *job);
	bool once;
};

struct job {
	struct table *table;
	const struct what *what;
	uint64_t rows, state; /* of the caller's random numbers */
	double until;
	uint64_t done;
	int err;
	pthread_t thread;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static uint64_t any_row(struct job *job)
{
	job->state = job->state * 6364136223846793005u + 1442695040888963407u;
	return (job->state >> 33) % job->rows;
}

static struct bytes row_name(uint64_t i, char text[24])
{
	snprintf(text, 24, "row%09" PRIu64, i);
	return bytes_str(text);
}

static int64_t run_get(struct job *job)
{
	char text[24];
	struct cell cell;
	struct buf hold = {0};
	int r = table_get(job->table, row_name(any_row(job), text),
			  bytes_str("f"), bytes_str("c"), TS_MAX, NULL, &cell,
			  &hold);

	buf_free(&hold);
	return r == 0 ? -ENOENT : r;
}

/* How many rows the scan meets: by their names, or by their cells. */
static int64_t run_spec(struct job *job, const struct scan_spec *spec)
{
	struct cell cells[64];
	struct scan *sc;
	int64_t n = 0;
	int r = scan_open(job->table, spec, &sc);

	if (r < 0)
		return r;
	while ((r = scan_next_many(sc, cells, 64)) > 0)
		n += r;
	scan_close(sc);
	return r < 0 ? r : spec->granularity == SCAN_ROWS ? n : n / COLUMNS;
}

static int64_t run_row(struct job *job)
{
	char text[24];
	struct bytes row = row_name(any_row(job), text);
	struct scan_spec spec = {
		.granularity = SCAN_COLUMNS,
		.row_start = row,
		.row_stop = row,
		.row_stop_inclusive = true,
	};

	return run_spec(job, &spec);
}

static int64_t run_tenth(struct job *job, uint8_t granularity)
{
	uint64_t first = any_row(job) * 9 / 10;
	char start[24], stop[24];
	struct scan_spec spec = {
		.granularity = granularity,
		.row_start = row_name(first, start),
		.row_stop = row_name(first + job->rows / 10, stop),
	};

	return run_spec(job, &spec);
}

static int64_t run_scan(struct job *job)
{
	return run_tenth(job, SCAN_COLUMNS);
}

static int64_t run_rows(struct job *job)
{
	return run_tenth(job, SCAN_ROWS);
}

static struct change put_of(unsigned column, int64_t ts)
{
	return (struct change){
		.op = CHANGE_PUT,
		.family = bytes_str("f"),
		.qualifier = bytes_of(&columns[column], 1),
		.ts = ts,
		.value = bytes_of(value, sizeof(value)),
	};
}

static int64_t put_one(struct job *job, int64_t ts)
{
	char text[24];
	struct change c = put_of(2, ts);
	struct mutation m = {
		.row = row_name(any_row(job), text),
		.changes = &c,
		.nchanges = 1,
	};

	return table_mutate(job->table, &m, 0);
}

static int64_t run_put(struct job *job)
{
	return put_one(job, TS_CLOCK);
}

static int64_t run_auto(struct job *job)
{
	return put_one(job, TS_AUTO);
}

/* Puts BATCH rows: all from @first on, or of one column, scattered ones. */
static int64_t put_batch(struct job *job, uint64_t first, unsigned ncolumns)
{
	static _Thread_local char text[BATCH][24];
	static _Thread_local struct change c[BATCH * COLUMNS];
	struct mutation m[BATCH];
	size_t done;
	int r;

	if (ncolumns == 1)
		first = any_row(job);
	for (unsigned i = 0; i < BATCH; i++) {
		uint64_t row = ncolumns == 1
				       ? (first + i * SCATTERED) % job->rows
				       : first + i;

		for (unsigned k = 0; k < ncolumns; k++)
			c[i * COLUMNS + k] =
				put_of(ncolumns == 1 ? 2 : k, TS_CLOCK);
		m[i] = (struct mutation){
			.row = row_name(row, text[i]),
			.changes = &c[(size_t)i * COLUMNS],
			.nchanges = ncolumns,
		};
	}
	r = table_mutate_many(job->table, m, BATCH, 0, &done);
	return r < 0 ? r : BATCH;
}

static int64_t run_puts(struct job *job)
{
	return put_batch(job, 0, 1);
}

static int64_t run_fill(struct job *job)
{
	int64_t r = 0;

	for (uint64_t i = 0; r >= 0 && i < job->rows; i += BATCH)
		r = put_batch(job, i, COLUMNS);
	return r < 0 ? r : (int64_t)job->rows;
}

static const struct what whats[] = {
	{"fill", run_fill, true},  {"get", run_get, false},
	{"row", run_row, false},   {"put", run_put, false},
	{"auto", run_auto, false}, {"puts", run_puts, false},
	{"scan", run_scan, false}, {"rows", run_rows, false},
};

static void *caller(void *arg)
{
	struct job *job = arg;

	do {
		int64_t n = job->what->run(job);

		if (n < 0) {
			job->err = (int)n;
			fprintf(stderr, "hbase-speed: %s\n", store_why());
			break;
		}
		job->done += (uint64_t)n;
	} while (now() < job->until && !job->what->once);
	return NULL;
}

/* Runs all callers; how much they did, or -1. */
static int64_t together(struct job *jobs, unsigned n, double seconds)
{
	double until = now() + seconds;
	int64_t done = 0;

	for (unsigned i = 0; i < n; i++) {
		jobs[i].until = until;
		jobs[i].done = 0;
		if (pthread_create(&jobs[i].thread, NULL, caller, &jobs[i]))
			abort();
	}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(jobs[i].thread, NULL);
		done = jobs[i].err || done < 0 ? -1
					       : done + (int64_t)jobs[i].done;
	}
	return done;
}

static int measure(struct table *t, const struct what *what, unsigned callers,
		   double seconds, uint64_t rows)
{
	struct job jobs[CALLERS_MAX];
	double began, used;
	int64_t done;

	for (unsigned i = 0; i < callers; i++)
		jobs[i] = (struct job){
			.table = t,
			.what = what,
			.rows = rows,
			.state = 12345 + i * 7919,
		};
	/* The first calls find regions and connect. */
	if (!what->once && together(jobs, callers, seconds / 4) < 0)
		return 1;
	began = now();
	used = cpu();
	done = together(jobs, callers, seconds);
	if (done < 0)
		return 1;
	printf("%.0f %.2f\n", (double)done / (now() - began),
	       (cpu() - used) * 1e6 / (double)done);
	return 0;
}

int main(int argc, char **argv)
{
	struct store_options o = {.create = false};
	const struct what *what = NULL;
	struct store *s;
	struct table *t;
	unsigned callers;
	int r;

	for (size_t i = 0; argc == 7 && i < sizeof(whats) / sizeof(*whats); i++)
		if (strcmp(whats[i].name, argv[3]) == 0)
			what = &whats[i];
	if (!what) {
		fprintf(stderr, "usage: hbase-speed STORE TABLE WHAT CALLERS "
				"SECONDS ROWS\n");
		return 2;
	}
	callers = (unsigned)atoi(argv[4]);
	if (callers < 1 || callers > CALLERS_MAX)
		callers = 1;
	r = store_open(argv[1], &o, &s);
	if (r == 0) {
		r = table_open(s, bytes_str(argv[2]), &t);
		if (r == 0) {
			r = measure(t, what, callers, atof(argv[5]),
				    strtoull(argv[6], NULL, 10));
			table_unref(t);
		}
		store_close(s);
	}
	if (r < 0)
		fprintf(stderr, "hbase-speed: %s\n", store_why());
	return r ? 1 : 0;
}
