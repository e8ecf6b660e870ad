/*
 * The workloads that write.
 *
 * A run counts only after background work has ended and all cells have been
 * read back. The rate is that of the writes alone; CPU time, memory and bytes
 * written include the background work.
 */
#include "tools/bench/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WAL_BYTES = 64 << 20,
	RECOVERY_BATCH = 10,
	DISK_BYTES = 64 << 20,
	DISK_RECORD = 150, /* a cell and the overhead of a log */
};

int run_fill(struct job *j)
{
	const struct workload *w = j->workload;
	struct tally want = {0};
	int r = job_open(j);

	if (r < 0)
		return r;
	job_measure_begin(j);
	r = job_load(j, w->batch, w->random, w->by_row);
	if (r == 0)
		r = j->engine->flush(j->db);
	job_quiet(j);
	job_measure_end(j);
	tally_expect(&want, 0, j->shape.cells, 1, 0);
	return r < 0 ? r : job_verify(j, &want);
}

/* The number of cells written by each thread; the cells follow from it. */
static uint64_t written_by[THREADS_MAX];

static int sync_worker(struct worker *w)
{
	double end = job_clock() + w->job->set->seconds;
	unsigned step = w->job->workload->threads;
	struct item it;
	int r = 0;

	while (r == 0 && job_clock() < end) {
		item_make(&w->job->shape, w->index + w->ops * step, 0, &it);
		r = w->job->engine->write(w->session, &it, 1, true);
		if (r == 0)
			w->ops++;
	}
	written_by[w->index] = w->ops;
	return r;
}

int run_fillsync(struct job *j)
{
	unsigned threads = j->workload->threads;
	struct tally want = {0};
	int r = job_open(j);

	if (r < 0)
		return r;
	job_measure_begin(j);
	r = job_threads(j, threads, sync_worker);
	job_measure_end(j);
	for (unsigned i = 0; i < threads; i++)
		tally_expect(&want, i, written_by[i], threads, 0);
	return r < 0 ? r : job_verify(j, &want);
}

static int file_failed(const char *what)
{
	return bench_fail("%s: %s", what, strerror(errno));
}

/* Writes and syncs the whole file before the measurement. */
static int allocate(int fd, const void *zeros, size_t len)
{
	for (off_t at = 0; at < DISK_BYTES; at += (off_t)len)
		if (pwrite(fd, zeros, len, at) != (ssize_t)len)
			return file_failed("write");
	return fsync(fd) < 0 ? file_failed("fsync") : 0;
}

static int append_synced(struct job *j, int fd, const void *record)
{
	double begin = job_clock();
	off_t at = 0;

	do {
		if (pwrite(fd, record, DISK_RECORD, at) != DISK_RECORD)
			return file_failed("write");
		if (fdatasync(fd) < 0)
			return file_failed("fdatasync");
		at += DISK_RECORD;
		j->result->ops++;
		j->result->seconds = job_clock() - begin;
	} while (j->result->seconds < j->set->seconds &&
		 at + DISK_RECORD <= DISK_BYTES);
	j->result->per_second = (double)j->result->ops / j->result->seconds;
	return 0;
}

/* The disk's own limit for syncing each record: uses no engine. */
int run_fdatasync(struct job *j)
{
	static const uint8_t zeros[1 << 20], record[DISK_RECORD] = {1};
	int fd, r;

	if (mkdir(j->dir, 0755) != 0)
		return file_failed(j->dir);
	snprintf(j->dir + strlen(j->dir), sizeof(j->dir) - strlen(j->dir),
		 "/records");
	fd = open(j->dir, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
	if (fd < 0)
		return file_failed(j->dir);
	r = allocate(fd, zeros, sizeof(zeros));
	if (r == 0)
		r = append_synced(j, fd, record);
	close(fd);
	return r;
}

int run_overwrite(struct job *j)
{
	const uint64_t generation = 1;
	struct tally want = {0};
	struct shuffle order;
	struct item it;
	double begin;
	void *session;
	int r = job_open(j);

	if (r == 0)
		r = j->engine->session(j->db, &session);
	if (r < 0)
		return r;
	job_measure_begin(j);
	shuffle_init(&order, j->shape.cells);
	begin = job_clock();
	for (uint64_t i = 0; r == 0 && i < j->shape.cells; i++) {
		item_make(&j->shape, shuffle_at(&order, i), generation, &it);
		r = j->engine->write(session, &it, 1, false);
	}
	j->result->seconds = job_clock() - begin;
	j->result->ops = j->shape.cells;
	j->result->per_second = (double)j->result->ops / j->result->seconds;
	j->engine->session_free(session);
	job_measure_end(j);
	tally_expect(&want, 0, j->shape.cells, 1, generation);
	return r < 0 ? r : job_verify(j, &want);
}

/* Leaves a log of 64 MiB and exits without closing. */
static int fill_log(struct job *j)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		bool ok = job_open(j) == 0 &&
			  job_load(j, RECOVERY_BATCH, true, false) == 0;

		_exit(ok ? 0 : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		return bench_fail("could not fill the log");
	return 0;
}

int run_recovery(struct job *j)
{
	uint64_t bytes = data_user_bytes(1);
	struct tally got = {0}, want = {0};
	struct item it;
	double begin;
	void *session;
	int r;

	j->shape.cells = WAL_BYTES / bytes;
	j->options.write_buffer_bytes = 4 * WAL_BYTES;
	if (j->options.bytes_max < 8 * WAL_BYTES)
		j->options.bytes_max = 8 * WAL_BYTES;
	r = fill_log(j);
	if (r < 0)
		return r;
	job_measure_begin(j);
	begin = job_clock();
	r = job_open(j);
	if (r == 0)
		r = j->engine->session(j->db, &session);
	if (r < 0)
		return r;
	item_name(&j->shape, j->shape.cells / 2, &it);
	r = j->engine->get(session, &it, &got);
	j->result->seconds = job_clock() - begin;
	j->result->ops = WAL_BYTES;
	j->result->per_second = WAL_BYTES / 1e6 / j->result->seconds;
	j->engine->session_free(session);
	job_measure_end(j);
	if (r == 0)
		return bench_fail("a cell is lost");
	tally_expect(&want, 0, j->shape.cells, 1, 0);
	return r < 0 ? r : job_verify(j, &want);
}

int run_size(struct job *j)
{
	j->result->disk_bytes = job_disk_bytes(j->dir);
	return 0;
}

int run_size_zlib(struct job *j)
{
	struct tally want = {0};
	int r = job_open(j);

	if (r == 0)
		r = job_load(j, 1000, true, false);
	if (r == 0)
		r = j->engine->flush(j->db);
	if (r == 0)
		r = j->engine->compact(j->db);
	if (r < 0)
		return r;
	job_quiet(j);
	tally_expect(&want, 0, j->shape.cells, 1, 0);
	return job_verify(j, &want);
}
