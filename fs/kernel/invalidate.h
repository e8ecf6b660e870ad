/*
 * Telling the kernel that what it keeps is old.
 *
 * A notification can wait for the very inode that a request holds, so a
 * thread of its own sends them from a bounded queue. When the queue is full
 * the caller waits for nothing: the table that the notice is of becomes stale,
 * and when the queue is empty, or one length of it later, all that the kernel
 * knows of the table (node.h) is told. A table that waits for that takes any
 * number of notices. Only that a row is there which was absent is dropped,
 * and counted: the kernel believes its absence a second.
 *
 * What must be exact at once (the newest value by its alias) is not left to
 * this: those attributes have timeout 0.
 */
#ifndef CELLFS_FS_KERNEL_INVALIDATE_H
#define CELLFS_FS_KERNEL_INVALIDATE_H

#include "store/value/bytes.h"

struct fuse_session;
struct invalidator;
struct nodes;

int invalidator_new(struct nodes *nodes, struct invalidator **out);
/*
 * From here on the queue is emptied; @se must outlive stop(). @silent: nobody
 * reads what the thread writes.
 */
int invalidator_start(struct invalidator *iv, struct fuse_session *se,
		      bool silent);
/* Ends the thread; the rest of the queue is dropped. */
void invalidator_stop(struct invalidator *iv);
void invalidator_free(struct invalidator *iv); /* NULL is nothing */

/* The name in that directory, present or absent, is not what it was. */
void invalidate_entry(struct invalidator *iv, uint64_t parent,
		      struct bytes name);
/* Attributes and, with @data, pages (of a directory: its cached listing). */
void invalidate_inode(struct invalidator *iv, uint64_t node, bool data);
/*
 * As of an entry, and attributes and data of the node that bears the name and
 * of every one beneath. @node is 0 when the name is not known but for absent.
 */
void invalidate_subtree(struct invalidator *iv, uint64_t parent,
			struct bytes name, uint64_t node);

/* Waits until what is queued now was sent, but no longer than that. */
void invalidate_wait(struct invalidator *iv, unsigned ms);
/* All names beneath the node, and what bears them. */
void invalidate_names(struct invalidator *iv, uint64_t node);

/*
 * The attributes of the node and every one beneath: a table's mode and its
 * schema hold for all. At once and not by the queue: what the schema hides now
 * is not to be seen any more when the writer of it goes on. The kernel waits
 * for nothing when it is told of attributes only.
 */
void invalidate_below(struct invalidator *iv, uint64_t node);

/*
 * As of an entry and an inode, sent before they return, ahead of the queue.
 * Only for one in whose request the kernel holds nothing that a notice may wait
 * for: no directory, and no file but one that is never told of.
 */
void invalidate_entry_now(struct invalidator *iv, uint64_t parent,
			  struct bytes name);
void invalidate_inode_now(struct invalidator *iv, uint64_t node, bool data);

struct invalidate_counts {
	uint64_t sent;
	uint64_t dropped; /* of rows that were absent */
	uint64_t walks;	  /* of tables, for lack of room */
	uint64_t queued;  /* with what is just being sent */
};
void invalidate_counts(struct invalidator *iv, struct invalidate_counts *out);

#endif
