/* The list of tables by name, and functions of store.h for one table. */
#include "store/lsm/state/table_list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/bisect.h"

static int order(const struct lsm_table *t, struct bytes name)
{
	return bytes_cmp(bytes_str(t->now->name), name);
}

/* The index of @name, or where it would be. Under state. */
static bool find(struct lsm *db, struct bytes name, size_t *at)
{
	size_t low = 0, high = db->ntables;

	BISECT(low, high, mid, order(db->tables[mid], name) < 0);
	*at = low;
	return low < db->ntables && order(db->tables[low], name) == 0;
}

void tables_list(struct lsm *db, struct lsm_table *t)
{
	size_t at;
	bool listed = find(db, bytes_str(t->now->name), &at);

	assert(!listed);
	memmove(db->tables + at + 1, db->tables + at,
		(db->ntables - at) * sizeof(struct lsm_table *));
	db->tables[at] = t;
	db->ntables++;
}

void tables_unlist(struct lsm *db, struct lsm_table *t)
{
	for (size_t i = 0; i < db->ntables; i++) {
		if (db->tables[i] != t)
			continue;
		memmove(db->tables + i, db->tables + i + 1,
			(db->ntables - i - 1) * sizeof(struct lsm_table *));
		db->ntables--;
		return;
	}
}

int tables_none(struct bytes name)
{
	return why(-ENOENT, "no table '%.*s'", (int)name.len,
		   (const char *)name.data);
}

int lsm_table_open(struct store *s, struct bytes name, struct table **out)
{
	struct lsm *db = lsm_of(s);
	size_t at;
	bool found;

	pthread_mutex_lock(&db->state);
	found = find(db, name, &at);
	if (found) {
		*out = &db->tables[at]->base;
		table_ref(*out);
	}
	pthread_mutex_unlock(&db->state);
	return found ? 0 : tables_none(name);
}

int lsm_table_open_id(struct store *s, uint64_t id, struct table **out)
{
	struct lsm *db = lsm_of(s);
	bool found = false;

	pthread_mutex_lock(&db->state);
	for (size_t i = 0; !found && i < db->ntables; i++) {
		if (db->tables[i]->base.id != id)
			continue;
		*out = &db->tables[i]->base;
		table_ref(*out);
		found = true;
	}
	pthread_mutex_unlock(&db->state);
	return found ? 0 : why(-ENOENT, "the table has been dropped");
}

void lsm_table_free(struct table *base)
{
	struct lsm_table *t = (struct lsm_table *)base;

	table_state_unref(t->now);
	free(t);
}

/* The present state, referenced; NULL = dropped. */
static struct table_state *state_of(struct table *base)
{
	struct lsm *db = lsm_of(base->store);
	struct lsm_table *t = (struct lsm_table *)base;
	struct table_state *st;

	pthread_mutex_lock(&db->state);
	st = t->now;
	if (st)
		table_state_ref(st);
	pthread_mutex_unlock(&db->state);
	if (!st)
		why(-ENOENT, "the table has been dropped");
	return st;
}

int lsm_table_schema(struct table *t, struct schema *out)
{
	struct table_state *st = state_of(t);
	int r;

	if (!st)
		return -ENOENT;
	r = schema_copy(out, &st->schema);
	table_state_unref(st);
	return r;
}

uint64_t lsm_table_schema_version(const struct table *t)
{
	return atomic_load(&((const struct lsm_table *)t)->version);
}

int lsm_table_name(struct table *t, char *name)
{
	struct table_state *st = state_of(t);

	if (!st)
		return -ENOENT;
	strcpy(name, st->name);
	table_state_unref(st);
	return 0;
}

int lsm_table_next(struct store *s, struct bytes after, char *name)
{
	struct lsm *db = lsm_of(s);
	size_t at;
	int r = 0;

	pthread_mutex_lock(&db->state);
	if (find(db, after, &at))
		at++;
	if (at < db->ntables) {
		strcpy(name, db->tables[at]->now->name);
		r = 1;
	}
	pthread_mutex_unlock(&db->state);
	return r;
}
