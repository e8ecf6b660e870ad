/*
 * The functions of an engine that workloads call.
 *
 * An engine is a database in a directory; a session is one thread's use of it
 * and holds what that thread reuses (batches, options, read transactions).
 * Every read sees all that was acknowledged before it: engines with iterators
 * or transactions make or renew them for each call.
 *
 * When a write returns, it survives the death of the process; with @sync it is
 * on disk. Functions return a negative number for a failure (with a reason by
 * bench_fail()), 0 for not found, 1 for found.
 */
#ifndef CELLFS_TOOLS_BENCH_ENGINE_H
#define CELLFS_TOOLS_BENCH_ENGINE_H

#include "tools/bench/data.h"

struct engine_options {
	const char *dir;
	size_t cache_bytes;
	size_t write_buffer_bytes;
	bool zlib;
	uint32_t versions;  /* kept of a column */
	uint64_t bytes_max; /* of the database, an upper bound */
};

struct span {
	const struct item *from; /* begin with its row; NULL: the first row */
	bool one_row;		 /* stop after it */
	bool one_column;	 /* only that of @from: all its versions */
	uint64_t cells_max;	 /* 0 = all */
};

struct engine {
	const char *name;
	bool lsm; /* a log-structured merge tree: compared in the first ratio */
	const char *settings;
	const char *(*version)(void);

	int (*open)(const struct engine_options *o, void **db);
	int (*close)(void *db);
	/* Starts to write memory to disk; background work may follow. */
	int (*flush)(void *db);
	int (*compact)(void *db);

	int (*session)(void *db, void **session);
	void (*session_free)(void *session);

	/* Writes one batch; adjacent cells of one row are atomic. */
	int (*write)(void *session, const struct item *it, size_t n, bool sync);
	/* Deletes a row, whose cells these are. */
	int (*erase)(void *session, const struct item *it, size_t n);
	/* The version with the item's timestamp. */
	int (*get)(void *session, const struct item *it, struct tally *t);
	/* Reads the newest version. NULL: a scan of one cell does it. */
	int (*newest)(void *session, const struct item *it, struct tally *t);
	int (*scan)(void *session, const struct span *s, struct tally *t);
	/* Counts the distinct rows from the first on, up to @max; 0 = all. */
	int (*rows)(void *session, uint64_t max, uint64_t *count);
	/* Takes a snapshot, reads one cell through it, and drops it. */
	int (*snapshot_get)(void *session, const struct item *it,
			    struct tally *t);
};

extern const struct engine *const bench_engines[]; /* ends with NULL */

/*
 * Allocates zeroed memory for one thread, on cache lines that it shares with no
 * other thread; for free(). NULL without memory.
 */
void *bench_own_lines(size_t size);
/* Keeps the reason for the report; returns -1. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *bench_why(void);

#endif
