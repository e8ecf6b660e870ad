/*
 * The workloads that read.
 *
 * Each opens data that was made before, reads all of it once to fill the
 * caches, then repeats its call on random cells for some time. Every answer is
 * counted and its stamps are checked against the cell's number; if that would
 * cost more than the call, only one in sixteen is checked.
 */
#include "tools/bench/job.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	CALLS_A_CLOCK = 16,
	SEEK_CELLS = 30,
	LIST_ROWS = 30,
	SEEK_DELETED_ROWS = 100000,
};

typedef int read_fn(struct worker *w, uint64_t number);

static int wrong(const char *what, uint64_t number)
{
	return bench_fail("%s of cell %llu read wrong", what,
			  (unsigned long long)number);
}

static int open_warm(struct job *j)
{
	const struct span all = {0};
	struct tally t = {0};
	void *session;
	int r = job_open(j);

	if (r == 0 && j->workload->above)
		r = job_write_above(j);
	if (r == 0)
		r = j->engine->session(j->db, &session);
	if (r < 0)
		return r;
	r = j->engine->scan(session, &all, &t);
	j->engine->session_free(session);
	return r;
}

typedef int get_fn(void *session, const struct item *it, struct tally *t);

/* @get NULL: the first version of a scan of the column. */
static int read_cell(struct worker *w, uint64_t number, get_fn *get,
		     const char *what)
{
	struct tally t = {0};
	struct item it;
	const struct span sp = {.from = &it,
				.one_row = true,
				.one_column = true,
				.cells_max = 1};

	item_name(&w->job->shape, number, &it);
	if ((get ? get(w->session, &it, &t)
		 : w->job->engine->scan(w->session, &sp, &t)) < 0)
		return -1;
	if (t.cells != 1 || t.heads != stamp_head(number))
		return wrong(what, number);
	w->ops++;
	return 0;
}

static int read_get(struct worker *w, uint64_t number)
{
	return read_cell(w, number, w->job->engine->get, "a get");
}

static int read_newest(struct worker *w, uint64_t number)
{
	uint32_t versions = w->job->shape.versions;

	/* the last version of the column is the newest */
	number += versions - 1 - number % versions;
	return read_cell(w, number, w->job->engine->newest,
			 "the newest version");
}

static int read_snapshot(struct worker *w, uint64_t number)
{
	return read_cell(w, number, w->job->engine->snapshot_get,
			 "a get through a snapshot");
}

/* What @leave makes of the cell is not there. */
static int read_absent(struct worker *w, uint64_t number,
		       void (*leave)(struct item *it))
{
	struct tally t = {0};
	struct item it;
	int r;

	item_name(&w->job->shape, number, &it);
	leave(&it);
	r = w->job->engine->get(w->session, &it, &t);
	if (r > 0 || t.cells)
		return wrong("a cell that is not there, instead", number);
	w->ops++;
	return r;
}

static int read_miss_row(struct worker *w, uint64_t number)
{
	return read_absent(w, number, item_absent_row);
}

static int read_miss_column(struct worker *w, uint64_t number)
{
	return read_absent(w, number, item_absent_column);
}

/* Scans @sp, which must return the @n cells from @first on. */
static int read_span(struct worker *w, const struct span *sp, uint64_t first,
		     uint64_t n)
{
	struct tally t = {0}, want = {0};

	if (w->job->engine->scan(w->session, sp, &t) < 0)
		return -1;
	if (t.cells != n)
		return wrong("the number of cells from that", first);
	if (w->calls++ % 16 == 0) {
		tally_shape(&want, &w->job->shape, first, n);
		if (want.heads != t.heads)
			return wrong("the cells from that", first);
	}
	w->ops += n;
	return 0;
}

static int read_row(struct worker *w, uint64_t number)
{
	const struct shape *s = &w->job->shape;
	uint64_t first = number - number % s->columns;
	uint64_t left = s->cells - first;
	struct item it;
	const struct span sp = {.from = &it, .one_row = true};

	item_name(s, first, &it);
	if (left > s->columns)
		left = s->columns;
	return read_span(w, &sp, first, left * shape_copies(s, first));
}

static int read_seek(struct worker *w, uint64_t number)
{
	const struct shape *s = &w->job->shape;
	uint64_t first = number - number % s->columns;
	uint64_t left = s->cells - first;
	struct item it;
	const struct span sp = {.from = &it, .cells_max = SEEK_CELLS};

	item_name(s, first, &it);
	return read_span(w, &sp, first, left < SEEK_CELLS ? left : SEEK_CELLS);
}

static int read_first_rows(struct worker *w, uint64_t number)
{
	uint64_t rows = shape_rows(&w->job->shape), n = 0;
	uint64_t want = rows < LIST_ROWS ? rows : LIST_ROWS;

	if (w->job->engine->rows(w->session, LIST_ROWS, &n) < 0)
		return -1;
	if (n != want)
		return wrong("the first rows from that", 0);
	w->ops++;
	return 0;
}

static int read_versions(struct worker *w, uint64_t number)
{
	const struct shape *s = &w->job->shape;
	uint64_t first = number - number % s->versions;
	struct item it;
	const struct span sp = {
		.from = &it, .one_row = true, .one_column = true};

	item_name(s, first, &it);
	return read_span(w, &sp, first, s->versions);
}

static int repeat(struct worker *w, read_fn *fn)
{
	double end = job_clock() + w->job->set->seconds;
	uint64_t cells = w->job->shape.cells;
	int r = 0;

	do {
		for (int i = 0; r == 0 && i < CALLS_A_CLOCK; i++)
			r = fn(w, rng_below(&w->rng, cells));
	} while (r == 0 && job_clock() < end);
	return r;
}

static int measure(struct job *j, int (*fn)(struct worker *w))
{
	unsigned threads = j->workload->threads ? j->workload->threads : 1;
	int r = open_warm(j);

	if (r < 0)
		return r;
	job_measure_begin(j);
	r = job_threads(j, threads, fn);
	job_measure_end(j);
	return r;
}

#define DEFINE_RUN(name, one)                      \
	static int repeat_##name(struct worker *w) \
	{                                          \
		return repeat(w, one);             \
	}                                          \
	int run_##name(struct job *j)              \
	{                                          \
		return measure(j, repeat_##name);  \
	}

DEFINE_RUN(get, read_get)
DEFINE_RUN(newest, read_newest)
DEFINE_RUN(miss_row, read_miss_row)
DEFINE_RUN(miss_column, read_miss_column)
DEFINE_RUN(row, read_row)
DEFINE_RUN(seek, read_seek)
DEFINE_RUN(first_rows, read_first_rows)
DEFINE_RUN(versions, read_versions)

/* Scans all, until the time is over; each time the answer is @want. */
static int scan_all(struct worker *w, const struct tally *want,
		    const char *what)
{
	double end = job_clock() + w->job->set->seconds;
	const struct span all = {0};
	int r = 0;

	while (r == 0 && (!w->ops || job_clock() < end)) {
		struct tally t = {0};

		r = w->job->engine->scan(w->session, &all, &t);
		if (r == 0 && !tally_eq(&t, want))
			r = wrong(what, 0);
		w->ops += t.cells;
	}
	return r;
}

static int scan_worker(struct worker *w)
{
	struct tally want = {0};

	tally_shape(&want, &w->job->shape, 0, UINT64_MAX);
	return scan_all(w, &want, "a scan from that");
}

int run_scan(struct job *j)
{
	return measure(j, scan_worker);
}

static int rows_worker(struct worker *w)
{
	double end = job_clock() + w->job->set->seconds;
	uint64_t rows = shape_rows(&w->job->shape);
	int r = 0;

	while (r == 0 && (!w->ops || job_clock() < end)) {
		uint64_t n = 0;

		r = w->job->engine->rows(w->session, 0, &n);
		if (r == 0 && n != rows)
			r = wrong("the list of rows from that", 0);
		w->ops += n;
	}
	return r;
}

int run_rows(struct job *j)
{
	return measure(j, rows_worker);
}

static int scan_deleted_worker(struct worker *w)
{
	const struct shape *s = &w->job->shape;
	uint64_t first = job_first_alive(w->job) * s->columns;
	struct tally want = {0};

	tally_expect(&want, first, s->cells - first, 1, 0);
	return scan_all(w, &want, "a scan over deleted rows from that");
}

int run_scan_deleted(struct job *j)
{
	return measure(j, scan_deleted_worker);
}

/* The first of the deleted rows before the live ones that a seek skips. */
static uint64_t first_skipped(const struct job *j)
{
	uint64_t alive = job_first_alive(j);

	return alive - (alive < SEEK_DELETED_ROWS ? alive : SEEK_DELETED_ROWS);
}

static int seek_deleted_worker(struct worker *w)
{
	double end = job_clock() + w->job->set->seconds;
	const struct shape *s = &w->job->shape;
	uint64_t alive = job_first_alive(w->job) * s->columns;
	struct item it;
	const struct span sp = {.from = &it, .cells_max = SEEK_CELLS};
	int r = 0;

	item_name(s, first_skipped(w->job) * s->columns, &it);
	do {
		r = read_span(w, &sp, alive, SEEK_CELLS);
	} while (r == 0 && job_clock() < end);
	w->ops = w->calls; /* seeks, not cells */
	return r;
}

int run_seek_deleted(struct job *j)
{
	return measure(j, seek_deleted_worker);
}

/* Writes and deletes rows, and does not wait for a merge. */
int run_seek_erased(struct job *j)
{
	uint64_t first = first_skipped(j), alive = job_first_alive(j);
	int r = open_warm(j);

	if (r == 0)
		r = job_rows(j, first, alive, false);
	if (r == 0)
		r = job_rows(j, first, alive, true);
	if (r < 0)
		return r;
	job_measure_begin(j);
	r = job_threads(j, 1, seek_deleted_worker);
	job_measure_end(j);
	return r;
}

static int put_again(struct worker *w, uint64_t number)
{
	struct item it;

	item_make(&w->job->shape, number, 2, &it);
	if (w->job->engine->write(w->session, &it, 1, false) < 0)
		return -1;
	w->ops++;
	return 0;
}

DEFINE_RUN(put, put_again)

struct writer {
	struct job *job;
	_Atomic bool stop;
	int r;
};

static void *writer_main(void *arg)
{
	struct writer *wr = arg;
	struct job *j = wr->job;
	struct rng rng = job_rng(j, THREADS_MAX);
	struct item it;
	void *session;

	wr->r = j->engine->session(j->db, &session);
	if (wr->r < 0)
		return NULL;
	while (wr->r == 0 && !wr->stop) {
		item_make(&j->shape, rng_below(&rng, j->shape.cells), 2, &it);
		wr->r = j->engine->write(session, &it, 1, false);
	}
	j->engine->session_free(session);
	return NULL;
}

static int beside_writer(struct job *j, int (*fn)(struct worker *w))
{
	struct writer wr = {.job = j};
	pthread_t id;
	int r = open_warm(j);

	if (r < 0)
		return r;
	if (pthread_create(&id, NULL, writer_main, &wr) != 0)
		return bench_fail("no thread for the writer");
	job_measure_begin(j);
	r = job_threads(j, 1, fn);
	job_measure_end(j);
	wr.stop = true;
	pthread_join(id, NULL);
	return r < 0 ? r : wr.r;
}

int run_read_writing(struct job *j)
{
	return beside_writer(j, repeat_get);
}

static int repeat_snapshot(struct worker *w)
{
	return repeat(w, read_snapshot);
}

int run_snapshot(struct job *j)
{
	return beside_writer(j, repeat_snapshot);
}
