#include "store/lsm/write/quota.h"

#include <errno.h>
#include <inttypes.h>

#include "store/lsm/background/background.h"

/* Under db->state. A dropped table is over none. */
static bool is_over(const struct lsm_table *t)
{
	return t->now && t->now->schema.quota &&
	       table_state_bytes(t->now) > t->now->schema.quota;
}

bool quota_is_over(struct lsm *db, struct lsm_table *t)
{
	/* One more, so that 0 is of none. */
	uint64_t now = atomic_load(&db->generation) + 1;
	bool over;

	/* A change in between is seen by the next call. */
	if (atomic_load(&t->quota_seen) == now)
		return atomic_load(&t->quota_over);
	pthread_mutex_lock(&db->state);
	over = is_over(t);
	atomic_store(&t->quota_over, over);
	atomic_store(&t->quota_seen, atomic_load(&db->generation) + 1);
	pthread_mutex_unlock(&db->state);
	return over;
}

int quota_admit(struct lsm *db, struct lsm_table *t, const struct mutation *m)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	uint64_t bytes = 0, quota = 0;
	bool over;

	if (!quota_is_over(db, t) || (m && only_deletes(m)))
		return 0;
	pthread_mutex_lock(&db->state);
	/* The answer that is kept may be out of date. */
	over = is_over(t);
	if (over) {
		strcpy(name, t->now->name);
		bytes = table_state_bytes(t->now);
		quota = t->now->schema.quota;
	}
	pthread_mutex_unlock(&db->state);
	if (!over)
		return 0;
	return why(-ENOSPC,
		   "the files of table %s have %" PRIu64
		   " bytes, and its quota is %" PRIu64
		   ": delete and compact (what a snapshot shows stays), or "
		   "raise the quota in its schema",
		   name, bytes, quota);
}
