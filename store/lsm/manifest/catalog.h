/*
 * The catalog's own side: how edits change it.
 *
 * An edit comes in two steps, so that nothing can fail behind the point where
 * it is durable: catalog_stage() checks it against the catalog and allocates
 * all that it will need, catalog_apply() moves that in. What is staged and not
 * applied is freed by catalog_unstage() and has changed nothing.
 *
 * Inside an edit the order is: drop a table, remove files, put a table, add
 * files, lose history, drop a snapshot, put a snapshot. Counters only grow, and
 * never stay behind a number that the edit uses.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_CATALOG_H
#define CELLFS_STORE_LSM_MANIFEST_CATALOG_H

#include "store/lsm/manifest/manifest.h"

struct catalog_stage {
	struct catalog_table *table; /* the copy of put_table */
	struct catalog_file *files;  /* copies of what is added */
	size_t nfiles;
	struct history *lost; /* of e->lost: all that their trees have lost */
	size_t nlost;
	struct snapshot_tables snapshot; /* of put_snapshot */
};

void catalog_init(struct catalog *c);
void catalog_free(struct catalog *c);

/* 0; -EINVAL, -EEXIST with the reason; -ENOMEM. */
int catalog_stage(struct catalog *c, const struct edit *e,
		  struct catalog_stage *out);
void catalog_apply(struct catalog *c, const struct edit *e,
		   struct catalog_stage *s);
void catalog_unstage(struct catalog_stage *s);

/* Is there a live sstable of this number? */
bool catalog_has_file(const struct catalog *c, uint64_t number);

/* As catalog_stage(), which asks it first; allocates nothing. */
int catalog_check(const struct catalog *c, const struct edit *e);
/*
 * The tree as it is before the edit, if it is there after; else as it comes
 * with @put. NULL with a sentence.
 */
struct catalog_tree *catalog_tree_after(const struct catalog *c,
					const struct edit *e,
					const struct catalog_table *put,
					uint32_t id);

struct catalog_tree *catalog_tree_in(const struct catalog_table *t,
				     uint32_t id);
/* @owner, where wanted: the table that the tree belongs to. */
struct catalog_tree *catalog_tree_of(const struct catalog *c, uint32_t id,
				     struct catalog_table **owner);
/* The file's index; t->nfiles = none. */
size_t catalog_file_in(const struct catalog_tree *t, uint64_t number);
/* Snapshots are sorted by table, then by name. */
int catalog_snapshot_cmp(const struct catalog_snapshot *a,
			 const struct catalog_snapshot *b);
/* Where it is, or would be. */
size_t catalog_snapshot_place(const struct catalog *c,
			      const struct catalog_snapshot *s, bool *there);

#endif
