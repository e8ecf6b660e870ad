/*
 * Log records: one or more row mutations with final sequences and timestamps,
 * so that a replay needs no other input.
 *
 *	record := [0 note] first_seq row* | 0 note
 *	note   := time_ms what:u8 [len catalog]
 *	row    := row_len row count change*
 *	change := tree kind:u8 ts [ttl] qual_len value_len qualifier value
 *
 * Change n of the record has sequence first_seq + n. The high bit of kind: a
 * ttl follows. Numbers are seven bits a byte, the lowest first, each but the
 * last byte with its high bit set: most numbers are small, and every byte of
 * the log costs a write to the disk.
 *
 * Notes are for who restores a moment of a log that is kept: when what follows was
 * committed, and, where @what is not 0, the tables and snapshots from then on. A
 * replay passes over them.
 */
#ifndef CELLFS_STORE_LSM_WAL_RECORD_H
#define CELLFS_STORE_LSM_WAL_RECORD_H

#include "store/lsm/base/cursor.h"

/* One change with its final sequence and timestamp. */
struct pending {
	uint32_t tree;
	size_t mutation; /* its index in the writer's batch */
	struct entry entry;
	struct piece *piece; /* which the value lies in, or NULL */
};

enum note_what {
	NOTE_TIME,
	NOTE_TABLES, /* a catalog follows: catalog_outline() */
	NOTE_BREAK, /* and table files came with it that the log does not have */
};
struct note {
	int64_t time_ms; /* since 1970, not negative */
	enum note_what what;
	struct bytes catalog;
};

int record_start(struct buf *b, uint64_t first_seq);
/* The same behind a note of the time. */
int record_start_at(struct buf *b, int64_t time_ms, uint64_t first_seq);
/* A whole record that is a note. */
int record_note(struct buf *b, const struct note *note);
int record_row(struct buf *b, struct bytes row, const struct pending *p,
	       uint32_t n);
/*
 * The same for the record's last row: the last change's value, if it is long, is
 * not copied, but is *tail, which the record ends with; else that is empty.
 */
int record_last_row(struct buf *b, struct bytes row, const struct pending *p,
		    uint32_t n, struct bytes *tail);

/* The note of a record: 1, 0 if it has none, or -EUCLEAN. */
int record_note_read(struct bytes record, struct note *out);

/*
 * Calls @each for every row of the record. *next_seq is 0 for one without any. All lengths are checked: a bad one
 * gives -EUCLEAN, and @each may have been called for earlier rows by then.
 */
int record_read(struct bytes record, uint64_t *next_seq,
		int (*each)(void *arg, struct bytes row,
			    const struct pending *p, uint32_t n),
		void *arg);

#endif
