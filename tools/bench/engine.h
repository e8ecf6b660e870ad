/*
 * What the workloads ask of an engine.
 *
 * An engine is a database in a directory; a session is one thread's use of it
 * and holds what that thread reuses (batches, options, read transactions).
 * Every read sees all that was acknowledged before it: engines with iterators
 * or transactions make or renew them for each call.
 *
 * A write survives the death of the process when it returns; with @sync it is
 * on disk. Returns are negative for a failure (said by bench_fail()), 0 for
 * none, 1 for found.
 */
#ifndef CELLFS_TOOLS_BENCH_ENGINE_H
#define CELLFS_TOOLS_BENCH_ENGINE_H

#include "tools/bench/data.h"

struct engine_options {
	const char *dir;
	size_t cache_bytes;
	size_t write_buffer_bytes;
	bool zlib;
	uint32_t versions;  /* that are kept of a column */
	uint64_t bytes_max; /* of the database, with room */
};

struct span {
	const struct item *from; /* its row; NULL: the first row of all */
	bool one_row;		 /* stop behind it */
	bool one_column;	 /* of @from: all its versions */
	uint64_t cells_max;	 /* 0 = all */
};

struct engine {
	const char *name;
	bool lsm; /* a log-structured merge tree: the first kind of peer */
	const char *settings;
	const char *(*version)(void);

	int (*open)(const struct engine_options *o, void **db);
	int (*close)(void *db);
	/* Starts to write out what is in memory; background work may follow. */
	int (*flush)(void *db);
	int (*compact)(void *db);

	int (*session)(void *db, void **session);
	void (*session_free)(void *session);

	/* One batch; cells of one row that lie together are atomic. */
	int (*write)(void *session, const struct item *it, size_t n, bool sync);
	/* One row away, whose cells are these. */
	int (*erase)(void *session, const struct item *it, size_t n);
	/* The version with the item's timestamp. */
	int (*get)(void *session, const struct item *it, struct tally *t);
	/* The newest version, its timestamp unknown. */
	int (*newest)(void *session, const struct item *it, struct tally *t);
	int (*scan)(void *session, const struct span *s, struct tally *t);
	/* Counts the distinct rows from the first on, up to @max; 0 = all. */
	int (*rows)(void *session, uint64_t max, uint64_t *count);
	/* A snapshot taken, one get through it, and away with it. */
	int (*snapshot_get)(void *session, const struct item *it,
			    struct tally *t);
};

extern const struct engine *const bench_engines[]; /* ends with NULL */

/*
 * Cleared memory for what one thread uses, for free(): on lines of the
 * processor's cache that no other thread's lies in. NULL = out of memory.
 */
void *bench_own_lines(size_t size);
/* Keeps a sentence for the report; returns -1. */
int bench_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *bench_why(void);

#endif
