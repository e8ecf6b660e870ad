#include "tools/bench/job.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/os/clock.h"
#include "store/os/thread.h"

enum {
	BATCH_MAX = 1000,
	COLUMNS = 4,
	WIDE_COLUMNS = 1000,
	VERSIONS = 1000,
	DELETED_PERCENT = 90,
	TWICE_ROWS = 100,
	VERSIONS_KEPT = 3, /* of those */
	PARTS = 3,
	PARTS_CELLS = 100000, /* a larger set is merged when nobody writes */
};

static char said[256];

int bench_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
	return -1;
}

void *bench_own_lines(size_t size)
{
	void *p;

	size += -size % CACHE_LINE;
	p = aligned_alloc(CACHE_LINE, size);
	return p ? memset(p, 0, size) : NULL;
}

const char *bench_why(void)
{
	return said[0] ? said : "failed";
}

double job_clock(void)
{
	return (double)monotonic_ns() / NS_PER_S;
}

static _Thread_local uint64_t blocks;

static int add_file(const char *path, const struct stat *st, int type,
		    struct FTW *ftw)
{
	blocks += (uint64_t)st->st_blocks;
	return 0;
}

static int remove_file(const char *path, const struct stat *st, int type,
		       struct FTW *ftw)
{
	return remove(path);
}

uint64_t job_disk_bytes(const char *dir)
{
	blocks = 0;
	nftw(dir, add_file, 16, FTW_PHYS);
	return blocks * 512;
}

void job_remove(const char *dir)
{
	nftw(dir, remove_file, 16, FTW_PHYS | FTW_DEPTH);
}

/* A directory that is written to is the one that was read before. */
void job_dir(struct job *j, enum dataset data)
{
	static const char *const names[DATASETS] = {
		[DATA_EMPTY] = "fill",	 [DATA_SETTLED] = "data",
		[DATA_MAJOR] = "data",	 [DATA_CHURN] = "data",
		[DATA_WIDE] = "wide",	 [DATA_VERSIONS] = "versions",
		[DATA_DELETED] = "gone", [DATA_ERASED] = "going",
		[DATA_TWICE] = "twice",	 [DATA_PARTS] = "parts",
	};
	uint64_t cells = j->set->cells;

	snprintf(j->dir, sizeof(j->dir), "%s/%s-%s", j->set->dir,
		 j->engine->name, names[data]);
	j->shape = (struct shape){cells, COLUMNS, 1, 0};
	if (data == DATA_WIDE)
		j->shape.columns = WIDE_COLUMNS;
	if (data == DATA_VERSIONS)
		j->shape = (struct shape){cells / 5 / VERSIONS * VERSIONS, 1,
					  VERSIONS, 0};
	if (data == DATA_TWICE)
		j->shape.twice = TWICE_ROWS;
	if (data == DATA_PARTS && cells > PARTS_CELLS)
		j->shape.cells = PARTS_CELLS;
	if (!j->shape.cells)
		j->shape.cells = VERSIONS;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static uint64_t peak_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss << 10;
}

/* Bytes this process has caused to be written to disk. */
static uint64_t written_bytes(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	unsigned long long n = 0;
	char line[80];

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "write_bytes: %llu", &n) == 1)
			break;
	fclose(f);
	return n;
}

void job_measure_begin(struct job *j)
{
	j->given_bytes = 0;
	j->cpu_before = cpu_seconds();
	j->written_before = written_bytes();
}

void job_measure_end(struct job *j)
{
	struct result *r = j->result;

	r->cpu_seconds = cpu_seconds() - j->cpu_before;
	r->peak_bytes = peak_bytes();
	if (j->given_bytes)
		r->written = (double)(written_bytes() - j->written_before) /
			     (double)j->given_bytes;
}

void job_quiet(struct job *j)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	unsigned calm = 0;

	for (unsigned i = 0; i < 6000 && calm < 4; i++) {
		uint64_t size = job_disk_bytes(j->dir);
		double cpu = cpu_seconds();

		nanosleep(&pause, NULL);
		if (cpu_seconds() - cpu < 0.01 &&
		    size == job_disk_bytes(j->dir))
			calm++;
		else
			calm = 0;
	}
}

int job_open(struct job *j)
{
	j->options.dir = j->dir;
	return j->engine->open(&j->options, &j->db);
}

int job_close(struct job *j)
{
	void *db = j->db;

	j->db = NULL;
	return db ? j->engine->close(db) : 0;
}

struct start {
	pthread_barrier_t barrier;
	int (*fn)(struct worker *w);
};

struct thread {
	_Alignas(CACHE_LINE) struct worker worker;
	struct start *start;
	pthread_t id;
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	pthread_barrier_wait(&t->start->barrier);
	t->worker.r = t->start->fn(&t->worker);
	return NULL;
}

/* Starts all threads at once; the seconds until the last is done. */
static double run_all(struct thread *t, unsigned n, struct start *start)
{
	unsigned started = 0;
	double begin;

	pthread_barrier_init(&start->barrier, NULL, n + 1);
	for (; started < n; started++) {
		t[started].start = start;
		if (pthread_create(&t[started].id, NULL, thread_main,
				   &t[started]) != 0)
			abort(); /* the rest wait for it at the barrier */
	}
	begin = job_clock();
	pthread_barrier_wait(&start->barrier);
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i].id, NULL);
	pthread_barrier_destroy(&start->barrier);
	return job_clock() - begin;
}

struct rng job_rng(const struct job *j, unsigned thread)
{
	uint64_t workload = (uint64_t)(j->workload - bench_workloads);

	return (struct rng){workload << 48 | (uint64_t)thread << 40};
}

int job_threads(struct job *j, unsigned n, int (*fn)(struct worker *w))
{
	struct thread t[THREADS_MAX] = {0};
	struct start start = {.fn = fn};
	unsigned made = 0;
	int r = 0;

	for (; r == 0 && made < n; made++) {
		t[made].worker = (struct worker){
			.job = j, .index = made, .rng = job_rng(j, made)};
		r = j->engine->session(j->db, &t[made].worker.session);
		if (r < 0)
			break;
	}
	if (r == 0)
		j->result->seconds = run_all(t, n, &start);
	for (unsigned i = 0; i < made; i++) {
		j->result->ops += t[i].worker.ops;
		if (t[i].worker.r < 0)
			r = -1;
		j->engine->session_free(t[i].worker.session);
	}
	j->result->per_second = (double)j->result->ops / j->result->seconds;
	return r;
}

int job_verify(struct job *j, const struct tally *want)
{
	const struct span all = {0};
	struct tally got = {0};
	void *session;
	int r = j->engine->session(j->db, &session);

	if (r < 0)
		return r;
	r = j->engine->scan(session, &all, &got);
	j->engine->session_free(session);
	if (r < 0)
		return r;
	if (tally_eq(&got, want))
		return 0;
	return bench_fail("wrong content: %llu cells, wanted %llu%s",
			  (unsigned long long)got.cells,
			  (unsigned long long)want->cells,
			  got.cells == want->cells ? ", values differ" : "");
}

/* Makes the cells of unit @u of a load; a unit is a cell or a row. */
static size_t make_unit(const struct job *j, uint64_t u, size_t unit,
			struct item *it)
{
	uint64_t first = u * unit;
	size_t n = 0;

	/* Versions of one column are not written one after the other. */
	if (j->shape.versions > 1) {
		uint64_t columns = j->shape.cells / j->shape.versions;

		first = u % columns * j->shape.versions + u / columns;
	}
	for (; n < unit && first + n < j->shape.cells; n++)
		item_make(&j->shape, first + n, 0, &it[n]);
	return n;
}

static int load_with(struct job *j, void *session, unsigned batch, bool random,
		     bool by_row)
{
	size_t unit = by_row ? j->shape.columns : 1;
	uint64_t units = (j->shape.cells + unit - 1) / unit;
	struct item *it = calloc((size_t)batch * unit, sizeof(*it));
	struct shuffle order;
	int r = 0;

	if (!it)
		return bench_fail("out of memory");
	shuffle_init(&order, units);
	for (uint64_t u = 0; r == 0 && u < units;) {
		size_t n = 0;

		for (unsigned b = 0; b < batch && u < units; b++, u++)
			n += make_unit(j, random ? shuffle_at(&order, u) : u,
				       unit, it + n);
		r = j->engine->write(session, it, n, false);
	}
	free(it);
	return r;
}

int job_load(struct job *j, unsigned batch, bool random, bool by_row)
{
	struct result *res = j->result;
	double begin;
	void *session;
	int r = j->engine->session(j->db, &session);

	if (r < 0)
		return r;
	begin = job_clock();
	r = load_with(j, session, batch, random, by_row);
	res->seconds = job_clock() - begin;
	res->ops = j->shape.cells;
	res->per_second = (double)res->ops / res->seconds;
	j->given_bytes += data_user_bytes(j->shape.cells);
	j->engine->session_free(session);
	return r;
}

uint64_t job_first_alive(const struct job *j)
{
	return shape_rows(&j->shape) * DELETED_PERCENT / 100;
}

int job_rows(struct job *j, uint64_t row, uint64_t end, bool erase)
{
	const struct shape *s = &j->shape;
	struct item it[COLUMNS];
	void *session;
	int r = j->engine->session(j->db, &session);

	if (r < 0)
		return r;
	for (; r == 0 && row < end; row++) {
		for (unsigned c = 0; c < COLUMNS; c++)
			item_make(s, row * COLUMNS + c, 0, &it[c]);
		r = erase ? j->engine->erase(session, it, COLUMNS)
			  : j->engine->write(session, it, COLUMNS, false);
	}
	j->engine->session_free(session);
	return r;
}

/* Writes the second versions, if the shape has any. */
static int write_again(struct job *j, void *session)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < j->shape.cells; i++) {
		struct item it;

		if (shape_copies(&j->shape, i) < 2)
			continue;
		item_make(&j->shape, i, 0, &it);
		item_again(&j->shape, &it);
		r = j->engine->write(session, &it, 1, false);
	}
	return r;
}

/* Writes the columns of each row into several files. */
static int write_parts(struct job *j, void *session)
{
	int r = 0;

	for (uint64_t part = 0; r == 0 && part < PARTS; part++) {
		for (uint64_t i = 0; r == 0 && i < j->shape.cells; i++) {
			struct item it;

			if (i % COLUMNS % PARTS != part)
				continue;
			item_make(&j->shape, i, 0, &it);
			r = j->engine->write(session, &it, 1, false);
		}
		if (r == 0)
			r = j->engine->flush(j->db);
		job_quiet(j);
	}
	return r;
}

static int with_session(struct job *j, int (*fn)(struct job *j, void *session))
{
	void *session;
	int r = j->engine->session(j->db, &session);

	if (r < 0)
		return r;
	r = fn(j, session);
	j->engine->session_free(session);
	return r;
}

static int write_same(struct job *j, void *session)
{
	struct item it;

	item_make(&j->shape, j->shape.cells / 2, 0, &it);
	return j->engine->write(session, &it, 1, false);
}

int job_write_above(struct job *j)
{
	uint64_t row = shape_rows(&j->shape) / 2;
	int r;

	if (j->workload->above == ABOVE_CELL)
		return with_session(j, write_same);
	r = job_rows(j, row, row + 1, true);
	if (r == 0)
		r = job_rows(j, row, row + 1, false);
	if (r == 0 && j->workload->above == ABOVE_DELETE_FILE) {
		r = j->engine->flush(j->db);
		job_quiet(j);
	}
	return r;
}

/* Cells that only the log holds at the close go to a file at the open. */
static int job_settle(struct job *j)
{
	int r = j->engine->flush(j->db);

	job_quiet(j);
	if (r == 0)
		r = job_close(j);
	if (r == 0)
		r = job_open(j);
	job_quiet(j);
	return r;
}

static uint32_t versions_of(enum dataset data)
{
	if (data == DATA_VERSIONS)
		return UINT32_MAX;
	return data == DATA_TWICE ? VERSIONS_KEPT : 1;
}

static int prepare(struct job *j, enum dataset data)
{
	bool compacted = data == DATA_MAJOR || data == DATA_WIDE ||
			 data == DATA_VERSIONS || data == DATA_TWICE;
	int r;

	j->options.versions = versions_of(data);
	r = job_open(j);
	if (r == 0 && data == DATA_PARTS)
		r = with_session(j, write_parts);
	else if (r == 0 && data != DATA_MAJOR)
		r = job_load(j, BATCH_MAX, data != DATA_VERSIONS, false);
	if (r == 0 && data == DATA_TWICE)
		r = with_session(j, write_again);
	if (r == 0 && data == DATA_DELETED)
		r = job_settle(j);
	if (r == 0 && data == DATA_DELETED)
		r = job_rows(j, 0, job_first_alive(j), true);
	if (r == 0)
		r = job_settle(j);
	if (r == 0 && compacted)
		r = j->engine->compact(j->db);
	if (r == 0 && compacted)
		r = job_settle(j);
	return r;
}

static void set_options(struct job *j)
{
	uint64_t bytes = data_user_bytes(j->set->cells);
	const struct workload *w = j->workload;

	j->options = (struct engine_options){
		.dir = j->dir,
		.cache_bytes = 2 * bytes + (64 << 20),
		.write_buffer_bytes = j->set->buffer_bytes,
		.zlib = w && w->zlib,
		.versions = w ? versions_of(w->data) : 1,
		.bytes_max = 6 * bytes + (256 << 20),
	};
	if (w && w->small_cache)
		j->options.cache_bytes = bytes / 10;
	if (w && w->data == DATA_EMPTY)
		j->options.cache_bytes = 256 << 20;
	if (j->set->cache_bytes && j->options.cache_bytes > j->set->cache_bytes)
		j->options.cache_bytes = j->set->cache_bytes;
}

static void child(struct job *j, int (*work)(struct job *j, enum dataset data),
		  enum dataset data)
{
	int r;

	set_options(j);
	r = work(j, data);
	if (r == 0)
		r = job_close(j);
	if (r == 0)
		j->result->done = true;
	else
		snprintf(j->result->why, sizeof(j->result->why), "%s",
			 bench_why());
	fflush(stdout);
	_exit(0);
}

static void in_child(struct job *j, int (*work)(struct job *, enum dataset),
		     enum dataset data)
{
	int status = 0;
	pid_t pid, r = -1;

	*j->result = (struct result){0};
	pid = fork();
	if (pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		child(j, work, data);
	}
	while (pid > 0 && (r = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		kill(pid, SIGTERM); /* who waits was asked to stop */
	if (r < 0) {
		snprintf(j->result->why, sizeof(j->result->why), "fork: %s",
			 strerror(errno));
		return;
	}
	if (WIFSIGNALED(status)) {
		j->result->done = false;
		snprintf(j->result->why, sizeof(j->result->why), "%s",
			 strsignal(WTERMSIG(status)));
	}
}

static int work(struct job *j, enum dataset data)
{
	if (data == DATA_EMPTY)
		job_remove(j->dir);
	return j->workload->run(j);
}

/* Continues with a copy of the directory. */
static int copy_dir(struct job *j)
{
	static char *const env[] = {NULL};
	char from[sizeof(j->dir)];
	char *argv[] = {(char *)"cp", (char *)"-r", (char *)"--",
			from,	      j->dir,	    NULL};
	size_t len = strlen(j->dir);
	int status = 0;
	pid_t pid;

	memcpy(from, j->dir, len + 1);
	snprintf(j->dir + len, sizeof(j->dir) - len, "-copy");
	job_remove(j->dir);
	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, env) != 0 ||
	    waitpid(pid, &status, 0) < 0 || status != 0)
		return bench_fail("could not copy %s", from);
	return 0;
}

void job_run(struct job *j)
{
	enum dataset data = j->workload->data;

	job_dir(j, data);
	if (j->workload->above && copy_dir(j) < 0) {
		*j->result = (struct result){0};
		snprintf(j->result->why, sizeof(j->result->why), "%s",
			 bench_why());
		return;
	}
	in_child(j, work, data);
	if (data != DATA_EMPTY && !j->workload->above)
		return;
	if (j->result->done)
		j->result->disk_bytes = job_disk_bytes(j->dir);
	job_remove(j->dir);
}

void job_prepare(struct job *j, enum dataset data)
{
	job_dir(j, data);
	if (data != DATA_MAJOR)
		job_remove(j->dir);
	in_child(j, prepare, data);
}
