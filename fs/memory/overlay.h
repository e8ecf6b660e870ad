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
 *	mkdir T/R	 added		put of T/R/f:q	 settled (the scan
 *	rm T/R/f/q/1	 added again	rmdir T/R	 shows it from now)
 *
 * No look misses a directory that goes over from one to the other:
 *
 *	delete	adds the directories above the cell before its mutation
 *	settle	takes one out that the store has, unless a delete in the row
 *		began since the store was asked, or is under way, or the
 *		parent is being listed
 *	lookup	asks here, then the store, and again if anything was settled
 *		or added meanwhile
 *
 * So an entry may stay when the store also has the directory: a listing shows
 * the name once, and the next change in the row settles it.
 *
 * Memory is bounded. mkdir beyond it is -ENOSPC; a directory that deletes
 * emptied and that finds no room goes at once, as it does in the store.
 *
 * Threads: any; overlay.lock is taken before nodes.lock, nothing else under
 * it.
 */
#ifndef CELLFS_FS_MEMORY_OVERLAY_H
#define CELLFS_FS_MEMORY_OVERLAY_H

#include <sys/stat.h>

#include "fs/kernel/node.h"
#include "fs/text/name.h"

struct overlay;

struct overlay_entry {
	uint64_t node;
	uint64_t ino;
	uint8_t kind; /* enum node_kind: a directory's or NODE_SCRATCH */
	/* Nobody made it but a delete of F:Q: it goes with what it is in. */
	bool implied;
	uint64_t added_by; /* the number of the delete that did, or 0 */
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
/*
 * The entry gets another name, kind and ino, as does its node; what bore the
 * name is replaced. No look finds neither. 0, -ENOENT, -ENOMEM, -ESTALE: as it
 * was.
 */
int overlay_rename(struct overlay *ov, uint64_t parent, struct bytes name,
		   uint64_t to_parent, struct bytes key,
		   const struct overlay_entry *to);
/*
 * Takes out the entry, if there is one, of the directory @node (0: none is
 * known), with what is implied beneath it, and frees the node's name. 0;
 * -ENOTEMPTY when more is beneath it in memory.
 */
int overlay_rmdir(struct overlay *ov, uint64_t parent, struct bytes name,
		  uint64_t node);
/* Whether it was there. */
bool overlay_remove(struct overlay *ov, uint64_t parent, struct bytes name);

/*
 * Changes when an entry of @parent (and of some other directories; 0: of any)
 * goes over to the store or gets another name.
 */
uint64_t overlay_moves(struct overlay *ov, uint64_t parent);
/*
 * A delete in the row begins, before it adds: its number, 0 if it is not alone.
 * It has ended, whatever became of it.
 */
uint64_t overlay_delete_begin(struct overlay *ov, struct bytes row);
void overlay_delete_end(struct overlay *ov, struct bytes row);
/* Deletes in the row, and in some others, that have begun. */
uint64_t overlay_deletes(struct overlay *ov, struct bytes row);
/*
 * Takes out an entry of the row of which the store was seen to have the
 * directory, when overlay_deletes() was @deletes.
 */
void overlay_settle(struct overlay *ov, uint64_t parent, struct bytes name,
		    struct bytes row, uint64_t deletes);
/* Takes out an entry that a delete added which then found nothing to delete. */
void overlay_retract(struct overlay *ov, uint64_t parent, struct bytes name,
		     struct bytes row, uint64_t turn);
/* From here until its end a listing of @parent counts on what is there. */
void overlay_list_begin(struct overlay *ov, uint64_t parent);
void overlay_list_end(struct overlay *ov, uint64_t parent);

uint64_t overlay_count(struct overlay *ov);

#endif
