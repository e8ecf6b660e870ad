#include "store/lsm/state/tombstone_stats.h"

/* A scan that passed fewer markers leaves the shared counter alone. */
#define NOTED_MIN 256
/* A merge is due once all scans of a tree have passed this many markers. */
#define PASSED_MAX 65536
/* A memtable with fewer markers of the tree is not flushed for them. */
#define FLUSHED_MIN 4096

void tombstone_stats_add(struct tree *t, uint64_t n)
{
	if (n >= NOTED_MIN)
		atomic_fetch_add(&t->passed, n);
}

bool tombstone_stats_due(const struct tree *t)
{
	return atomic_load_explicit(&t->passed, memory_order_relaxed) >=
	       PASSED_MAX;
}

static bool holds_markers(struct memtable *mt, const struct tree *t)
{
	struct memtree_stat st;

	return memtable_tree_stat(mt, t->id, &st) && st.markers >= FLUSHED_MIN;
}

void tombstone_stats_reset(struct lsm *db)
{
	struct tree_walk w = {0};

	while (trees_next(db, &w))
		if (tombstone_stats_due(w.tree) && !w.tree->compacting &&
		    !db->nfrozen && !holds_markers(db->reading, w.tree))
			atomic_store(&w.tree->passed, 0);
}

bool tombstone_stats_in_memory(struct lsm *db)
{
	struct tree_walk w = {0};
	bool due = false;

	pthread_mutex_lock(&db->state);
	while (!due && !db->nfrozen && trees_next(db, &w))
		due = tombstone_stats_due(w.tree) &&
		      holds_markers(db->reading, w.tree);
	pthread_mutex_unlock(&db->state);
	return due;
}
