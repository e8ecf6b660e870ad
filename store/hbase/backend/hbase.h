/*
 * A cluster of HBase as a store of store.h.
 *
 * Named hbase://HOST[:PORT][,HOST[:PORT]...][/]: the hosts are masters. Nothing
 * about it is kept on this machine.
 */
#ifndef CELLFS_STORE_HBASE_BACKEND_HBASE_H
#define CELLFS_STORE_HBASE_BACKEND_HBASE_H

#include "store/store.h"

/* Is the path the name of a cluster? */
bool hbase_is_named(const char *path);
/* Is that name as it should be? 0, or an error in words. No server is asked. */
int hbase_check_name(const char *path);
/* Does it name a cluster that is asked for Kerberos or TLS? */
bool hbase_has_keys(const char *path);
/* As store_open(). */
int hbase_open(const char *path, const struct store_options *o,
	       struct store **out);

#endif
