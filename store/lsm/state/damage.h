/*
 * What of the files cannot be read: who meets it is told in words, and whoever
 * has the store open once for each file (STORE_NEWS_DAMAGED).
 */
#ifndef CELLFS_STORE_LSM_STATE_DAMAGE_H
#define CELLFS_STORE_LSM_STATE_DAMAGE_H

#include "store/lsm/state/trees.h"

/*
 * @r is what reading family @at of the table from @l gave. If it is damage,
 * puts table and family in front of store_why(), and tells what is new.
 * Returns @r.
 */
int damage_found(struct lsm *db, const struct table_state *st, uint32_t at,
		 const struct levels *l, int r);
/* The same for a merge of the tree's files, which met damage in them. */
void damage_in_merge(struct lsm *db, const struct tree *t,
		     const struct levels *l);
/* Tells of the files of a table that has just been opened. */
void damage_at_open(struct lsm *db, const struct table_state *st);

#endif
