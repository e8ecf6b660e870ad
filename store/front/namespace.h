/*
 * Namespaces: the part of a table's name before the ':'.
 *
 * What tables.c calls, arguments unchecked but for names; see store.h for what
 * a namespace is to a caller.
 */
#ifndef CELLFS_STORE_FRONT_NAMESPACE_H
#define CELLFS_STORE_FRONT_NAMESPACE_H

#include "store/store.h"

/* The store's own table, which lists the namespaces. */
#define NAMESPACE_TABLE "hbase:namespace"

/* The namespace in a table's name; empty = none. Borrowed from @table. */
struct bytes namespace_of(struct bytes table);
/* Is this one of the store's own tables, which listings leave out? */
bool namespace_is_hidden(struct bytes table);
/* -ENOENT for the store's own tables: callers may not open them. */
int namespace_check_open(struct bytes table);
/*
 * May a table of this name be made? -EINVAL, -ENOENT, -EPERM, -EINTR (patience.h); or
 * 0 and the schema lock, so that the namespace does not go meanwhile.
 */
int namespace_enter(struct store *s, struct bytes table);
int namespace_create(struct store *s, struct bytes name);
int namespace_drop(struct store *s, struct bytes name);
int namespace_next(struct store *s, struct bytes after,
		   char name[TABLE_NAME_LEN_MAX + 1]);

#endif
