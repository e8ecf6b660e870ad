#include "store/lsm/manifest/catalog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/value/why.h"

void catalog_init(struct catalog *c)
{
	/* From 1 on: 0 is "none" and "unchanged" wherever numbers stand. */
	*c = (struct catalog){.next_file = 1, .next_table = 1, .next_tree = 1};
}

static void tree_clear(struct catalog_tree *t)
{
	for (size_t i = 0; i < t->nfiles; i++)
		sst_info_free(&t->files[i].info);
	free(t->files);
	t->files = NULL;
	t->nfiles = 0;
	history_free(&t->lost);
}

static void table_clear(struct catalog_table *t)
{
	for (uint32_t i = 0; t->trees && i < t->schema.nfamilies; i++)
		tree_clear(&t->trees[i]);
	free(t->trees);
	schema_free(&t->schema);
	*t = (struct catalog_table){0};
}

void catalog_free(struct catalog *c)
{
	for (size_t i = 0; i < c->ntables; i++)
		table_clear(&c->tables[i]);
	free(c->tables);
	for (size_t i = 0; i < c->nsnapshots; i++)
		snapshot_tables_free(&c->snapshots[i].tables);
	free(c->snapshots);
	*c = (struct catalog){0};
}

/* The first table whose name is not less than @name. */
static size_t table_place(const struct catalog *c, struct bytes name)
{
	size_t lo = 0, hi = c->ntables;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (bytes_cmp(bytes_str(c->tables[mid].name), name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct catalog_table *catalog_find(const struct catalog *c,
					 struct bytes name)
{
	size_t i = table_place(c, name);

	if (i < c->ntables && bytes_eq(bytes_str(c->tables[i].name), name))
		return &c->tables[i];
	return NULL;
}

static struct catalog_table *table_of(struct catalog *c, uint64_t id)
{
	for (size_t i = 0; i < c->ntables; i++)
		if (c->tables[i].id == id)
			return &c->tables[i];
	return NULL;
}

const struct catalog_table *catalog_find_id(const struct catalog *c,
					    uint64_t id)
{
	for (size_t i = 0; i < c->ntables; i++)
		if (c->tables[i].id == id)
			return &c->tables[i];
	return NULL;
}

struct catalog_tree *catalog_tree_in(const struct catalog_table *t, uint32_t id)
{
	for (uint32_t i = 0; t && i < t->schema.nfamilies; i++)
		if (t->trees[i].id == id)
			return &t->trees[i];
	return NULL;
}

struct catalog_tree *catalog_tree_of(const struct catalog *c, uint32_t id,
				     struct catalog_table **owner)
{
	for (size_t i = 0; i < c->ntables; i++) {
		struct catalog_tree *t = catalog_tree_in(&c->tables[i], id);

		if (!t)
			continue;
		if (owner)
			*owner = &c->tables[i];
		return t;
	}
	return NULL;
}

size_t catalog_file_in(const struct catalog_tree *t, uint64_t number)
{
	size_t i = 0;

	while (i < t->nfiles && t->files[i].info.number != number)
		i++;
	return i;
}

bool catalog_has_file(const struct catalog *c, uint64_t number)
{
	for (size_t i = 0; i < c->ntables; i++)
		for (uint32_t j = 0; j < c->tables[i].schema.nfamilies; j++) {
			const struct catalog_tree *t = &c->tables[i].trees[j];

			if (catalog_file_in(t, number) < t->nfiles)
				return true;
		}
	return false;
}

int catalog_snapshot_cmp(const struct catalog_snapshot *a,
			 const struct catalog_snapshot *b)
{
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	return strcmp(a->name, b->name);
}

size_t catalog_snapshot_place(const struct catalog *c,
			      const struct catalog_snapshot *s, bool *there)
{
	size_t i = 0;

	while (i < c->nsnapshots &&
	       catalog_snapshot_cmp(&c->snapshots[i], s) < 0)
		i++;
	*there = i < c->nsnapshots &&
		 catalog_snapshot_cmp(&c->snapshots[i], s) == 0;
	return i;
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

const struct catalog_snapshot *catalog_shown_after(const struct catalog *c,
						   uint64_t table, uint64_t seq)
{
	for (size_t i = 0; i < c->nsnapshots; i++)
		if (c->snapshots[i].seq > seq &&
		    snapshot_tables_find(&c->snapshots[i].tables, table))
			return &c->snapshots[i];
	return NULL;
}

static int copy_table(const struct catalog_table *from,
		      struct catalog_table **out)
{
	struct catalog_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->trees = calloc(from->schema.nfamilies + 1, sizeof(*t->trees));
	if (!t->trees || schema_copy(&t->schema, &from->schema) < 0) {
		free(t->trees);
		free(t);
		return -ENOMEM;
	}
	t->id = from->id;
	memcpy(t->name, from->name, sizeof(t->name));
	t->schema_version = from->schema_version;
	for (uint32_t i = 0; i < t->schema.nfamilies; i++)
		t->trees[i].id = from->trees[i].id;
	*out = t;
	return 0;
}

/* Room for all of the edit's files of the tree, the files as they are. */
static int reserve_files(struct catalog_tree *t, const struct edit *e)
{
	struct catalog_file *files;
	size_t n = t->nfiles;

	for (size_t i = 0; i < e->nadded; i++)
		n += e->added[i].tree == t->id;
	files = realloc(t->files, n * sizeof(*files));
	if (!files)
		return -ENOMEM;
	t->files = files;
	return 0;
}

static int stage_files(struct catalog *c, const struct edit *e,
		       struct catalog_stage *s)
{
	struct catalog_tree *t;
	uint32_t done = 0; /* no tree has this number */
	int r = 0;

	if (!e->nadded)
		return 0;
	s->files = calloc(e->nadded, sizeof(*s->files));
	if (!s->files)
		return -ENOMEM;
	for (size_t i = 0; i < e->nadded && r == 0; i++) {
		s->files[i].level = e->added[i].level;
		r = sst_info_copy(&s->files[i].info, e->added[i].info);
		if (r < 0)
			break;
		s->nfiles++;
		if (e->added[i].tree == done)
			continue;
		done = e->added[i].tree;
		t = catalog_tree_of(c, done, NULL);
		r = reserve_files(t ? t : catalog_tree_in(s->table, done), e);
	}
	return r;
}

/* What the trees will have lost; put in their place when it is applied. */
static int stage_lost(struct catalog *c, const struct edit *e,
		      struct catalog_stage *s)
{
	int r = 0;

	if (!e->nlost)
		return 0;
	s->lost = calloc(e->nlost, sizeof(*s->lost));
	if (!s->lost)
		return -ENOMEM;
	for (; r == 0 && s->nlost < e->nlost; s->nlost++) {
		const struct edit_loss *l = &e->lost[s->nlost];
		struct catalog_tree *t =
			catalog_tree_after(c, e, s->table, l->tree);

		if (!t)
			return -EINVAL;
		for (size_t i = 0; i < s->nlost; i++)
			if (e->lost[i].tree == l->tree)
				return why(-EINVAL,
					   "an edit names the losses of tree "
					   "%" PRIu32 " twice",
					   l->tree);
		r = history_copy(&s->lost[s->nlost], &t->lost);
		if (r == 0)
			r = history_add(&s->lost[s->nlost], l->history);
	}
	return r;
}

static int reserve_lists(struct catalog *c, const struct edit *e)
{
	void *p;

	if (e->put_table) {
		p = realloc(c->tables, (c->ntables + 1) * sizeof(*c->tables));
		if (!p)
			return -ENOMEM;
		c->tables = p;
	}
	if (e->put_snapshot) {
		p = realloc(c->snapshots,
			    (c->nsnapshots + 1) * sizeof(*c->snapshots));
		if (!p)
			return -ENOMEM;
		c->snapshots = p;
	}
	return 0;
}

int catalog_stage(struct catalog *c, const struct edit *e,
		  struct catalog_stage *out)
{
	struct catalog_stage s = {0};
	int r = catalog_check(c, e);

	if (r == 0 && e->put_table)
		r = copy_table(e->put_table, &s.table);
	if (r == 0)
		r = stage_files(c, e, &s);
	if (r == 0)
		r = stage_lost(c, e, &s);
	if (r == 0 && e->put_snapshot)
		r = snapshot_tables_copy(&s.snapshot, &e->put_snapshot->tables);
	if (r == 0)
		r = reserve_lists(c, e);
	if (r < 0) {
		catalog_unstage(&s);
		return r;
	}
	*out = s;
	return 0;
}

void catalog_unstage(struct catalog_stage *s)
{
	for (size_t i = 0; i < s->nfiles; i++)
		sst_info_free(&s->files[i].info);
	free(s->files);
	for (size_t i = 0; i < s->nlost; i++)
		history_free(&s->lost[i]);
	free(s->lost);
	if (s->table)
		table_clear(s->table);
	free(s->table);
	snapshot_tables_free(&s->snapshot);
	*s = (struct catalog_stage){0};
}

static void take_out(struct catalog *c, struct catalog_table *t)
{
	size_t i = (size_t)(t - c->tables);

	c->ntables--;
	memmove(t, t + 1, (c->ntables - i) * sizeof(*t));
}

static void drop_snapshot(struct catalog *c, size_t i)
{
	snapshot_tables_free(&c->snapshots[i].tables);
	c->nsnapshots--;
	memmove(c->snapshots + i, c->snapshots + i + 1,
		(c->nsnapshots - i) * sizeof(*c->snapshots));
}

static void drop_table(struct catalog *c, uint64_t id)
{
	struct catalog_table *t = table_of(c, id);

	table_clear(t);
	take_out(c, t);
	for (size_t i = c->nsnapshots; i-- > 0;)
		if (c->snapshots[i].table == id)
			drop_snapshot(c, i);
}

static void remove_file(struct catalog *c, const struct edit_file *f)
{
	struct catalog_tree *t = catalog_tree_of(c, f->tree, NULL);
	size_t i = catalog_file_in(t, f->info->number);

	sst_info_free(&t->files[i].info);
	t->nfiles--;
	memmove(t->files + i, t->files + i + 1,
		(t->nfiles - i) * sizeof(*t->files));
}

/* Trees that stay keep their files. */
static void put_table(struct catalog *c, struct catalog_table *now)
{
	struct catalog_table *old = table_of(c, now->id);
	size_t at;

	if (old) {
		for (uint32_t i = 0; i < now->schema.nfamilies; i++) {
			struct catalog_tree *t =
				catalog_tree_in(old, now->trees[i].id);

			if (!t)
				continue;
			now->trees[i] = *t;
			*t = (struct catalog_tree){0};
		}
		table_clear(old);
		take_out(c, old);
	}
	at = table_place(c, bytes_str(now->name));
	memmove(c->tables + at + 1, c->tables + at,
		(c->ntables - at) * sizeof(*c->tables));
	c->tables[at] = *now;
	c->ntables++;
}

static void put_snapshot(struct catalog *c, const struct catalog_snapshot *put,
			 const struct snapshot_tables *tables)
{
	struct catalog_snapshot now = *put;
	bool there;
	size_t at = catalog_snapshot_place(c, put, &there);

	now.tables = *tables;
	memmove(c->snapshots + at + 1, c->snapshots + at,
		(c->nsnapshots - at) * sizeof(*c->snapshots));
	c->snapshots[at] = now;
	c->nsnapshots++;
}

static void raise64(uint64_t *counter, uint64_t to)
{
	if (*counter < to)
		*counter = to;
}

static void raise_counters(struct catalog *c, const struct edit *e)
{
	raise64(&c->next_file, e->next_file);
	raise64(&c->last_seq, e->last_seq);
	raise64(&c->wal_first, e->wal_first);
	raise64(&c->next_table, e->next_table);
	if (c->next_tree < e->next_tree)
		c->next_tree = e->next_tree;
	for (size_t i = 0; i < e->nadded; i++)
		raise64(&c->next_file, e->added[i].info->number + 1);
	if (!e->put_table)
		return;
	raise64(&c->next_table, e->put_table->id + 1);
	for (uint32_t i = 0; i < e->put_table->schema.nfamilies; i++)
		if (c->next_tree <= e->put_table->trees[i].id)
			c->next_tree = e->put_table->trees[i].id + 1;
}

void catalog_apply(struct catalog *c, const struct edit *e,
		   struct catalog_stage *s)
{
	struct catalog_tree *t;
	bool there;
	size_t at;

	if (e->drop_table)
		drop_table(c, e->drop_table);
	for (size_t i = 0; i < e->nremoved; i++)
		remove_file(c, &e->removed[i]);
	if (s->table)
		put_table(c, s->table);
	free(s->table);
	for (size_t i = 0; i < s->nfiles; i++) {
		t = catalog_tree_of(c, e->added[i].tree, NULL);
		t->files[t->nfiles++] = s->files[i];
	}
	free(s->files);
	for (size_t i = 0; i < s->nlost; i++) {
		t = catalog_tree_of(c, e->lost[i].tree, NULL);
		history_free(&t->lost);
		t->lost = s->lost[i];
	}
	free(s->lost);
	if (e->drop_snapshot) {
		at = catalog_snapshot_place(c, e->drop_snapshot, &there);
		if (there)
			drop_snapshot(c, at);
	}
	if (e->put_snapshot)
		put_snapshot(c, e->put_snapshot, &s->snapshot);
	raise_counters(c, e);
	*s = (struct catalog_stage){0};
}
