/*
 * Mutations: commit.c says how one becomes a record and entries.
 */
#ifndef CELLFS_STORE_LSM_WRITE_WRITE_H
#define CELLFS_STORE_LSM_WRITE_WRITE_H

#include "store/lsm/state/lsm.h"

int lsm_mutate(struct table *t, struct mutation *m, unsigned flags);
int lsm_mutate_try(struct table *t, struct mutation *m);
int lsm_mutate_many(struct table *t, struct mutation *m, size_t n,
		    unsigned flags, size_t *done);
int lsm_sync(struct store *s);
/* Inserts a record of the log into the active memtable, while opening. */
int commit_replay(struct lsm *db, struct bytes record);

#endif
