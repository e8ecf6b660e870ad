/*
 * Backpressure: when the active memtable is frozen, and when writers wait.
 *
 * A writer that finds the memtable full freezes it, which starts a new segment
 * of the log. Together they have at most b, the size of the write buffer, and
 * the last mutation:
 *
 *	active  ▁▂▃▄ b/2: frozen ──▶ flushed, gone
 *	the next     ▁▂▃▄ b/2: writers wait for that ─▶ frozen
 *
 * With halves, one is flushed while the other fills: writers that are faster
 * than the flush wait only for it, and it never waits for them.
 *
 * Writers also wait before freezing a memtable if level 0 of some tree has so
 * many files that reads are slow: this leaves the disk to compaction.
 */
#include <assert.h>
#include <errno.h>

#include "store/lsm/state/superversion.h"
#include "store/lsm/background/background.h"

/* The size at which a memtable is frozen. */
static size_t full_bytes(const struct lsm *db)
{
	return db->options.write_buffer_bytes / 2;
}

/* The size limit of the active memtable beside @frozen frozen bytes. */
static size_t beside_bytes(const struct lsm *db, size_t frozen)
{
	size_t all = db->options.write_buffer_bytes;
	size_t rest = frozen < all ? all - frozen : 0;

	return rest < full_bytes(db) ? rest : full_bytes(db);
}

int backpressure_init(struct lsm *db)
{
	size_t full = full_bytes(db);

	db->active_max = full;
	/* An estimate of 512 bytes for a row, until there are rows. */
	return memtable_new(full / 512, &db->active);
}

int commit_freeze(struct lsm *db, uint64_t trim)
{
	size_t used = memtable_bytes(db->active);
	struct memtable *next;
	uint64_t segment;
	uint32_t frozen;
	int r;

	if (memtable_empty(db->active))
		return 0;
	pthread_mutex_lock(&db->state);
	frozen = db->nfrozen;
	pthread_mutex_unlock(&db->state);
	/* The number can only fall while the caller holds commit. */
	if (frozen == FROZEN_MAX)
		return why(-EBUSY, "memory that was written before is not "
				   "flushed yet");
	r = memtable_new(memtable_rows(db->active), &next);
	if (r < 0)
		return why(r, "out of memory for a memtable");
	r = wal_rotate(db->wal, &segment);
	if (r < 0) {
		memtable_unref(next);
		return lsm_log_failed(db, r);
	}
	pthread_mutex_lock(&db->state);
	assert(db->nfrozen < FROZEN_MAX);
	db->freezes++;
	db->frozen[db->nfrozen++] =
		(struct generation){db->active, segment, trim};
	db->active = db->reading = next;
	db->active_max = beside_bytes(db, used);
	superversions_changed(db);
	pthread_cond_broadcast(&db->work);
	pthread_mutex_unlock(&db->state);
	return 0;
}

/* Under state: are writers ahead of compaction? */
static bool must_stall(struct lsm *db)
{
	uint32_t most = LEVEL0_STALL +
			(is_read(db) ? LEVEL0_FILES : LEVEL0_FILES_UNREAD);
	struct tree_walk w = {0};

	if (db->compact_error)
		return false;
	while (trees_next(db, &w))
		if (w.tree->levels->level[0].nfiles >= most &&
		    compact_helps(db, w.tree))
			return true;
	return false;
}

/*
 * Waits until no generation is frozen, and if @freeze until level 0 is merged:
 * 0, or 1 if it has waited. Flush and compaction take catalog, whose holder may
 * wait for commit: so commit is released meanwhile, and the caller must check
 * everything again.
 */
static int wait_for_room(struct lsm *db, bool freeze)
{
	uint64_t start = 0;
	bool failed = false;
	int r = 0;

	pthread_mutex_lock(&db->state);
	while (db->nfrozen == FROZEN_MAX || (freeze && must_stall(db))) {
		/* why() is called after the lock is released. */
		failed = atomic_load(&db->failed);
		if (failed)
			break;
		if (db->nfrozen == FROZEN_MAX && db->flush_error) {
			r = why(db->flush_error,
				"memory is full and could not be flushed: %s",
				db->flush_why);
			break;
		}
		if (!start) {
			start = os_monotonic_ns(db->os);
			pthread_mutex_unlock(&db->commit);
			r = 1;
		}
		pthread_cond_wait(&db->done, &db->state);
	}
	pthread_mutex_unlock(&db->state);
	if (start) {
		pthread_mutex_lock(&db->commit);
		atomic_fetch_add(&db->stats.stalls, 1);
		atomic_fetch_add(&db->stats.stall_ns,
				 os_monotonic_ns(db->os) - start);
	}
	return failed ? lsm_writable(db) : r;
}

bool only_deletes(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		if (op_writes(m->changes[i].op))
			return false;
	return true;
}

/*
 * Does the mutation continue the last row of a full memtable? It is still
 * accepted then, so that rows written in ascending order make files without
 * common rows, which are moved down and never merged.
 */
static bool goes_on(const struct lsm *db, const struct mutation *m, size_t used)
{
	size_t full = full_bytes(db);

	return used >= full && used - full < full / 16 &&
	       memtable_ends_with(db->active, m->row);
}

/*
 * Waits until no generation is frozen, and freezes the memtable if it is full:
 * 0. 1: it has waited, and the caller must check again.
 */
static int room_beside(struct lsm *db, size_t used)
{
	bool full = used >= full_bytes(db);
	int r;

	/* Flush one generation, as a thread would: another one stays frozen. */
	if (db->options.inline_background) {
		r = flush_one(db);
		if (r > 0)
			r = 0;
	} else {
		r = wait_for_room(db, full);
	}
	if (r)
		return r;
	db->active_max = full_bytes(db);
	if (!full)
		return 0;
	r = commit_freeze(db, 0);
	if (db->options.inline_background)
		while (r >= 0 && (r = compact_one(db)) > 0)
			;
	return r;
}

static int disk_full(void)
{
	return why(-ENOSPC, "the store's disk is full: what is left is kept "
			    "for deletes");
}

/*
 * Refuses earlier than make_room() does: a put that was admitted may use the
 * space in log and memory that is left.
 */
int backpressure_admit(struct lsm *db, const struct mutation *m)
{
	int r = lsm_writable(db);
	size_t used;

	if (r < 0 || (m && only_deletes(m)))
		return r;
	if (wal_low(db->wal))
		return disk_full();
	r = atomic_load(&db->flush_error);
	if (r == 0)
		return 0;
	pthread_mutex_lock(&db->state);
	used = memtable_bytes(db->reading);
	r = db->nfrozen ? atomic_load(&db->flush_error) : 0;
	if (used < full_bytes(db) / 2)
		r = 0;
	if (r < 0)
		why(r, "memory is filling up and cannot be flushed: %s",
		    db->flush_why);
	pthread_mutex_unlock(&db->state);
	return r;
}

/*
 * How large the active memtable may become while a full disk keeps the one
 * before it from being flushed. The deletes that would empty the disk are not
 * stopped, nor is a put that was admitted before the flush failed.
 */
static size_t unflushed_max(const struct lsm *db, const struct mutation *m,
			    unsigned flags)
{
	if (only_deletes(m))
		return 2 * db->options.write_buffer_bytes;
	return flags & MUTATE_ADMITTED ? db->options.write_buffer_bytes : 0;
}

/* As make_room(); 1: check again. */
static int try_room(struct lsm *db, const struct mutation *m, unsigned flags)
{
	size_t used = memtable_bytes(db->active);
	bool low =
		flags & MUTATE_ADMITTED ? wal_spent(db->wal) : wal_low(db->wal);
	int r;

	if (low && !only_deletes(m))
		return disk_full();
	if (used < db->active_max || goes_on(db, m, used))
		return 0;
	r = room_beside(db, used);
	if (os_is_full(r) &&
	    memtable_bytes(db->active) < unflushed_max(db, m, flags))
		r = 0;
	return r;
}

int make_room(struct lsm *db, const struct mutation *m, unsigned flags)
{
	int r;

	while ((r = try_room(db, m, flags)) > 0) {
		r = lsm_writable(db);
		if (r < 0)
			break;
	}
	return r;
}
