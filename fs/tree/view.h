/*
 * Views: restrictions of what a directory shows, spelled as paths.
 *
 *	T/.range/a..b/.at/1637054560118/R/F/Q
 *	  └ narrows the rows └ and the versions
 *
 *	.range/A..B  .prefix/P  .after/K	keys: of rows in a table,
 *	.first/N  .last/N			of qualifiers in a family
 *	.since/TS  .between/T1..T2		versions, T1 <= ts < T2
 *	.at/WHEN				one value a column: the newest
 *						at or before WHEN
 *	.raw					everything stored, markers too
 *
 * A view is a value that never changes: each component makes a narrower one
 * of the one above, the node keeps the names only. Restrictions add up in any
 * order, and the number of rows is counted last: .first/5/.prefix/a is the
 * same as .prefix/a/.first/5. What cannot be combined (.first and .last; .raw
 * and .at) is refused.
 *
 * The restriction goes into the one scan that reads the level: keys as its
 * bounds, times as its time range. What a scan cannot do, counting rows, is
 * done behind it by struct view_scan.
 *
 * .at and @TIME are scans as of a moment (store.h). What the disk does not
 * tell any more is -ENODATA: a whole scan where deletes or expiry have taken
 * what was there, a single column (CELL_LOST) where newer versions may have
 * pushed it out. Such a column, and a row or family that has no others, is
 * listed, since it may have been there, and each look at it is -ENODATA.
 *
 * Threads: a view is shared by reference; a view_scan belongs to one thread.
 */
#ifndef CELLFS_FS_TREE_VIEW_H
#define CELLFS_FS_TREE_VIEW_H

#include <stdatomic.h>

#include "store/store.h"

struct fstable;
struct place;

/* What a component beginning with a dot asks for. */
enum view_op {
	VIEW_NONE,
	VIEW_RANGE,
	VIEW_PREFIX,
	VIEW_FIRST,
	VIEW_LAST,
	VIEW_AFTER,
	VIEW_SINCE,
	VIEW_BETWEEN,
	VIEW_AT,
	VIEW_RAW, /* takes no argument */
};

/* Bounds of keys; an empty stop is none, an empty start too. */
struct view_bounds {
	struct buf start, stop;
	bool start_exclusive;
	bool has_start, has_stop;
	uint64_t limit; /* 0 = none */
};

struct view {
	_Atomic uint32_t refs;
	struct view_bounds rows, qualifiers;
	bool reversed;
	bool raw;
	bool has_at, has_times;
	int64_t at;		/* has_at: ts <= at; TS_MAX is now */
	int64_t ts_min, ts_max; /* ts_max 0 = none */
	bool empty;		/* nothing can be in it */
};

/* The op of a name (".range"), VIEW_NONE when it is none. */
enum view_op view_op_of(struct bytes name);

/*
 * @old (NULL = all) narrowed by @op with the argument @arg, in a directory of
 * @level (NODE_TABLE, NODE_ROW or NODE_FAMILY). 0; -EINVAL with a sentence
 * when the argument or the place is wrong; -ENOMEM.
 */
int view_narrow(const struct view *old, enum view_op op, struct bytes arg,
		uint8_t level, struct view **out);
void view_ref(struct view *v);	 /* NULL is nothing */
void view_unref(struct view *v); /* NULL is nothing */

/* Decimal milliseconds, "now" (TS_MAX), or UTC as 2026-11-20T10:00:00.123Z. */
bool view_parse_when(struct bytes s, int64_t *ms);

struct view_scan;

/*
 * The scan @spec as the view narrows it; @v NULL = as it is. For a scan of
 * many rows its row bounds are for the forward direction, and turned around
 * when the view runs backwards. Results as scan_next().
 */
int view_scan_open(struct fstable *ft, const struct view *v,
		   const struct scan_spec *spec, struct view_scan **out);
int view_scan_next(struct view_scan *vs, struct cell *out);
/* As scan_pass(). */
int view_scan_pass(struct view_scan *vs);
void view_scan_close(struct view_scan *vs); /* NULL is nothing */

/*
 * The bounds that the view of @p sets to keys like that of @p: rows or qualifiers.
 * NULL if @p has no view, or neither of these keys.
 */
const struct view_bounds *view_bounds_of(const struct place *p);
/* Does the view show only so many keys like that of @p (.first, .last)? */
bool view_is_counted(const struct place *p);
/*
 * Is the key of @p among the first (last) ones that its view counts? 1, 0, an
 * error. May say 1 for a second after others have come before it.
 */
int view_counts(const struct place *p);
/* Does the view hold anything beneath the directory @p? 1, 0, an error. */
int view_has(const struct place *p);
/*
 * The cell that the file @p stands for, in its view if it has one: 1; 0;
 * -ENODATA with a sentence when it is lost. @hold as table_get()'s.
 */
int view_get(const struct place *p, struct cell *cell, struct buf *hold);
#endif
