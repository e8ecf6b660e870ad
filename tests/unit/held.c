#include "tests/unit/held.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define HELD_MAX 16

static _Thread_local pthread_mutex_t *held[HELD_MAX];
static _Thread_local unsigned count;

unsigned held_count(void)
{
	return count;
}

/* Any thread may find it, so that no assertion of cmocka's says it. */
static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

static int taken(pthread_mutex_t *m, int r)
{
	if (r == 0 && count == HELD_MAX)
		fail("a thread holds too many mutexes");
	if (r == 0)
		held[count++] = m;
	return r;
}

int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_lock(pthread_mutex_t *m)
{
	return taken(m, __real_pthread_mutex_lock(m));
}

int __real_pthread_mutex_trylock(pthread_mutex_t *m);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *m);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *m)
{
	return taken(m, __real_pthread_mutex_trylock(m));
}

int __real_pthread_mutex_timedlock(pthread_mutex_t *m,
				   const struct timespec *t);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *m,
				   const struct timespec *t);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
	return taken(m, __real_pthread_mutex_timedlock(m, t));
}

int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	unsigned i = 0;

	while (i < count && held[i] != m)
		i++;
	if (i == count)
		fail("a mutex is given back by who does not hold it");
	held[i] = held[--count];
	return __real_pthread_mutex_unlock(m);
}
