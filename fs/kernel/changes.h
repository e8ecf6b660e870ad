/*
 * Detects changes between a read of the store and its reply to the kernel.
 *
 * A lookup or a listing reads the store, then gives the kernel a node and lets
 * it cache the name for long. A thread that changes the row meanwhile
 * invalidates the nodes that the kernel has, and that node is not yet one of
 * them. So the reader notes the time of this clock first, the writer advances
 * it, and an entry that was read before a change of its row gets no cache time
 * at all:
 *
 *	read:	seen = changes_now(); read the store; make the node;
 *		changes_since(row, seen)?
 *	change:	changes_begin(row); change the store; changes_row(row); look for
 *		nodes, tell; changes_end(row)
 *
 * Whether the node is made before or after the writer looks for it, one of the
 * two notices. Rows are distinguished by the first bytes of their keys, as are
 * the pieces of long names; some share a slot, which only costs the kernel
 * another look-up. Any thread, no lock.
 */
#ifndef CELLFS_FS_KERNEL_CHANGES_H
#define CELLFS_FS_KERNEL_CHANGES_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store/value/bytes.h"

#define CHANGES_SLOTS 1024
#define CHANGES_DIRS 8192 /* rm -r changes many of them at once */

struct changes {
	_Atomic uint64_t clock;
	_Atomic uint64_t all;		      /* last change of all rows */
	_Atomic uint64_t last[CHANGES_SLOTS]; /* last change, by slot */
	_Atomic uint32_t under_way[CHANGES_SLOTS], all_under_way;
	/* That of a whole row, and of one of its families or columns. */
	_Atomic uint64_t whole[CHANGES_DIRS];
	_Atomic uint64_t inside[CHANGES_DIRS];
};

/* The directory of a row, of one of its families or of a column of that. */
enum changes_depth {
	CHANGES_ROW,
	CHANGES_FAMILY,
	CHANGES_COLUMN
};

struct changes_dir {
	enum changes_depth depth;
	struct bytes row, family, qualifier; /* down to the depth */
};

uint64_t changes_now(struct changes *ch);
/*
 * When a row of this key was last changed: while it stays what it is, so does
 * all that is in the row.
 */
uint64_t changes_last(struct changes *ch, struct bytes key);
/*
 * Until changes_end() a change of the row is under way: readers may find what it
 * puts before the kernel has heard of it.
 */
void changes_begin(struct changes *ch, struct bytes key);
void changes_end(struct changes *ch, struct bytes key);
/* The same of tables that may show other rows. */
void changes_begin_all(struct changes *ch);
void changes_end_all(struct changes *ch);
bool changes_under_way(struct changes *ch, struct bytes key);
/* Notes a change of the row of this key, anywhere in it. */
void changes_row(struct changes *ch, struct bytes key);
/*
 * Notes that names came or went in the directory, and maybe in those above it up
 * to the row, but in none beside these. Of a row it is changes_row(): with its
 * directory go the empty ones beneath, which nobody made.
 */
void changes_in(struct changes *ch, const struct changes_dir *dir);
/* When names in the directory may last have come or gone. */
uint64_t changes_names(struct changes *ch, const struct changes_dir *dir);
/* Notes that tables were made, dropped, or show other rows. */
void changes_all(struct changes *ch);
/*
 * Did the row, or any row that begins with the piece @key, change since @seen?
 */
bool changes_since(struct changes *ch, struct bytes key, uint64_t seen);

#endif
