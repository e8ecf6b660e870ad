/*
 * Entries that exist only in memory: empty directories and scratch files.
 *
 * A directory is in the store when there is a cell below it. A directory that
 * mkdir made and that has no cell yet, or that deletes have emptied, is an
 * entry here, as is a regular file that is not data. An entry has a parent node
 * and a name, and pins both nodes, so it survives forget, and moves with a
 * rename of an ancestor. Within a parent they are in the order of their key,
 * the decoded name. A name that spells no key is its own key, and comes behind
 * the name that spells it (enum overlay_rank).
 *
 *	mkdir T/R	 added		put of T/R/f:q	 settled (the scan
 *	rm T/R/f/q/1	 added again	rmdir T/R	 shows it from now)
 *
 * No look-up misses a directory that moves between memory and store:
 *
 *	delete	adds the directories above the cell before its mutation
 *	settle	takes one out that the store has, unless it has entries, or a
 *		delete in the row began since the store was asked, or is under
 *		way, or the parent is being listed
 *	lookup	asks here, then the store, and again if anything was settled
 *		or added meanwhile
 *
 * A delete that knows to have left no version settles nothing itself, unless
 * it was in the way of who wanted to: overlay_delete_end() says so.
 *
 * So an entry may remain although the store also has the directory: a listing
 * shows the name once. The entry is late then: it goes when its parent is listed
 * next or that listing ends, with the directory if the store has that no more.
 *
 * The directories of data above an entry are entries, too: it keeps its path,
 * whatever becomes of the cells that these hold (directories_add()).
 *
 * Memory is bounded. mkdir beyond the bound is -ENOSPC; a directory that
 * deletes emptied and that finds no space vanishes at once, as it does in the
 * store.
 *
 * Threads: any; overlay.lock is taken before nodes.lock, nothing else under
 * it.
 */
#ifndef CELLFS_FS_MEMORY_OVERLAY_H
#define CELLFS_FS_MEMORY_OVERLAY_H

#include "fs/kernel/node.h"
#include "fs/text/name.h"

struct overlay;

/*
 * Which of the names that have a key: a directory's is the one that spells it, as a
 * scratch file's may be. No two entries of a parent have key and rank in common.
 */
enum overlay_rank {
	RANK_KEY,
	RANK_PIECE, /* of keys that begin with it */
	RANK_OTHER,
};

struct overlay_entry {
	uint64_t node;
	uint64_t ino;
	uint8_t kind; /* enum node_kind: a directory's or NODE_SCRATCH */
	uint8_t rank; /* shown */
	/* Made by a delete of F:Q, not by mkdir: removed with its directory. */
	bool implied;
	bool late;	   /* overlay_settle() left it to a listing */
	uint64_t added_by; /* number of the delete that added it, or 0 */
	char name[NAME_LEN_MAX + 1];
};

int overlay_new(struct nodes *nodes, struct overlay **out);
void overlay_free(struct overlay *ov); /* NULL is nothing */

/* 1 and *out (may be NULL), or 0. Costs a hash probe. */
int overlay_find(struct overlay *ov, uint64_t parent, struct bytes name,
		 struct overlay_entry *out);
/* Does the parent have entries? Costs a search in a tree that it shares with others. */
bool overlay_any(struct overlay *ov, uint64_t parent);
/* Are all entries below it implied? */
bool overlay_all_implied(struct overlay *ov, uint64_t dir);
/*
 * The first entry of @parent behind the key @after of rank out->rank (NULL: the
 * first); its key is copied to @key. 1, 0 at the end, -ENOMEM.
 */
int overlay_next(struct overlay *ov, uint64_t parent, const struct bytes *after,
		 struct overlay_entry *out, struct buf *key);

/*
 * Adds @e, whose node the kernel knows, under @parent, ordered by @key. 0;
 * -EEXIST if the name exists, whose entry is no late one any more; -ENOSPC;
 * -ESTALE; -ENOMEM.
 */
int overlay_add(struct overlay *ov, uint64_t parent, struct bytes key,
		const struct overlay_entry *e);
/*
 * The same, in place of an entry of that name; if it fails, that one stays.
 */
int overlay_replace(struct overlay *ov, uint64_t parent, struct bytes key,
		    const struct overlay_entry *e);
/*
 * Gives the entry and its node another name, kind and ino; an entry of that
 * name is replaced. Every look-up meanwhile finds one of the names. 0, -ENOENT,
 * -ENOMEM, -ESTALE: nothing changed.
 */
int overlay_rename(struct overlay *ov, uint64_t parent, struct bytes name,
		   uint64_t to_parent, struct bytes key,
		   const struct overlay_entry *to);
/*
 * Removes the entry, if there is one, of the directory @node (0: unknown), with
 * implied entries below it, and frees the node's name. 0; -ENOTEMPTY if other
 * entries are below it.
 */
int overlay_rmdir(struct overlay *ov, uint64_t parent, struct bytes name,
		  uint64_t node);
/* Removes the entry; whether there was one. */
bool overlay_remove(struct overlay *ov, uint64_t parent, struct bytes name);
/* Removes the entry, unless it has some itself: whoever made them needs it. */
void overlay_take_back(struct overlay *ov, uint64_t parent, struct bytes name);

/*
 * A number that changes when an entry of @parent (or of some other directories;
 * 0: of any) is left to the store or renamed.
 */
uint64_t overlay_moves(struct overlay *ov, uint64_t parent);
/*
 * overlay_delete_begin() is called when a delete in the row begins, before it
 * adds entries; it returns the delete's number, 0 if there are others.
 * overlay_delete_end() is called when it has ended, with or without success. True:
 * while it was under way an entry was to be settled, and was not.
 */
uint64_t overlay_delete_begin(struct overlay *ov, struct bytes row);
bool overlay_delete_end(struct overlay *ov, struct bytes row);
/* Something was put into the row: whoever deletes there at the moment is told. */
void overlay_missed(struct overlay *ov, struct bytes row);
/* The number of deletes begun in the row, and in some others. */
uint64_t overlay_deletes(struct overlay *ov, struct bytes row);
/*
 * Removes an entry of the row that has none itself, if the store was seen to have
 * the directory when overlay_deletes() was @deletes. While the parent is listed
 * the entry becomes late instead. False: a delete has begun and ended since, so the
 * store is to be asked again.
 */
bool overlay_settle(struct overlay *ov, uint64_t parent, struct bytes name,
		    struct bytes row, uint64_t deletes);
/* May the parent have late entries? */
bool overlay_has_late(struct overlay *ov, uint64_t parent);
/*
 * Removes a late entry if the store was seen to have no such directory when
 * overlay_deletes() was @deletes; whether it did.
 */
bool overlay_drop_late(struct overlay *ov, uint64_t parent, struct bytes name,
		       struct bytes row, uint64_t deletes);
/* Removes an entry added by a delete that found nothing to delete. */
void overlay_retract(struct overlay *ov, uint64_t parent, struct bytes name,
		     struct bytes row, uint64_t turn);
/*
 * Until the end of the listing, entries of @parent are not left to the store.
 */
void overlay_list_begin(struct overlay *ov, uint64_t parent);
void overlay_list_end(struct overlay *ov, uint64_t parent);

uint64_t overlay_count(struct overlay *ov);

#endif
