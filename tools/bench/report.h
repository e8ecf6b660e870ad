/*
 * The results of all runs: a table for people, JSON for programs.
 *
 * A figure is the median of an engine's runs. A ratio is the quotient of two
 * medians of one run of the bench: cellfs to the best LSM peer (RocksDB,
 * LevelDB), and cellfs to LMDB. More is better for rates, less for costs;
 * "wanted" says which.
 */
#ifndef CELLFS_TOOLS_BENCH_REPORT_H
#define CELLFS_TOOLS_BENCH_REPORT_H

#include <stdio.h>

#include "tools/bench/job.h"

enum {
	ENGINES_MAX = 5,
	RUNS_MAX = 15,
	WORKLOADS_MAX = 96,
};

struct report {
	const struct settings *set;
	const struct engine *engines[ENGINES_MAX];
	unsigned nengines;
	unsigned nworkloads;
	bool wanted[WORKLOADS_MAX]; /* the line is shown */
	/* By workload, engine and run. */
	struct result (*results)[ENGINES_MAX][RUNS_MAX];
};

/* The workload whose results line @w shows, by index. */
unsigned report_source(const struct report *rep, unsigned w);
void report_table(const struct report *rep, FILE *to);
int report_json(const struct report *rep, const char *path);
/* The number of runs that failed or read something wrong. */
unsigned report_failures(const struct report *rep, FILE *to);

#endif
