/*
 * Cursors: the interface by which cells of one tree are read.
 *
 * A tree is the cells of one family of one table; family and table are
 * implicit. A memtable, an sstable, a level and a merge of them all offer the
 * same cursor: it stands on a row and, inside it, on an entry.
 *
 *	row "a"  │ family markers │ qualifier "p" 30 20 10 │ qualifier "q" ...
 *	row "b"  │ ...
 *
 * Order inside a row: first the family markers (kind_is_family_marker, empty
 * qualifier), then the cells by qualifier; within each, timestamp descending,
 * kind descending (markers first), sequence descending. That family markers
 * come before the cells of the empty qualifier, not between them as in HBase,
 * lets a reader of one column see them by looking at the head of the row.
 *
 * A cursor hides nothing: visibility is decided above (visibility.h).
 *
 * Legal calls, as an expression over what returned 1:
 *	(seek_row | seek_back | next_row | prev_row)
 *	    (next | seek_cell)*  ...
 * After a call that returned 0 or an error only seek_row, seek_back and close
 * are allowed, except that next and seek_cell returning 0 (row exhausted)
 * leave the row current: next_row and prev_row go on from it.
 *
 * c->row and what c->at points to are borrowed and last until the next call
 * on the same cursor; c->row stays valid for the whole row.
 */
#ifndef CELLFS_STORE_LSM_BASE_CURSOR_H
#define CELLFS_STORE_LSM_BASE_CURSOR_H

#include "store/value/cell.h"

struct entry {
	struct bytes qualifier;
	int64_t ts;
	uint64_t seq; /* 0 = older than every snapshot */
	uint64_t ttl_ms;
	struct bytes value;
	uint8_t kind;
};

struct cursor;

/* What is known of some entries without a look at each. */
struct known {
	bool puts;	 /* nothing but puts without a ttl of their own */
	bool simple;	 /* besides, no two with the same coordinates */
	uint32_t copies; /* versions that a column of a row has at most */
	uint64_t seq_max;
	int64_t ts_min, ts_max;
};

/*
 * What a marker of a whole family hides: puts up to its timestamp that were
 * written before it (SEQ_NEVER: all of them). Markers show nothing either.
 */
struct cover {
	int64_t ts;
	uint64_t seq;
};

static inline bool cover_hides(const struct cover *k, uint8_t kind, int64_t ts,
			       uint64_t seq)
{
	return (ts <= k->ts && seq < k->seq) || kind_is_marker(kind);
}

struct cursor_ops {
	/*
	 * Moves to the first row >= @row. 1, 0 = there is none, negative errno.
	 */
	int (*seek_row)(struct cursor *c, struct bytes row);
	/*
	 * Moves to exactly @row: 0 if it is absent. May use filters; after 0
	 * the cursor is on no row.
	 */
	int (*seek_exact)(struct cursor *c, struct bytes row);
	/*
	 * Moves to the last row < @row (<= if @inclusive; empty row = the end).
	 */
	int (*seek_back)(struct cursor *c, struct bytes row, bool inclusive);
	/* Moves to the first entry of the next row. Fast also in a wide row. */
	int (*next_row)(struct cursor *c);
	/* Moves to the first entry of the previous row. */
	int (*prev_row)(struct cursor *c);
	/* Moves to the next entry of this row; 0 = the row is exhausted. */
	int (*next)(struct cursor *c);
	/*
	 * Forward to the first entry of this row that is no family marker and
	 * is at or after (@qualifier, @ts): qualifier greater, or equal with
	 * timestamp <= @ts. Never moves backwards. 0 = there is none. With
	 * @kind CELL_PUT it also skips markers of (@qualifier, @ts), however
	 * many there are; otherwise @kind is UINT8_MAX.
	 */
	int (*seek_cell)(struct cursor *c, struct bytes qualifier, int64_t ts,
			 uint8_t kind);
	/*
	 * The piece of memory that the entry's value lies in, most of which it is;
	 * NULL for values that are not long. Where there is no such function, none
	 * is known.
	 */
	struct piece *(*piece)(struct cursor *c);
	void (*close)(struct cursor *c); /* releases all pins */
};

/* Below this a value is copied: that costs less than another keeps of memory. */
#define CURSOR_PIECE_MIN ((size_t)256 << 10)

struct cursor {
	const struct cursor_ops *ops;
	struct bytes row;
	struct entry at;
};

/* Order of two entries of one row, as drawn above. */
int entry_cmp(const struct entry *a, const struct entry *b);

static inline int cursor_seek_row(struct cursor *c, struct bytes row)
{
	return c->ops->seek_row(c, row);
}
static inline int cursor_seek_exact(struct cursor *c, struct bytes row)
{
	return c->ops->seek_exact(c, row);
}
static inline int cursor_seek_back(struct cursor *c, struct bytes row,
				   bool inclusive)
{
	return c->ops->seek_back(c, row, inclusive);
}
static inline int cursor_next_row(struct cursor *c)
{
	return c->ops->next_row(c);
}
static inline int cursor_prev_row(struct cursor *c)
{
	return c->ops->prev_row(c);
}
static inline int cursor_next(struct cursor *c)
{
	return c->ops->next(c);
}
static inline int cursor_seek_cell(struct cursor *c, struct bytes qualifier,
				   int64_t ts, uint8_t kind)
{
	return c->ops->seek_cell(c, qualifier, ts, kind);
}
static inline int cursor_seek_column(struct cursor *c, struct bytes qualifier,
				     int64_t ts)
{
	return cursor_seek_cell(c, qualifier, ts, UINT8_MAX);
}
static inline int cursor_seek_put(struct cursor *c, struct bytes qualifier,
				  int64_t ts)
{
	return cursor_seek_cell(c, qualifier, ts, CELL_PUT);
}
static inline struct piece *cursor_piece(struct cursor *c)
{
	return c->at.value.len < CURSOR_PIECE_MIN || !c->ops->piece
		       ? NULL
		       : c->ops->piece(c);
}
static inline void cursor_close(struct cursor *c)
{
	if (c->ops)
		c->ops->close(c);
	c->ops = NULL;
}

#endif
