/*
 * Ages: the versions below a column, by their timestamps.
 *
 * A heap, the oldest on top, of the versions that the kernel knows, so that
 * after a put the version that it may have pushed out is found in O(log n)
 * (changed.h). A node knows its place in its parent's heap. Under nodes.lock.
 */
#ifndef CELLFS_FS_KERNEL_NODE_AGES_H
#define CELLFS_FS_KERNEL_NODE_AGES_H

#include "fs/kernel/node_table.h"

struct node_age {
	int64_t ts;
	uint32_t index; /* the node's */
};

struct node_ages {
	struct node_age *at;
	uint32_t n, cap;
	uint32_t asked; /* requests for the column's attributes under way */
	int64_t shown;	/* see nodes_shows(); INT64_MIN = not known */
};

/* @ages may be NULL */
void node_ages_free(struct node_ages *ages);
/* Makes space for one more version of the column. 0 or -ENOMEM. */
int node_ages_reserve(struct node *column);
/* Adds the node as the column's version @ts, after node_ages_reserve(). */
void node_ages_add(struct node_table *t, struct node *column, uint32_t index,
		   int64_t ts);
/* No effect if the node has no age. */
void node_ages_remove(struct node_table *t, uint32_t index);

#endif
