/*
 * Strips: what one source has of the range of a scan.
 *
 * A strip stands in the block of a file, of the files of a level one behind the
 * other, or in a memtable. strips.c opens, places and moves strips; rows.c
 * chooses the least row among them and hands out what it shows.
 *
 *	memory	| . . c . . . . |	rows by their keys, the cells of a row
 *	strip 1	| a b c d e f . |	that several have by qualifier; rows
 *	strip 2	| . b . . . . . |	that one block has alone are a run
 *
 * No strip goes to another block while cells of its block are the caller's.
 */
#ifndef CELLFS_STORE_LSM_READ_STRIPS_H
#define CELLFS_STORE_LSM_READ_STRIPS_H

#include <errno.h>

#include "store/lsm/read/scan.h"
#include "store/lsm/table/block.h"

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
	 * Some of the block may be no mere put, or is for the index to tell.
	 * Memory is asked for each row.
	 */
	bool hard;
	bool over;    /* has no more rows */
	bool in_row;  /* its row is the present one: it goes on behind that */
	bool in_cell; /* stands on a cell of that row */
	bool known;   /* the scan knows all cells of the block */
	bool ahead;   /* it has left a block behind */
	/* In a block: what is left, whole rows; where in the row. */
	uint32_t row, end;
	uint32_t cell, cell_end;
	/* The cell. */
	uint64_t head; /* of the qualifier */
	struct bytes qualifier;
	int64_t ts;
	uint64_t seq;
};

#define STRIPS_MAX (SCAN_MEMORY / sizeof(struct strip))

static inline struct strip *scan_strips(struct lsm_scan *sc)
{
	return (struct strip *)sc->memory;
}

static inline bool scan_at_limit(const struct lsm_scan *sc)
{
	return sc->limit_rows && sc->rows == sc->limit_rows;
}

/* Fails: readers must go on behind the row that was handed out last. */
static inline int strips_end(struct lsm_scan *sc)
{
	sc->strips.beyond = true;
	return -EAGAIN;
}

void strips_close(struct lsm_scan *sc);
/*
 * Moves a strip that is at the end of its block to the next one; its cursor
 * shows the key unless the strip is the only one. Or it is over. Fails as
 * strips_end().
 */
int strip_ahead(struct lsm_scan *sc, struct strip *s);

/*
 * Can rows_next() begin where the strips were placed? Else readers must.
 */
bool rows_begin(struct lsm_scan *sc);
/* lsm_scan_next() of a scan of strips; strips.beyond as strips_end(). */
int rows_next(struct lsm_scan *sc, struct cell *out, size_t n);

#endif
