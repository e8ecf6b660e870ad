/*
 * What a request may wait in vain.
 *
 * A request, such as one of the kernel, may make several calls of servers that do
 * not answer, each of which waits until a limit. So that these do not add up, what
 * a thread has waited in vain since its request began is taken from what its next
 * calls may wait; when nothing is left they fail at once, as the last one did.
 * What is answered costs nothing, however long it takes.
 *
 * Nor does a wait go on for a caller who is gone, as one that a signal has killed:
 * while nothing comes it is asked from time to time whether he is still there.
 *
 * Threads: what is counted is the calling thread's own.
 */
#ifndef CELLFS_STORE_OS_PATIENCE_H
#define CELLFS_STORE_OS_PATIENCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct patience {
	bool has_requests; /* of the thread: calls are parts of them */
	uint64_t lost_ns;
	uint64_t until_ns; /* what patience_until() gave last */
	/* Is who asked gone? NULL: it is asked by nobody who could be. */
	bool (*is_gone)(int32_t who);
	int32_t who;
	bool is_bound; /* to what is under way, though he is gone */
};
extern _Thread_local struct patience patience; /* for the inline code below */

/* A request begins on this thread, which has no other work. */
static inline void patience_begin_request(void)
{
	patience.has_requests = true;
	patience.lost_ns = 0;
	patience.is_gone = NULL;
}

/* The same, which is of @who. */
static inline void patience_begin_request_of(int32_t who,
					     bool (*is_gone)(int32_t who))
{
	patience_begin_request();
	patience.is_gone = is_gone;
	patience.who = who;
}

/* A call of the store begins: where nobody speaks of requests it is one. */
static inline void patience_begin_call(void)
{
	if (!patience.has_requests)
		patience.lost_ns = 0;
}

/* A part of long work begins, of which each may wait as long as a request. */
static inline void patience_renew(void)
{
	patience.lost_ns = 0;
}

/* Until when may be waited, of @most from @now on. */
uint64_t patience_until(uint64_t now, uint64_t most);
/*
 * So long was waited in vain, up to @now; store_why() says for what. Nothing is left
 * where that is as late as was allowed, though the wait may have begun late.
 */
void patience_lose(uint64_t ns, uint64_t now);
/* So long may still be waited, of @most. */
uint64_t patience_left(uint64_t most);
/* For what the thread waited in vain the last time; may be empty. */
const char *patience_reason(void);

/* So often a wait is to ask whether the caller is gone, in ms. */
#define PATIENCE_LOOK_MS 500

/* Is the caller of the thread's request gone? */
static inline bool patience_is_over(void)
{
	return patience.is_gone && !patience.is_bound &&
	       patience.is_gone(patience.who);
}

/* Of a wait of @ms, below 0 for ever: how long it is until that is asked. */
static inline int patience_step(int ms)
{
	return patience.is_gone && (ms < 0 || ms > PATIENCE_LOOK_MS)
		       ? PATIENCE_LOOK_MS
		       : ms;
}

/*
 * Waits as clock_cond_wait() does: 1; 0 when the time has come; or -EINTR, the
 * caller is gone.
 */
int patience_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
		  uint64_t until_ns);
/*
 * Takes a lock that others hold while they wait for a server: 0; or -EINTR, the caller
 * is gone, and it is not taken. A clock that is set back delays the next look.
 */
int patience_lock(pthread_mutex_t *lock);

#endif
