/*
 * The threads: one flushes frozen generations (flush.c), one compacts
 * (compact.c), one syncs the log and frees unused memory twice a second. With
 * inline_background there are no threads, and the same functions run in the
 * callers.
 *
 * The first two have a lower priority than the callers: a reader beside a
 * writer then has its processor mostly to itself, and a writer that is ahead of
 * them waits, which frees its own.
 *
 * When nothing was written for REST_MS, the compacting thread does merges that
 * only make reads faster. A writer that returns does not stop it: one such
 * merge is no larger than a merge that is due during writes, and level 0 may
 * grow as much meanwhile.
 */
#include "store/lsm/state/full.h"

#include <time.h>

#include "store/lsm/background/background.h"
#include "store/os/clock.h"
#include "store/os/thread.h"

#define TICK_MS 500
#define IDLE_MS 1000
#define REST_MS 200
#define REST_LOOK_MS 50

/* By the clock of conditions, which need not be that of the store's struct os. */
static uint64_t deadline(uint64_t ms)
{
	return monotonic_ns() + ms * NS_PER_MS;
}

/*
 * Waits for work, at most @ms (a failed attempt is then tried again); does not
 * wait if *wanted. False if the store closes.
 */
static bool wait_for_work(struct lsm *db, uint64_t ms, bool *wanted)
{
	uint64_t until = deadline(ms);
	bool stop;

	pthread_mutex_lock(&db->state);
	if (!db->stop && !*wanted)
		clock_cond_wait(&db->work, &db->state, until);
	*wanted = false;
	stop = db->stop;
	pthread_mutex_unlock(&db->state);
	return !stop;
}

static bool stopping(struct lsm *db)
{
	bool stop;

	pthread_mutex_lock(&db->state);
	stop = db->stop;
	pthread_mutex_unlock(&db->state);
	return stop;
}

static void *flush_thread(void *arg)
{
	struct lsm *db = arg;

	thread_give_way();
	do {
		int r = 1;

		while (r > 0 && !stopping(db) && !atomic_load(&db->failed))
			r = flush_one(db);
	} while (wait_for_work(db, IDLE_MS, &db->flush_wanted));
	return NULL;
}

/* The last time when something was written or flushed. */
struct calm {
	uint64_t seq, flushes, since_ns;
};

static bool is_resting(struct lsm *db, struct calm *c)
{
	uint64_t now = os_monotonic_ns(db->os), seq = atomic_load(&db->seq);
	uint64_t flushes = atomic_load(&db->stats.flushes);
	bool flushed;

	pthread_mutex_lock(&db->state);
	flushed = db->nfrozen == 0;
	pthread_mutex_unlock(&db->state);
	/* A thread that waits for a flush is a writer. */
	if (seq != c->seq || flushes != c->flushes || !flushed)
		*c = (struct calm){seq, flushes, now};
	return now - c->since_ns >= REST_MS * 1000000ull;
}

static void *compact_thread(void *arg)
{
	struct lsm *db = arg;
	struct calm calm = {.seq = UINT64_MAX};
	bool wanted = false; /* no thread waits for a compaction */
	uint64_t wait_ms;

	thread_give_way();
	do {
		int r = 1;

		wait_ms = REST_LOOK_MS;
		while (r > 0 && !stopping(db) && !atomic_load(&db->failed)) {
			freeze_markers(db);
			freeze_full(db);
			r = wal_low(db->wal) ? compact_when_full(db) : 0;
			if (r == 0)
				r = compact_one(db);
			/* A smaller merge may fit. */
			if (os_is_full(r))
				r = 0;
			if (r != 0 || !is_resting(db, &calm))
				continue;
			r = full_nearly(db) ? compact_when_full(db) : 0;
			if (r == 0)
				r = compact_at_rest(db);
			wait_ms = IDLE_MS;
		}
		if (r != 0)
			wait_ms = IDLE_MS;
	} while (wait_for_work(db, wait_ms, &wanted));
	return NULL;
}

static void *timer_thread(void *arg)
{
	struct lsm *db = arg;
	bool stop = false;

	while (!stop) {
		uint64_t until = deadline(TICK_MS);

		pthread_mutex_lock(&db->state);
		while (!db->stop &&
		       clock_cond_wait(&db->work, &db->state, until))
			;
		stop = db->stop;
		pthread_mutex_unlock(&db->state);
		arena_trim();
		full_tell(db);
		if (!stop && !atomic_load(&db->failed)) {
			int r = wal_tick(db->wal);

			if (r < 0)
				lsm_fail(db, r);
		}
	}
	return NULL;
}

int background_start(struct lsm *db)
{
	void *(*const run[])(void *) = {flush_thread, compact_thread,
					timer_thread};

	for (; db->nthreads < 3; db->nthreads++) {
		int r = thread_start(&db->threads[db->nthreads],
				     run[db->nthreads], db);

		if (r < 0)
			return why(r, "cannot start a thread");
	}
	return 0;
}

void background_stop(struct lsm *db)
{
	struct tree_walk w = {0};

	pthread_mutex_lock(&db->state);
	db->stop = true;
	while (trees_next(db, &w))
		atomic_store(&w.tree->cancel, true);
	pthread_cond_broadcast(&db->work);
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->state);
	while (db->nthreads)
		pthread_join(db->threads[--db->nthreads], NULL);
}
