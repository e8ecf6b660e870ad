/*
 * Log records: one or more row mutations with final sequences and timestamps,
 * so that a replay needs no other input.
 *
 *	record := first_seq row*
 *	row    := row_len row count change*
 *	change := tree kind:u8 ts [ttl] qual_len value_len qualifier value
 *
 * Change n of the record has sequence first_seq + n. The high bit of kind: a
 * ttl follows. Numbers are seven bits a byte, the lowest first, each but the
 * last byte with its high bit set: most numbers are small, and every byte of
 * the log costs a write to the disk.
 */
#ifndef CELLFS_STORE_LSM_WAL_RECORD_H
#define CELLFS_STORE_LSM_WAL_RECORD_H

#include "store/lsm/base/cursor.h"

/* One change with its final sequence and timestamp. */
struct pending {
	uint32_t tree;
	size_t mutation; /* its index in the writer's batch */
	struct entry entry;
};

int record_start(struct buf *b, uint64_t first_seq);
int record_row(struct buf *b, struct bytes row, const struct pending *p,
	       uint32_t n);

/*
 * Calls @each for every row of the record. All lengths are checked: a bad one
 * gives -EUCLEAN, and @each may have been called for earlier rows by then.
 */
int record_read(struct bytes record, uint64_t *next_seq,
		int (*each)(void *arg, struct bytes row,
			    const struct pending *p, uint32_t n),
		void *arg);

#endif
