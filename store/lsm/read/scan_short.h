/*
 * Short scans: what scan_short.c, which opens them and takes runs from one
 * strip, shares with scan_several.c, which takes rows and cells from several.
 */
#ifndef CELLFS_STORE_LSM_READ_SCAN_SHORT_H
#define CELLFS_STORE_LSM_READ_SCAN_SHORT_H

#include "store/lsm/read/scan.h"
#include "store/lsm/table/block.h"

/* Longer keys are left to the readers. */
#define STRIP_KEY_MAX 48
/* From one key that a call hands out to the next. */
#define STRIP_STRIDE (STRIP_KEY_MAX + BLOCK_SLACK)

struct strip {
	struct sst_cursor in;	   /* holds the block */
	const struct level *level; /* whose file @file it is; NULL: level 0 */
	uint32_t file;
	uint32_t row, end; /* of the block: what is left, whole rows */
	bool over;
	/* Of several: the row, and where in it. */
	bool in_row;
	uint32_t cell, cell_end;
	uint64_t head; /* of the qualifier */
	struct bytes qualifier;
	int64_t ts;
	uint64_t seq;
	size_t key_len;
	uint8_t key[STRIP_STRIDE];
};

#define STRIPS_MAX (READER_MEMORY / sizeof(struct strip))

static inline struct strip *scan_strips(struct lsm_scan *sc)
{
	return (struct strip *)sc->memory;
}

static inline bool scan_at_limit(const struct lsm_scan *sc)
{
	return sc->limit_rows && sc->rows == sc->limit_rows;
}

/*
 * To the block behind, of this file or the next: 1; 0 if there is none. It
 * fails, and brief.beyond is set, where readers must go on.
 */
int scan_strip_ahead(struct lsm_scan *sc, struct strip *s);

/* The strips stand on their first rows. 1 or negative. */
int scan_several_begin(struct lsm_scan *sc);
/* As scan_short_next(); fails so, too. */
int scan_several_next(struct lsm_scan *sc, struct cell *out, size_t n);

#endif
