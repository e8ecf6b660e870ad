/*
 * Trees and the states of tables: the objects in memory for a row of the
 * catalog, and how they are loaded.
 *
 * A tree and a table_state live while they are referenced. A dropped tree
 * remains readable for threads that hold a superversion of it; its files are
 * removed with the last such superversion.
 */
#include "store/lsm/state/damage.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/value/array.h"

static struct tree *tree_new(uint32_t id)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	if (levels_new(&t->levels) < 0) {
		free(t);
		return NULL;
	}
	t->id = id;
	atomic_init(&t->refs, 1);
	return t;
}

void tree_ref(struct tree *t)
{
	atomic_fetch_add(&t->refs, 1);
}

void tree_unref(struct tree *t)
{
	if (!t || !refs_drop(&t->refs))
		return;
	levels_unref(t->levels);
	free(t);
}

void tree_drop(struct tree *t)
{
	t->dropped = true;
	atomic_store(&t->cancel, true);
	for (int l = 0; l < LEVELS_MAX; l++)
		for (uint32_t i = 0; i < t->levels->level[l].nfiles; i++)
			sst_obsolete(t->levels->level[l].files[i]);
}

bool trees_next(struct lsm *db, struct tree_walk *w)
{
	for (; w->at < db->ntables; w->at++, w->behind = 0) {
		struct table_state *st = db->tables[w->at]->now;

		if (w->behind == st->schema.nfamilies)
			continue;
		w->table = db->tables[w->at];
		w->tree = st->trees[w->behind];
		w->attrs = &st->schema.families[w->behind].attrs;
		w->behind++;
		return true;
	}
	return false;
}

int tree_live(struct lsm *db, uint32_t id, struct tree **out,
	      struct family_attrs *attrs, uint64_t *table)
{
	struct tree_walk w = {0};
	int found = 0;

	pthread_mutex_lock(&db->state);
	while (!found && trees_next(db, &w)) {
		if (w.tree->id != id)
			continue;
		*out = w.tree;
		tree_ref(*out);
		*attrs = *w.attrs;
		*table = w.table->base.id;
		found = 1;
	}
	pthread_mutex_unlock(&db->state);
	return found;
}

bool tree_outgrows(struct lsm *db, const struct tree *t,
		   const struct family_attrs *had)
{
	struct tree *live = NULL;
	struct family_attrs now;
	uint64_t table;
	bool less = tree_live(db, t->id, &live, &now, &table) &&
		    family_attrs_less(had, &now);

	tree_unref(live);
	return less;
}

int tree_next_levels(struct lsm *db, struct tree *t,
		     const struct level_file *removed, size_t nremoved,
		     const struct level_file *added, size_t nadded,
		     const struct history *lost, struct levels **out)
{
	struct levels *now = NULL;
	int r = 0;

	*out = NULL;
	pthread_mutex_lock(&db->state);
	if (!t->dropped) {
		now = t->levels;
		levels_ref(now);
	}
	pthread_mutex_unlock(&db->state);
	if (now)
		r = levels_apply(now, removed, nremoved, added, nadded, out);
	if (*out && r == 0)
		r = levels_lose(*out, lost);
	levels_unref(now);
	return r;
}

void tree_install(struct tree *t, struct levels *next)
{
	assert(next && next != t->levels && !t->dropped);
	levels_unref(t->levels);
	t->levels = next;
}

void table_state_ref(struct table_state *st)
{
	atomic_fetch_add(&st->refs, 1);
}

void table_state_unref(struct table_state *st)
{
	if (!st || !refs_drop(&st->refs))
		return;
	for (uint32_t i = 0; st->trees && i < st->schema.nfamilies; i++)
		tree_unref(st->trees[i]);
	free(st->trees);
	schema_free(&st->schema);
	free(st);
}

int table_state_new(const char *name, uint64_t version,
		    const struct schema *schema, const struct table_state *old,
		    uint32_t *next_tree, struct table_state **out)
{
	struct table_state *st = calloc(1, sizeof(*st));

	if (!st)
		return -ENOMEM;
	atomic_init(&st->refs, 1);
	snprintf(st->name, sizeof(st->name), "%s", name);
	st->version = version;
	if (schema_copy(&st->schema, schema) < 0)
		goto fail;
	st->trees = calloc(schema->nfamilies + 1, sizeof(*st->trees));
	if (!st->trees)
		goto fail;
	for (uint32_t i = 0; i < schema->nfamilies; i++) {
		struct bytes family = bytes_str(st->schema.families[i].name);
		int at = old ? schema_find(&old->schema, family) : -1;

		if (at >= 0) {
			st->trees[i] = old->trees[at];
			tree_ref(st->trees[i]);
		} else {
			st->trees[i] = tree_new((*next_tree)++);
		}
		if (!st->trees[i])
			goto fail;
	}
	*out = st;
	return 0;
fail:
	table_state_unref(st);
	return -ENOMEM;
}

int table_state_family(const struct table_state *st, struct bytes family)
{
	int at = schema_find(&st->schema, family);

	if (at < 0)
		return why(-EPERM,
			   "table %s has no family '%.*s': declare it in "
			   "the table's schema (where it is mounted .schema, "
			   "or mkdir)",
			   st->name, (int)family.len,
			   (const char *)family.data);
	return at;
}

/* Gives a tree that no other thread knows its first files, and what was lost. */
static int begin_with(struct tree *t, const struct level_file *files, size_t n,
		      const struct history *lost)
{
	struct levels *next;
	int r = levels_apply(t->levels, NULL, 0, files, n, &next);

	if (r < 0)
		return r;
	levels_unref(t->levels);
	t->levels = next;
	for (size_t i = 0; i < n; i++)
		if (sst_info(files[i].file)->ts_max > t->ts_max)
			t->ts_max = sst_info(files[i].file)->ts_max;
	return levels_lose(next, lost);
}

static int load_files(struct lsm *db, struct tree *t,
		      const struct catalog_tree *from,
		      const struct family_attrs *attrs)
{
	const struct sst_options o = {.block_cache = attrs->block_cache,
				      .in_memory = attrs->in_memory};
	struct level_file *added = calloc(from->nfiles + 1, sizeof(*added));
	size_t n = 0;
	int r = added ? 0 : -ENOMEM;

	for (; r == 0 && n < from->nfiles; n++) {
		const struct sst_info *i = &from->files[n].info;

		added[n].level = from->files[n].level;
		r = sst_open(db->dir, i, &o, db->cache, &added[n].file);
		if (r == -EUCLEAN)
			r = sst_open_lost(db->dir, i, &added[n].file);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = begin_with(t, added, n, &from->lost);
	while (added && n-- > 0)
		sst_unref(added[n].file);
	free(added);
	return r;
}

static int tree_fill(struct tree *t, const struct tree_files *f)
{
	struct level_file *added = calloc(f->n + 1, sizeof(*added));
	int r = added ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < f->n; i++)
		added[i] = (struct level_file){f->level, f->files[i]};
	if (r == 0)
		r = begin_with(t, added, f->n, &f->lost);
	free(added);
	return r < 0 ? why(r, "out of memory") : 0;
}

int table_state_fill(struct table_state *st, const struct tree_files *files)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < st->schema.nfamilies; i++)
		r = tree_fill(st->trees[i], &files[i]);
	return r;
}

uint64_t table_state_bytes(const struct table_state *st)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < st->schema.nfamilies; i++)
		for (int k = 0; k < LEVELS_MAX; k++)
			n += levels_bytes(st->trees[i]->levels, k);
	return n;
}

struct lsm_table *lsm_table_new(struct lsm *db, uint64_t id,
				struct table_state *st)
{
	struct lsm_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->base.store = &db->base;
	atomic_init(&t->base.refs, 1);
	atomic_init(&t->base.watch, NULL);
	t->base.id = id;
	t->now = st;
	atomic_init(&t->version, st->version);
	return t;
}

static int load_table(struct lsm *db, const struct catalog_table *from,
		      struct lsm_table **out)
{
	struct table_state *st = NULL;
	uint32_t ids = 0;
	int r = table_state_new(from->name, from->schema_version, &from->schema,
				NULL, &ids, &st);

	for (uint32_t i = 0; r == 0 && i < st->schema.nfamilies; i++) {
		st->trees[i]->id = from->trees[i].id;
		r = load_files(db, st->trees[i], &from->trees[i],
			       &st->schema.families[i].attrs);
	}
	if (r == 0) {
		damage_at_open(db, st);
		*out = lsm_table_new(db, from->id, st);
		if (*out)
			return 0;
		r = -ENOMEM;
	}
	table_state_unref(st);
	if (r != -ENOMEM || store_why()[0])
		why(r, "table %s: %s", from->name, store_why());
	return r;
}

int tables_load(struct lsm *db)
{
	const struct catalog *c = manifest_catalog(db->manifest);

	db->tables = calloc(c->ntables + 1, sizeof(struct lsm_table *));
	if (!db->tables)
		return -ENOMEM;
	for (size_t i = 0; i < c->ntables; i++) {
		int r = load_table(db, &c->tables[i], &db->tables[i]);

		if (r < 0)
			return r;
		db->ntables++;
	}
	return 0;
}

void tables_free(struct lsm *db)
{
	for (size_t i = 0; i < db->ntables; i++)
		table_unref(&db->tables[i]->base);
	free(db->tables);
	db->tables = NULL;
	db->ntables = 0;
}

struct tree *tables_find_tree(struct lsm *db, uint32_t id)
{
	struct tree_walk w = {0};

	while (trees_next(db, &w))
		if (w.tree->id == id)
			return w.tree;
	return NULL;
}

int trees_collect(struct lsm *db, struct table *t, struct tree ***out,
		  size_t *n)
{
	struct tree_walk w = {0};
	struct tree **trees = NULL;
	size_t count = 0, cap = 0;
	bool full = false;

	pthread_mutex_lock(&db->state);
	while (!full && trees_next(db, &w)) {
		if (t && &w.table->base != t)
			continue;
		full = ARRAY_RESERVE(trees, cap, count + 1) < 0;
		if (!full) {
			assert(trees);
			trees[count] = w.tree;
			tree_ref(trees[count++]);
		}
	}
	pthread_mutex_unlock(&db->state);
	if (full) {
		trees_release(trees, count);
		return why(-ENOMEM, "out of memory");
	}
	*out = trees;
	*n = count;
	return 0;
}

void trees_release(struct tree **trees, size_t n)
{
	for (size_t i = 0; i < n; i++)
		tree_unref(trees[i]);
	free(trees);
}
