#include "store/os/clock.h"

void clock_cond_init(pthread_cond_t *out)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(out, &attr);
	pthread_condattr_destroy(&attr);
}

bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
		     uint64_t until_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / NS_PER_S),
		.tv_nsec = (long)(until_ns % NS_PER_S),
	};

	return pthread_cond_timedwait(cond, lock, &until) == 0;
}
