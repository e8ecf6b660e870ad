/*
 * Snapshots as HBase has them: their names are the cluster's, and they outlive
 * their table and what is done to it.
 *
 * The store's are a table's own, and hold it. So a table that has snapshots and
 * is dropped goes on under another name, out of sight, and so does one that a
 * restore or the loss of a family would take from its other snapshots.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/hbase/case.h"

/* Which table it is of, and the one that holds it: a name of today. */
struct taken {
	char name[SNAPSHOT_NAME_MAX + 1];
	char of[TABLE_NAME_LEN_MAX + 1];
	char holder[TABLE_NAME_LEN_MAX + 1];
	struct taken *next;
};

static struct taken *find(struct run *r, const char *name)
{
	struct taken *k = r->taken;

	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	return k;
}

static void forget(struct run *r, struct taken *k)
{
	struct taken **at = &r->taken;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	free(k);
}

void taken_free(struct run *r)
{
	while (r->taken)
		forget(r, r->taken);
}

/*
 * The snapshot that the step names. A cluster has one set of names, and cases
 * run on it at once: there the name begins with the case's table.
 */
static const char *name_of(struct run *r, json_t *step)
{
	const char *s = json_string_value(json_object_get(step, "name"));
	size_t size;
	char *own;

	if (r->os || !s)
		return s ? s : "";
	size = strlen(r->table) + strlen(s) + 2;
	own = step_alloc(r, size);
	snprintf(own, size, "%s.%s", r->table, s);
	return own;
}

/* The step's snapshot and a reference to its holder, or refused. */
static int open_taken(struct run *r, json_t *step, struct taken **out,
		      struct table **t)
{
	*out = find(r, name_of(r, step));
	if (!*out)
		return refuse(r, E_OTHER);
	return refuse_errno(r,
			    table_open(r->store, bytes_str((*out)->holder), t));
}

static bool is_there(struct run *r, const char *table)
{
	struct table *t;

	if (table_open(r->store, bytes_str(table), &t) < 0)
		return false;
	table_unref(t);
	return true;
}

int step_snapshot(struct run *r, json_t *step)
{
	const char *table = step_table_name(r, step);
	struct taken *k;
	struct table *t;
	int err;

	if (find(r, name_of(r, step)))
		return refuse(r, E_OTHER);
	if (refuse_errno(r, table_open(r->store, bytes_str(table), &t)) < 0)
		return -1;
	err = named_has(r->disabled, table)
		      ? 0
		      : refuse_errno(r, store_flush(r->store, t));
	if (err == 0)
		err = refuse_errno(
			r, store_snapshot_create(r->store, t,
						 bytes_str(name_of(r, step))));
	table_unref(t);
	if (err < 0)
		return err;
	k = calloc(1, sizeof(*k));
	if (!k)
		exit(2);
	snprintf(k->name, sizeof(k->name), "%s", name_of(r, step));
	snprintf(k->of, sizeof(k->of), "%s", table);
	snprintf(k->holder, sizeof(k->holder), "%s", table);
	k->next = r->taken;
	r->taken = k;
	return 0;
}

static int clone(struct run *r, const struct taken *k, struct table *t,
		 const char *to)
{
	int err = store_snapshot_clone(r->store, t, bytes_str(k->name),
				       (struct bytes){0}, bytes_str(to));

	return err == -EINVAL ? refuse(r, E_ILLEGAL) : refuse_errno(r, err);
}

int step_clone_snapshot(struct run *r, json_t *step)
{
	const char *to = json_string_value(json_object_get(step, "to"));
	struct taken *k;
	struct table *t;
	int err;

	if (open_taken(r, step, &k, &t) < 0)
		return -1;
	err = clone(r, k, t, to ? to : "");
	table_unref(t);
	return err;
}

int archive_table(struct run *r, const char *name)
{
	char away[TABLE_NAME_LEN_MAX + 1];
	int err;

	snprintf(away, sizeof(away), "archived.%d", ++r->narchived);
	err = store_table_rename(r->store, bytes_str(name), bytes_str(away));
	for (struct taken *k = r->taken; err == 0 && k; k = k->next)
		if (!strcmp(k->holder, name))
			memcpy(k->holder, away, sizeof(away));
	return refuse_errno(r, err);
}

int archive_table_copied(struct run *r, const char *name)
{
	const struct taken now = {.name = "now"};
	struct table *t;
	int err;

	if (refuse_errno(r, table_open(r->store, bytes_str(name), &t)) < 0 ||
	    archive_table(r, name) < 0)
		return -1;
	err = refuse_errno(
		r, store_snapshot_create(r->store, t, bytes_str(now.name)));
	if (err == 0)
		err = clone(r, &now, t, name);
	if (err == 0)
		err = refuse_errno(r, store_snapshot_drop(r->store, t,
							  bytes_str(now.name)));
	table_unref(t);
	return err;
}

/* In place, unless snapshots that came later would be lost. */
static int restore(struct run *r, const struct taken *k, struct table *t)
{
	int err = -EBUSY;

	if (!strcmp(k->holder, k->of))
		err = store_snapshot_restore(r->store, t, bytes_str(k->name),
					     (struct bytes){0});
	if (err != -EBUSY)
		return refuse_errno(r, err);
	if (archive_table(r, k->of) < 0)
		return -1;
	return clone(r, k, t, k->of);
}

int step_restore_snapshot(struct run *r, json_t *step)
{
	struct taken *k;
	struct table *t;
	int err;

	if (open_taken(r, step, &k, &t) < 0)
		return -1;
	if (!is_there(r, k->of))
		err = clone(r, k, t, k->of);
	else if (!named_has(r->disabled, k->of))
		err = refuse(r, E_NOT_DISABLED);
	else
		err = restore(r, k, t);
	table_unref(t);
	return err;
}

int step_delete_snapshot(struct run *r, json_t *step)
{
	struct taken *k;
	struct table *t;
	int err;

	if (open_taken(r, step, &k, &t) < 0)
		return -1;
	err = refuse_errno(
		r, store_snapshot_drop(r->store, t, bytes_str(k->name)));
	table_unref(t);
	if (err == 0)
		forget(r, k);
	return err;
}
