/*
 * Makes, changes and drops tables, named snapshots and clones; gives figures.
 */
#ifndef CELLFS_STORE_LSM_ADMIN_ADMIN_H
#define CELLFS_STORE_LSM_ADMIN_ADMIN_H

#include "store/lsm/state/trees.h"

/* Adds a table; @files: one for each family, NULL = empty. */
int tables_add(struct lsm *db, struct bytes name, const struct schema *schema,
	       const struct tree_files *files);
/* -EBUSY if a snapshot shows the table as it was after @seq. */
int tables_check_latest(struct lsm *db, const struct table *t, uint64_t seq);
/*
 * Replaces the table's schema by @schema, and its cells by @files. -EBUSY as
 * above.
 */
int tables_refill(struct lsm *db, struct table *t, const struct schema *schema,
		  const struct tree_files *files, uint64_t seq);
int lsm_table_create(struct store *s, struct bytes name,
		     const struct schema *schema);
int lsm_table_drop(struct store *s, struct bytes name, bool only_if_empty);
int lsm_table_truncate(struct store *s, struct bytes name);
int lsm_table_rename(struct store *s, struct bytes from, struct bytes to);
int lsm_table_alter(struct table *t, const struct alter *a);

int lsm_snapshot_create(struct store *s, struct table *t, struct bytes name);
int lsm_snapshot_drop(struct store *s, struct table *t, struct bytes name);
int lsm_snapshot_rename(struct store *s, struct table *t, struct bytes from,
			struct bytes to);
int lsm_snapshot_next(struct store *s, struct table *t, struct bytes after,
		      struct snapshot_info *out);
int lsm_snapshot_open(struct store *s, struct table *t, struct bytes name,
		      struct snapshot **out);

int lsm_snapshot_clone(struct snapshot *snap, const struct snapshot_table *from,
		       struct bytes to);
int lsm_snapshot_restore(struct snapshot *snap,
			 const struct snapshot_table *from);

int lsm_check_part(struct store *s, struct store_checking *at, uint64_t bytes,
		   void (*say)(void *arg, const char *sentence), void *arg);
int lsm_hold(struct store *s, struct hold **out);
void lsm_hold_release(struct hold *h);
int lsm_keep_log(struct store *s, uint64_t bytes);
int lsm_shape(struct store *s, struct buf *out);
int lsm_stat(struct store *s, unsigned i, struct store_stat *out);
int lsm_table_info(struct table *t, struct table_info *out);

#endif
