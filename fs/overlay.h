/*
 * What lives only in memory: empty directories and scratch files.
 *
 * A directory is in the store when a cell is beneath it. One that mkdir made
 * and that holds no cell yet, or that deletes have emptied, is an entry here,
 * as is a regular file that is not data. Entries are of a parent node and a
 * name, and pin both nodes, so they survive forget; they move with a rename
 * of what is above them. Within a parent they are in the order of their key
 * (the decoded name; a scratch file's name as it is).
 *
 *	overlay is asked first, then the store
 *
 *	mkdir T/R	 added		put of T/R/f:q	 removed (the scan
 *	rm T/R/f/q/1	 added again	rmdir T/R	 shows it from now)
 *
 * An entry may stay when the store also has the directory: a listing shows
 * the name once.
 *
 * Memory is bounded. mkdir beyond it is -ENOSPC; a directory that deletes
 * emptied and that finds no room goes at once, as it does in the store.
 *
 * Threads: any; overlay.lock is taken before nodes.lock, nothing else under
 * it.
 */
#ifndef CELLFS_FS_OVERLAY_H
#define CELLFS_FS_OVERLAY_H

#include <sys/stat.h>

#include "fs/place.h"

struct overlay;

struct overlay_entry {
	uint64_t node;
	uint64_t ino;
	uint8_t kind; /* enum node_kind: a directory's or NODE_SCRATCH */
	char name[NAME_LEN_MAX + 1];
};

int overlay_new(struct nodes *nodes, struct overlay **out);
void overlay_free(struct overlay *ov); /* NULL is nothing */

/* 1 and *out (may be NULL), or 0. Cheap when the parent has no entries. */
int overlay_find(struct overlay *ov, uint64_t parent, struct bytes name,
		 struct overlay_entry *out);
/* Has the parent any? Costs a hash probe. */
bool overlay_any(struct overlay *ov, uint64_t parent);
/*
 * The first entry of @parent whose key is greater than @after (NULL: the
 * first), its key copied to @key. 1, 0 at the end, -ENOMEM.
 */
int overlay_next(struct overlay *ov, uint64_t parent, const struct bytes *after,
		 struct overlay_entry *out, struct buf *key);

/*
 * Adds @e, whose node the kernel knows, under @parent, in the order of @key.
 * 0; -EEXIST when the name is there; -ENOSPC; -ESTALE; -ENOMEM.
 */
int overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		const struct overlay_entry *e);
/* The same of a place that has its node, under its parent. */
int overlay_add_place(struct overlay *ov, const struct place *child,
		      struct bytes key);
/* Whether it was there. */
bool overlay_remove(struct overlay *ov, uint64_t parent, struct bytes name);
uint64_t overlay_count(struct overlay *ov);

#endif
