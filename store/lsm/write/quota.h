/*
 * The quota of a table: whether its files have more bytes than its schema allows.
 *
 * Files are counted and memory is not, as HBase's space quotas do, so a table may
 * have a write buffer more. A table over its quota takes deletes only, until
 * compaction has made its files smaller or the schema allows more.
 *
 * The answer is kept with the table for one generation of the store, which any
 * change of files or schemas ends: a mutation costs two loads.
 */
#ifndef CELLFS_STORE_LSM_WRITE_QUOTA_H
#define CELLFS_STORE_LSM_WRITE_QUOTA_H

#include "store/lsm/state/trees.h"

bool quota_is_over(struct lsm *db, struct lsm_table *t);
/* 0, or -ENOSPC in words for @m, which is not only deletes. NULL: a put. */
int quota_admit(struct lsm *db, struct lsm_table *t, const struct mutation *m);

#endif
