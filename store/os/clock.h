/*
 * The clock that nobody sets (CLOCK_MONOTONIC), and conditions whose waits end
 * by it: who sets the time of the system neither shortens nor prolongs a wait.
 *
 * The engine asks its struct os what the time is, so that tests can say it. Where
 * it waits, it waits by these conditions and by this clock.
 */
#ifndef CELLFS_STORE_OS_CLOCK_H
#define CELLFS_STORE_OS_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline int64_t monotonic_ms(void)
{
	return (int64_t)(monotonic_ns() / NS_PER_MS);
}

/* pthread_cond_destroy(3) ends it. */
void clock_cond_init(pthread_cond_t *out);

/*
 * Waits as pthread_cond_wait(3) does, at most until the clock shows @until_ns:
 * false when it does. It may return true for no reason, so that the caller looks
 * again at what it waits for.
 */
bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
		     uint64_t until_ns);

#endif
