/* The wrappers of store.h for snapshots. */
#include <errno.h>

#include "store/front/args.h"
#include "store/front/front.h"
#include "store/front/namespace.h"

int snapshot_take(struct store *s, struct snapshot **out)
{
	struct snapshot *snap = NULL;
	int r;

	front_begin();
	r = front_can(s, CAN_VIEW_NOW);
	if (r == 0)
		r = s->ops->snapshot_take(s, &snap);
	if (r == 0) {
		snap->store = s;
		*out = snap;
	}
	return front_end(s, r);
}

void snapshot_release(struct snapshot *snap)
{
	if (!snap)
		return;
	snapshot_tables_free(&snap->tables);
	snap->store->ops->snapshot_release(snap);
}

int store_snapshot_create(struct store *s, struct table *t, struct bytes name)
{
	int r = front_begin_write(s);

	if (r == 0)
		r = front_owns(s, t);
	if (r == 0)
		r = args_snapshot(name);
	if (r == 0 && !t)
		r = front_can(s, CAN_SNAPSHOT_ALL);
	if (r == 0)
		r = s->ops->snapshot_create(s, t, name);
	return front_end(s, r);
}

int store_snapshot_drop(struct store *s, struct table *t, struct bytes name)
{
	int r = front_begin_delete(s);

	if (r == 0)
		r = front_owns(s, t);
	if (r == 0)
		r = s->ops->snapshot_drop(s, t, name);
	return front_end(s, r);
}

int store_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			  struct bytes to)
{
	int r = front_begin_write(s);

	if (r == 0)
		r = front_owns(s, t);
	if (r == 0)
		r = args_snapshot(to);
	if (r == 0)
		r = front_can(s, CAN_RENAME_SNAPSHOT);
	if (r == 0)
		r = s->ops->snapshot_rename(s, t, from, to);
	return front_end(s, r);
}

int store_snapshot_next(struct store *s, struct table *t, struct bytes after,
			struct snapshot_info *out)
{
	int r;

	front_begin();
	r = front_owns(s, t);
	if (r == 0)
		r = s->ops->snapshot_next(s, t, after, out);
	return front_end(s, r);
}

int store_snapshot_open(struct store *s, struct table *t, struct bytes name,
			struct snapshot **out)
{
	struct snapshot *snap = NULL;
	int r;

	front_begin();
	r = front_owns(s, t);
	if (r == 0)
		r = s->ops->snapshot_open(s, t, name, &snap);
	if (r == 0) {
		snap->store = s;
		*out = snap;
	}
	return front_end(s, r);
}

/* The snapshot's table of this name; NULL with a sentence. */
static const struct snapshot_table *shown_as(const struct snapshot *snap,
					     struct bytes name)
{
	const struct snapshot_tables *t = &snap->tables;

	if (!name.len && snap->table && t->n == 1)
		return &t->at[0];
	for (size_t i = 0; i < t->n; i++)
		if (bytes_eq(bytes_str(t->at[i].name), name))
			return &t->at[i];
	if (name.len)
		why(-ENOENT, "the snapshot shows no table %.*s", (int)name.len,
		    (const char *)name.data);
	else
		why(-EINVAL, "the snapshot is of the whole store: say which "
			     "table");
	return NULL;
}

static int check_free(struct store *s, struct bytes to)
{
	struct table *t;
	int r = s->ops->table_open(s, to, &t);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	table_unref(t);
	return why(-EEXIST, "table %.*s exists", (int)to.len,
		   (const char *)to.data);
}

/* Clones to @to, or restores the table itself if @to is empty. */
static int make_of(struct store *s, struct table *t, struct bytes name,
		   struct bytes shown, struct bytes to)
{
	const struct snapshot_table *from;
	struct snapshot *snap = NULL;
	int r = front_owns(s, t);

	if (r == 0)
		r = s->ops->snapshot_open(s, t, name, &snap);
	if (r < 0)
		return r;
	snap->store = s;
	from = shown_as(snap, shown);
	if (!from)
		r = shown.len ? -ENOENT : -EINVAL;
	else if (to.len)
		r = s->ops->snapshot_clone(snap, from, to);
	else
		r = s->ops->snapshot_restore(snap, from);
	snapshot_release(snap);
	return r;
}

int store_snapshot_clone(struct store *s, struct table *t, struct bytes name,
			 struct bytes shown, struct bytes to)
{
	int r = front_begin_write(s);

	/* Before all cells are copied; the backend looks again. */
	if (r == 0)
		r = namespace_enter(s, to);
	if (r == 0) {
		pthread_mutex_unlock(&s->schema_lock);
		r = check_free(s, to);
	}
	if (r == 0)
		r = make_of(s, t, name, shown, to);
	return front_end(s, r);
}

int store_snapshot_restore(struct store *s, struct table *t, struct bytes name,
			   struct bytes shown)
{
	int r = front_begin_delete(s);

	if (r == 0)
		r = make_of(s, t, name, shown, (struct bytes){0});
	return front_end(s, r);
}

int64_t snapshot_taken_ms(const struct snapshot *snap)
{
	return snap->taken_ms;
}

int snapshot_table_next(const struct snapshot *snap, struct bytes after,
			char name[TABLE_NAME_LEN_MAX + 1])
{
	const struct snapshot_tables *t = &snap->tables;
	const struct snapshot_table *best = NULL;

	/* Not by place: @after may be @name itself. */
	for (size_t i = 0; i < t->n; i++) {
		const char *at = t->at[i].name;

		if (bytes_cmp(bytes_str(at), after) > 0 &&
		    (!best || strcmp(at, best->name) < 0))
			best = &t->at[i];
	}
	if (!best)
		return 0;
	memcpy(name, best->name, sizeof(best->name));
	return 1;
}

int snapshot_table_open(const struct snapshot *snap, struct bytes name,
			struct table **out)
{
	const struct snapshot_tables *t = &snap->tables;
	struct store *s = snap->store;

	front_begin();
	for (size_t i = 0; i < t->n; i++)
		if (bytes_eq(bytes_str(t->at[i].name), name))
			return front_end(
				s, s->ops->table_open_id(s, t->at[i].id, out));
	return front_end(s, why(-ENOENT, "the snapshot shows no table %.*s",
				(int)name.len, (const char *)name.data));
}

void snapshot_keep(struct snapshot *snap, const struct table *t)
{
	snapshot_tables_keep(&snap->tables, t->id);
}

int snapshot_schema(const struct snapshot *snap, const struct table *t,
		    struct schema *out)
{
	const struct snapshot_table *seen =
		snapshot_tables_find(&snap->tables, t->id);
	int r;

	front_begin();
	if (seen && snap->store->ops->snapshot_schema)
		r = snap->store->ops->snapshot_schema(snap, t, out);
	else if (seen)
		r = schema_copy(out, &seen->schema);
	else
		r = why(-ENOENT, "the table was not there when the snapshot "
				 "was taken");
	return front_end(snap->store, r);
}
