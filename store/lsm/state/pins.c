#include "store/lsm/state/pins.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

void pin_link(struct lsm *db, struct lsm_snapshot *snap)
{
	struct lsm_snapshot *before = db->last;

	while (before && before->seq > snap->seq)
		before = before->prev;
	assert(!before || before->seq <= snap->seq);
	snap->prev = before;
	snap->next = before ? before->next : db->first;
	*(snap->next ? &snap->next->prev : &db->last) = snap;
	*(before ? &before->next : &db->first) = snap;
}

void pin_unlink(struct lsm *db, struct lsm_snapshot *snap)
{
	*(snap->prev ? &snap->prev->next : &db->first) = snap->next;
	*(snap->next ? &snap->next->prev : &db->last) = snap->prev;
}

struct lsm_snapshot *pin_new(struct lsm *db, uint64_t table)
{
	struct lsm_snapshot *snap = calloc(1, sizeof(*snap));

	if (snap) {
		snap->base.store = &db->base;
		snap->base.table = table;
	} else {
		why(-ENOMEM, "out of memory");
	}
	return snap;
}

void pin_now(struct lsm *db, struct lsm_snapshot *snap)
{
	pthread_mutex_lock(&db->state);
	snap->seq = atomic_load(&db->seq);
	pin_link(db, snap);
	pthread_mutex_unlock(&db->state);
}

const struct family_attrs *pin_attrs(const struct snapshot *snap,
				     uint64_t table,
				     const struct family_schema *now)
{
	const struct snapshot_table *was =
		snap ? snapshot_tables_find(&snap->tables, table) : NULL;
	int at = was ? schema_find(&was->schema, bytes_str(now->name)) : -1;
	const struct family_attrs *then =
		at < 0 ? &now->attrs : &was->schema.families[at].attrs;

	return family_attrs_less(then, &now->attrs) ? then : &now->attrs;
}

int lsm_snapshot_take(struct store *s, struct snapshot **out)
{
	struct lsm *db = lsm_of(s);
	struct lsm_snapshot *snap = pin_new(db, 0);

	if (!snap)
		return -ENOMEM;
	pin_now(db, snap);
	*out = &snap->base;
	return 0;
}

void lsm_snapshot_release(struct snapshot *base)
{
	struct lsm_snapshot *snap = (struct lsm_snapshot *)base;
	struct lsm *db = lsm_of(base->store);

	pthread_mutex_lock(&db->state);
	pin_unlink(db, snap);
	pthread_mutex_unlock(&db->state);
	free(snap);
}

int pins_collect(struct lsm *db, uint64_t table, uint64_t **out, size_t *n)
{
	const struct lsm_snapshot *s;
	size_t count = 0;

	*out = NULL;
	*n = 0;
	pthread_mutex_lock(&db->state);
	for (s = db->first; s; s = s->next)
		count++;
	*out = count ? malloc(count * sizeof(**out)) : NULL;
	for (s = *out ? db->first : NULL; s; s = s->next) {
		if (s->base.table && s->base.table != table)
			continue;
		if (*n == 0 || (*out)[*n - 1] != s->seq)
			(*out)[(*n)++] = s->seq;
	}
	pthread_mutex_unlock(&db->state);
	return count && !*out ? why(-ENOMEM, "out of memory") : 0;
}

int pins_load(struct lsm *db)
{
	const struct catalog *c = manifest_catalog(db->manifest);

	for (size_t i = 0; i < c->nsnapshots; i++) {
		const struct catalog_snapshot *s = &c->snapshots[i];
		struct lsm_snapshot *snap = pin_new(db, s->table);

		if (!snap)
			return -ENOMEM;
		snap->named = true;
		snap->seq = s->seq;
		pin_link(db, snap);
	}
	return 0;
}

void pins_free(struct lsm *db)
{
	while (db->first) {
		struct lsm_snapshot *snap = db->first;

		pin_unlink(db, snap);
		free(snap);
	}
}
