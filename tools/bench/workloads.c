/* The table of workloads: what runs, on which data, with which goals. */
#include "tools/bench/job.h"

#define CELLS "cells/s"
#define CALLS "calls/s"

/* After a major compaction, and only settled with goals of three quarters. */
#define READ(id, text, u, lsm, lm, ...)                         \
	{.name = id,                                            \
	 .line = text,                                          \
	 .unit = u,                                             \
	 .data = DATA_MAJOR,                                    \
	 .want_lsm = lsm,                                       \
	 .want_lmdb = lm,                                       \
	 __VA_ARGS__},                                          \
	{                                                       \
		.name = id "-settled", .line = text, .unit = u, \
		.data = DATA_SETTLED, .want_lsm = 0.75 * (lsm), \
		.want_lmdb = 0.75 * (lm), __VA_ARGS__           \
	}

/* The same with two threads. */
#define TWICE(one, text, u, ...)                                            \
	{.name = one "-2",                                                  \
	 .line = text,                                                      \
	 .unit = u,                                                         \
	 .data = DATA_MAJOR,                                                \
	 .threads = 2,                                                      \
	 .base = one,                                                       \
	 .base_line = "one thread",                                         \
	 .want_base = 1.7,                                                  \
	 .want_lmdb = 1.5,                                                  \
	 __VA_ARGS__},                                                      \
	{                                                                   \
		.name = one "-2-settled", .line = text, .unit = u,          \
		.data = DATA_SETTLED, .threads = 2, .base = one "-settled", \
		.base_line = "one thread", .want_base = 1.7,                \
		.want_lmdb = 1.125, __VA_ARGS__                             \
	}

/* At most a fifth slower than that workload. */
#define BESIDE(of) .base = of, .base_line = of, .want_base = 1 / 1.2
#define ALONE(of) .base = NULL

#define ONE(id, text, u, fn, ...)                                           \
	{                                                                   \
		.name = id, .line = text, .unit = u, .run = fn, __VA_ARGS__ \
	}
/* The usual reads of other data, also with one cell in memory only. */
#define FIVE(id, end, text, like, ...)                                     \
	ONE(id "row" end, "a row, " text, CELLS, run_row, like("row"),     \
	    __VA_ARGS__),                                                  \
		ONE(id "seek30" end, "30 cells, " text, CELLS, run_seek,   \
		    like("seek30"), __VA_ARGS__),                          \
		ONE(id "scan" end, "all cells, " text, CELLS, run_scan,    \
		    like("scan"), __VA_ARGS__),                            \
		ONE(id "rows4" end, "the rows, " text, "rows/s", run_rows, \
		    like("rows4"), __VA_ARGS__),                           \
		ONE(id "first30" end, "the first 30 rows, " text, CALLS,   \
		    run_first_rows, like("first30"), __VA_ARGS__)
#define BESIDE_TWICE(of) BESIDE("twice-" of)
#define BESIDE_PARTS(of) BESIDE("parts-" of)

#define FILL(id, text, lsm, lm, ...)                                           \
	{                                                                      \
		.name = id, .line = text, .unit = CELLS, .data = DATA_EMPTY,   \
		.want_lsm = lsm, .want_lmdb = lm, .run = run_fill, __VA_ARGS__ \
	}

#define SYNC(id, n, lsm, lm, ...)                                      \
	{                                                              \
		.name = id, .line = "one cell, on disk, threads: " #n, \
		.unit = CELLS, .data = DATA_EMPTY, .want_lsm = lsm,    \
		.want_lmdb = lm, .run = run_fillsync, .threads = n,    \
		.sync = true, __VA_ARGS__                              \
	}

#define COST(id, text, u, source, what, lsm, lm)                   \
	{                                                          \
		.name = id, .line = text, .unit = u, .of = source, \
		.metric = what, .want_lsm = lsm, .want_lmdb = lm   \
	}

const struct workload bench_workloads[] = {
	FILL("fillseq", "ascending, one cell a write", 1.5, 2, .batch = 1),
	FILL("fillrandom", "random, one cell a write", 2, 3, .batch = 1,
	     .random = true),
	{.name = "overwrite",
	 .line = "every cell again, random, one a write",
	 .unit = CELLS,
	 .data = DATA_CHURN,
	 .run = run_overwrite,
	 .want_lsm = 2,
	 .want_lmdb = 5},
	FILL("fillrow", "random rows of 4 cells, a row a write", 2, 3,
	     .batch = 1, .random = true, .by_row = true),
	FILL("fillseq1000", "ascending, 1,000 cells a write", 1.5, 1,
	     .batch = 1000),
	FILL("fillrandom1000", "random, 1,000 cells a write", 1.5, 3,
	     .batch = 1000, .random = true),
	{.name = "fdatasync",
	 .line = "a record appended to an allocated file, no engine",
	 .unit = CALLS,
	 .data = DATA_EMPTY,
	 .run = run_fdatasync},
	SYNC("fillsync", 1, 1.5, 2, .base = "fdatasync",
	     .base_line = "a bare fdatasync", .want_base = 0.9),
	SYNC("fillsync4", 4, 1.4, 2),
	SYNC("fillsync8", 8, 1.4, 2),
	READ("get", "a version by its timestamp", CALLS, 4, 1.6,
	     .run = run_get),
	READ("newest", "the newest version of a column", CALLS, 4, 1.6,
	     .run = run_newest),
	READ("get-small", "a get, the cache a tenth of the data", CALLS, 2, 0.8,
	     .run = run_get, .small_cache = true),
	READ("miss-row", "a get in a row that is not there", CALLS, 8, 8,
	     .run = run_miss_row),
	READ("miss-column", "a get of an absent column", CALLS, 2, 2,
	     .run = run_miss_column),
	READ("row", "the 4 cells of a row", CELLS, 4, 1.8, .run = run_row),
	READ("seek30", "seek a row, read 30 cells", CELLS, 4, 2.2,
	     .run = run_seek),
	READ("scan", "all cells", CELLS, 5, 4, .run = run_scan),
	READ("rows4", "list the rows, 4 cells a row", "rows/s", 5, 3,
	     .run = run_rows),
	READ("first30", "list the first 30 rows", CALLS, 0, 0,
	     .run = run_first_rows),
	TWICE("get", "gets by two threads", CALLS, .run = run_get),
	TWICE("row", "rows by two threads", CELLS, .run = run_row),
	TWICE("seek30", "seeks by two threads", CELLS, .run = run_seek),
	FIVE("", "-memory", "one cell in memory", BESIDE, .data = DATA_MAJOR,
	     .above = ABOVE_CELL),
	FIVE("", "-marker", "a row deleted and written again in memory", BESIDE,
	     .data = DATA_MAJOR, .above = ABOVE_DELETE),
	FIVE("", "-marker-file", "the same in a file", BESIDE,
	     .data = DATA_MAJOR, .above = ABOVE_DELETE_FILE),
	FIVE("twice-", "", "one row in 100 has two versions", BESIDE,
	     .data = DATA_TWICE),
	FIVE("twice-", "-memory", "the same, one cell in memory", BESIDE_TWICE,
	     .data = DATA_TWICE, .above = ABOVE_CELL),
	FIVE("parts-", "", "its columns in three files", ALONE,
	     .data = DATA_PARTS),
	FIVE("parts-", "-memory", "the same, one cell in memory", BESIDE_PARTS,
	     .data = DATA_PARTS, .above = ABOVE_CELL),
	{.name = "rows1000",
	 .line = "list the rows, 1,000 cells a row",
	 .unit = "rows/s",
	 .data = DATA_WIDE,
	 .run = run_rows,
	 .want_lsm = 100,
	 .want_lmdb = 20},
	{.name = "versions-newest",
	 .line = "the newest of 1,000 versions",
	 .unit = CALLS,
	 .data = DATA_VERSIONS,
	 .run = run_newest,
	 .want_lsm = 4,
	 .want_lmdb = 1},
	{.name = "versions-all",
	 .line = "all of 1,000 versions",
	 .unit = CELLS,
	 .data = DATA_VERSIONS,
	 .run = run_versions,
	 .want_lsm = 4,
	 .want_lmdb = 1},
	{.name = "scan-deleted",
	 .line = "all cells, 90 % of the rows deleted",
	 .unit = CELLS,
	 .data = DATA_DELETED,
	 .run = run_scan_deleted,
	 .want_lsm = 5},
	{.name = "seek-deleted",
	 .line = "seek in front of 100,000 rows just deleted",
	 .unit = CALLS,
	 .data = DATA_ERASED,
	 .run = run_seek_erased,
	 .want_lsm = 100},
	{.name = "seek-deleted-settled",
	 .line = "the same when background work is done",
	 .unit = CALLS,
	 .data = DATA_DELETED,
	 .run = run_seek_deleted,
	 .want_lsm = 100},
	{.name = "put",
	 .line = "a cell again, random, for some time",
	 .unit = CALLS,
	 .data = DATA_CHURN,
	 .run = run_put},
	{.name = "read-writing",
	 .line = "gets beside a thread that overwrites",
	 .unit = CALLS,
	 .data = DATA_CHURN,
	 .run = run_read_writing,
	 .want_lsm = 5,
	 .want_lmdb = 1},
	{.name = "snapshot",
	 .line = "snapshot, get, release, beside a writer",
	 .unit = CALLS,
	 .data = DATA_CHURN,
	 .run = run_snapshot},
	{.name = "recovery",
	 .line = "open with a log of 64 MiB",
	 .unit = "MB/s",
	 .data = DATA_EMPTY,
	 .run = run_recovery,
	 .want_lsm = 2},
	{.name = "size",
	 .line = "on disk after a major compaction",
	 .unit = "bytes",
	 .data = DATA_MAJOR,
	 .run = run_size,
	 .metric = METRIC_DISK,
	 .want_lsm = 1,
	 .want_lmdb = 0.7},
	{.name = "size-zlib",
	 .line = "on disk, zlib where the engine has it",
	 .unit = "bytes",
	 .data = DATA_EMPTY,
	 .run = run_size_zlib,
	 .zlib = true,
	 .metric = METRIC_DISK,
	 .want_lsm = 1,
	 .want_lmdb = 0.7},
	COST("write-amp", "bytes to disk a byte, of fillrandom", "x",
	     "fillrandom", METRIC_WRITTEN, 1, 0),
	COST("peak-memory", "of fillrandom", "bytes", "fillrandom", METRIC_PEAK,
	     1, 0),
	COST("cpu", "CPU time of fillrandom, settled", "s", "fillrandom",
	     METRIC_CPU, 0.6, 0),
	{0},
};
