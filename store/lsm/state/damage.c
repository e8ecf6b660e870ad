#include "store/lsm/state/damage.h"

#include <errno.h>
#include <stdlib.h>

/* Puts table and family in front of the reason, which begins with N.sst. */
static int words(const struct table_state *st, uint32_t at, uint64_t *number)
{
	struct why_kept reason;

	why_keep(&reason);
	*number = strtoull(reason.text, NULL, 10);
	return why(-EUCLEAN, "table %s, family %s: %.*s", st->name,
		   st->schema.families[at].name, WHY_MAX / 2, reason.text);
}

static void tell(struct lsm *db, struct sstable *t)
{
	if (sst_tells_damage(t) && db->options.news)
		db->options.news(db->options.news_arg, STORE_NEWS_DAMAGED,
				 store_why());
}

int damage_found(struct lsm *db, const struct table_state *st, uint32_t at,
		 const struct levels *l, int r)
{
	uint64_t number;

	if (r != -EUCLEAN)
		return r;
	words(st, at, &number);
	for (int i = 0; i < LEVELS_MAX; i++)
		for (uint32_t k = 0; k < l->level[i].nfiles; k++)
			if (sst_info(l->level[i].files[k])->number == number)
				tell(db, l->level[i].files[k]);
	return r;
}

void damage_in_merge(struct lsm *db, const struct tree *t,
		     const struct levels *l)
{
	struct table_state *st = NULL;
	struct tree_walk w = {0};

	pthread_mutex_lock(&db->state);
	while (!st && trees_next(db, &w))
		if (w.tree == t)
			st = w.table->now;
	if (st)
		table_state_ref(st);
	pthread_mutex_unlock(&db->state);
	if (st)
		damage_found(db, st, w.behind - 1, l, -EUCLEAN);
	table_state_unref(st);
}

static void at_open(struct lsm *db, const struct table_state *st, uint32_t at,
		    const struct level *l)
{
	for (uint32_t i = 0; i < l->nfiles; i++) {
		uint64_t number;

		if (sst_why_lost(l->files[i]) == 0)
			continue;
		words(st, at, &number);
		tell(db, l->files[i]);
	}
}

void damage_at_open(struct lsm *db, const struct table_state *st)
{
	for (uint32_t at = 0; at < st->schema.nfamilies; at++)
		for (int i = 0; i < LEVELS_MAX; i++)
			at_open(db, st, at, &st->trees[at]->levels->level[i]);
	why_clear();
}
