/*
 * Freezing memory before it is full: if scans walk over its markers, and on a
 * full disk, where a flush frees space.
 */
#include "store/lsm/state/full.h"

#include <time.h>

#include "store/lsm/state/tombstone_stats.h"
#include "store/lsm/background/background.h"
#include "store/os/clock.h"

/* A flush that found no space is tried again within a second. */
#define FLUSH_WAIT_NS 3000000000ull

void freeze_markers(struct lsm *db)
{
	/* Not waiting: the holder of the lock may wait for this thread. */
	if (!tombstone_stats_in_memory(db) ||
	    pthread_mutex_trylock(&db->commit) != 0)
		return;
	/* A failed freeze is tried again; writers report its error. */
	if (tombstone_stats_in_memory(db) && lsm_writable(db) == 0)
		commit_freeze(db, 0);
	pthread_mutex_unlock(&db->commit);
}

/* Under state. */
static bool memory_deletes(struct lsm *db)
{
	struct memtree_stat st;
	int64_t id = -1;

	while ((id = memtable_next_tree(db->reading, id)) >= 0)
		if (memtable_tree_stat(db->reading, (uint32_t)id, &st) &&
		    st.markers)
			return true;
	return false;
}

/*
 * Would a flush free anything: segments of the log if it is low, or cells that
 * its markers hide?
 */
static bool is_due(struct lsm *db)
{
	bool low = wal_low(db->wal), due;

	pthread_mutex_lock(&db->state);
	due = db->nfrozen == 0 && !memtable_empty(db->reading) &&
	      (low || memory_deletes(db));
	pthread_mutex_unlock(&db->state);
	return due;
}

void freeze_full(struct lsm *db)
{
	uint64_t seq = atomic_load(&db->seq);
	bool calm = seq == db->full_seq;

	db->full_seq = seq;
	if ((!calm && !wal_low(db->wal)) || !is_due(db) || !full_nearly(db) ||
	    pthread_mutex_trylock(&db->commit) != 0)
		return;
	/* A failed freeze is tried again; writers report its error. */
	if (is_due(db) && (calm || wal_spent(db->wal)) && lsm_writable(db) == 0)
		commit_freeze(db, 0);
	pthread_mutex_unlock(&db->commit);
}

bool freeze_for(struct lsm *db, const struct mutation *m)
{
	uint64_t end = monotonic_ns() + FLUSH_WAIT_NS;
	bool done;

	if (!only_deletes(m) || db->options.inline_background)
		return false;
	pthread_mutex_lock(&db->state);
	done = db->nfrozen == 0 && !memtable_empty(db->active);
	pthread_mutex_unlock(&db->state);
	if (done && commit_freeze(db, 0) < 0)
		return false;
	/* A flush takes catalog, whose holder may wait for commit. */
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_lock(&db->state);
	done = db->nfrozen > 0;
	/* A failed attempt may have met a merge that uses the reserve. */
	pthread_cond_broadcast(&db->work);
	while (db->nfrozen && !atomic_load(&db->failed) && !db->stop)
		if (!clock_cond_wait(&db->done, &db->state, end))
			break;
	done = done && db->nfrozen == 0;
	pthread_mutex_unlock(&db->state);
	pthread_mutex_lock(&db->commit);
	return done;
}
