/*
 * Log records: one or more row mutations with their sequences and timestamps
 * settled, as they are replayed.
 *
 *	record := first_seq row*
 *	row    := row_len row count change*
 *	change := tree kind:u8 ts [ttl] qual_len value_len qualifier value
 *
 * Change n of the record has sequence first_seq + n. The high bit of kind: a
 * ttl follows. Numbers are seven bits a byte, the lowest first, each but the
 * last byte with its high bit set: most of what is logged is small, and what
 * is logged is written to the disk.
 */
#ifndef CELLFS_STORE_LSM_WAL_RECORD_H
#define CELLFS_STORE_LSM_WAL_RECORD_H

#include "store/lsm/base/cursor.h"

/* One change, settled. */
struct pending {
	uint32_t tree;
	size_t mutation; /* of a batch, for the writer */
	struct entry entry;
};

int record_start(struct buf *b, uint64_t first_seq);
int record_row(struct buf *b, struct bytes row, const struct pending *p,
	       uint32_t n);

/*
 * Calls @each for every row of the record. Bounds everything: -EUCLEAN, and
 * then some rows may have been handed out.
 */
int record_read(struct bytes record, uint64_t *next_seq,
		int (*each)(void *arg, struct bytes row,
			    const struct pending *p, uint32_t n),
		void *arg);

#endif
