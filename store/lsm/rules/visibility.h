/*
 * What a reader sees of what is stored, and what compaction may drop of it.
 *
 * Takes the entries of one row of one tree in cursor order (from a merge) and
 * hands on those that are visible. Pure: no clock, no file, no lock. The rules
 * are HBase's (book, "Data Model"), in both orders of delete:
 *
 * attrs->new_version_behavior yes: what a replay of the writes in sequence
 * order leaves. A put inserts its version and pushes out the oldest beyond
 * `versions`; a marker removes what it covers and lies before it in sequence.
 * What was pushed out or removed never returns. With versions 2:
 *
 *	info:mail 90 s9 PUT	      seen
 *	info:name 70 s6 DELETE_COLUMN removes info:name up to 70 before s6
 *	info:name 70 s5 PUT	      removed at s6
 *	info:name 60 s7 PUT	      seen: written after the marker
 *	info:tel  50 s4 DELETE	      removes 50
 *	info:tel  50 s3 PUT	      removed at s4
 *	info:tel  40 s2 PUT	      seen
 *	info:tel  30 s1 PUT	      pushed out at s3, stays so after s4
 *
 * A put with a ttl of its own is a loan: it hides others while it is alive
 * and unexpired, but removes nothing for good, so that its end leaves things
 * as if it had never been written.
 *
 * attrs->new_version_behavior no: markers hide by timestamp whatever the
 * sequence, and versions are counted among those not hidden and within the
 * reader's time range.
 *
 * The family's ttl and min_versions are applied to what that leaves: expired
 * is ts < now - ttl; the newest min_versions are seen though expired.
 *
 * Sequences are unique: each change of a mutation has its own. 0 is older than
 * any other and stands for what compaction has resolved.
 *
 * A reader as of a moment sees what all this makes of the entries whose
 * timestamp is not greater, markers too, and of each column the newest only.
 */
#ifndef CELLFS_STORE_LSM_RULES_VISIBILITY_H
#define CELLFS_STORE_LSM_RULES_VISIBILITY_H

#include "store/lsm/base/cursor.h"
#include "store/value/schema.h"

/*
 * What others have found of the row in which a reader stands, as of what it
 * reads (alive.h). A reader that has walked over much in vain asks, and tells.
 */
struct visible_guide {
	unsigned patience; /* entries that are walked before it is asked */
	/*
	 * Timestamps of the column that are alive, at @ts and below, newest
	 * first: how many of up to @n, -1 = not known. *above: of those above
	 * @ts; it takes longer to say, unless @above is NULL.
	 */
	int (*versions)(const struct visible_guide *g, struct bytes row,
			struct bytes qualifier, int64_t ts, int64_t *out,
			size_t n, uint64_t *above);
	/*
	 * Does the column show nothing, and do those behind it before *to? 1;
	 * 0: all behind it; -1: not known.
	 */
	int (*hidden)(const struct visible_guide *g, struct bytes row,
		      struct bytes qualifier, struct buf *to);
	/*
	 * Columns from @from on, before @to (NULL: all), show nothing;
	 * @walked entries told that.
	 */
	void (*found_hidden)(const struct visible_guide *g, struct bytes row,
			     struct bytes from, const struct bytes *to,
			     uint64_t walked);
};

#define PATIENCE 32

struct visible_spec {
	const struct visible_guide *guide; /* NULL = none */
	uint64_t walk_max; /* of a column, in vain; then -EAGAIN. 0 = all */
	const struct family_attrs *attrs;
	int64_t now_ms;		/* one value for a whole scan */
	int64_t ts_min, ts_max; /* ts_min <= ts < ts_max */
	uint32_t versions;	/* newest a column; 0 = all kept */
	bool raw;
	/* Nothing with ts > as_of counts; versions is 1, raw is not set. */
	bool has_as_of;
	int64_t as_of;
	/* struct history's: what was pushed out in the files that are read */
	uint64_t pushed_seq;
	uint32_t pushed_versions;
};

/* Of a column, when a reader asks for @asked (0 = all that are kept). */
static inline uint32_t versions_shown(const struct family_attrs *a,
				      uint32_t asked)
{
	return asked && asked < a->versions ? asked : a->versions;
}

struct visible;

/* One serves many rows of a scan. Copies @spec, but not its attrs. */
int visible_new(const struct visible_spec *spec, struct visible **out);
void visible_free(struct visible *v); /* NULL is nothing */
/*
 * Starts on the row on whose first entry @c stands. visible_next() moves @c.
 */
void visible_row(struct visible *v, struct cursor *c);
/*
 * Nothing of a column behind @last, or of @last where it is not @inclusive, is
 * asked for: there visible_next() and visible_seek() say 0 without looking at
 * what may be hidden. Holds until the next call or row, and may be put off when
 * they have said 0. @last is borrowed; NULL = the whole row.
 */
void visible_until(struct visible *v, const struct bytes *last, bool inclusive);
/* 1: c->at is the next visible entry of the row; 0: none is left. */
int visible_next(struct visible *v);
/*
 * As of a moment: is the entry that was just handed on one that only stands for
 * its column, whose version of that moment may have been pushed out?
 */
bool visible_lost(const struct visible *v);
/* Markers that it has gone by since it was made. */
uint64_t visible_markers(const struct visible *v);
/* Entries and columns that it has walked in vain, but for a few of each. */
uint64_t visible_walked(const struct visible *v);
/*
 * A column of which a set of what is alive would be worth having: how much was
 * walked of it in vain; 0: there is none.
 */
uint64_t visible_deep(const struct visible *v, struct bytes *row,
		      struct bytes *qualifier);
/* Was there a put with a ttl of its own in the row? */
bool visible_loans(const struct visible *v);
/* Passes over what is left of the present column, cheaply. Then _next(). */
void visible_skip_column(struct visible *v);
/*
 * Passes on to the first visible entry at or after (@qualifier, @ts): as
 * visible_next() does, having passed over what lies before. Markers passed over
 * count where they must. Never goes back: before the present entry, it is
 * visible_next().
 */
int visible_seek(struct visible *v, struct bytes qualifier, int64_t ts);

/*
 * What a merge of a slice of history writes. A slice holds, for its rows, all
 * entries between two sequences; what a reader of any snapshot (and of now)
 * sees of the tree is the same before and after, whatever lies outside of the
 * slice. An entry is dropped only for the sake of entries of its own stripe
 * (masking.h). P: the put in question, versions 2.
 *
 * In any slice:
 *	P under a wide marker	    50 s2 DELETE_COLUMN		 30 s1 P
 *	a marker under a wider one  50 s2 DELETE_COLUMN		 30 s1 DELETE
 *	P pushed out by the slice   50 s3 PUT	  40 s2 PUT	 30 s1 P
 *	P replaced		    50 s2 PUT	  50 s1 P
 *	P expired, if min_versions is 0
 * but never
 *	P under a one-version marker
 *				    50 s3 DELETE  50 s2 P
 *	    for while it lived P pushed out a 30 s0 outside of the slice;
 *	P pushed out or replaced, where there are one-version markers
 *			50 s5 PUT  45 s3 DELETE	 40 s2 PUT  30 s4 P
 *	    for if a 50 and a 45 lay outside, these have pushed out the 40, the
 *	    45 is gone, and P and the 50 are the two that live;
 *	P expired, if min_versions is not 0
 *	    for a delete of a newer one may bring it back.
 *
 * In a slice that is the whole history the lowest stripe becomes what its
 * snapshot sees of it: visible puts, sequence 0, no markers. With keep_deleted
 * readers look behind markers, and then none of these settle anything: what is
 * dropped is what was pushed out or replaced where no one-version marker is,
 * and with keep_deleted ttl what an expired marker covers.
 *
 * Classic order: a put goes under any marker that all who see the put see, and
 * when another of its timestamp replaces it. Excess versions, expired ones
 * beyond min_versions, and markers of the whole history go in a major
 * compaction only (and in a flush that trims), since that shows: a range of
 * older timestamps loses versions, and a later put below a marker is seen.
 * There HBase's count decides, with versions 2 and keep_deleted:
 *
 *	50 PUT		   1
 *	45 DELETE	   kept: it counts for nothing
 *	40 PUT		   2, whether or not a marker hides it
 *	35 DELETE_COLUMN   kept, unless no put of the input is that old
 *	30 PUT		   one too many: it goes with all below it
 *
 * With new_version_behavior a flush drops only what has expired: `.raw` shows
 * all that was written until a compaction, as HBase has it.
 */
struct retain_spec {
	const struct family_attrs *attrs;
	int64_t now_ms;
	/* Asked for by the user: all of the tree. For the classic order. */
	bool major;
	bool flush;
	/*
	 * A flush that was asked for, of a table in the classic order: versions
	 * beyond `versions` go, counted in memory alone, as in HBase.
	 */
	bool trim;
	/*
	 * The oldest put of all that a major one reads; asked for in the
	 * classic order with keep_deleted. INT64_MAX = there is none.
	 */
	int64_t put_ts_min;
	/* The input may hold DELETE or DELETE_FAMILY_VERSION. */
	bool version_markers;
	/* Sequences that snapshots see, ascending. Borrowed. */
	const uint64_t *snapshots;
	size_t nsnapshots;
	/* struct history's of the tree; 0 = none were pushed out before. */
	uint32_t pushed_versions;
};

/* What was dropped that a reader as of a past moment would need (history.h). */
struct retain_loss {
	/*
	 * In the last row: nothing can be told as of [from, to), if from < to.
	 */
	int64_t from, to;
	/* In all rows so far, as in struct history. */
	int64_t before;
	uint64_t pushed_seq;
	bool pushed;
};

struct retain;
int retain_new(const struct retain_spec *spec, struct retain **out);
void retain_free(struct retain *r); /* NULL is nothing */
/*
 * Starts on a row; retain_next() moves @c as visible_next() does.
 * @whole_history: @c holds all of the row up to its newest sequence; nothing
 * older lies in a deeper level or outside.
 */
void retain_row(struct retain *r, struct cursor *c, bool whole_history);
/*
 * 1: *out is to be written, its sequence 0 where nothing can tell the
 * difference; 0: the row is done. *out lasts until the next call.
 */
int retain_next(struct retain *r, struct entry *out);
/* When retain_next() has said 0. */
void retain_loss(const struct retain *r, struct retain_loss *out);

#endif
