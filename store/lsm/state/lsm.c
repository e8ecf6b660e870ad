#include "store/lsm/state/lsm.h"

#include <errno.h>
#include <stdio.h>

#include "store/lsm/state/full.h"

/* A store counts as unread after this long without a read. */
#define READ_NS 10000000000ull

int lsm_fail(struct lsm *db, int err)
{
	bool first;

	pthread_mutex_lock(&db->state);
	first = !atomic_load(&db->failed);
	if (first) {
		snprintf(db->failed_why, sizeof(db->failed_why), "%s",
			 store_why());
		atomic_store(&db->failed, err);
	}
	pthread_cond_broadcast(&db->done);
	pthread_mutex_unlock(&db->state);
	if (first && db->options.news)
		db->options.news(db->options.news_arg, STORE_NEWS_FAILED,
				 db->failed_why);
	return err;
}

void lsm_tell_work(struct lsm *db, int r, bool *told, const char *work)
{
	bool fails = r < 0, news;
	char text[600];

	if (os_is_full(r) || atomic_load(&db->failed))
		return;
	pthread_mutex_lock(&db->state);
	news = fails != *told;
	*told = fails;
	pthread_mutex_unlock(&db->state);
	if (!news || !db->options.news)
		return;
	if (fails)
		snprintf(text, sizeof(text), "%s fails: %s", work, store_why());
	else
		snprintf(text, sizeof(text), "%s works again", work);
	db->options.news(db->options.news_arg,
			 fails ? STORE_NEWS_STUCK : STORE_NEWS_DONE, text);
}

int lsm_writable(struct lsm *db)
{
	if (!atomic_load(&db->failed))
		return 0;
	return why(-EROFS,
		   "the store takes no more writes until it is reopened, "
		   "because: %s",
		   db->failed_why);
}

/* A log that is healthy after an error only lacked room: writes go on. */
int lsm_log_failed(struct lsm *db, int r)
{
	return wal_health(db->wal) == 0 ? r : lsm_fail(db, r);
}

int lsm_sync_log(struct lsm *db)
{
	int r = wal_sync(db->wal, wal_end(db->wal));

	return r < 0 ? lsm_fail(db, r) : 0;
}

int lsm_commit_edit(struct lsm *db, struct edit *e)
{
	unsigned loans = 0;
	int r;

	e->next_file = atomic_load(&db->next_file);
	e->last_seq = atomic_load(&db->seq);
	do {
		r = manifest_commit(db->manifest, e);
	} while (!manifest_failed(db->manifest) && full_lend(db, r, &loans));
	full_repay(db, &loans);
	return r < 0 && manifest_failed(db->manifest) ? lsm_fail(db, r) : r;
}

uint64_t file_number(void *db)
{
	return atomic_fetch_add(&((struct lsm *)db)->next_file, 1);
}

bool is_read(struct lsm *db)
{
	uint64_t now = os_monotonic_ns(db->os);
	uint64_t reads = store_counted(&db->base, COUNT_GETS_FOUND) +
			 store_counted(&db->base, COUNT_GETS_ABSENT) +
			 store_counted(&db->base, COUNT_SCANS);

	if (reads != db->reads) {
		db->reads = reads;
		db->read_ns = now;
	}
	/* If callers do the work, the answer must not depend on the clock. */
	return db->options.inline_background ||
	       (db->reads && now - db->read_ns < READ_NS);
}
