/*
 * Ages: the versions beneath a column, by their timestamps.
 *
 * A heap, the oldest on top, of those that a column keeps, so that whoever puts
 * one more finds in O(log n) what it may have pushed out of sight of all that
 * the kernel knows (upkeep.h). A node knows its place in its parent's heap.
 * Under nodes.lock.
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
};

/* NULL is nothing. */
void node_ages_free(struct node_ages *ages);
/* Room for one more beneath the column. 0 or -ENOMEM. */
int node_ages_reserve(struct node *column);
/* The node becomes the column's version @ts; there is room. */
void node_ages_add(struct node_table *t, struct node *column, uint32_t index,
		   int64_t ts);
/* Nothing when it is in none. */
void node_ages_remove(struct node_table *t, uint32_t index);

#endif
