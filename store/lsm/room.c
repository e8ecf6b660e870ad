/*
 * Room for writing: when the active memtable is frozen, and who waits.
 *
 * A writer that finds the memtable full freezes it, which starts a new segment
 * of the log. It waits when too many frozen ones are unflushed, or when level 0
 * of some tree is so deep that readers suffer: compaction then has the disk.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/lsm.h"

int commit_freeze(struct lsm *db, uint64_t trim)
{
	struct memtable *next;
	uint64_t segment;
	int r;

	if (memtable_empty(db->active))
		return 0;
	r = memtable_new(db->options.write_buffer_bytes, &next);
	if (r < 0)
		return why(r, "out of memory for a memtable");
	r = wal_rotate(db->wal, &segment);
	if (r < 0) {
		memtable_unref(next);
		return r == -ENOSPC ? r : lsm_fail(db, r);
	}
	pthread_mutex_lock(&db->state);
	assert(db->nfrozen < FROZEN_MAX);
	db->frozen[db->nfrozen++] =
		(struct generation){db->active, segment, trim};
	db->active = db->reading = next;
	views_changed(db);
	pthread_cond_broadcast(&db->work);
	pthread_mutex_unlock(&db->state);
	return 0;
}

/* Under state: are writers ahead of compaction? */
static bool must_stall(struct lsm *db)
{
	if (db->compact_error)
		return false;
	for (size_t i = 0; i < db->ntables; i++) {
		struct table_state *st = db->tables[i]->now;

		for (uint32_t k = 0; k < st->schema.nfamilies; k++)
			if (st->trees[k]->levels->level[0].nfiles >=
			    LEVEL0_STALL)
				return true;
	}
	return false;
}

/* Waits until a generation may be frozen. */
static int wait_for_room(struct lsm *db)
{
	uint64_t start = 0;
	int r = 0;

	pthread_mutex_lock(&db->state);
	while (db->nfrozen == FROZEN_MAX || must_stall(db)) {
		if (atomic_load(&db->failed)) {
			r = -EROFS;
			break;
		}
		if (db->nfrozen == FROZEN_MAX && db->flush_error) {
			r = why(db->flush_error,
				"memory is full and it could not be flushed");
			break;
		}
		if (!start)
			start = os_monotonic_ns(db->os);
		pthread_cond_wait(&db->done, &db->state);
	}
	pthread_mutex_unlock(&db->state);
	if (start) {
		atomic_fetch_add(&db->stats.stalls, 1);
		atomic_fetch_add(&db->stats.stall_ns,
				 os_monotonic_ns(db->os) - start);
	}
	return r == -EROFS ? lsm_writable(db) : r;
}

static bool only_deletes(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		switch (m->changes[i].op) {
		case CHANGE_PUT:
		case CHANGE_INCREMENT:
		case CHANGE_APPEND:
			return false;
		}
	return true;
}

/*
 * A full memtable still takes what goes on with its last row: what is written
 * in the order of rows then leaves files that share no row, which are moved
 * down and never merged.
 */
static bool goes_on(const struct lsm *db, const struct mutation *m, size_t used)
{
	size_t full = db->options.write_buffer_bytes;

	return used - full < full / 16 &&
	       memtable_ends_with(db->active, m->row);
}

int make_room(struct lsm *db, const struct mutation *m)
{
	size_t used = memtable_bytes(db->active);
	int r;

	if (wal_low(db->wal) && !only_deletes(m))
		return why(-ENOSPC, "the store's disk is full: what is left "
				    "is kept for deletes");
	if (used < db->options.write_buffer_bytes || goes_on(db, m, used))
		return 0;
	if (db->options.inline_background) {
		/* One behind, as with threads: writes go on beside a frozen
		 * one. */
		r = flush_one(db);
		if (r >= 0)
			r = commit_freeze(db, 0);
		while (r >= 0 && (r = compact_one(db)) > 0)
			;
		return r < 0 ? r : 0;
	}
	r = wait_for_room(db);
	if (r == 0)
		r = commit_freeze(db, 0);
	/* A full disk must not stop the deletes that would empty it. */
	if (r == -ENOSPC && only_deletes(m) &&
	    used < 2 * db->options.write_buffer_bytes)
		r = 0;
	return r;
}
