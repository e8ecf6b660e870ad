/*
 * What a reader sees of what is stored.
 *
 * Takes the entries of one row of one tree in cursor order (from a merge) and
 * hands on those that are visible. Pure: no clock, no file, no lock. The rules
 * are HBase's (book, "Data Model"; HBASE.md section 1): delete markers of four
 * kinds, versions, min_versions, ttl, the cell's own ttl, time range, in both
 * orders of delete (attrs->new_version_behavior).
 *
 * With new_version_behavior the visible set is what a replay of the writes in
 * sequence order leaves: a put inserts its version and pushes out the oldest
 * beyond `versions`; a marker removes what it covers and lies before it in
 * sequence. What was pushed out or removed never returns.
 *
 * And what compaction may drop: retain_*().
 */
#ifndef CELLFS_STORE_LSM_VISIBILITY_H
#define CELLFS_STORE_LSM_VISIBILITY_H

#include "store/lsm/cursor.h"
#include "store/schema.h"

struct visible_spec {
	const struct family_attrs *attrs;
	int64_t now_ms;		/* one value for a whole scan */
	int64_t ts_min, ts_max; /* ts_min <= ts < ts_max */
	uint32_t versions;	/* newest a column; 0 = all kept */
	bool raw;
};

struct visible;

/* One serves many rows of a scan. */
int visible_new(const struct visible_spec *spec, struct visible **out);
void visible_free(struct visible *v);
/*
 * Starts on the row on whose first entry @c stands. visible_next() moves @c.
 */
void visible_row(struct visible *v, struct cursor *c);
/* 1: c->at is the next visible entry of the row; 0: none is left. */
int visible_next(struct visible *v);
/* Passes over what is left of the present column, cheaply. Then _next(). */
void visible_skip_column(struct visible *v);
/*
 * Passes on to the first visible entry at or after (@qualifier, @ts): as
 * visible_next() does, having passed over what lies before. Markers passed over
 * count where they must.
 */
int visible_seek(struct visible *v, struct bytes qualifier, int64_t ts);

/* -- compaction ------------------------------------------------------------ */

struct retain_spec {
	const struct family_attrs *attrs;
	int64_t now_ms;
	/*
	 * The merge holds the whole history of its rows up to its newest
	 * sequence: nothing older lies in a deeper level or outside.
	 */
	bool whole_history;
	/* A flush: as a merge without whole history. */
	/* Sequences that persistent snapshots see, ascending. */
	const uint64_t *snapshots;
	size_t nsnapshots;
};

struct retain;
int retain_new(const struct retain_spec *spec, struct retain **out);
void retain_free(struct retain *r);
/* Starts on a row; retain_next() moves @c as visible_next() does. */
void retain_row(struct retain *r, struct cursor *c, bool whole_history);
/*
 * 1: c->at is to be written, with its sequence replaced by *seq (0 when no
 * snapshot and no marker can tell the difference); 0: the row is done.
 */
int retain_next(struct retain *r, uint64_t *seq);

#endif
