/*
 * Named snapshots: the catalog keeps them, with the names and schemas of the
 * tables that they show. Each has a pin (pins.h) as long as its name exists.
 */
#include "store/lsm/state/pins.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/admin/admin.h"
#include "store/lsm/write/note.h"

static uint64_t scope(const struct table *t)
{
	return t ? t->id : 0;
}

static int no_snapshot(struct bytes name)
{
	return why(-ENOENT, "no snapshot '%.*s'", (int)name.len,
		   (const char *)name.data);
}

static int taken(struct bytes name)
{
	return why(-EEXIST, "a snapshot '%.*s' exists", (int)name.len,
		   (const char *)name.data);
}

static void name_copy(char *to, struct bytes name)
{
	memcpy(to, name.data, name.len);
	to[name.len] = '\0';
}

/*
 * Syncs the log first: after a crash no change may be missing that was written
 * before a snapshot was made or dropped. A failure stops all writes, or refuses
 * only this call.
 */
static int commit(struct lsm *db, struct edit *e)
{
	int r = lsm_sync_log(db);

	if (r == 0)
		r = lsm_commit_edit(db, e);
	if (r == 0)
		note_tables_now(db);
	return r;
}

/* -ENOENT if the table has been dropped. Under catalog. */
static int check_scope(struct lsm *db, const struct table *t)
{
	if (t && !catalog_find_id(manifest_catalog(db->manifest), t->id))
		return why(-ENOENT, "the table has been dropped");
	return 0;
}

/* Copies the tables in scope as they are now. Under catalog. */
static int remember(struct lsm *db, uint64_t table, struct snapshot_tables *out)
{
	const struct catalog *c = manifest_catalog(db->manifest);
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->ntables; i++)
		if (!table || c->tables[i].id == table)
			r = snapshot_tables_add(out, c->tables[i].id,
						c->tables[i].name,
						&c->tables[i].schema);
	return r < 0 ? why(r, "out of memory") : 0;
}

/*
 * The pin is taken first: else a compaction could drop entries before the
 * snapshot is in the catalog.
 */
static int create(struct lsm *db, struct table *t, struct bytes name)
{
	struct catalog_snapshot s = {.table = scope(t)};
	struct edit e = {.put_snapshot = &s};
	struct lsm_snapshot *pin;
	int r = check_scope(db, t);

	if (r < 0)
		return r;
	if (catalog_find_snapshot(manifest_catalog(db->manifest), s.table,
				  name))
		return taken(name);
	pin = pin_new(db, s.table);
	if (!pin)
		return -ENOMEM;
	pin->named = true;
	pin_now(db, pin);
	name_copy(s.name, name);
	s.seq = pin->seq;
	s.taken_ms = os_now_ms(db->os);
	r = remember(db, s.table, &s.tables);
	if (r == 0)
		r = commit(db, &e);
	snapshot_tables_free(&s.tables);
	if (r < 0)
		lsm_snapshot_release(&pin->base);
	return r;
}

int lsm_snapshot_create(struct store *s, struct table *t, struct bytes name)
{
	struct lsm *db = lsm_of(s);
	int r;

	pthread_mutex_lock(&db->catalog);
	r = lsm_writable(db);
	if (r == 0)
		r = create(db, t, name);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

/*
 * Files with entries of both sides of the dropped snapshot may hold some only
 * for it: marks them for a rewrite. Under state.
 */
static void mark_freed(struct lsm *db, uint64_t table, uint64_t seq)
{
	struct tree_walk w = {0};

	while (trees_next(db, &w)) {
		struct compaction_freed *f = &w.tree->freed;

		if (table && w.table->base.id != table)
			continue;
		if (!f->number || seq < f->first)
			f->first = seq;
		if (seq > f->last)
			f->last = seq;
		f->number = atomic_load(&db->next_file);
	}
	pthread_cond_broadcast(&db->work);
}

/*
 * Removes the pin of a named snapshot; pins of equal sequence and table are
 * equal.
 */
static void unpin(struct lsm *db, uint64_t table, uint64_t seq)
{
	struct lsm_snapshot *pin;

	pthread_mutex_lock(&db->state);
	for (pin = db->first; pin; pin = pin->next)
		if (pin->named && pin->seq == seq && pin->base.table == table)
			break;
	if (pin)
		pin_unlink(db, pin);
	mark_freed(db, table, seq);
	pthread_mutex_unlock(&db->state);
	free(pin);
}

int lsm_snapshot_drop(struct store *s, struct table *t, struct bytes name)
{
	struct catalog_snapshot gone = {.table = scope(t)};
	struct edit e = {.drop_snapshot = &gone};
	const struct catalog_snapshot *found;
	struct lsm *db = lsm_of(s);
	int r;

	pthread_mutex_lock(&db->catalog);
	r = lsm_writable(db);
	found = catalog_find_snapshot(manifest_catalog(db->manifest),
				      gone.table, name);
	if (r == 0 && !found)
		r = no_snapshot(name);
	if (r == 0) {
		name_copy(gone.name, name);
		gone.seq = found->seq;
		r = commit(db, &e);
	}
	if (r == 0)
		unpin(db, gone.table, gone.seq);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

static int rename_one(struct lsm *db, const struct catalog_snapshot *from,
		      struct bytes to)
{
	struct catalog_snapshot gone = {.table = from->table};
	struct catalog_snapshot now = *from;
	struct edit e = {.drop_snapshot = &gone, .put_snapshot = &now};
	int r;

	memcpy(gone.name, from->name, sizeof(gone.name));
	name_copy(now.name, to);
	/* The edit drops the old name before it adds the new one. */
	r = snapshot_tables_copy(&now.tables, &from->tables);
	if (r < 0)
		return why(r, "out of memory");
	r = commit(db, &e);
	snapshot_tables_free(&now.tables);
	return r;
}

int lsm_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			struct bytes to)
{
	const struct catalog_snapshot *found;
	struct lsm *db = lsm_of(s);
	const struct catalog *c;
	int r;

	pthread_mutex_lock(&db->catalog);
	c = manifest_catalog(db->manifest);
	r = lsm_writable(db);
	found = catalog_find_snapshot(c, scope(t), from);
	if (r == 0 && !found)
		r = no_snapshot(from);
	if (r == 0)
		r = catalog_find_snapshot(c, scope(t), to)
			    ? taken(to)
			    : rename_one(db, found, to);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

int lsm_snapshot_next(struct store *s, struct table *t, struct bytes after,
		      struct snapshot_info *out)
{
	const struct catalog_snapshot *found;
	struct lsm *db = lsm_of(s);

	pthread_mutex_lock(&db->catalog);
	found = catalog_next_snapshot(manifest_catalog(db->manifest), scope(t),
				      after);
	if (found) {
		memcpy(out->name, found->name, sizeof(out->name));
		out->taken_ms = found->taken_ms;
	}
	pthread_mutex_unlock(&db->catalog);
	return found != NULL;
}

int lsm_snapshot_open(struct store *s, struct table *t, struct bytes name,
		      struct snapshot **out)
{
	const struct catalog_snapshot *found;
	struct lsm *db = lsm_of(s);
	struct lsm_snapshot *pin = pin_new(db, scope(t));
	int r;

	if (!pin)
		return -ENOMEM;
	/* Under catalog the named snapshot keeps its own pin. */
	pthread_mutex_lock(&db->catalog);
	found = catalog_find_snapshot(manifest_catalog(db->manifest), scope(t),
				      name);
	r = found ? snapshot_tables_copy(&pin->base.tables, &found->tables)
		  : no_snapshot(name);
	if (r == 0) {
		pin->base.taken_ms = found->taken_ms;
		pin->seq = found->seq;
		pthread_mutex_lock(&db->state);
		pin_link(db, pin);
		pthread_mutex_unlock(&db->state);
	}
	pthread_mutex_unlock(&db->catalog);
	if (r < 0)
		free(pin);
	else
		*out = &pin->base;
	return r;
}
