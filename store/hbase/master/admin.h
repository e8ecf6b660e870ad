/*
 * What the active master does: tables and namespaces.
 *
 * A change is a procedure of the master; each function returns when it has
 * ended. Names of tables are "namespace:name" or "name", in the namespace
 * default. Errors are those of store.h, else of the network.
 */
#ifndef CELLFS_STORE_HBASE_ADMIN_ADMIN_H
#define CELLFS_STORE_HBASE_ADMIN_ADMIN_H

#include "store/hbase/cluster/cluster.h"
#include "store/hbase/master/descriptor.h"

/* Asks until @deadline_ns, 0: as any call. schema_free() frees *out. -ENOENT. */
int admin_schema(struct cluster *c, struct bytes table, uint64_t deadline_ns,
		 struct schema *out, struct table_traits *traits);
/* As descriptor_kept_since(). */
int admin_kept_since(struct cluster *c, struct bytes table, struct bytes family,
		     int64_t *since);
/* Calls @each with the names of all tables of users, in no order. */
int admin_tables(struct cluster *c, void (*each)(void *arg, struct bytes name),
		 void *arg);
int admin_create(struct cluster *c, struct bytes table,
		 const struct schema *schema);
/*
 * Makes the schema @to of the schema @from, and drops families that @to does not
 * name. -EAGAIN if the table has another schema by then; -EALREADY if somebody
 * else changes it at that moment. The master sees that where one family changes;
 * of any other change it replaces what there is.
 */
int admin_modify(struct cluster *c, struct bytes table,
		 const struct schema *from, const struct schema *to);
/* Out of service and into it; a table that is so already is fine. */
int admin_disable(struct cluster *c, struct bytes table);
int admin_enable(struct cluster *c, struct bytes table);
/* Disables the table and deletes it. One that cannot be deleted is enabled again. */
int admin_drop(struct cluster *c, struct bytes table);
/* Its regions stay as they are, empty. As admin_drop() if it fails. */
int admin_truncate(struct cluster *c, struct bytes table);
int admin_namespaces(struct cluster *c,
		     void (*each)(void *arg, struct bytes name), void *arg);
int admin_namespace_create(struct cluster *c, struct bytes name);
int admin_namespace_drop(struct cluster *c, struct bytes name);

#endif
