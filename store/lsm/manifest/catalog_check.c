/*
 * Is a catalog sound as a whole? That its schemas are schema_decode() has seen.
 */
#include "store/lsm/manifest/catalog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/front/namespace.h"
#include "store/lsm/manifest/levels.h"
#include "store/value/array.h"
#include "store/value/why.h"

/* The numbers of one kind, of which no two may be the same. */
struct numbers {
	const char *what;
	uint64_t *at, next; /* all are less than @next */
	size_t n;
};

static int check_numbers(const struct numbers *s)
{
	qsort(s->at, s->n, sizeof(*s->at), array_by_u64);
	for (size_t i = 1; i < s->n; i++)
		if (s->at[i] == s->at[i - 1])
			return why(-EINVAL, "two %ss have number %" PRIu64,
				   s->what, s->at[i]);
	if (s->n && (s->at[0] == 0 || s->at[s->n - 1] >= s->next))
		return why(-EINVAL,
			   "a %s has number %" PRIu64
			   ", which was never given out",
			   s->what, s->at[0] ? s->at[s->n - 1] : 0);
	return 0;
}

static void count(const struct catalog *c, size_t *trees, size_t *files)
{
	*trees = *files = 0;
	for (size_t i = 0; i < c->ntables; i++) {
		*trees += c->tables[i].schema.nfamilies;
		for (uint32_t j = 0; j < c->tables[i].schema.nfamilies; j++)
			*files += c->tables[i].trees[j].nfiles;
	}
}

/* Tables, trees and files have numbers of their own, that were given out. */
static int check_all_numbers(const struct catalog *c)
{
	struct numbers tables = {"table", .next = c->next_table};
	struct numbers trees = {"tree", .next = c->next_tree};
	struct numbers files = {"file", .next = c->next_file};
	size_t ntrees, nfiles;
	uint64_t *all;
	int r;

	count(c, &ntrees, &nfiles);
	all = calloc(c->ntables + ntrees + nfiles + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	tables.at = all;
	trees.at = all + c->ntables;
	files.at = trees.at + ntrees;
	for (size_t i = 0; i < c->ntables; i++) {
		const struct catalog_table *t = &c->tables[i];

		tables.at[tables.n++] = t->id;
		for (uint32_t j = 0; j < t->schema.nfamilies; j++) {
			const struct catalog_tree *tree = &t->trees[j];

			trees.at[trees.n++] = tree->id;
			for (size_t k = 0; k < tree->nfiles; k++)
				files.at[files.n++] =
					tree->files[k].info.number;
		}
	}
	r = check_numbers(&tables);
	if (r == 0)
		r = check_numbers(&trees);
	if (r == 0)
		r = check_numbers(&files);
	free(all);
	return r;
}

/* Rows that are too long no decoder has taken. */
static int check_file(const struct catalog_file *f)
{
	const struct sst_info *i = &f->info;

	if (f->level >= LEVELS_MAX)
		return why(-EINVAL, "there is no level %u", f->level);
	if (!i->row_min.len ||
	    bytes_cmp(buf_bytes(&i->row_min), buf_bytes(&i->row_max)) > 0 ||
	    i->seq_min > i->seq_max)
		return why(-EINVAL, "the bounds of file %" PRIu64 " are wrong",
			   i->number);
	return 0;
}

static int check_table(const struct catalog *c, size_t i)
{
	const struct catalog_table *t = &c->tables[i];
	int order = i ? strcmp(c->tables[i - 1].name, t->name) : -1;
	int r = 0;

	if (strcmp(t->name, NAMESPACE_TABLE) != 0 &&
	    table_name_check(bytes_str(t->name)) < 0)
		return why(-EINVAL, "table %" PRIu64 " has a bad name", t->id);
	if (order == 0)
		return why(-EEXIST, "a table %s exists", t->name);
	if (order > 0)
		return why(-EINVAL, "table %s stands in the wrong place",
			   t->name);
	for (uint32_t j = 0; r == 0 && j < t->schema.nfamilies; j++)
		for (size_t k = 0; r == 0 && k < t->trees[j].nfiles; k++)
			r = check_file(&t->trees[j].files[k]);
	return r;
}

static int check_shown(const struct snapshot_tables *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct snapshot_table *t = &s->at[i];

		if (t->id == 0 || t->id == UINT64_MAX ||
		    table_name_check(bytes_str(t->name)) < 0)
			return why(-EINVAL,
				   "a snapshot shows table %" PRIu64
				   ", whose name or number is bad",
				   t->id);
	}
	return 0;
}

static int check_snapshot(const struct catalog *c, size_t i)
{
	const struct catalog_snapshot *s = &c->snapshots[i];
	int order = i ? catalog_snapshot_cmp(s - 1, s) : -1;

	if (!s->name[0])
		return why(-EINVAL, "a snapshot needs a name");
	if (order == 0)
		return why(-EEXIST, "a snapshot %s exists", s->name);
	if (order > 0)
		return why(-EINVAL, "snapshot %s stands in the wrong place",
			   s->name);
	if (s->table && !catalog_find_id(c, s->table))
		return why(-EINVAL, "the store has no table %" PRIu64,
			   s->table);
	return check_shown(&s->tables);
}

int catalog_check(const struct catalog *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->ntables; i++)
		r = check_table(c, i);
	for (size_t i = 0; r == 0 && i < c->nsnapshots; i++)
		r = check_snapshot(c, i);
	return r < 0 ? r : check_all_numbers(c);
}
