/*
 * Storage of nodes: by index in chunks, by parent and name in a hash table.
 *
 * The chunk of a node is index / NODE_CHUNK. A node is allocated in the lowest
 * chunk with space, so that high chunks become empty and are freed. Index 0 is
 * no node.
 *
 * A node is found by its name while it is linked. node.c defines what the
 * fields mean, and its lock guards the table.
 */
#ifndef CELLFS_FS_KERNEL_NODE_TABLE_H
#define CELLFS_FS_KERNEL_NODE_TABLE_H

#include "fs/text/hashed.h"
#include "store/value/bytes.h"

#include <assert.h>

struct fstable;
struct node_ages;

#define NODE_NAME_INLINE 47
#define NODE_CHUNK 1024

struct node {
	uint64_t nlookup;
	uint64_t ino;
	struct fstable *table;
	struct node_ages *ages; /* of the versions below; NULL = none yet */
	uint32_t generation;	/* 0 = free */
	uint32_t parent;	/* index */
	uint32_t next;		/* of the free list, as node_chunk.free */
	uint32_t hash;
	uint32_t child;	       /* the newest, attached or not; 0 = none */
	uint32_t older, newer; /* of the same parent */
	uint32_t pins;
	uint8_t kind;
	uint8_t name_len;
	bool detached : 1;
	bool on_heap : 1;
	bool filled : 1;   /* nothing older than that is cached */
	bool many : 1;	   /* names in the directory, when it was last listed */
	bool believed : 1; /* see nodes_believe() */
	bool kept : 1;	   /* see nodes_keep() */
	bool renewed : 1;  /* see nodes_renew() */
	bool late : 1;	   /* see nodes_late() */
	bool mixed : 1;	  /* some of passing have another content than cached */
	uint16_t caching; /* handles that nodes_cache() counts */
	uint16_t passing; /* those that nodes_pass() does */
	uint32_t cached;  /* the state of what the kernel caches; 0 = nothing */
	uint32_t age;	  /* index in the parent's ages + 1; 0 = none */
	union {
		char text[NODE_NAME_INLINE + 1];
		char *heap;
	} name;
};
_Static_assert(sizeof(struct node) <= 128, "a node is at most 128 bytes");

struct node_chunk {
	struct node *nodes; /* NULL = not allocated */
	uint32_t used;
	uint32_t free; /* first free node's offset + 1, 0 = none */
};

struct node_table {
	struct node_chunk *chunks;
	uint32_t nchunks, chunks_cap;
	uint32_t lowest;     /* no chunk below has space */
	struct hashed names; /* the indexes of linked nodes */
	/* Of the hash, so that nobody can choose names that share one. */
	uint64_t secret;
	uint64_t live;
	bool many : 1; /* nodes were so many that what they leave is trimmed */
	uint32_t generation; /* of the next node */
};

/* 0 or -ENOMEM; to be freed in any case. */
int node_table_init(struct node_table *t);
/* Calls @drop for each node. */
void node_table_free(struct node_table *t, void (*drop)(struct node *n));

static inline struct node *node_table_at(const struct node_table *t,
					 uint32_t index)
{
	assert(index / NODE_CHUNK < t->nchunks);
	assert(t->chunks[index / NODE_CHUNK].nodes);
	return &t->chunks[index / NODE_CHUNK].nodes[index % NODE_CHUNK];
}

/* The node of an index from outside; NULL if there is none. */
static inline struct node *node_table_look(const struct node_table *t,
					   uint32_t index)
{
	struct node *n;

	if (index / NODE_CHUNK >= t->nchunks ||
	    !t->chunks[index / NODE_CHUNK].nodes)
		return NULL;
	n = node_table_at(t, index);
	return n->generation ? n : NULL;
}

/* Allocates a zeroed node with a new generation; NULL without memory. */
struct node *node_table_add(struct node_table *t, uint32_t *index);
void node_table_remove(struct node_table *t, uint32_t index);

/* Makes the node findable by n->parent and its name. */
void node_table_link(struct node_table *t, uint32_t index);
void node_table_unlink(struct node_table *t, uint32_t index);
struct node *node_table_find(const struct node_table *t, uint32_t parent,
			     struct bytes name, uint32_t *index);
/*
 * Makes the hash table smaller if few nodes are left. True: so many were removed
 * that the heap is worth trimming.
 */
bool node_table_fit(struct node_table *t);

struct bytes node_name(const struct node *n);
/* -ENAMETOOLONG, -ENOMEM: the name is unchanged. */
int node_set_name(struct node *n, struct bytes name);

#endif
