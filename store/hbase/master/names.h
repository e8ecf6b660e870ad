/*
 * The names of tables, or of namespaces, which a walk asks for one behind the other.
 *
 * HBase's master tells all names at once. So what the first step of a walk is told
 * serves the steps behind it, for a second. Who begins a walk has it asked anew, and so
 * has the next step after this client made or dropped one.
 */
#ifndef CELLFS_STORE_HBASE_MASTER_NAMES_H
#define CELLFS_STORE_HBASE_MASTER_NAMES_H

#include <pthread.h>

#include "store/hbase/cluster/cluster.h"
#include "store/value/bytes.h"

/* Tells each of all names. 0, or an error. */
typedef int (*names_list_fn)(struct cluster *c,
			     void (*each)(void *arg, struct bytes name),
			     void *arg);

struct names {
	names_list_fn list;
	bool (*is_hidden)(struct bytes name); /* NULL: none is */
	pthread_mutex_t lock; /* not held while the master is asked */
	struct buf all;	      /* each with a NUL behind it; lock */
	uint64_t until_ns;    /* believed so long; lock */
	uint64_t changes;     /* so often they were forgotten; lock */
};

void names_init(struct names *ns, names_list_fn list,
		bool (*is_hidden)(struct bytes name));
void names_release(struct names *ns);
/* One was made or dropped, or may have been. */
void names_forget(struct names *ns);
/*
 * The least name behind @after, to @name, which may be the memory of @after and has
 * room for TABLE_NAME_LEN_MAX + 1 bytes. 1, 0 or an error.
 */
int names_next(struct names *ns, struct cluster *c, struct bytes after,
	       char *name);

#endif
