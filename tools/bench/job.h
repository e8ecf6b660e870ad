/*
 * One workload on one engine, in a process of its own.
 *
 * A child opens the engine, does the work, checks what came back and leaves a
 * struct result in memory it shares with its parent; so its CPU time, its peak
 * of memory and the bytes it wrote are its own, and an engine that crashes
 * takes nothing along. A workload names the data it needs: DATA_EMPTY is a
 * fresh directory for each child, the others are made once an engine and read
 * by many.
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
	DATA_CHURN,    /* the same, to be written to: comes after its readers */
	DATA_WIDE,     /* 1,000 cells a row, after a major compaction */
	DATA_VERSIONS, /* 1,000 versions a column, after a major compaction */
	DATA_DELETED,  /* the first nine tenths of the rows deleted, settled */
	DATA_ERASED,   /* loaded, settled; a workload deletes from it itself */
	DATA_TWICE, /* one row in 100 has two versions of 3 kept; compacted */
	DATA_PARTS, /* the columns of each row in three files; not many */
	DATASETS
};

/* Which figure of a result a line shows. */
enum metric {
	METRIC_PER_SECOND,
	METRIC_DISK,	/* bytes; less is better, as for all below */
	METRIC_WRITTEN, /* bytes to disk for each byte given */
	METRIC_PEAK,	/* bytes of memory */
	METRIC_CPU,	/* seconds */
};

struct result {
	bool done;
	double per_second, seconds;
	uint64_t ops;
	double cpu_seconds; /* of all threads, background work included */
	double written;	    /* bytes to disk for each byte given */
	uint64_t peak_bytes, disk_bytes;
	char why[256];
};

struct settings {
	uint64_t cells;
	unsigned runs;
	double seconds;	    /* of a read workload */
	size_t cache_bytes; /* at most; 0 = as much as the data wants */
	size_t buffer_bytes;
	const char *dir;
};

struct job;

struct workload {
	const char *name, *line, *unit;
	enum dataset data;
	int (*run)(struct job *j);
	unsigned batch;	  /* cells, or rows where by_row, a write */
	unsigned threads; /* 0 = 1 */
	bool random, by_row, sync, zlib;
	bool small_cache; /* a tenth of the data */
	/*
	 * One cell is in memory alone: it was written again as it was. On a
	 * copy of the data.
	 */
	bool unflushed;
	/* A line that only shows another figure of that workload. */
	const char *of;
	enum metric metric;
	/* Wanted: ratio to the best LSM peer, to LMDB; 0 = nothing asked. */
	double want_lsm, want_lmdb;
	/*
	 * A workload that ours is compared with besides, by ours; how to call
	 * it, and the ratio that is wanted. NULL: there is none.
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
	/* of job_measure() */
	uint64_t given_bytes;
	double cpu_before;
	uint64_t written_before;
};

struct worker {
	struct job *job;
	unsigned index;
	void *session;
	struct dice dice;
	uint64_t ops; /* what the rate counts */
	uint64_t calls;
	int r;
};

/* A child's whole life; what went wrong is in the result. */
void job_run(struct job *j);
/* Makes @data for the engine in a child; the directory of that data. */
void job_prepare(struct job *j, enum dataset data);
void job_remove(const char *dir);
void job_dir(struct job *j, enum dataset data);

double job_clock(void);
int job_open(struct job *j);
int job_close(struct job *j);
/* Waits until the process is idle and its files stay as they are. */
void job_quiet(struct job *j);
/* Cost so far into the result: call it before the work is verified. */
void job_measure_begin(struct job *j);
void job_measure_end(struct job *j);
uint64_t job_disk_bytes(const char *dir);
/*
 * Its own for each thread of each workload: no reader asks for the very cells
 * that a workload before has just written, one after the other.
 */
struct dice job_dice(const struct job *j, unsigned thread);
/* Runs @fn in @n threads, each with a session; sets ops, seconds, rate. */
int job_threads(struct job *j, unsigned n, int (*fn)(struct worker *w));
/* Scans all; the sums must be @want's (tails only where @tails). */
int job_verify(struct job *j, const struct tally *want, bool tails);
/* Writes all of the shape: @batch cells a call, in random order or not. */
int job_load(struct job *j, unsigned batch, bool random, bool by_row);
/* The rows in front of that one are what is deleted of the data. */
uint64_t job_first_alive(const struct job *j);
/* Writes, and deletes, the rows from @row to before @end, a row a call. */
int job_write_rows(struct job *j, uint64_t row, uint64_t end);
/* Writes one cell of them all again as it is. */
int job_write_same(struct job *j);
int job_erase_rows(struct job *j, uint64_t row, uint64_t end);

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
