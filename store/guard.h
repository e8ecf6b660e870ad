/*
 * What a store that was opened with no_delete refuses.
 *
 * All that would hide what is seen now: delete markers, the drop or restore of
 * a table, the drop of a snapshot, and a schema that keeps less. It is asked by
 * the wrappers of store.h, behind which every change comes, whoever makes it.
 *
 * A new version is no delete, though it may push an old one out, nor is a put
 * in place of the version of its timestamp.
 *
 * Each returns 0 or -EPERM with a sentence; 0 of a store that allows all.
 */
#ifndef CELLFS_STORE_GUARD_H
#define CELLFS_STORE_GUARD_H

#include "store/store.h"

int guard_rows(const struct store *s, const struct mutation *m, size_t n);
/* Also what table_schema() and a scan of @t fail with. Under the schema lock.
 */
int guard_alter(struct table *t, const struct alter *a);

#endif
