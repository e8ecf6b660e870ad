/* The list of tables by name, and functions of store.h for one table. */
#ifndef CELLFS_STORE_LSM_STATE_TABLE_LIST_H
#define CELLFS_STORE_LSM_STATE_TABLE_LIST_H

#include "store/lsm/state/trees.h"

/* Inserts the table by its name; the list has space. Under state. */
void tables_list(struct lsm *db, struct lsm_table *t);
/* Removes the table from the list. Under state. */
void tables_unlist(struct lsm *db, struct lsm_table *t);
/* -ENOENT with why. */
int tables_none(struct bytes name);
int lsm_table_open(struct store *s, struct bytes name, struct table **out);
/* As lsm_table_open(), by table_id(). */
int lsm_table_open_id(struct store *s, uint64_t id, struct table **out);
void lsm_table_free(struct table *t);
int lsm_table_schema(struct table *t, struct schema *out);
uint64_t lsm_table_schema_version(const struct table *t);
int lsm_table_name(struct table *t, char *name);
int lsm_table_next(struct store *s, struct bytes after, char *name);

#endif
