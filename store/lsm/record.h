/*
 * Log records: one or more row mutations with their sequences and timestamps
 * settled, as they are replayed.
 *
 *	record := first_seq u64, row*
 *	row    := row_len u16, row, count u32, change*
 *	change := tree u32, kind u8, flags u8, ts i64, [ttl u64], qual_len u16,
 *		  value_len u32, qualifier, value
 *
 * Little-endian. Change n of the record has sequence first_seq + n. flags bit
 * 0: a ttl follows.
 */
#ifndef CELLFS_STORE_LSM_RECORD_H
#define CELLFS_STORE_LSM_RECORD_H

#include "store/lsm/cursor.h"

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
