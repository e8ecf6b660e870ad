/*
 * A reader of one tree: view, cursors, merge and visibility as one thing.
 *
 *	memtables ─┐
 *	level 0   ─┼▶ merge ─▶ visible ─▶ reader_next()
 *	level 1.. ─┘
 *
 * It hands out visible entries row by row, forwards or backwards, of all
 * columns or of those asked for. What it hands out lasts until its next call.
 */
#ifndef CELLFS_STORE_LSM_READ_READER_H
#define CELLFS_STORE_LSM_READ_READER_H

#include "store/lsm/rules/alive.h"
#include "store/lsm/state/superversion.h"
#include "store/lsm/merge/merge.h"

/* What of each row is asked for. Zeroed = all. Borrowed by the reader. */
struct reader_columns {
	const struct bytes *names; /* ascending; NULL = no list */
	size_t nnames;
	bool has_start, has_stop, stop_inclusive;
	struct bytes start, stop; /* start is inclusive here */
};

/* A cursor of its own: of a memtable, a file of level 0, or a deeper level. */
union reader_input {
	struct cursor base;
	struct mem_cursor memory;
	struct sst_cursor file;
	struct level_cursor level;
};

struct reader {
	struct merge merge;
	struct alive_guide guide; /* its alive NULL: nobody is asked */
	struct merge_source *sources;
	union reader_input *inputs;
	struct visible *visible; /* NULL until a row needs it */
	struct visible_spec spec;
	struct os *os; /* tells the time then, unless NULL */
	const struct reader_columns *columns;
	size_t column; /* of columns->names */
	uint32_t nsources;
	void *memory; /* of the cursors, one piece; NULL: the spec's */
};

struct reader_spec {
	struct visible_spec visible;
	struct os *os; /* if not NULL, visible.now_ms is told when needed */
	struct alive *alive; /* who to ask and tell; NULL = nobody */
	uint64_t seq;
	/* Rows [min, max] are all that is asked for; empty = open. */
	struct bytes row_min, row_max;
	const struct reader_columns *columns; /* NULL = all */
	bool no_fill; /* blocks that are read do not go to the cache */
	/* Used for the cursors where they fit; aligned as malloc() has it. */
	void *memory;
	size_t memory_bytes;
};

/* Enough of it for the cursors of a tree that has settled. */
#define READER_MEMORY 3072

/* May a file hold anything that a reader sees, or that hides what it sees? */
bool reader_needs(const struct sst_info *i, const struct visible_spec *spec);

/* Reads the view's @family, an index; borrows the view. */
int reader_open(struct reader *r, const struct superversion *view,
		uint32_t family, const struct reader_spec *spec);
/*
 * The same over cursors that the caller has and places itself: it calls
 * merge_enter(), then reader_row().
 */
void reader_over(struct reader *r, const struct superversion *view,
		 uint32_t family, const struct reader_spec *spec,
		 struct merge_source *sources, uint32_t n);
void reader_close(struct reader *r); /* safe on a zeroed one */

/*
 * The caller has moved the cursor to a row: to its first entry that is visible
 * and asked for. 0 = none in this row.
 */
int reader_row(struct reader *r);
/* The next one in the row. */
int reader_next(struct reader *r);
/* The first one of the next column in the row. */
int reader_next_column(struct reader *r);
/* The first one in the row whose qualifier is at or after @qualifier. */
int reader_seek(struct reader *r, struct bytes qualifier);

/* The first one in the row behind (@qualifier, @ts), which was shown. */
int reader_seek_behind(struct reader *r, struct bytes qualifier, int64_t ts);

/* Does the present entry only stand for its column (visible_lost())? */
static inline bool reader_lost(const struct reader *r)
{
	return r->spec.has_as_of && r->visible && visible_lost(r->visible);
}

/* Markers that it has stepped over. */
static inline uint64_t reader_markers(const struct reader *r)
{
	return r->visible ? visible_markers(r->visible) : 0;
}

/*
 * If it has walked over much of a column in vain: finds out what is alive of
 * it, for those who come after. @view and @family are what it was opened with.
 */
void reader_learn(struct lsm *db, struct reader *r,
		  const struct superversion *view, uint32_t family);

static inline struct cursor *reader_cursor(struct reader *r)
{
	return &r->merge.base;
}
static inline const struct entry *reader_entry(const struct reader *r)
{
	return &r->merge.base.at;
}

#endif
