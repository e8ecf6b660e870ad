/*
 * The parts of its past that a tree has lost.
 *
 * A reader as of a moment W passes over every entry with a greater timestamp,
 * markers included, and so may need a put that a newer one has pushed out or a
 * later marker hides. While such a put is stored, the answer is exact. When a
 * merge drops one, the tree notes it, so that a lost value is never taken for
 * an absent one:
 *
 *	gaps	 rows row_min..row_max have lost what a reader as of W needs,
 *		 for from <= W < to: a put of 10 under a marker of 30 makes
 *		 the gap 10..30
 *	before	 what expired, which is all that was older then, is gone: as of
 *		 W < before nothing is told, though the ttl is longer now
 *	pushed	 versions were pushed out, by columns that held
 *		 pushed_versions of them, all with sequences <= pushed_seq
 *
 * The last is not kept by row, since the column itself shows it: it still has
 * that many puts of those sequences, and only a W below all of them can miss
 * one. A delete of one of them makes a gap.
 *
 * Gaps are few: neighbours are joined when there would be more.
 */
#ifndef CELLFS_STORE_LSM_BASE_HISTORY_H
#define CELLFS_STORE_LSM_BASE_HISTORY_H

#include "store/value/bytes.h"

#define HISTORY_GAPS_MAX 64

struct history_gap {
	struct buf row_min, row_max; /* both included */
	int64_t from, to;	     /* 0 <= from < to */
};

/* Zeroed: nothing is lost. */
struct history {
	int64_t before;
	uint64_t pushed_seq;
	uint32_t pushed_versions; /* the least; 0 = none was pushed out */
	size_t ngaps;
	struct history_gap *gaps; /* ascending, without common rows */
};

void history_free(struct history *h); /* @h may be zeroed */
bool history_is_whole(const struct history *h);
/* Adds a gap in rows @min to @max. 0, or -ENOMEM with @h unchanged. */
int history_lose(struct history *h, struct bytes min, struct bytes max,
		 int64_t from, int64_t to);
/* Adds all losses of @more. 0, or -ENOMEM after adding a part. */
int history_add(struct history *h, const struct history *more);
int history_copy(struct history *to, const struct history *from);

/* Rows from @min up to @max (@max_inclusive); empty = open. */
struct history_rows {
	struct bytes min, max;
	bool max_inclusive;
};
/* Can the rows be read as of @when? 0, or -ENODATA with a sentence. */
int history_tells(const struct history *h, const struct history_rows *rows,
		  int64_t when);

#endif
