#include "store/hbase/transport/errand.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "store/os/clock.h"
#include "store/os/patience.h"
#include "store/os/thread.h"

struct errand {
	void (*work)(void *arg);
	void (*drop)(void *arg);
	void *arg;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t ended;
	bool is_done;
	bool is_left; /* nobody waits: the thread frees this */
};

static void errand_free(struct errand *e)
{
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->ended);
	free(e);
}

static void *run(void *arg)
{
	struct errand *e = arg;
	bool is_left;

	e->work(e->arg);
	pthread_mutex_lock(&e->lock);
	e->is_done = true;
	is_left = e->is_left;
	pthread_cond_signal(&e->ended);
	pthread_mutex_unlock(&e->lock);
	if (is_left) {
		e->drop(e->arg);
		errand_free(e);
	}
	return NULL;
}

/* 0, it was done by then, or why not: then the thread has it all. */
static int wait_until(struct errand *e, uint64_t deadline_ns)
{
	int r = 1;

	pthread_mutex_lock(&e->lock);
	while (!e->is_done && r > 0)
		r = patience_wait(&e->ended, &e->lock, deadline_ns);
	e->is_left = !e->is_done;
	if (e->is_done || r == 0)
		r = e->is_done ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&e->lock);
	return r;
}

int errand(void (*work)(void *arg), void (*drop)(void *arg), void *arg,
	   uint64_t deadline_ns)
{
	struct errand *e = calloc(1, sizeof(*e));
	pthread_t thread;
	int r;

	if (!e)
		return -ENOMEM;
	*e = (struct errand){.work = work, .drop = drop, .arg = arg};
	pthread_mutex_init(&e->lock, NULL);
	clock_cond_init(&e->ended);
	r = thread_start(&thread, run, e);
	if (r < 0) {
		errand_free(e);
		return r;
	}
	r = wait_until(e, deadline_ns);
	if (r < 0) {
		pthread_detach(thread);
		return r;
	}
	pthread_join(thread, NULL);
	errand_free(e);
	return 0;
}
