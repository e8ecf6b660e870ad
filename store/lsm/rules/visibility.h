/*
 * What a reader sees of what is stored, and what compaction may drop of it.
 *
 * Takes the entries of one row of one tree in cursor order (from a merge) and
 * returns those that are visible. Pure: no clock, no file, no lock. The rules
 * are HBase's (book, "Data Model"), in both orders of delete:
 *
 * attrs->new_version_behavior yes: what a replay of the writes in sequence
 * order leaves. A put inserts its version and pushes out the oldest beyond
 * `versions`; a marker removes the puts that it covers and that have a lower
 * sequence. A version that was pushed out or removed never returns. With
 * versions 2:
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
 * A put with its own ttl is an expiring put: it hides others while it is alive
 * and unexpired, but removes nothing for good, so that after its end the column
 * is as if it had never been written.
 *
 * attrs->new_version_behavior no: markers hide by timestamp whatever the
 * sequence, and versions are counted among those not hidden and within the
 * reader's time range.
 *
 * The family's ttl and min_versions are applied to the remaining versions:
 * those with ts < now - ttl are expired; the newest min_versions are seen even
 * if they are expired.
 *
 * Sequences are unique: each change of a mutation has its own. 0 is older than
 * any other and marks the puts whose order compaction has resolved.
 *
 * A reader as of a moment applies all this to the puts and markers whose
 * timestamp is not greater, and sees only the newest version of each column.
 */
#ifndef CELLFS_STORE_LSM_RULES_VISIBILITY_H
#define CELLFS_STORE_LSM_RULES_VISIBILITY_H

#include "store/lsm/base/cursor.h"
#include "store/lsm/base/history.h"
#include "store/value/schema.h"

/*
 * Facts about the present row that other readers have found (alive.h), as of
 * the sequence that is read. A reader that has walked over many hidden entries
 * asks for such facts, or over a few where there may be some, and reports its own.
 */
struct visible_guide {
	unsigned patience; /* entries walked before the guide is asked */
	/* May it know versions of the row? Takes no lock: asked after a few. */
	bool (*knows)(const struct visible_guide *g, struct bytes row);
	/*
	 * Writes up to @n alive timestamps of the column, from @ts downwards,
	 * to @out. Returns how many; -1 = not known. *above: how many are above
	 * @ts, which takes longer to find; @above may be NULL.
	 */
	int (*versions)(const struct visible_guide *g, struct bytes row,
			struct bytes qualifier, int64_t ts, int64_t *out,
			size_t n, uint64_t *above);
	/*
	 * Does the column show nothing? 1: nor do the columns from it up to *to
	 * (not included); 0: nor do all columns after it; -1: not known.
	 */
	int (*hidden)(const struct visible_guide *g, struct bytes row,
		      struct bytes qualifier, struct buf *to);
	/*
	 * Reports that columns from @from up to @to (not included; NULL: all)
	 * show nothing, after a walk over @walked entries.
	 */
	void (*found_hidden)(const struct visible_guide *g, struct bytes row,
			     struct bytes from, const struct bytes *to,
			     uint64_t walked);
};

#define PATIENCE 32

struct visible_spec {
	const struct visible_guide *guide; /* NULL = none */
	uint64_t walk_max; /* hidden ones of a column; then -EAGAIN. 0: any */
	const struct family_attrs *attrs;
	int64_t now_ms;		/* the same for a whole scan */
	int64_t ts_min, ts_max; /* ts_min <= ts < ts_max */
	/* What is seen is decided without the range, which then chooses from it. */
	bool whole;
	uint32_t versions; /* newest per column; 0 = all kept */
	bool raw;
	bool replaced; /* raw: what was written again, too */
	/* Ignore entries with ts > as_of; versions is 1, raw is not set. */
	bool has_as_of;
	int64_t as_of;
	/*
	 * As in struct history: pushed-out versions in the files that are read.
	 */
	uint64_t pushed_seq;
	uint32_t pushed_versions;
};

/* Versions shown of a column to a reader that asks for @asked (0 = all). */
static inline uint32_t versions_shown(const struct family_attrs *a,
				      uint32_t asked)
{
	return asked && asked < a->versions ? asked : a->versions;
}

/* By the family's ttl what is older has expired; INT64_MIN: nothing has. */
int64_t visible_expired_before(const struct family_attrs *a, int64_t now_ms);

/*
 * Are all of these entries puts that no marker, time range or ttl concerns? Of
 * them, and others like them, a reader sees the newest of each column, as many
 * as are shown; of two with one timestamp the later.
 */
static inline bool visible_puts(const struct visible_spec *s,
				const struct known *k)
{
	if (s->raw || !k->puts || k->ts_min < s->ts_min ||
	    k->ts_max >= s->ts_max || (s->has_as_of && k->ts_max > s->as_of))
		return false;
	return s->attrs->ttl_ms == TTL_FOREVER ||
	       k->ts_min >= visible_expired_before(s->attrs, s->now_ms);
}

/*
 * Does a reader at @seq see all of these entries, and need not look at each? Of
 * @rows it asks no more than whether each shows something.
 */
static inline bool visible_all(const struct visible_spec *s, uint64_t seq,
			       const struct known *k, bool rows)
{
	return k->seq_max <= seq && visible_puts(s, k) &&
	       (rows || (k->simple &&
			 k->copies <= versions_shown(s->attrs, s->versions)));
}

/*
 * Has the reader, whose time and attributes are set, see @family as of a moment. 0;
 * -ENODATA with a sentence: what it held then has expired, or the @lost parts of the
 * tree's past concern the @rows.
 */
int visible_as_of(struct visible_spec *s, int64_t as_of, struct bytes family,
		  const struct history *lost, const struct history_rows *rows);

struct visible;

/* One serves many rows of a scan. Copies @spec, but not its attrs. */
int visible_new(const struct visible_spec *spec, struct visible **out);
void visible_free(struct visible *v); /* @v may be NULL */
/* Begins a row; @c is on its first entry. visible_next() moves @c. */
void visible_row(struct visible *v, struct cursor *c);
/*
 * Limits the row to columns before @last, or up to it if @inclusive: after
 * these visible_next() and visible_seek() return 0 without looking at hidden
 * entries. Holds until the next call or row, and may be changed after they have
 * returned 0. @last is borrowed; NULL = the whole row.
 */
void visible_until(struct visible *v, const struct bytes *last, bool inclusive);
/* 1: c->at is the next visible entry of the row; 0: none is left. */
int visible_next(struct visible *v);
/*
 * As of a moment: true if the last entry returned only stands for its column,
 * whose version of that moment may have been pushed out.
 */
bool visible_lost(const struct visible *v);
/* The number of markers that it has read so far. */
uint64_t visible_markers(const struct visible *v);
/*
 * The number of hidden entries and columns that it has walked over, except for
 * a few of each.
 */
uint64_t visible_walked(const struct visible *v);
/*
 * The column for which a set of alive versions would save most: returns how
 * many hidden entries of it were walked over; 0: there is none.
 */
uint64_t visible_deep(const struct visible *v, struct bytes *row,
		      struct bytes *qualifier);
/* Did the row have a put with its own ttl? */
bool visible_loans(const struct visible *v);
/* Skips the rest of the present column. Call visible_next() afterwards. */
void visible_skip_column(struct visible *v);
/*
 * Moves forward to the first visible entry at or after (@qualifier, @ts).
 * Skipped markers are applied as in visible_next(). If the present entry is not
 * before that place, this is visible_next().
 */
int visible_seek(struct visible *v, struct bytes qualifier, int64_t ts);

/*
 * What a merge of a slice of history writes. A slice holds, for its rows, all
 * entries between two sequences; what a reader of any snapshot (and of now)
 * sees of the tree is the same before and after, whatever entries there are
 * outside of the slice. An entry is dropped only because of entries of its own
 * stripe (tombstones.h). P: the put in question, versions 2.
 *
 * In any slice:
 *	P under a wide marker	    50 s2 DELETE_COLUMN		 30 s1 P
 *	a marker under a wider one  50 s2 DELETE_COLUMN		 30 s1 DELETE
 *	P pushed out by the slice   50 s3 PUT	  40 s2 PUT	 30 s1 P
 *	P replaced		    50 s2 PUT	  50 s1 P
 *	P at the end of its own ttl
 * but never
 *	P under a one-version marker
 *				    50 s3 DELETE  50 s2 P
 *	    for while it lived P pushed out a 30 s0 outside of the slice;
 *	P pushed out or replaced, where there are one-version markers
 *			50 s5 PUT  45 s3 DELETE	 40 s2 PUT  30 s4 P
 *	    for if a 50 and a 45 lay outside, these have pushed out the 40, the
 *	    45 is gone, and P and the 50 are the two that live;
 *	P expired by the family's ttl
 *	    for if that becomes longer, what P has replaced or pushed out
 *	    outside of the slice would be seen in its place;
 *	P expired, if min_versions is not 0
 *	    for a delete of a newer one may bring it back.
 *
 * In a slice that is the whole history what has expired goes, if min_versions is
 * 0, and unless it is flushed the lowest stripe becomes what its snapshot sees of
 * it: visible puts, sequence 0, no markers. With keep_deleted readers see deleted
 * cells, and then markers decide nothing for all readers: only puts that were
 * pushed out or replaced, where there is no one-version marker, are dropped, and
 * with keep_deleted ttl those that an expired marker covers.
 *
 * Classic order: a put is dropped under any marker that all readers of the put
 * see, and when another put of its timestamp replaces it. Excess versions,
 * expired ones beyond min_versions, and markers of the whole history are
 * dropped only in a major compaction (and in a flush that trims), since readers
 * can notice it: a range of older timestamps loses versions, and a later put
 * below a marker is seen. There HBase's count decides, with versions 2 and
 * keep_deleted:
 *
 *	50 PUT		   1
 *	45 DELETE	   kept: it counts for nothing
 *	40 PUT		   2, whether or not a marker hides it
 *	35 DELETE_COLUMN   kept, unless no put of the input is that old
 *	30 PUT		   one too many: it goes with all below it
 *
 * With new_version_behavior a flush drops only what has expired so, or by its own
 * ttl: `.raw` shows all that was written until a compaction, as HBase has it.
 */
struct retain_spec {
	const struct family_attrs *attrs;
	int64_t now_ms;
	/*
	 * The user asked for a compaction of all of the tree. For the classic
	 * order.
	 */
	bool major;
	bool flush;
	/*
	 * The user asked for this flush, of a table in the classic order:
	 * versions beyond `versions`, counted in memory alone, are dropped, as
	 * in HBase.
	 */
	bool trim;
	/*
	 * The least timestamp of all puts that a major compaction reads; used
	 * in the classic order with keep_deleted. INT64_MAX = there is none.
	 */
	int64_t put_ts_min;
	/* The input may hold DELETE or DELETE_FAMILY_VERSION. */
	bool version_markers;
	/* Sequences that snapshots read, ascending. Borrowed. */
	const uint64_t *snapshots;
	size_t nsnapshots;
	/*
	 * As in struct history of the tree; 0 = no version was pushed out
	 * before.
	 */
	uint32_t pushed_versions;
};

/* The last row cannot be read as of [from, to), if from < to. */
struct retain_loss {
	/*
	 * In the last row: nothing can be told as of [from, to), if from < to.
	 */
	int64_t from, to;
	/* Of all rows so far, as in struct history. */
	int64_t before;
	uint64_t pushed_seq;
	bool pushed;
};

struct retain;
int retain_new(const struct retain_spec *spec, struct retain **out);
void retain_free(struct retain *r); /* @r may be NULL */
/*
 * Begins a row; retain_next() moves @c as visible_next() does. @whole_history:
 * @c has all of the row up to its newest sequence; no deeper level has older
 * entries.
 */
void retain_row(struct retain *r, struct cursor *c, bool whole_history);
/*
 * 1: *out is to be written, with sequence 0 if no reader can notice that; 0:
 * the row is done. *out is valid until the next call.
 */
int retain_next(struct retain *r, struct entry *out);
/* To be called after retain_next() has returned 0. */
void retain_loss(const struct retain *r, struct retain_loss *out);

#endif
