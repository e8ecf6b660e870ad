/*
 * Snapshots of tables. HBase names them in the whole cluster; a table's are
 * those that were taken of a table of its name.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/cluster/regions.h"
#include "store/hbase/master/snapshots.h"
#include "store/os/patience.h"

/* A snapshot that was opened. */
struct shown {
	struct snapshot base;
	char name[SNAPSHOT_NAME_MAX + 1];
	char table[TABLE_NAME_LEN_MAX + 1];
	pthread_mutex_t lock; /* guards what follows */
	struct clone *clone;  /* NULL until it is read */
};

/* What is looked for in the cluster's list: a name, or the one behind it. */
struct search {
	struct bytes table, name;
	bool exact, found;
	struct snapshot_info *info;
};

static int consider(void *arg, const struct pb_snapshot *one)
{
	struct search *s = arg;
	int order = bytes_cmp(one->name, s->name);

	if (one->name.len > SNAPSHOT_NAME_MAX ||
	    !bytes_eq(one->table, s->table) ||
	    (s->exact ? order != 0 : order <= 0) ||
	    (s->found && bytes_cmp(one->name, bytes_str(s->info->name)) >= 0))
		return 0;
	memcpy(s->info->name, one->name.data, one->name.len);
	s->info->name[one->name.len] = '\0';
	s->info->taken_ms = (int64_t)one->created_ms;
	s->found = true;
	return 0;
}

/* 1 and *info, or 0. A caller may give the same memory for both names. */
static int look(struct store *s, struct bytes table, struct bytes name,
		bool exact, struct snapshot_info *info)
{
	struct snapshot_info found;
	struct search search = {
		.table = table,
		.name = name,
		.exact = exact,
		.info = &found,
	};
	int r = snapshots_list(hbase_of(s)->cluster, consider, &search);

	if (r < 0)
		return r;
	if (search.found)
		*info = found;
	return search.found;
}

/* The table's snapshot of this name: 0 or -ENOENT. */
static int find(struct store *s, struct table *t, struct bytes name,
		struct snapshot_info *info)
{
	int r = t ? look(s, name_of(t), name, true, info) : 0;

	return r == 0 ? why(-ENOENT, "there is no snapshot %.*s", (int)name.len,
			    (const char *)name.data)
	       : r < 0 ? r
		       : 0;
}

/* HBase's clients test names, and its masters take them for names of files. */
static int check_name(struct bytes name)
{
	bool ok = name.data[0] != '.' && name.data[0] != '-';

	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		ok = ok &&
		     (ascii_is_alnum(c) || c == '_' || c == '-' || c == '.');
	}
	return ok ? 0
		  : why(-EINVAL,
			"HBase's snapshots have names of A-Z, a-z, 0-9, _, - "
			"and ., the first one neither - nor .");
}

int hbase_snapshot_create(struct store *s, struct table *t, struct bytes name)
{
	int r = check_name(name);

	return r < 0 ? r
		     : snapshots_take(hbase_of(s)->cluster, name, name_of(t));
}

int hbase_snapshot_drop(struct store *s, struct table *t, struct bytes name)
{
	struct snapshot_info info;
	int r = find(s, t, name, &info);

	return r < 0 ? r : snapshots_drop(hbase_of(s)->cluster, name);
}

int hbase_snapshot_next(struct store *s, struct table *t, struct bytes after,
			struct snapshot_info *out)
{
	return t ? look(s, name_of(t), after, false, out) : 0;
}

int hbase_has_snapshots(struct store *s, struct bytes table)
{
	struct snapshot_info info;

	return look(s, table, (struct bytes){0}, false, &info);
}

int hbase_snapshot_open(struct store *s, struct table *t, struct bytes name,
			struct snapshot **out)
{
	const struct schema later = {0}; /* hbase_snapshot_schema() */
	struct snapshot_info info;
	struct shown *w;
	int r = find(s, t, name, &info);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (!w)
		return why(-ENOMEM, "out of memory for a snapshot");
	memcpy(w->name, info.name, sizeof(w->name));
	memcpy(w->table, table_of(t)->name, sizeof(w->table));
	w->base.table = t->id;
	w->base.taken_ms = info.taken_ms;
	r = snapshot_tables_add(&w->base.tables, t->id, w->table, &later);
	if (r < 0) {
		free(w);
		return why(r, "out of memory for a snapshot");
	}
	pthread_mutex_init(&w->lock, NULL);
	*out = &w->base;
	return 0;
}

static struct shown *shown_of(const struct snapshot *snap)
{
	return (struct shown *)(uintptr_t)snap;
}

void hbase_snapshot_release(struct snapshot *snap)
{
	struct shown *w = shown_of(snap);

	if (w->clone)
		clone_put(snap->store, w->clone);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int hbase_shown(const struct snapshot *snap, struct table **t)
{
	struct shown *w = shown_of(snap);
	int r;

	if (!snap)
		return 0;
	r = patience_lock(&w->lock);
	if (r < 0)
		return r;
	if (!w->clone)
		r = clone_get(snap->store, bytes_str(w->table),
			      bytes_str(w->name), snap->taken_ms, &w->clone);
	if (r == 0)
		*t = clone_table(w->clone);
	pthread_mutex_unlock(&w->lock);
	return r;
}

int hbase_snapshot_schema(const struct snapshot *snap, const struct table *t,
			  struct schema *out)
{
	struct table *shown = NULL;
	int r = hbase_shown(snap, &shown);

	return r < 0 ? r : hbase_table_schema(shown, out);
}

int hbase_snapshot_clone(struct snapshot *snap,
			 const struct snapshot_table *from, struct bytes to)
{
	struct hbase_store *hs = hbase_of(snap->store);
	int r;

	if (clone_is_named(to))
		return hbase_no_such_name(to);
	r = snapshots_clone(hs->cluster, bytes_str(shown_of(snap)->name), to);
	names_forget(&hs->tables);
	return r;
}

int hbase_snapshot_restore(struct snapshot *snap,
			   const struct snapshot_table *from)
{
	struct cluster *c = hbase_of(snap->store)->cluster;
	struct bytes table = bytes_str(from->name);
	int r = snapshots_restore(c, bytes_str(shown_of(snap)->name), table);

	regions_forget_table(c, table);
	names_forget(&hbase_of(snap->store)->tables);
	return r;
}
