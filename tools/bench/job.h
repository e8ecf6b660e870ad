/*
 * One workload on one engine, in a process of its own.
 *
 * A child process opens the engine, does the work, checks the answers and
 * leaves a struct result in memory shared with its parent. So its CPU time, its
 * peak of memory and the bytes it wrote are its own, and a crash of an engine
 * ends only this child. A workload names the data it needs: DATA_EMPTY is a
 * fresh directory for each child, the others are made once for each engine and
 * read by many.
 */
#ifndef CELLFS_TOOLS_BENCH_JOB_H
#define CELLFS_TOOLS_BENCH_JOB_H

#include "tools/bench/engine.h"

enum {
	THREADS_MAX = 16
};

enum dataset {
	DATA_EMPTY,
	DATA_SETTLED,  /* loaded in random order, background work done */
	DATA_MAJOR,    /* the same after a major compaction */
	DATA_CHURN,    /* the same, for writing: after all that only read it */
	DATA_WIDE,     /* 1,000 cells a row, after a major compaction */
	DATA_VERSIONS, /* 1,000 versions a column, after a major compaction */
	DATA_DELETED,  /* the first nine tenths of the rows deleted, settled */
	DATA_ERASED,   /* loaded, settled; a workload itself deletes from it */
	DATA_TWICE, /* one row in 100 has two versions of 3 kept; compacted */
	DATA_PARTS, /* the columns of each row in three files; a small set */
	DATASETS
};

/* Which figure of a result is shown. */
enum metric {
	METRIC_PER_SECOND,
	METRIC_DISK,	/* bytes; less is better here and below */
	METRIC_WRITTEN, /* bytes to disk per byte of data */
	METRIC_PEAK,	/* bytes of memory */
	METRIC_CPU,	/* seconds */
};

struct result {
	bool done;
	double per_second, seconds;
	uint64_t ops;
	double cpu_seconds; /* of all threads, background work included */
	double written;	    /* bytes to disk per byte of data */
	uint64_t peak_bytes, disk_bytes;
	char why[256];
};

struct settings {
	uint64_t cells;
	unsigned runs;
	double seconds;	    /* of a read workload */
	size_t cache_bytes; /* at most; 0 = as the data needs */
	size_t buffer_bytes;
	const char *dir;
};

struct job;

/* What is written above a copy of the data, all of which reads as before. */
enum above {
	ABOVE_NONE,
	ABOVE_CELL,	   /* one cell again, in memory only */
	ABOVE_DELETE,	   /* one row deleted and written again, the same */
	ABOVE_DELETE_FILE, /* this, flushed */
};

struct workload {
	const char *name, *line, *unit;
	enum dataset data;
	int (*run)(struct job *j);
	unsigned batch;	  /* per write: cells, or rows if by_row */
	unsigned threads; /* 0 = 1 */
	bool random, by_row, sync, zlib;
	bool small_cache; /* a tenth of the data */
	enum above above;
	/* Shows only another figure of that workload. */
	const char *of;
	enum metric metric;
	/* Wanted ratio to the best LSM peer, and to LMDB; 0 = none. */
	double want_lsm, want_lmdb;
	/*
	 * Another workload, both on cellfs, to which this one is compared; its
	 * title, and the wanted ratio. NULL: none.
	 */
	const char *base, *base_line;
	double want_base;
};

extern const struct workload bench_workloads[]; /* ends with name NULL */

struct job {
	const struct engine *engine;
	const struct workload *workload;
	const struct settings *set;
	struct engine_options options;
	struct shape shape;
	char dir[400];
	struct result *result;
	void *db;
	/* set by job_measure_begin() */
	uint64_t given_bytes;
	double cpu_before;
	uint64_t written_before;
};

struct worker {
	struct job *job;
	unsigned index;
	void *session;
	struct rng rng;
	uint64_t ops; /* operations, for the rate */
	uint64_t calls;
	int r;
};

/* All that a child does; the result says what failed. */
void job_run(struct job *j);
/* Makes @data for the engine in a child, in the directory of that data. */
void job_prepare(struct job *j, enum dataset data);
void job_remove(const char *dir);
void job_dir(struct job *j, enum dataset data);

double job_clock(void);
int job_open(struct job *j);
int job_close(struct job *j);
/* Waits until the process is idle and its files stay as they are. */
void job_quiet(struct job *j);
/* Record the cost so far: call them before the work is verified. */
void job_measure_begin(struct job *j);
void job_measure_end(struct job *j);
uint64_t job_disk_bytes(const char *dir);
/*
 * A different one for each thread of each workload, so that no workload reads
 * the cells that another has just written in the same order.
 */
struct rng job_rng(const struct job *j, unsigned thread);
/* Runs @fn in @n threads, each with a session; sets ops, seconds, rate. */
int job_threads(struct job *j, unsigned n, int (*fn)(struct worker *w));
/* Scans all cells; the sums must equal @want's. */
int job_verify(struct job *j, const struct tally *want);
/* Writes all cells of the shape, @batch a call, in random order if @random. */
int job_load(struct job *j, unsigned batch, bool random, bool by_row);
/* All rows before this one are deleted in the data. */
uint64_t job_first_alive(const struct job *j);
/* Writes the rows from @row to @end - 1, or erases them, one a call. */
int job_rows(struct job *j, uint64_t row, uint64_t end, bool erase);
/* Writes what the workload wants above the data. */
int job_write_above(struct job *j);

/* load.c */
int run_fill(struct job *j);
int run_fillsync(struct job *j);
int run_fdatasync(struct job *j);
int run_overwrite(struct job *j);
int run_recovery(struct job *j);
int run_size(struct job *j);
int run_size_zlib(struct job *j);

/* reads.c */
int run_get(struct job *j);
int run_newest(struct job *j);
int run_miss_row(struct job *j);
int run_miss_column(struct job *j);
int run_row(struct job *j);
int run_seek(struct job *j);
int run_first_rows(struct job *j);
int run_put(struct job *j);
int run_scan(struct job *j);
int run_rows(struct job *j);
int run_versions(struct job *j);
int run_read_writing(struct job *j);
int run_snapshot(struct job *j);
int run_scan_deleted(struct job *j);
int run_seek_deleted(struct job *j);
int run_seek_erased(struct job *j);

#endif
