/*
 * The last requests of the kernel, for who watches: what .cellfs/trace shows.
 *
 * A ring of TRACE_KEPT requests, each with a number that grows by one. Requests
 * are kept only while somebody watches, since the path of each one costs as
 * much as a look-up. A watcher has the number of the last request that it was
 * given; one that falls behind by more than the ring is told how many it missed.
 *
 * Threads: any. Nothing but memory is touched under the lock.
 */
#ifndef CELLFS_FS_REPORT_TRACE_H
#define CELLFS_FS_REPORT_TRACE_H

#include "store/value/bytes.h"

#define TRACE_KEPT 1024
/* How many may watch at a time: each one that waits holds a thread. */
#define TRACE_WATCHERS_MAX 4
/* The longest path is cut, so that a line is no longer. */
#define TRACE_PATH_KEPT 400
#define TRACE_LINE_MAX (TRACE_PATH_KEPT + 112)

struct trace;

int trace_new(struct trace **out);
void trace_free(struct trace *t); /* @t may be NULL */

/* Begins to watch: *seq is where. -EBUSY when too many do. */
int trace_watch(struct trace *t, uint64_t *seq);
void trace_unwatch(struct trace *t);
bool trace_is_watched(const struct trace *t);

/*
 * Requests that take less than that are left out, for all who watch. Which they
 * are is decided when they begin: a reply is there before the request has ended.
 */
void trace_set_slow(struct trace *t, uint64_t ns);
uint64_t trace_slow(const struct trace *t);

struct trace_request {
	const char *op;	  /* static */
	const char *path; /* copied, and cut to fit */
	int64_t end_ms;	  /* when it ended, since 1970 */
	uint64_t ns;	  /* how long it took */
	int err;	  /* 0 or a negative errno */
};
/* A request that took as long as trace_slow() was when it began. */
void trace_add(struct trace *t, const struct trace_request *r);

/*
 * Appends a line for each request behind *seq, as long as there is room for the
 * longest within @size bytes of @out, and moves *seq. Waits up to @wait_ms for
 * the first one. 1 if there were any, 0 if not; -ENOMEM.
 */
int trace_lines(struct trace *t, uint64_t *seq, size_t size, int wait_ms,
		struct buf *out);

#endif
