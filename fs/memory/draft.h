/*
 * The bytes of a file that is being written.
 *
 * A draft is bounded before it grows: by the longest value its column takes
 * (-EFBIG), and with all else that clients have by the budget (-ENOSPC), so
 * that a client can neither seek to 1T nor fill the memory with open files.
 *
 * Threads: a draft belongs to its owner.
 */
#ifndef CELLFS_FS_MEMORY_DRAFT_H
#define CELLFS_FS_MEMORY_DRAFT_H

#include "fs/kernel/budget.h"
#include "store/value/bytes.h"

struct draft {
	struct budget_share share; /* the content's capacity */
	size_t len_max;
	union {
		struct shared_buf shared; /* with a store, when it is offered */
		struct buf content;	  /* its buf */
	};
};

void draft_init(struct draft *d, struct budget *budget, size_t len_max);
/* Frees the content; the draft is empty and can be used again. */
void draft_clear(struct draft *d);

/*
 * Each returns 0, or -EFBIG, -ENOSPC or -ENOMEM with a reason, and then changes
 * nothing. A gap between the end and @off is filled with zeros.
 */
int draft_write(struct draft *d, struct bytes data, uint64_t off);
int draft_truncate(struct draft *d, uint64_t len);
/* Replaces the content by @data. */
int draft_set(struct draft *d, struct bytes data);

/*
 * The piece that the content lies in, for a store to hold; NULL if it is no longer
 * than what a copy is worth, or there is no memory. The content may lie elsewhere
 * then, and what is written later goes to a copy.
 */
struct piece *draft_offer(struct draft *d);

#endif
