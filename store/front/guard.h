/*
 * What a store that was opened with no_delete refuses.
 *
 * All that would hide what is seen now: delete markers, the drop or restore of
 * a table, the drop of a snapshot, and a schema that keeps less. The wrappers
 * of store.h ask, behind which every change comes, whoever makes it; of a
 * schema the backend does, which alone knows that no put comes in between.
 *
 * A new version is no delete, though it may push an old one out, nor is a put
 * in place of the version of its timestamp.
 *
 * Each returns 0 or -EPERM with a sentence; 0 of a store that allows all.
 */
#ifndef CELLFS_STORE_FRONT_GUARD_H
#define CELLFS_STORE_FRONT_GUARD_H

#include "store/store.h"

/* Would the mutation's delete markers hide anything? */
bool guard_deletes(const struct mutation *m);
int guard_rows(const struct store *s, const struct mutation *m, size_t n);
/*
 * May @a change, or drop, the family @f of @t? With no_delete it may hide no
 * cell. For the backend, which asks under the lock that keeps puts out;
 * @holds_cell says whether a cell of the family is seen, or fails.
 */
int guard_family(struct table *t, const struct family_schema *f,
		 const struct alter *a,
		 int (*holds_cell)(struct table *t, const char *family));

#endif
