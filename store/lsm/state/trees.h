/*
 * Trees, and the state of a table: its schema and the trees of its families.
 *
 * A tree is the cells of one family of one table. A state of a table is
 * immutable and reference-counted, so that a reader keeps the one that it began
 * with.
 */
#ifndef CELLFS_STORE_LSM_STATE_TREES_H
#define CELLFS_STORE_LSM_STATE_TREES_H

#include "store/lsm/state/lsm.h"

struct tree {
	uint32_t id;
	_Atomic uint32_t refs;
	/* Under state: */
	struct levels *levels;
	bool dropped;	   /* its table or family was dropped */
	bool compacting;   /* at most one compaction of a tree at a time */
	uint64_t retry_ns; /* not before this, after a failed compaction */
	struct compaction_freed freed; /* left by dropped snapshots */
	_Atomic uint64_t passed; /* markers walked over: tombstone_stats.c */
	/* Under commit: no timestamp of the tree is greater. */
	int64_t ts_max;
	/* Read without a lock by compaction's stop callback. */
	_Atomic bool cancel;
};

/* The state of a table at one moment: immutable, reference-counted. */
struct table_state {
	_Atomic uint32_t refs;
	char name[TABLE_NAME_LEN_MAX + 1];
	uint64_t version;
	struct schema schema;
	struct tree **trees; /* by family, in schema's order; referenced */
};

struct lsm_table {
	struct table base;
	struct table_state *now;  /* under state; NULL when dropped */
	_Atomic uint64_t version; /* of *now, to be read without a lock */
	uint64_t made_ns;	  /* 0 = made before the store was opened */
	/* write/quota.h: behind the generation that was looked at; the result */
	_Atomic uint64_t quota_seen;
	_Atomic bool quota_over;
};

void tree_ref(struct tree *t);
void tree_unref(struct tree *t);
void table_state_ref(struct table_state *st);
void table_state_unref(struct table_state *st);
/*
 * Makes a state with a copy of @schema. Families that @old has keep their
 * trees; new ones get new trees with ids from *next_tree on.
 */
int table_state_new(const char *name, uint64_t version,
		    const struct schema *schema, const struct table_state *old,
		    uint32_t *next_tree, struct table_state **out);
/* Bytes of the table's files. Under state. */
uint64_t table_state_bytes(const struct table_state *st);
/* The first files of a new tree. */
struct tree_files {
	uint8_t level;
	uint32_t n;
	struct sstable **files; /* in row order; the tree takes references */
	struct history lost;	/* what the merges that made them lost */
};
/* Gives each tree its files; no other thread knows the state yet. */
int table_state_fill(struct table_state *st, const struct tree_files *files);
/* With one reference; takes over @st. NULL without memory. */
struct lsm_table *lsm_table_new(struct lsm *db, uint64_t id,
				struct table_state *st);
/* A walk over the trees of all tables; begins zeroed. */
struct tree_walk {
	struct tree *tree;
	struct lsm_table *table; /* of which the tree is a family */
	const struct family_attrs *attrs;
	size_t at;	 /* the place of that table in db->tables */
	uint32_t behind; /* the place of the family behind the tree's */
};
/* Goes on to the next tree; false when there is none. Under state. */
bool trees_next(struct lsm *db, struct tree_walk *w);
/* Makes the tables of the catalog, with their files opened. */
int tables_load(struct lsm *db);
void tables_free(struct lsm *db);
/* Searches all live tables; under state or while opening. NULL if not found. */
struct tree *tables_find_tree(struct lsm *db, uint32_t id);
/* The family's index in the present schema, or an error with why. */
int table_state_family(const struct table_state *st, struct bytes family);
/*
 * Makes a removed tree's files obsolete and stops its compaction. Under state.
 */
void tree_drop(struct tree *t);
/*
 * Finds a live tree: 1 with a reference, its attributes and its table; 0:
 * dropped.
 */
int tree_live(struct lsm *db, uint32_t id, struct tree **out,
	      struct family_attrs *attrs, uint64_t *table);
/*
 * Is the tree's family to keep more than by the attributes that it had? A snapshot
 * taken since may show what goes by these. Under catalog.
 */
bool tree_outgrows(struct lsm *db, const struct tree *t,
		   const struct family_attrs *had);
/*
 * The levels of @t after removing @removed and adding @added, with what was
 * @lost; NULL if the tree was dropped. Under catalog, so that no other thread
 * changes them.
 */
int tree_next_levels(struct lsm *db, struct tree *t,
		     const struct level_file *removed, size_t nremoved,
		     const struct level_file *added, size_t nadded,
		     const struct history *lost, struct levels **out);
/* Makes @next the tree's levels. Under state. */
void tree_install(struct tree *t, struct levels *next);
/* References to the families' trees of one or (@t NULL) every table. */
int trees_collect(struct lsm *db, struct table *t, struct tree ***out,
		  size_t *n);
void trees_release(struct tree **trees, size_t n);

#endif
