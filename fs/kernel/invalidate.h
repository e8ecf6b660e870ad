/*
 * Invalidating the kernel's caches.
 *
 * A notification can wait for the very inode that a request holds, so a
 * separate thread sends them from a bounded queue. If the queue is full, the
 * caller does not wait: the notice's table becomes stale, and when the queue is
 * empty, or one queue length later, everything that the kernel knows of the
 * table (node.h) is invalidated. A stale table takes any number of notices.
 * Only a notice that an absent row now exists is dropped, and counted: the
 * kernel caches absence for a second.
 *
 * What must be exact at once (the newest value by its alias F:Q) does not
 * depend on the queue: attributes are invalidated by the thread that changes
 * them, before it replies, since the kernel waits for nothing then.
 */
#ifndef CELLFS_FS_KERNEL_INVALIDATE_H
#define CELLFS_FS_KERNEL_INVALIDATE_H

#include "store/value/bytes.h"

struct fuse_session;
struct invalidator;
struct nodes;

int invalidator_new(struct nodes *nodes, struct invalidator **out);
/*
 * Begins to send the queue; @se must outlive invalidator_stop(). @silent:
 * nobody reads the thread's stdout and stderr.
 */
int invalidator_start(struct invalidator *iv, struct fuse_session *se,
		      bool silent);
/* Ends the thread; the rest of the queue is dropped. */
void invalidator_stop(struct invalidator *iv);
void invalidator_free(struct invalidator *iv); /* @iv may be NULL */

/* The name in that directory, present or absent, has changed. */
void invalidate_entry(struct invalidator *iv, uint64_t parent,
		      struct bytes name);
/*
 * Attributes and, with @data, cached pages (or a directory's cached listing) of
 * the node have changed.
 */
void invalidate_inode(struct invalidator *iv, uint64_t node, bool data);
/*
 * A row of that name exists now, which the kernel may believe absent. The
 * notice is dropped when the queue is full.
 */
void invalidate_absent(struct invalidator *iv, uint64_t parent,
		       struct bytes name);

/*
 * Waits until the kernel has heard all notices so far, at most @ms; 0 = as long
 * as it takes: only for requests during which the kernel holds nothing that a
 * notice may wait for, that is no directory, and no file but those that get no
 * notices.
 */
void invalidate_wait(struct invalidator *iv, unsigned ms);
/* All names below the node, and their nodes, have changed. */
void invalidate_names(struct invalidator *iv, uint64_t node);

/*
 * Invalidates the attributes of the node and of all nodes below it: a table's
 * mode and schema concern all. Done at once, not by the queue: when the writer
 * of a schema goes on, names that it hides must not be seen any more. The
 * kernel does not wait for anything in a notice about attributes only.
 */
void invalidate_below(struct invalidator *iv, uint64_t node);

/*
 * The attributes of the node have changed. As invalidate_below(), the kernel
 * has heard of it on return.
 */
void invalidate_now(struct invalidator *iv, uint64_t node);
/*
 * The kernel looks up every name once more before it believes it again: at
 * once, and without a lock of the kernel's. False when the kernel does not
 * know such a notice.
 */
bool invalidate_all_names(struct invalidator *iv);

struct invalidate_counts {
	uint64_t sent;
	uint64_t dropped; /* of rows that were absent */
	uint64_t walks;	  /* of tables, because the queue was full */
	uint64_t queued;  /* including the one being sent */
};
void invalidate_counts(struct invalidator *iv, struct invalidate_counts *out);

#endif
