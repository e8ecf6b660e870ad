#include "store/lsm/manifest/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "store/lsm/base/bisect.h"
#include "store/lsm/manifest/catalog_format.h"

void catalog_init(struct catalog *c)
{
	/* From 1 on: 0 is "none" and "unchanged" wherever numbers stand. */
	*c = (struct catalog){.next_file = 1, .next_table = 1, .next_tree = 1};
}

static void tree_free(struct catalog_tree *t)
{
	for (size_t i = 0; i < t->nfiles; i++)
		sst_info_free(&t->files[i].info);
	free(t->files);
	history_free(&t->lost);
}

void catalog_table_free(struct catalog_table *t)
{
	for (uint32_t i = 0; t->trees && i < t->schema.nfamilies; i++)
		tree_free(&t->trees[i]);
	free(t->trees);
	schema_free(&t->schema);
}

void catalog_free(struct catalog *c)
{
	for (size_t i = 0; i < c->ntables; i++)
		catalog_table_free(&c->tables[i]);
	free(c->tables);
	for (size_t i = 0; i < c->nsnapshots; i++)
		snapshot_tables_free(&c->snapshots[i].tables);
	free(c->snapshots);
	*c = (struct catalog){0};
}

int catalog_after(const struct catalog *c, const struct edit *e,
		  struct catalog *out)
{
	struct buf image = {0};
	int r = catalog_make(c, e, 0, 0, &image, out);

	buf_free(&image);
	return r;
}

const struct catalog_table *catalog_find(const struct catalog *c,
					 struct bytes name)
{
	size_t lo = 0, hi = c->ntables;

	BISECT(lo, hi, mid,
	       bytes_cmp(bytes_str(c->tables[mid].name), name) < 0);
	return lo < c->ntables && bytes_eq(bytes_str(c->tables[lo].name), name)
		       ? &c->tables[lo]
		       : NULL;
}

const struct catalog_table *catalog_find_id(const struct catalog *c,
					    uint64_t id)
{
	for (size_t i = 0; i < c->ntables; i++)
		if (c->tables[i].id == id)
			return &c->tables[i];
	return NULL;
}

const struct catalog_tree *catalog_tree_in(const struct catalog_table *t,
					   uint32_t id)
{
	for (uint32_t i = 0; t && i < t->schema.nfamilies; i++)
		if (t->trees[i].id == id)
			return &t->trees[i];
	return NULL;
}

static bool tree_has_file(const struct catalog_tree *t, uint64_t number)
{
	for (size_t i = 0; i < t->nfiles; i++)
		if (t->files[i].info.number == number)
			return true;
	return false;
}

bool catalog_has_file(const struct catalog *c, uint64_t number)
{
	for (size_t i = 0; i < c->ntables; i++)
		for (uint32_t j = 0; j < c->tables[i].schema.nfamilies; j++)
			if (tree_has_file(&c->tables[i].trees[j], number))
				return true;
	return false;
}

int catalog_snapshot_cmp(const struct catalog_snapshot *a,
			 const struct catalog_snapshot *b)
{
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return strcmp(a->name, b->name);
}

const struct catalog_snapshot *catalog_next_snapshot(const struct catalog *c,
						     uint64_t table,
						     struct bytes after)
{
	for (size_t i = 0; i < c->nsnapshots; i++)
		if (c->snapshots[i].table == table &&
		    bytes_cmp(bytes_str(c->snapshots[i].name), after) > 0)
			return &c->snapshots[i];
	return NULL;
}

const struct catalog_snapshot *catalog_find_snapshot(const struct catalog *c,
						     uint64_t table,
						     struct bytes name)
{
	for (size_t i = 0; i < c->nsnapshots; i++)
		if (c->snapshots[i].table == table &&
		    bytes_eq(bytes_str(c->snapshots[i].name), name))
			return &c->snapshots[i];
	return NULL;
}

const struct catalog_snapshot *
catalog_shown_by(const struct catalog *c, uint64_t table, const char *family)
{
	for (size_t i = 0; i < c->nsnapshots; i++) {
		const struct catalog_snapshot *s = &c->snapshots[i];
		const struct snapshot_table *t =
			snapshot_tables_find(&s->tables, table);

		if (!t && s->table != table)
			continue;
		if (!t || !family ||
		    schema_find(&t->schema, bytes_str(family)) >= 0)
			return s;
	}
	return NULL;
}

const struct catalog_snapshot *
catalog_shows_more(const struct catalog *c, uint64_t table,
		   const struct family_schema *to, const char **word)
{
	for (size_t i = 0; i < c->nsnapshots; i++) {
		const struct snapshot_table *t =
			snapshot_tables_find(&c->snapshots[i].tables, table);
		int at = t ? schema_find(&t->schema, bytes_str(to->name)) : -1;

		*word = at < 0 ? NULL
			       : family_attrs_less(
					 &to->attrs,
					 &t->schema.families[at].attrs);
		if (*word)
			return &c->snapshots[i];
	}
	return NULL;
}

const struct catalog_snapshot *catalog_shown_after(const struct catalog *c,
						   uint64_t table, uint64_t seq)
{
	for (size_t i = 0; i < c->nsnapshots; i++)
		if (c->snapshots[i].seq > seq &&
		    snapshot_tables_find(&c->snapshots[i].tables, table))
			return &c->snapshots[i];
	return NULL;
}
