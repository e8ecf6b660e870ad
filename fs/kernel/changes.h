/*
 * What was read before a change, and is told to the kernel after it.
 *
 * A lookup or a listing reads the store, then gives the kernel a node and lets
 * it believe the name for long. Who changes a row meanwhile tells the kernel of
 * the nodes it has, and that node is not yet one of them. So who reads notes
 * the time of this clock first, who changes puts it forward, and what was read
 * before a change of its row is believed for no time at all:
 *
 *	read:	seen = changes_now(); read the store; make the node;
 *		changes_since(row, seen)?
 *	change:	change the store; changes_row(row); look for nodes, tell
 *
 * Whichever comes first, the node or the look for it, one of the two notices.
 * Rows are told apart by the first bytes of their keys, as are the pieces of
 * long names; some share a slot, which costs a look-up. Any thread, no lock.
 */
#ifndef CELLFS_FS_KERNEL_CHANGES_H
#define CELLFS_FS_KERNEL_CHANGES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store/value/bytes.h"

#define CHANGES_SLOTS 1024

struct changes {
	_Atomic uint64_t clock;
	_Atomic uint64_t all;		      /* when any row may have */
	_Atomic uint64_t last[CHANGES_SLOTS]; /* when one of these rows did */
};

uint64_t changes_now(struct changes *ch);
/* The row of this key changed. */
void changes_row(struct changes *ch, struct bytes key);
/* Tables came, went or show other rows. */
void changes_all(struct changes *ch);
/* Did the row, or any that begins with the piece @key, change since? */
bool changes_since(struct changes *ch, struct bytes key, uint64_t seen);

#endif
