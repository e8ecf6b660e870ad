/*
 * The tables of a store that is rescued, written one by one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/lsm/admin/repair.h"
#include "store/lsm/compaction/compaction_write.h"
#include "store/lsm/merge/merge.h"
#include "store/lsm/table/sst_format.h"
#include "store/lsm/table/sst_salvage.h"
#include "store/value/array.h"

/* As the engine's own files. */
#define FILE_BYTES ((uint64_t)64 << 20)

/* What one family is made of, and what it becomes. */
struct family_copy {
	struct repair *k;
	const struct catalog_tree *tree;
	struct sst_salvage **files;
	size_t nfiles, cap;
	struct mem_cursor log;
	struct compaction_writer w;
	uint64_t rows, cells;
};

static void lose_part(void *arg, const struct sst_loss *loss)
{
	struct repair *k = arg;
	char name[SST_NAME_LEN];
	const struct store_rescue news = {
		.kind = RESCUE_LOST,
		.table = k->table,
		.family = k->family,
		.file = name,
		.offset = loss->offset,
		.bytes = loss->bytes,
		.from = loss->from,
		.to = loss->to,
		.reason = loss->reason,
	};

	sst_name(loss->number, name);
	repair_lost(k, &news);
}

static int add_file(struct family_copy *c, uint64_t number,
		    const struct sst_info *known)
{
	int r = ARRAY_RESERVE(c->files, c->cap, c->nfiles + 1);

	if (r == 0)
		r = sst_salvage_open(c->k->from, number, known, lose_part, c->k,
				     &c->files[c->nfiles]);
	if (r == 0)
		c->nfiles++;
	return r;
}

static int add_files(struct family_copy *c)
{
	struct repair *k = c->k;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->tree->nfiles; i++)
		r = add_file(c, c->tree->files[i].info.number,
			     &c->tree->files[i].info);
	for (size_t i = 0; r == 0 && i < k->nstrays; i++) {
		if (k->strays[i].taken || k->strays[i].tree != c->tree->id)
			continue;
		k->strays[i].taken = true;
		r = add_file(c, k->strays[i].number, NULL);
	}
	return r;
}

/* The present row of the merge. The same entry of two sources is written once. */
static int copy_row(struct family_copy *c, struct cursor *m)
{
	struct buf qualifier = {0};
	struct entry last = {0};
	bool first = true;
	int r = 1;

	for (; r == 1; r = cursor_next(m)) {
		if (!first && entry_cmp(&last, &m->at) == 0)
			continue;
		r = compaction_write(&c->w, m->row, &m->at);
		if (r == 0)
			r = buf_set(&qualifier, m->at.qualifier);
		if (r < 0)
			break;
		last = m->at;
		last.qualifier = buf_bytes(&qualifier);
		first = false;
		c->cells++;
		/* Compactions leave 0 of most, and each has had one of its own. */
		c->k->last_seq++;
		if (m->at.seq > c->k->last_seq)
			c->k->last_seq = m->at.seq;
	}
	buf_free(&qualifier);
	c->rows++;
	return r < 0 ? r : compaction_write_row_end(&c->w);
}

static int copy_rows(struct family_copy *c)
{
	struct merge_source *sources = calloc(c->nfiles + 1, sizeof(*sources));
	struct merge merge = {0};
	int r;

	if (!sources)
		return why(-ENOMEM, "out of memory");
	memtable_cursor(c->k->log, c->tree->id, &c->log);
	sources[0].cursor = &c->log.base;
	for (size_t i = 0; i < c->nfiles; i++)
		sources[i + 1].cursor = sst_salvage_cursor(c->files[i]);
	merge_init(&merge, sources, (uint32_t)c->nfiles + 1, UINT64_MAX);
	r = cursor_seek_row(&merge.base, (struct bytes){0});
	while (r == 1) {
		r = copy_row(c, &merge.base);
		if (r == 0)
			r = cursor_next_row(&merge.base);
	}
	if (r == 0)
		r = compaction_write_cut(&c->w);
	cursor_close(&merge.base);
	cursor_close(&c->log.base);
	free(sources);
	return r;
}

static uint64_t next_number(void *arg)
{
	struct repair *k = arg;

	return k->next_file++;
}

/* Copies family @i of the table; its new files are added to *added. */
static int copy_family(struct repair *k, const struct catalog_table *t,
		       uint32_t i, struct family_copy *c)
{
	const struct family_schema *f = &t->schema.families[i];
	struct store_rescue news = {.kind = RESCUE_FAMILY};
	int r;

	k->table = t->name;
	k->family = f->name;
	*c = (struct family_copy){
		.k = k,
		.tree = &t->trees[i],
		.w = {.dir = k->to,
		      .options =
			      compaction_options(t->trees[i].id, &f->attrs, 1),
		      .file_bytes = FILE_BYTES,
		      .number = next_number,
		      .arg = k},
	};
	r = add_files(c);
	if (r == 0)
		r = copy_rows(c);
	for (size_t n = 0; n < c->nfiles; n++)
		sst_salvage_close(c->files[n]);
	free(c->files);
	if (r < 0)
		return r;
	news.table = t->name;
	news.family = f->name;
	news.rows = c->rows;
	news.cells = c->cells;
	k->tell(k->arg, &news);
	return 0;
}

/* The files are synced; then one edit makes the table and gives them to it. */
static int commit_table(struct repair *k, const struct catalog_table *t,
			struct family_copy *families)
{
	uint32_t n = t->schema.nfamilies;
	size_t nfiles = 0, ntrees = 0;
	struct edit_loss *lost = calloc(n + 1, sizeof(*lost));
	struct edit_file *added;
	struct edit e = {
		.put_table = t,
		.last_seq = k->last_seq,
		.next_table = k->known.catalog.next_table,
		.next_tree = k->known.catalog.next_tree,
	};
	int r;

	for (uint32_t i = 0; i < n; i++)
		nfiles += families[i].w.ntables;
	added = calloc(nfiles + 1, sizeof(*added));
	r = lost && added ? os_dir_sync(k->to) : why(-ENOMEM, "out of memory");
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		for (uint32_t j = 0; j < families[i].w.ntables; j++)
			added[e.nadded++] = (struct edit_file){
				t->trees[i].id, 1,
				sst_info(families[i].w.tables[j])};
		lost[ntrees++] =
			(struct edit_loss){t->trees[i].id, &t->trees[i].lost};
	}
	e.added = added;
	e.lost = lost;
	e.nlost = ntrees;
	if (r == 0)
		r = manifest_commit(k->made, &e);
	free(added);
	free(lost);
	return r;
}

static int make_table(struct repair *k, const struct catalog_table *t)
{
	uint32_t n = t->schema.nfamilies;
	struct family_copy *families = calloc(n + 1, sizeof(*families));
	int r = families ? 0 : why(-ENOMEM, "out of memory");

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = copy_family(k, t, i, &families[i]);
	if (r == 0)
		r = commit_table(k, t, families);
	for (uint32_t i = 0; families && i < n; i++) {
		struct compaction_writer *w = &families[i].w;

		for (uint32_t j = 0; r == 0 && j < w->ntables; j++)
			sst_unref(w->tables[j]);
		if (r == 0)
			w->ntables = 0;
		compaction_write_free(w);
	}
	free(families);
	return r;
}

static int has_tree(const struct catalog *c, uint32_t tree)
{
	for (size_t i = 0; i < c->ntables; i++)
		if (catalog_tree_in(&c->tables[i], tree))
			return true;
	return false;
}

/* A table for a tree whose name is lost. It keeps all versions. */
static int make_nameless(struct repair *k, uint32_t tree)
{
	struct catalog_tree its = {.id = tree};
	struct catalog_table t = {
		.id = k->known.catalog.next_table++,
		.schema_version = 1,
		.trees = &its,
	};
	struct family_attrs attrs;
	int r;

	family_attrs_default(&attrs);
	attrs.versions = UINT32_MAX;
	schema_init(&t.schema, 0, 0);
	r = schema_add(&t.schema, bytes_str("f"), &attrs);
	for (int n = 0; r == 0; n++) {
		snprintf(t.name, sizeof(t.name),
			 n ? "salvaged_%u_%d" : "salvaged_%u", (unsigned)tree,
			 n);
		if (!catalog_find(manifest_catalog(k->made), bytes_str(t.name)))
			break;
	}
	if (r == 0) {
		repair_note(k,
			    "tree %u has no name in a catalog: its cells are "
			    "in table %s, family f, which keeps all versions",
			    (unsigned)tree, t.name);
		r = make_table(k, &t);
	}
	schema_free(&t.schema);
	return r;
}

/* Trees that no catalog names: of table files, and of the log. */
static int make_all_nameless(struct repair *k)
{
	const struct catalog *c = &k->known.catalog;
	int64_t tree = -1;
	int r = 0;

	/* A file that names no tree is one by itself. */
	for (size_t i = 0; i < k->nstrays; i++)
		if (k->strays[i].tree >= k->known.catalog.next_tree)
			k->known.catalog.next_tree = k->strays[i].tree + 1;
	while ((tree = memtable_next_tree(k->log, tree)) >= 0)
		if (tree >= c->next_tree)
			k->known.catalog.next_tree = (uint32_t)tree + 1;
	for (size_t i = 0; r == 0 && i < k->nstrays; i++) {
		struct repair_stray *s = &k->strays[i];

		if (s->taken)
			continue;
		if (!s->tree) {
			s->tree = k->known.catalog.next_tree++;
			repair_note(k,
				    "%" PRIu64 ".sst does not say whose it is: "
				    "it is called tree %u",
				    s->number, (unsigned)s->tree);
		}
		r = make_nameless(k, s->tree);
	}
	tree = -1;
	while (r == 0 && (tree = memtable_next_tree(k->log, tree)) >= 0)
		if (!has_tree(c, (uint32_t)tree) &&
		    !has_tree(manifest_catalog(k->made), (uint32_t)tree))
			r = make_nameless(k, (uint32_t)tree);
	return r;
}

static int make_snapshots(struct repair *k)
{
	const struct catalog *c = &k->known.catalog;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->nsnapshots; i++)
		r = manifest_commit(
			k->made,
			&(struct edit){.put_snapshot = &c->snapshots[i]});
	return r;
}

int repair_tables(struct repair *k)
{
	const struct catalog *c = &k->known.catalog;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->ntables; i++)
		r = make_table(k, &c->tables[i]);
	/* In the newest catalog's store such trees were dropped. */
	if (r == 0 && k->known.age != CATALOG_NEWEST)
		r = make_all_nameless(k);
	if (r == 0)
		r = make_snapshots(k);
	/* The last change may be one of a table that has no file. */
	if (r == 0)
		r = manifest_commit(k->made,
				    &(struct edit){.last_seq = k->last_seq});
	return r;
}
