/*
 * The number of the calling thread, for data that each thread has by itself, so
 * that threads share no cache line.
 */
#ifndef CELLFS_STORE_OS_THREAD_H
#define CELLFS_STORE_OS_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "store/value/sanitizer.h"

/* The unit in which processors take memory from each other. */
#define CACHE_LINE 64

extern _Thread_local unsigned thread_known; /* its number + 1, or 0 */
unsigned thread_enter(void);

/* The calling thread's number: threads count from 0 by their first call. */
static inline unsigned thread_number(void)
{
	return thread_known ? thread_known - 1 : thread_enter();
}

/*
 * pthread_create(3) of a thread that takes no signals but those that it causes
 * itself (SIGBUS and the like): the others go to the threads of the program,
 * which knows what to do with them. 0 or a negative errno.
 */
int thread_start(pthread_t *out, void *(*run)(void *), void *arg);

/* The nice value that thread_give_way() adds; leaves a tenth of the time. */
#define THREAD_GIVES_WAY 10

/*
 * From now on, where the calling thread and another want one processor, the
 * other has most of it. There is no way back. What the kernel does not grant is
 * done without.
 */
void thread_give_way(void);

/*
 * A barrier of which one side has the cost. Of two threads that each write,
 * then read what the other writes, one is to see the other's. Who does it often
 * passes thread_light() in between, which binds the compiler alone, and who
 * does it seldom thread_heavy(), which makes each thread of the process pass a
 * whole barrier. False: there is none, and nothing may be built on it.
 *
 * ThreadSanitizer knows of no such barrier. Under it what stands beside
 * thread_light() is sequentially consistent, which is the same with the cost on
 * both sides.
 */
bool thread_heavy_init(void); /* to be called first; false: not supported */
bool thread_heavy(void);

#if SANITIZED_THREAD
#define THREAD_LIGHT memory_order_seq_cst
#define THREAD_LIGHT_RELEASE memory_order_seq_cst
static inline void thread_light(void)
{
}
#else
#define THREAD_LIGHT memory_order_relaxed
#define THREAD_LIGHT_RELEASE memory_order_release
static inline void thread_light(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}
#endif

#endif
