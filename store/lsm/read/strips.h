/*
 * Strips: what one source has of the range of a scan, in one family.
 *
 * A source is a file of level 0, a deeper level (its files one behind the
 * other), or a memtable. A strip stands in a block of its file, or on a row of
 * the memtable. strips.c opens, places and moves strips; rows.c chooses the
 * least row among them; row_cells.c hands out what that row shows.
 *
 *	memory	| . . c . . . . |	rows by their keys, the cells of a row
 *	strip 1	| a b c d e f . |	that several have by qualifier; rows
 *	strip 2	| . b . . . . . |	that one block has alone are a run
 *
 * A row may go on in the next block of its file (it is wide). When all its
 * cells in the present block are handed out the strip rests, since it must not
 * leave a block while the caller still has cells of it; the next call moves it
 * on.
 */
#ifndef CELLFS_STORE_LSM_READ_STRIPS_H
#define CELLFS_STORE_LSM_READ_STRIPS_H

#include "store/lsm/read/scan.h"
#include "store/lsm/block/block.h"

struct strip {
	union {
		struct cursor base; /* shows the row, in memory an entry too */
		struct sst_cursor file; /* holds the block */
		struct mem_cursor memory;
	} in;
	const struct level *level; /* whose file @file it is; NULL: level 0 */
	uint32_t file;
	bool in_memory; /* known is false then */
	/*
	 * The block that comes now is damaged: it shows the first row that the
	 * block may have something of.
	 */
	bool lost;
	/*
	 * Some of its rows may need more than a look at puts: of the block, or
	 * of memory, which is asked for each.
	 */
	bool hard;
	/* The present row, the block's last one, goes on in the next block. */
	bool wide;
	bool file_over; /* nothing comes behind the block in its file */
	bool over;	/* has no more rows */
	bool in_row;	/* its row is the present one: it goes on behind that */
	bool in_cell;	/* stands on a cell of that row */
	bool rests;	/* at the block's end in a row that goes on behind it */
	bool known;	/* the scan knows all cells of the block */
	bool ahead;	/* it has left a block behind */
	/* In a block: what is left, whole rows; where in the row. */
	uint32_t row, end;
	uint32_t cell, cell_end;
	/* The cell. */
	uint64_t head; /* of the qualifier */
	struct bytes qualifier;
	int64_t ts;
	uint64_t seq;
};

_Static_assert(sizeof(struct strip) * STRIPS_MAX <= SCAN_MEMORY,
	       "there is room");

static inline bool scan_at_limit(const struct lsm_scan *sc)
{
	return sc->limit_rows && sc->rows == sc->limit_rows;
}

/* Places the family's strips where the range begins. 0 or negative. */
int strips_open(struct lsm_scan *sc, struct family_scan *f, struct bytes start);
void strips_close(struct lsm_scan *sc, struct family_scan *f);
/*
 * The present row, or what a lost strip may have, could not be read: goes on
 * behind it. 0 or negative, and then the family has ended.
 */
int strips_pass(struct lsm_scan *sc, struct family_scan *f);
/* The block that the strip's cursor wanted is damaged. 0 or -ENOMEM. */
int strip_lose(struct strip *s);
/* -EUCLEAN, with words, of a strip that is lost. */
int strip_why(struct strip *s);
/* Makes what is left of the block to which its cursor went, further on, the strip's. */
void strip_follow(struct strip *s, const struct family_scan *f);
/* All whole rows of the block are left behind: one that is not may follow. */
static inline void strip_widen(struct strip *s)
{
	s->wide = s->end < s->in.file.block->nrow;
	s->end += s->wide;
}
/*
 * Moves a strip that is at the end of its block to the next one; its cursor
 * shows the key unless the strip is the only one. Or it is over. 0 or negative.
 */
int strip_ahead(struct family_scan *f, struct strip *s);

/* Chooses the first row of the strips that were placed. Negative: it fails. */
int rows_begin(struct lsm_scan *sc, struct family_scan *f);
/*
 * To the family's next row that shows something, on which it stands: 1, or 0 if
 * there is none.
 */
int rows_step(struct lsm_scan *sc, struct family_scan *f);
/* lsm_scan_next() of a scan that is direct. */
int rows_next(struct lsm_scan *sc, struct cell *out, size_t n);

/* Enters the row that is chosen, of puts alone. Does it show anything? */
int cells_enter(struct lsm_scan *sc, struct family_scan *f, bool borrowed);
/* The same of a row that a reader walks. */
int cells_walk(struct lsm_scan *sc, struct family_scan *f);
/*
 * Up to @n results of the row that was entered: how many, or negative. Fewer
 * where strips.in_row is false, at its end, or where what was handed out by
 * this call, or is @borrowed, must be given back first.
 */
int cells_next(struct lsm_scan *sc, struct family_scan *f, bool borrowed,
	       struct cell *out, size_t n);

#endif
