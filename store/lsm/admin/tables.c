/*
 * Tables: names and schemas over trees, and how they change.
 *
 * The state of a table is an immutable table_state; a change makes a new one,
 * commits it to the catalog, then installs it. The names that users see live
 * in the catalog alone, so that a rename touches no data.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/front/guard.h"
#include "store/lsm/admin/admin.h"
#include "store/lsm/read/read.h"
#include "store/lsm/state/table_list.h"
#include "store/lsm/state/superversion.h"
#include "store/lsm/write/note.h"
#include "store/value/array.h"

/* Lists the files of all trees of the state, for an edit; free() what there is. */
static int list_files(const struct table_state *st, struct edit_file **out,
		      size_t *n)
{
	size_t cap = 0;

	for (uint32_t i = 0; i < st->schema.nfamilies; i++)
		for (int l = 0; l < LEVELS_MAX; l++) {
			const struct level *lv =
				&st->trees[i]->levels->level[l];

			if (ARRAY_RESERVE(*out, cap, *n + lv->nfiles) < 0)
				return -ENOMEM;
			for (uint32_t k = 0; k < lv->nfiles; k++)
				(*out)[(*n)++] = (struct edit_file){
					st->trees[i]->id, (uint8_t)l,
					sst_info(lv->files[k])};
		}
	return 0;
}

/* Lists what the state's trees have lost of their past; free() the list. */
static int list_losses(const struct table_state *st, struct edit_loss **out,
		       size_t *n)
{
	struct edit_loss *list =
		calloc(st->schema.nfamilies + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < st->schema.nfamilies; i++) {
		const struct tree *t = st->trees[i];

		if (!history_is_whole(&t->levels->lost))
			list[(*n)++] =
				(struct edit_loss){t->id, &t->levels->lost};
	}
	*out = list;
	return 0;
}

/*
 * Commits @st as the table's state, and installs nothing. @fresh: the trees and
 * their files are new. @next_tree and @next_table are the new counters, or 0.
 * Under catalog.
 */
static int commit_state(struct lsm *db, uint64_t id,
			const struct table_state *st, bool fresh,
			uint32_t next_tree, uint64_t next_table)
{
	struct edit_file *added = NULL;
	struct edit_loss *lost = NULL;
	struct catalog_table row = {
		.id = id,
		.schema_version = st->version,
		.schema = st->schema, /* borrowed for the commit */
		.trees = calloc(st->schema.nfamilies + 1, sizeof(*row.trees)),
	};
	struct edit e = {
		.put_table = &row,
		.next_tree = next_tree,
		.next_table = next_table,
	};
	int r;

	if (!row.trees)
		return -ENOMEM;
	snprintf(row.name, sizeof(row.name), "%s", st->name);
	for (uint32_t i = 0; i < st->schema.nfamilies; i++)
		row.trees[i].id = st->trees[i]->id;
	r = fresh ? list_files(st, &added, &e.nadded) : 0;
	if (r == 0 && fresh)
		r = list_losses(st, &lost, &e.nlost);
	e.added = added;
	e.lost = lost;
	if (r == 0)
		r = lsm_sync_log(db);
	if (r == 0)
		r = lsm_commit_edit(db, &e);
	free(row.trees);
	free(added);
	free(lost);
	return r;
}

/* Commits the new table, and notes it. Under catalog. */
static int commit_new(struct lsm *db, struct lsm_table *t, uint32_t next_tree,
		      const struct tree_files *files)
{
	int r = 0;

	pthread_mutex_lock(&db->commit);
	if (files)
		r = note_break(db);
	pthread_mutex_unlock(&db->commit);
	if (r == 0)
		r = commit_state(db, t->base.id, t->now, true, next_tree,
				 t->base.id + 1);
	if (r < 0)
		return r;
	note_tables_now(db);
	return 0;
}

int tables_add(struct lsm *db, struct bytes name, const struct schema *schema,
	       const struct tree_files *files)
{
	const struct catalog *c = manifest_catalog(db->manifest);
	char text[TABLE_NAME_LEN_MAX + 1];
	struct table_state *st = NULL;
	struct lsm_table *t = NULL, **list;
	uint32_t next_tree;
	int r;

	memcpy(text, name.data, name.len);
	text[name.len] = '\0';
	pthread_mutex_lock(&db->catalog);
	r = lsm_writable(db);
	if (r < 0)
		goto out;
	r = -EEXIST;
	if (catalog_find(c, name)) {
		why(r, "table %s exists", text);
		goto out;
	}
	next_tree = c->next_tree;
	r = table_state_new(text, 1, schema, NULL, &next_tree, &st);
	if (r == 0 && files)
		r = table_state_fill(st, files);
	if (r < 0)
		goto out;
	r = -ENOMEM;
	t = lsm_table_new(db, c->next_table, st);
	if (!t)
		goto out;
	st = NULL;
	t->made_ns = os_monotonic_ns(db->os);
	list = malloc((db->ntables + 2) * sizeof(struct lsm_table *));
	if (!list)
		goto out;
	r = commit_new(db, t, next_tree, files);
	if (r < 0) {
		free(list);
		goto out;
	}
	pthread_mutex_lock(&db->state);
	memcpy(list, db->tables, db->ntables * sizeof(struct lsm_table *));
	free(db->tables);
	db->tables = list;
	tables_list(db, t);
	pthread_mutex_unlock(&db->state);
	t = NULL;
out:
	pthread_mutex_unlock(&db->catalog);
	table_state_unref(st);
	if (t)
		lsm_table_free(&t->base);
	return r;
}

int lsm_table_create(struct store *s, struct bytes name,
		     const struct schema *schema)
{
	return tables_add(lsm_of(s), name, schema, NULL);
}

/* Takes the locks, and unless it fails a reference: for end_change() in any case. */
static int begin_change(struct store *s, struct bytes name, struct table **out)
{
	struct lsm *db = lsm_of(s);
	int r;

	*out = NULL;
	pthread_mutex_lock(&db->catalog);
	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	return r < 0 ? r : lsm_table_open(s, name, out);
}

static void end_change(struct lsm *db, struct table *t)
{
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_unlock(&db->catalog);
	table_unref(t);
}

/* 1 if the family (NULL: any) of the table has a visible cell. Under commit. */
static int has_cell(struct table *t, const char *family)
{
	struct column_name column = {.whole_family = true};
	struct scan_spec spec = {.granularity = SCAN_ROWS, .limit_rows = 1};
	struct scan *sc;
	struct cell cell;
	int r;

	if (family) {
		column.family = bytes_str(family);
		spec.columns = &column;
		spec.ncolumns = 1;
	}
	r = lsm_scan_open(t, &spec, &sc);
	if (r < 0)
		return r;
	r = lsm_scan_next(sc, &cell, 1);
	lsm_scan_close(sc);
	return r;
}

/* -ENOTEMPTY if a snapshot shows the table. Under catalog. */
static int check_not_shown(struct lsm *db, uint64_t table)
{
	const struct catalog_snapshot *s =
		catalog_shown_by(manifest_catalog(db->manifest), table, NULL);

	if (!s)
		return 0;
	return why(-ENOTEMPTY, "snapshot %s %s: drop that first", s->name,
		   s->table ? "of the table exists"
			    : "of the whole store shows the table");
}

int lsm_table_drop(struct store *s, struct bytes name, bool only_if_empty)
{
	struct lsm *db = lsm_of(s);
	struct table *base;
	struct table_state *st = NULL;
	struct edit e = {0};
	int r = begin_change(s, name, &base);

	if (r == 0)
		r = check_not_shown(db, base->id);
	if (r == 0 && only_if_empty)
		r = has_cell(base, NULL);
	if (r > 0)
		r = why(-ENOTEMPTY, "table %.*s has rows", (int)name.len,
			(const char *)name.data);
	if (r < 0)
		goto out;
	e.drop_table = base->id;
	r = lsm_sync_log(db);
	if (r == 0)
		r = lsm_commit_edit(db, &e);
	if (r < 0)
		goto out;
	note_tables(db);
	pthread_mutex_lock(&db->state);
	st = ((struct lsm_table *)base)->now;
	for (uint32_t i = 0; i < st->schema.nfamilies; i++)
		tree_drop(st->trees[i]);
	tables_unlist(db, (struct lsm_table *)base);
	((struct lsm_table *)base)->now = NULL;
	atomic_fetch_add(&((struct lsm_table *)base)->version, 1);
	superversions_changed(db);
	pthread_mutex_unlock(&db->state);
	superversions_sweep(db);
out:
	end_change(db, base);
	if (st) {
		table_state_unref(st);
		table_unref(base); /* the list's reference */
	}
	return r;
}

/* Installs @st, which was committed. Under catalog and commit. */
static void install(struct lsm *db, struct lsm_table *t, struct table_state *st)
{
	struct table_state *old;

	pthread_mutex_lock(&db->state);
	old = t->now;
	for (uint32_t i = 0; i < old->schema.nfamilies; i++) {
		int k = schema_find(&st->schema,
				    bytes_str(old->schema.families[i].name));

		if (k < 0 || st->trees[k] != old->trees[i])
			tree_drop(old->trees[i]);
	}
	tables_unlist(db, t);
	t->now = st;
	tables_list(db, t);
	atomic_store(&t->version, st->version);
	superversions_changed(db);
	pthread_mutex_unlock(&db->state);
	superversions_sweep(db);
	table_state_unref(old);
}

/*
 * Notes that the table's past is lost, since all its cells are replaced. Under
 * commit.
 */
static int lose_all(struct lsm *db, const struct table_state *old,
		    struct table_state *st)
{
	struct history lost = {.before = os_now_ms(db->os)};
	int r = 0;

	for (uint32_t i = 0; i < old->schema.nfamilies; i++)
		if (old->trees[i]->ts_max >= lost.before)
			lost.before = old->trees[i]->ts_max + 1;
	for (uint32_t i = 0; r == 0 && i < st->schema.nfamilies; i++)
		r = levels_lose(st->trees[i]->levels, &lost);
	return r;
}

/*
 * Replaces the table's name and schema (NULL = unchanged), after all checks.
 * @fresh: with new trees, of @files (NULL = empty). Under catalog and commit.
 */
static int replace(struct lsm *db, struct lsm_table *t, const char *name,
		   const struct schema *schema, bool fresh,
		   const struct tree_files *files)
{
	uint32_t next_tree = manifest_catalog(db->manifest)->next_tree;
	struct table_state *old = t->now, *st;
	int r = table_state_new(name ? name : old->name, old->version + 1,
				schema ? schema : &old->schema,
				fresh ? NULL : old, &next_tree, &st);

	if (r < 0)
		return why(r, "out of memory");
	if (files)
		r = table_state_fill(st, files);
	if (r == 0 && files)
		r = note_break(db);
	if (r == 0 && fresh)
		r = lose_all(db, old, st);
	if (r == 0)
		r = commit_state(db, t->base.id, st, fresh, next_tree, 0);
	if (r < 0) {
		table_state_unref(st);
		return r;
	}
	note_tables(db);
	install(db, t, st);
	return 0;
}

int lsm_table_rename(struct store *s, struct bytes from, struct bytes to)
{
	struct lsm *db = lsm_of(s);
	const struct catalog *c = manifest_catalog(db->manifest);
	char text[TABLE_NAME_LEN_MAX + 1];
	struct table *base;
	int r = begin_change(s, from, &base);

	memcpy(text, to.data, to.len);
	text[to.len] = '\0';
	if (r == 0 && catalog_find(c, to))
		r = why(-EEXIST, "table %s exists", text);
	if (r == 0)
		r = replace(db, (struct lsm_table *)base, text, NULL, false,
			    NULL);
	end_change(db, base);
	return r;
}

int lsm_table_truncate(struct store *s, struct bytes name)
{
	struct lsm *db = lsm_of(s);
	struct table *base;
	int r = begin_change(s, name, &base);

	if (r == 0)
		r = check_not_shown(db, base->id);
	if (r == 0)
		r = replace(db, (struct lsm_table *)base, NULL, NULL, true,
			    NULL);
	end_change(db, base);
	return r;
}

static int check_latest(struct lsm *db, const struct table *t, uint64_t seq)
{
	const struct catalog_snapshot *later =
		catalog_shown_after(manifest_catalog(db->manifest), t->id, seq);

	if (!later)
		return 0;
	return why(-EBUSY,
		   "snapshot %s is a later one of the table: drop that first, "
		   "or clone this one",
		   later->name);
}

int tables_check_latest(struct lsm *db, const struct table *t, uint64_t seq)
{
	int r;

	pthread_mutex_lock(&db->catalog);
	r = check_latest(db, t, seq);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

int tables_refill(struct lsm *db, struct table *base,
		  const struct schema *schema, const struct tree_files *files,
		  uint64_t seq)
{
	struct lsm_table *t = (struct lsm_table *)base;
	int r;

	pthread_mutex_lock(&db->catalog);
	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	if (r == 0 && !t->now)
		r = why(-ENOENT, "the table has been dropped");
	if (r == 0)
		r = check_latest(db, base, seq);
	if (r == 0)
		r = replace(db, t, NULL, schema, true, files);
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_unlock(&db->catalog);
	return r;
}

/*
 * Does a family that @a does not name remain? 1, 0, -EBUSY. Under catalog and
 * commit.
 */
static int stays(struct lsm *db, struct table *base, const char *family,
		 const struct alter *a)
{
	bool drop = a->rest == ALTER_DROP ||
		    schema_find(&a->drop, bytes_str(family)) >= 0;
	const struct catalog_snapshot *s = catalog_shown_by(
		manifest_catalog(db->manifest), base->id, family);
	int r;

	if (s && !drop && a->rest == ALTER_KEEP)
		return 1;
	if (s)
		return why(-EBUSY,
			   "snapshot %s shows family %s: drop the snapshot "
			   "before the family",
			   s->name, family);
	r = drop ? 0 : has_cell(base, family);
	if (r > 0 && a->rest == ALTER_REFUSE)
		r = why(-EBUSY,
			"family %s of table %s holds cells: delete them before "
			"it is dropped",
			family, ((struct lsm_table *)base)->now->name);
	return r;
}

/*
 * Snapshots are read, and kept by compactions, by the attributes that the table
 * has: so those cannot become less than what a snapshot shows. 0 or -EBUSY. Under
 * catalog.
 */
static int shows_less(struct lsm *db, struct table *base,
		      const struct family_attrs *now,
		      const struct family_schema *to)
{
	const struct catalog_snapshot *s;
	const char *word;

	if (!family_attrs_less(&to->attrs, now))
		return 0;
	s = catalog_shows_more(manifest_catalog(db->manifest), base->id, to,
			       &word);
	if (!s)
		return 0;
	return why(-EBUSY,
		   "snapshot %s shows of family %s what this (%s) would hide: "
		   "drop the snapshot first, or keep it as a table by cellctl "
		   "clone_snapshot",
		   s->name, to->name, word);
}

/* The schema as @a changes it; free @out. Under catalog and commit. */
static int altered(struct lsm *db, struct table *base, const struct alter *a,
		   struct schema *out)
{
	const struct schema *now = &((struct lsm_table *)base)->now->schema;
	int r = schema_copy(out, &a->to);

	if (r < 0)
		return why(r, "out of memory");
	for (uint32_t i = 0; i < now->nfamilies; i++) {
		const struct family_schema *f = &now->families[i];
		struct bytes name = bytes_str(f->name);
		int at = schema_find(&a->to, name);

		r = guard_family(base, f, a, has_cell);
		if (r == 0 && at < 0)
			r = stays(db, base, f->name, a);
		else if (r == 0)
			r = shows_less(db, base, &f->attrs,
				       &a->to.families[at]);
		if (r > 0)
			r = schema_add(out, name, &f->attrs);
		if (r < 0)
			return r;
	}
	return 0;
}

int lsm_table_alter(struct table *base, const struct alter *a)
{
	struct lsm *db = lsm_of(base->store);
	struct lsm_table *t = (struct lsm_table *)base;
	struct schema to = {0};
	int r;

	pthread_mutex_lock(&db->catalog);
	pthread_mutex_lock(&db->commit);
	r = lsm_writable(db);
	if (r == 0 && !t->now)
		r = why(-ENOENT, "the table has been dropped");
	if (r == 0)
		r = alter_check_from(a, t->now->version);
	if (r == 0)
		r = altered(db, base, a, &to);
	if (r == 0 && !a->dry && !schema_equal(&to, &t->now->schema))
		r = replace(db, t, NULL, &to, false, NULL);
	schema_free(&to);
	pthread_mutex_unlock(&db->commit);
	pthread_mutex_unlock(&db->catalog);
	return r;
}
