/*
 * Snapshots of the reference: a history needs no more than a number to be
 * looked at as it was.
 */
#include <errno.h>
#include <stdlib.h>

#include "tests/model/ref_inside.h"

static struct ref_snapshot *snapshot_new(void)
{
	return calloc(1, sizeof(struct ref_snapshot));
}

int ref_snapshot_take(struct store *s, struct snapshot **out)
{
	struct ref_snapshot *snap = snapshot_new();
	struct ref_store *rs;

	if (!snap)
		return -ENOMEM;
	rs = ref_lock(s);
	snap->seq = rs->last_seq;
	rs->nsnapshots++;
	*out = &snap->base;
	return ref_unlock(rs, 0);
}

void ref_snapshot_release(struct snapshot *snap)
{
	struct ref_store *rs = ref_lock(snap->store);

	rs->nsnapshots--;
	ref_unlock(rs, 0);
	free(snap);
}

static uint64_t scope(const struct table *t)
{
	return t ? t->id : 0;
}

/* Where (@table, @name) is or would be. */
static size_t named_find(const struct ref_store *rs, uint64_t table,
			 struct bytes name, bool *found)
{
	size_t i = 0;

	for (*found = false; i < rs->nnamed; i++) {
		const struct ref_named *n = &rs->named[i];
		int c;

		if (n->table < table)
			continue;
		c = n->table > table ? 1
				     : bytes_cmp(bytes_str(n->info.name), name);
		*found = c == 0;
		if (c >= 0)
			break;
	}
	return i;
}

static void named_take_out(struct ref_store *rs, size_t i)
{
	rs->nnamed--;
	memmove(&rs->named[i], &rs->named[i + 1],
		(rs->nnamed - i) * sizeof(rs->named[0]));
}

/* There is room. */
static void named_put(struct ref_store *rs, const struct ref_named *n)
{
	bool found;
	size_t i = named_find(rs, n->table, bytes_str(n->info.name), &found);

	memmove(&rs->named[i + 1], &rs->named[i],
		(rs->nnamed - i) * sizeof(rs->named[0]));
	rs->named[i] = *n;
	rs->nnamed++;
}

static void name_copy(char *to, struct bytes name)
{
	memcpy(to, name.data, name.len);
	to[name.len] = '\0';
}

static int create(struct ref_store *rs, struct table *t, struct bytes name)
{
	struct ref_named n = {.table = scope(t), .seq = rs->last_seq};
	struct ref_named *p;
	bool found;
	int r = t ? ref_gone(table_of(t)) : 0;

	if (r < 0)
		return r;
	named_find(rs, n.table, name, &found);
	if (found)
		return why(-EEXIST, "there is a snapshot of this name");
	p = reallocarray(rs->named, rs->nnamed + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	rs->named = p;
	for (size_t i = 0; r == 0 && i < rs->ntables; i++)
		if (!t || &rs->tables[i]->base == t)
			r = snapshot_tables_add(
				&n.tables, rs->tables[i]->base.id,
				rs->tables[i]->name, &rs->tables[i]->schema);
	if (r < 0) {
		snapshot_tables_free(&n.tables);
		return r;
	}
	name_copy(n.info.name, name);
	n.info.taken_ms = rs->now();
	named_put(rs, &n);
	return 0;
}

int ref_snapshot_create(struct store *s, struct table *t, struct bytes name)
{
	struct ref_store *rs = ref_lock(s);

	return ref_unlock(rs, create(rs, t, name));
}

int ref_snapshot_drop(struct store *s, struct table *t, struct bytes name)
{
	struct ref_store *rs = ref_lock(s);
	bool found;
	size_t i = named_find(rs, scope(t), name, &found);

	if (!found)
		return ref_unlock(rs, why(-ENOENT, "there is no snapshot"));
	snapshot_tables_free(&rs->named[i].tables);
	named_take_out(rs, i);
	return ref_unlock(rs, 0);
}

int ref_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			struct bytes to)
{
	struct ref_store *rs = ref_lock(s);
	struct ref_named n;
	bool found, taken;
	size_t i = named_find(rs, scope(t), from, &found);

	if (!found)
		return ref_unlock(rs, why(-ENOENT, "there is no snapshot"));
	named_find(rs, scope(t), to, &taken);
	if (taken)
		return ref_unlock(rs, why(-EEXIST, "there is one already"));
	n = rs->named[i];
	name_copy(n.info.name, to);
	named_take_out(rs, i);
	named_put(rs, &n);
	return ref_unlock(rs, 0);
}

int ref_snapshot_next(struct store *s, struct table *t, struct bytes after,
		      struct snapshot_info *out)
{
	struct ref_store *rs = ref_lock(s);
	bool found;
	size_t i = named_find(rs, scope(t), after, &found);

	i += found;
	if (i == rs->nnamed || rs->named[i].table != scope(t))
		return ref_unlock(rs, 0);
	*out = rs->named[i].info;
	return ref_unlock(rs, 1);
}

int ref_snapshot_open(struct store *s, struct table *t, struct bytes name,
		      struct snapshot **out)
{
	struct ref_snapshot *snap = snapshot_new();
	struct ref_store *rs = ref_lock(s);
	bool found;
	size_t i = named_find(rs, scope(t), name, &found);
	int r = snap ? 0 : -ENOMEM;

	if (r == 0 && !found)
		r = why(-ENOENT, "there is no snapshot");
	if (r == 0)
		r = snapshot_tables_copy(&snap->base.tables,
					 &rs->named[i].tables);
	if (r < 0) {
		free(snap);
		return ref_unlock(rs, r);
	}
	snap->base.table = scope(t);
	snap->base.taken_ms = rs->named[i].info.taken_ms;
	snap->seq = rs->named[i].seq;
	rs->nsnapshots++;
	*out = &snap->base;
	return ref_unlock(rs, 0);
}

/* A copy of the family's rows as they were at @seq. */
static int family_copy(const struct ref_family *from, uint64_t seq,
		       struct ref_family *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++) {
		const struct ref_row *old = from->rows[i];
		struct ref_row *row = NULL;

		for (size_t k = 0; r == 0 && k < old->n; k++) {
			if (old->changes[k]->seq > seq)
				continue;
			if (!row)
				r = ref_row_make(to, old->key, &row);
			if (r == 0)
				r = ref_row_add(row, old->changes[k]);
		}
	}
	return r;
}

/* The table of then as one that nobody knows yet. */
static int table_copy(struct ref_store *rs, uint64_t seq,
		      const struct snapshot_table *from, struct ref_table **out)
{
	const struct ref_table *old = NULL;
	struct ref_table *t;
	int r = 0;

	for (size_t i = 0; i < rs->ntables; i++)
		if (rs->tables[i]->base.id == from->id)
			old = rs->tables[i];
	if (!old)
		return why(-ENOENT, "the table was dropped");
	r = ref_table_new(&from->schema, &t);
	for (uint32_t i = 0; r == 0 && i < from->schema.nfamilies; i++) {
		const char *name = from->schema.families[i].name;
		int at = schema_find(&old->schema, bytes_str(name));

		if (at >= 0)
			r = family_copy(&old->families[at], seq,
					&t->families[i]);
	}
	*out = t;
	return r;
}

int ref_snapshot_clone(struct snapshot *snap, const struct snapshot_table *from,
		       struct bytes to)
{
	struct ref_store *rs = ref_lock(snap->store);
	struct ref_table *t = NULL;
	int r = table_copy(rs, ((struct ref_snapshot *)snap)->seq, from, &t);

	if (r == 0)
		r = ref_table_insert(rs, to, t);
	if (r < 0 && t)
		ref_table_free(&t->base);
	return ref_unlock(rs, r);
}

/* Is the table shown as it was after @seq? */
static bool is_shown_after(const struct ref_store *rs, uint64_t table,
			   uint64_t seq)
{
	for (size_t i = 0; i < rs->nnamed; i++)
		if (rs->named[i].seq > seq &&
		    snapshot_tables_find(&rs->named[i].tables, table))
			return true;
	return false;
}

int ref_snapshot_restore(struct snapshot *snap,
			 const struct snapshot_table *from)
{
	struct ref_store *rs = ref_lock(snap->store);
	uint64_t seq = ((struct ref_snapshot *)snap)->seq;
	struct ref_table *t = NULL;
	int r = is_shown_after(rs, from->id, seq)
			? why(-EBUSY, "a later snapshot shows it")
			: table_copy(rs, seq, from, &t);

	for (size_t i = 0; r == 0 && i < rs->ntables; i++) {
		struct ref_table *now = rs->tables[i], old = *now;

		if (now->base.id != from->id)
			continue;
		now->schema = t->schema;
		now->families = t->families;
		now->schema_version++;
		t->schema = old.schema;
		t->families = old.families;
	}
	if (t)
		ref_table_free(&t->base);
	return ref_unlock(rs, r);
}

void ref_snapshots_free(struct ref_store *rs)
{
	for (size_t i = 0; i < rs->nnamed; i++)
		snapshot_tables_free(&rs->named[i].tables);
	free(rs->named);
}

bool ref_is_shown(const struct ref_store *rs, uint64_t table,
		  const char *family)
{
	for (size_t i = 0; i < rs->nnamed; i++) {
		const struct snapshot_table *t =
			snapshot_tables_find(&rs->named[i].tables, table);

		if (t && (!family ||
			  schema_find(&t->schema, bytes_str(family)) >= 0))
			return true;
	}
	return false;
}
