/*
 * Names in memory, in order.
 *
 * A treap whose nodes are embedded in the entries. The key of an entry is a
 * pair: the directory, by an opaque byte string of its own, and the name in it.
 * Entries of one directory are neighbours, in byte order of their names,
 * whatever the order of the directories:
 *
 *	len(dir) dir name
 *
 * No locks: the owner has one. All calls cost O(log n); the priorities are a
 * hash of the address, so the shape does not depend on the order of the names.
 */
#ifndef CELLFS_FS_TEXT_SORTED_H
#define CELLFS_FS_TEXT_SORTED_H

#include "store/value/bytes.h"

struct sorted_node {
	struct sorted_node *left, *right;
	uint64_t priority;
	uint32_t dir_len, name_len;
	uint8_t *key; /* dir, then name */
};

/* Zero-initialised is empty. */
struct sorted {
	struct sorted_node *root;
	size_t count;
};

static inline struct bytes sorted_dir(const struct sorted_node *n)
{
	return bytes_of(n->key, n->dir_len);
}

static inline struct bytes sorted_name(const struct sorted_node *n)
{
	return bytes_of(n->key + n->dir_len, n->name_len);
}

/* The bytes of its key. */
static inline size_t sorted_len(const struct sorted_node *n)
{
	return (size_t)n->dir_len + n->name_len;
}

/* Gives @n its key, before it is inserted. 0, -ENAMETOOLONG or -ENOMEM. */
int sorted_node_init(struct sorted_node *n, struct bytes dir,
		     struct bytes name);
/* Frees a key that sorted_node_init() gave. */
void sorted_node_release(struct sorted_node *n);
/*
 * The same with a key in memory of the caller's, dir.len + name_len bytes at @key,
 * of which he writes the name. -ENAMETOOLONG.
 */
int sorted_node_place(struct sorted_node *n, uint8_t *key, struct bytes dir,
		      size_t name_len);

/* REQUIRES: no entry with this key is there. */
void sorted_insert(struct sorted *s, struct sorted_node *n);
/* REQUIRES: @n is in @s. */
void sorted_remove(struct sorted *s, struct sorted_node *n);
struct sorted_node *sorted_find(const struct sorted *s, struct bytes dir,
				struct bytes name);
/*
 * The first entry of @dir whose name is > @after, or without @has_after the
 * first of the directory; NULL at its end.
 */
struct sorted_node *sorted_next(const struct sorted *s, struct bytes dir,
				bool has_after, struct bytes after);
/* Any entry, for freeing all; NULL if there is none. */
struct sorted_node *sorted_any(const struct sorted *s);

#endif
