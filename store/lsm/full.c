#include "store/lsm/full.h"

#include <errno.h>
#include <time.h>

#define FILE_BYTES ((size_t)64 << 20)
#define LEVEL1_FILES 4
#define LEAST_BYTES ((size_t)256 << 10)
/* With space for fewer files of tables than these the disk is nearly full. */
#define TIGHT_FILES 4
/* A flush that found no space is tried again within a second. */
#define FLUSH_WAIT_NS 3000000000ull

void full_fit(struct lsm *db)
{
	const struct store_options *o = &db->options;
	size_t file = o->table_file_bytes;
	size_t unit = o->inline_background
			      ? FILE_BYTES
			      : wal_fit(db->dir, FILE_BYTES, LEAST_BYTES);
	size_t was = o->write_buffer_bytes;

	if (!file)
		file = unit;
	if (unit < FILE_BYTES && was > unit) {
		db->options.write_buffer_bytes = unit;
		arena_keep((ptrdiff_t)unit - (ptrdiff_t)was);
	}
	db->limits.level1_bytes = LEVEL1_FILES * file;
	db->limits.file_bytes = file;
	db->limits.rest_bytes = file / 4;
}

bool full_lend(struct lsm *db, int r, unsigned *loans)
{
	if (!os_is_full(r) || db->options.inline_background || !db->wal ||
	    wal_lend(db->wal) <= 0)
		return false;
	++*loans;
	return true;
}

void full_repay(struct lsm *db, unsigned *loans)
{
	if (*loans == 0)
		return;
	wal_repay(db->wal, *loans);
	*loans = 0;
	/* What fails for good the next append or tick says. */
	(void)wal_prepare(db->wal);
}

uint64_t full_space(struct lsm *db)
{
	uint64_t total, left, usable;

	if (os_dir_space(db->dir, &total, &left, &usable) < 0)
		return UINT64_MAX;
	return usable + wal_lendable(db->wal);
}

bool full_nearly(struct lsm *db)
{
	uint64_t total, left, usable;

	if (wal_low(db->wal))
		return true;
	return os_dir_space(db->dir, &total, &left, &usable) == 0 &&
	       usable < TIGHT_FILES * db->limits.file_bytes;
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
 * Is anything to be had from memory: segments of the log when it is low, or
 * else what its markers hide?
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

void full_freeze(struct lsm *db)
{
	uint64_t seq = atomic_load(&db->seq);
	bool calm = seq == db->full_seq;

	db->full_seq = seq;
	if ((!calm && !wal_low(db->wal)) || !is_due(db) || !full_nearly(db) ||
	    pthread_mutex_trylock(&db->commit) != 0)
		return;
	/* What fails is tried again, and told by those who write. */
	if (is_due(db) && (calm || wal_spent(db->wal)) && lsm_writable(db) == 0)
		commit_freeze(db, 0);
	pthread_mutex_unlock(&db->commit);
}

bool full_flush(struct lsm *db, const struct mutation *m)
{
	uint64_t end = os_monotonic_ns(db->os) + FLUSH_WAIT_NS;
	struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
				 .tv_nsec = (long)(end % 1000000000)};
	bool done;

	if (!only_deletes(m) || db->options.inline_background)
		return false;
	pthread_mutex_lock(&db->state);
	done = db->nfrozen == 0 && !memtable_empty(db->active);
	pthread_mutex_unlock(&db->state);
	if (done && commit_freeze(db, 0) < 0)
		return false;
	/* A flush takes catalog, and who has that waits for commit. */
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_lock(&db->state);
	done = db->nfrozen > 0;
	/* An attempt that fails may have met a merge that has the reserve. */
	pthread_cond_broadcast(&db->work);
	while (db->nfrozen && !atomic_load(&db->failed) && !db->stop)
		if (pthread_cond_timedwait(&db->done, &db->state, &until))
			break;
	done = done && db->nfrozen == 0;
	pthread_mutex_unlock(&db->state);
	pthread_mutex_lock(&db->commit);
	return done;
}

void full_tell(struct lsm *db)
{
	bool full = wal_low(db->wal);

	if (full == db->full_told)
		return;
	db->full_told = full;
	if (db->options.news)
		db->options.news(db->options.news_arg,
				 full ? STORE_NEWS_FULL : STORE_NEWS_ROOM, "");
}
