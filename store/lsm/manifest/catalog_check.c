/*
 * Does an edit fit the catalog and make sense in itself? It may come from a
 * manifest on disk, so nothing of it is taken for granted.
 */
#include "store/lsm/manifest/catalog.h"

#include <errno.h>
#include <inttypes.h>

#include "store/front/namespace.h"
#include "store/lsm/manifest/levels.h"
#include "store/value/why.h"

static bool in_files(const struct edit_file *f, size_t n, uint32_t tree,
		     uint64_t number)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].tree == tree && f[i].info->number == number)
			return true;
	return false;
}

static int check_removed(const struct catalog *c, const struct edit *e)
{
	struct catalog_table *owner = NULL;
	struct catalog_tree *t;

	for (size_t i = 0; i < e->nremoved; i++) {
		const struct edit_file *f = &e->removed[i];

		t = catalog_tree_of(c, f->tree, &owner);
		if (!t || owner->id == e->drop_table)
			return why(-EINVAL, "the store has no tree %" PRIu32,
				   f->tree);
		if (catalog_file_in(t, f->info->number) == t->nfiles ||
		    in_files(e->removed, i, f->tree, f->info->number))
			return why(-EINVAL,
				   "tree %" PRIu32 " has no file %" PRIu64,
				   f->tree, f->info->number);
	}
	return 0;
}

static bool row_ok(const struct buf *row)
{
	return row->len >= 1 && row->len <= ROW_LEN_MAX;
}

static int check_info(const struct edit_file *f)
{
	const struct sst_info *i = f->info;

	if (f->level >= LEVELS_MAX)
		return why(-EINVAL, "there is no level %u", f->level);
	if (i->number == 0 || i->number == UINT64_MAX)
		return why(-EINVAL, "%" PRIu64 " is no number of a file",
			   i->number);
	if (!row_ok(&i->row_min) || !row_ok(&i->row_max) ||
	    bytes_cmp(buf_bytes(&i->row_min), buf_bytes(&i->row_max)) > 0 ||
	    i->seq_min > i->seq_max)
		return why(-EINVAL, "the bounds of file %" PRIu64 " are wrong",
			   i->number);
	return 0;
}

struct catalog_tree *catalog_tree_after(const struct catalog *c,
					const struct edit *e,
					const struct catalog_table *put,
					uint32_t id)
{
	struct catalog_table *owner = NULL;
	struct catalog_tree *t = catalog_tree_of(c, id, &owner);

	/* Trees that the new state of their table lacks are gone. */
	if (t && (owner->id == e->drop_table || (put && owner->id == put->id)))
		t = catalog_tree_in(put, id) ? t : NULL;
	else if (!t)
		t = catalog_tree_in(put, id);
	if (!t)
		why(-EINVAL, "the store has no tree %" PRIu32, id);
	return t;
}

static int check_added(const struct catalog *c, const struct edit *e)
{
	struct catalog_tree *t;
	int r;

	for (size_t i = 0; i < e->nadded; i++) {
		const struct edit_file *f = &e->added[i];
		uint64_t number = f->info->number;

		t = catalog_tree_after(c, e, e->put_table, f->tree);
		if (!t)
			return -EINVAL;
		r = check_info(f);
		if (r < 0)
			return r;
		if (in_files(e->added, i, f->tree, number) ||
		    (catalog_file_in(t, number) < t->nfiles &&
		     !in_files(e->removed, e->nremoved, f->tree, number)))
			return why(-EINVAL,
				   "tree %" PRIu32 " has a file %" PRIu64
				   " already",
				   f->tree, number);
	}
	return 0;
}

static int check_schema(const char *table, const struct schema *s)
{
	int r = 0;

	if (s->mode > 07777 || s->nfamilies > SCHEMA_FAMILIES_MAX)
		return why(-EINVAL, "the schema of table %s is not sound",
			   table);
	for (uint32_t i = 0; i < s->nfamilies && r == 0; i++) {
		const char *name = s->families[i].name;

		if (strnlen(name, FAMILY_LEN_MAX + 1) > FAMILY_LEN_MAX ||
		    (i && strcmp(s->families[i - 1].name, name) >= 0))
			return why(-EINVAL, "families are out of order");
		r = family_name_check(bytes_str(name));
		if (r == 0)
			r = family_attrs_check(&s->families[i].attrs);
	}
	return r < 0 ? -EINVAL : 0;
}

static int check_trees(const struct catalog *c, const struct catalog_table *t)
{
	struct catalog_table *owner = NULL;

	for (uint32_t i = 0; i < t->schema.nfamilies; i++) {
		uint32_t id = t->trees[i].id;

		if (id == 0 || id == UINT32_MAX)
			return why(-EINVAL, "%" PRIu32 " is no tree's number",
				   id);
		for (uint32_t j = 0; j < i; j++)
			if (t->trees[j].id == id)
				return why(-EINVAL,
					   "two families share tree %" PRIu32,
					   id);
		if (catalog_tree_of(c, id, &owner) && owner->id != t->id)
			return why(-EINVAL,
				   "tree %" PRIu32 " belongs to table %s", id,
				   owner->name);
	}
	return 0;
}

static int check_table(const struct catalog *c, const struct edit *e)
{
	const struct catalog_table *t = e->put_table, *same;
	int r;

	if (t->id == 0 || t->id == UINT64_MAX || t->id == e->drop_table)
		return why(-EINVAL, "%" PRIu64 " is no table's number", t->id);
	if (strnlen(t->name, sizeof(t->name)) == sizeof(t->name) ||
	    (strcmp(t->name, NAMESPACE_TABLE) != 0 &&
	     table_name_check(bytes_str(t->name)) < 0))
		return why(-EINVAL, "the name of table %" PRIu64 " is none",
			   t->id);
	same = catalog_find(c, bytes_str(t->name));
	if (same && same->id != t->id && same->id != e->drop_table)
		return why(-EEXIST, "a table %s exists", t->name);
	r = check_schema(t->name, &t->schema);
	return r < 0 ? r : check_trees(c, t);
}

static int check_shown(const struct snapshot_tables *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		const struct snapshot_table *t = &s->at[i];

		if (t->id == 0 || t->id == UINT64_MAX ||
		    table_name_check(bytes_str(t->name)) < 0)
			return why(-EINVAL, "a snapshot shows no sound table");
		r = check_schema(t->name, &t->schema);
	}
	return r;
}

static int check_snapshots(const struct catalog *c, const struct edit *e)
{
	const struct catalog_snapshot *put = e->put_snapshot;
	const struct catalog_snapshot *drop = e->drop_snapshot;
	bool there;

	if (drop) {
		catalog_snapshot_place(c, drop, &there);
		if (!there)
			return why(-EINVAL, "there is no snapshot %.255s",
				   drop->name);
	}
	if (!put)
		return 0;
	if (!put->name[0] ||
	    strnlen(put->name, sizeof(put->name)) == sizeof(put->name))
		return why(-EINVAL, "a snapshot needs a name");
	if (put->table && (put->table == e->drop_table ||
			   (!catalog_find_id(c, put->table) &&
			    !(e->put_table && e->put_table->id == put->table))))
		return why(-EINVAL, "the store has no table %" PRIu64,
			   put->table);
	catalog_snapshot_place(c, put, &there);
	if (there && !(drop && catalog_snapshot_cmp(drop, put) == 0))
		return why(-EEXIST, "a snapshot %s exists", put->name);
	return check_shown(&put->tables);
}

int catalog_check(const struct catalog *c, const struct edit *e)
{
	int r;

	if (e->drop_table && !catalog_find_id(c, e->drop_table))
		return why(-EINVAL, "the store has no table %" PRIu64,
			   e->drop_table);
	r = check_removed(c, e);
	if (r == 0 && e->put_table)
		r = check_table(c, e);
	if (r == 0)
		r = check_added(c, e);
	if (r == 0)
		r = check_snapshots(c, e);
	return r;
}
