#include "store/lsm/rules/visibility.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/column.h"
#include "store/lsm/rules/tombstones.h"
#include "store/lsm/rules/version_count.h"

/* Entries of a finished column that are stepped over before a seek. */
#define STEPS_MAX 4

enum verdict {
	DROP,
	KEEP,
};

struct retain {
	struct retain_spec spec;
	struct cursor *c;
	/* By the order of deletes: return a verdict or -ENOMEM. */
	int (*put)(struct retain *r, const struct entry *e);
	int (*marker)(struct retain *r, const struct entry *e);
	int64_t expired_before; /* the family's ttl; INT64_MIN = forever */
	uint64_t versions;	/* UINT64_MAX = all */
	bool pass_through;	/* a flush: drop only what has expired */
	bool all;		/* the input has the row's whole history */
	bool whole;		/* so it has, and is more than a flush */
	struct tombstones tombstones;
	/*
	 * The markers that delete what they cover: all, with keep_deleted ttl
	 * the expired ones, else none.
	 */
	struct tombstones deleting;
	struct version_count alive;
	bool fresh; /* the cursor's entry was not examined yet */
	bool done;
	bool in_column;
	bool column_done; /* nothing more of this column is kept */
	struct buf qualifier;
	uint32_t steps;
	/* Of the present column: */
	uint64_t survivors; /* puts alive at the end, for good */
	uint64_t counted;   /* versions, in the classic order */
	bool version_met;   /* there was a DELETE */
	bool has_put;
	int64_t put_ts;	  /* of the last put that replaces others */
	uint64_t put_seq; /* its sequence */
	/* What was dropped, for readers as of a past moment: */
	struct retain_loss loss;
	uint64_t seq_seen;   /* greatest so far */
	int64_t family_to;   /* greatest ts of deleting DELETE_FAMILY markers */
	int64_t column_to;   /* of these and of the column's DELETE_COLUMN */
	uint64_t puts;	     /* of the column, with different timestamps */
	int64_t newest;	     /* ts of the first of these */
	int64_t covered_min; /* least ts dropped under a wide marker */
	bool covered;	     /* covered_min is valid */
	bool version_gone;   /* a put and its one-version marker were dropped */
	bool loan;	     /* some puts have their own ttl */
};

static bool family_ttl_expired(const struct retain *r, const struct entry *e)
{
	return e->ts < r->expired_before;
}

/*
 * Has the family's ttl ended an entry for all readers, whatever the family's
 * attributes become? What the entry has replaced, pushed out or deleted is no
 * younger, so it has expired as well; but where it lies outside of the slice, it
 * would be seen when the ttl becomes longer, without what hides it.
 */
static bool ended_by_ttl(const struct retain *r, const struct entry *e)
{
	return r->all && family_ttl_expired(r, e) &&
	       r->spec.attrs->min_versions == 0;
}

/*
 * An expired put may be dropped, unless min_versions could show it again. With
 * a longer ttl it would be seen as of its timestamp and of later moments, too:
 * only those at which it has expired by now are as they were.
 */
static bool is_expired(struct retain *r, const struct entry *e)
{
	int64_t age;

	if (ended_by_ttl(r, e)) {
		r->loss.before = r->expired_before;
		return true;
	}
	if (!e->ttl_ms || __builtin_sub_overflow(r->spec.now_ms, e->ts, &age))
		return false;
	return age > 0 && (uint64_t)age > e->ttl_ms;
}

/* Does the marker delete cells, or only hide them from most readers? */
static bool is_deleting(const struct retain *r, const struct entry *marker)
{
	switch (r->spec.attrs->keep_deleted) {
	case KEEP_DELETED_NO:
		return true;
	case KEEP_DELETED_TTL:
		return family_ttl_expired(r, marker);
	default:
		return false;
	}
}

static int note_marker(struct retain *r, const struct entry *e, bool deleting)
{
	int err = tombstones_add(&r->tombstones, e);

	if (err < 0 || !deleting)
		return err;
	if (e->kind == CELL_DELETE_FAMILY && e->ts > r->family_to)
		r->family_to = r->column_to = e->ts;
	if (e->kind == CELL_DELETE_COLUMN && e->ts > r->column_to)
		r->column_to = e->ts;
	return tombstones_add(&r->deleting, e);
}

static void lose(struct retain *r, int64_t from, int64_t to)
{
	if (from >= to)
		return;
	if (r->loss.from >= r->loss.to) {
		r->loss.from = from;
		r->loss.to = to;
		return;
	}
	if (from < r->loss.from)
		r->loss.from = from;
	if (to > r->loss.to)
		r->loss.to = to;
}

/* Drops a put under a wide marker: a read as of between the two misses it. */
static int lose_covered(struct retain *r, const struct entry *e)
{
	if (!r->covered || e->ts < r->covered_min)
		r->covered_min = e->ts;
	r->covered = true;
	return DROP;
}

/* Drops a marker under a wider one; cells it hides may be in other files. */
static int lose_marker(struct retain *r, const struct entry *e)
{
	lose(r, e->ts, r->column_to);
	return DROP;
}

static int lose_pushed(struct retain *r)
{
	r->loss.pushed = true;
	return DROP;
}

/* Drops a put: a later one of the same timestamp is the one that counts. */
static int lose_replaced(struct retain *r)
{
	r->loss.pushed_seq = UINT64_MAX;
	return DROP;
}

static void count_put(struct retain *r, const struct entry *e)
{
	if (r->puts == 0)
		r->newest = e->ts;
	r->puts++;
	r->loan |= e->ttl_ms != 0;
}

/*
 * Versions that were pushed out by one that is now deleted cannot be seen in
 * the column any more: versions older than the deleted one may be missing.
 */
static void end_column(struct retain *r)
{
	uint64_t versions = r->versions;
	int64_t from = r->covered_min;

	if (r->spec.pushed_versions && r->spec.pushed_versions < versions)
		versions = r->spec.pushed_versions;
	if (r->puts >= versions) {
		from = 0;
		if (r->version_gone)
			lose(r, 0, r->newest);
	}
	if (r->covered)
		lose(r, from, r->column_to);
}

void retain_loss(const struct retain *r, struct retain_loss *out)
{
	*out = r->loss;
	if (out->pushed || out->pushed_seq)
		out->pushed_seq = r->seq_seen;
}

/*
 * Do readers see deleted cells? Then each time range has its own course of
 * events, and no part of history is the same for all readers.
 */
static bool looks_behind(const struct retain *r)
{
	return r->spec.attrs->keep_deleted == KEEP_DELETED_YES;
}

/*
 * The lowest stripe becomes what its snapshot shows: no entry of it is needed
 * for the order of events, and there are no older entries.
 */
static bool resolves(const struct retain *r, size_t stripe)
{
	return r->whole && stripe == 0 && !looks_behind(r);
}

/*
 * Are all versions that the slice shows as alive really alive? A version that
 * was pushed out by puts outside of the slice may seem alive. While those puts
 * live, they push out all lower versions as well, but a one-version marker can
 * end one of them. Such a marker has a greater timestamp, so it was seen
 * before.
 */
static bool knows_the_living(const struct retain *r)
{
	return (r->whole && !looks_behind(r)) ||
	       (!r->version_met && r->tombstones.family_version.n == 0);
}

static int put_replayed(struct retain *r, const struct entry *e)
{
	bool loan = e->ttl_ms != 0;
	size_t stripe = tombstones_stripe(&r->tombstones, e->seq);
	uint64_t stripe_end = tombstones_stripe_end(&r->tombstones, stripe);
	uint64_t replaced = SEQ_NEVER, death, deleted = SEQ_NEVER, pushed;
	int err;

	if (r->has_put && r->put_ts == e->ts)
		replaced = r->put_seq;
	if (replaced <= e->seq)
		return DROP; /* a copy of the previous entry */
	if (!loan) {
		if (replaced == SEQ_NEVER)
			count_put(r, e);
		r->has_put = true;
		r->put_ts = e->ts;
		r->put_seq = e->seq;
	}
	death = replaced;
	if (tombstones_any(&r->tombstones)) {
		uint64_t at;

		tombstones_reach(&r->tombstones, e->ts);
		tombstones_reach(&r->deleting, e->ts);
		/*
		 * All versions that it could push out are under the marker too,
		 * so it need not be counted.
		 */
		if (tombstones_wide_after(&r->deleting, stripe, e->seq))
			return lose_covered(r, e);
		if (tombstones_wide_after(&r->tombstones, stripe, e->seq))
			return KEEP;
		deleted = tombstones_version_after(&r->deleting, e->ts, e->seq);
		at = tombstones_version_after(&r->tombstones, e->ts, e->seq);
		if (at < death)
			death = at;
		at = tombstones_wide_above(&r->tombstones, stripe);
		if (at < death)
			death = at;
	}
	pushed = version_count_first(&r->alive, e->seq, death);
	if (pushed < death && pushed <= stripe_end && knows_the_living(r))
		return lose_pushed(r);
	/*
	 * An expiring put has pushed out nothing: once dead, it may be dropped.
	 */
	if (loan)
		return deleted <= stripe_end || replaced <= stripe_end ? DROP
								       : KEEP;
	if (r->versions != UINT64_MAX) {
		err = version_count_add(&r->alive, e->seq, pushed);
		if (err < 0)
			return err;
	}
	if (pushed == SEQ_NEVER && knows_the_living(r))
		r->survivors++;
	if (resolves(r, stripe) && deleted <= stripe_end) {
		r->version_gone = true;
		return DROP;
	}
	if (resolves(r, stripe) && replaced <= stripe_end)
		return lose_replaced(r);
	/*
	 * A replaced put: its successor pushes out the same versions, unless a
	 * version that the successor needs for that is deleted in between.
	 */
	if (death == replaced && replaced <= stripe_end &&
	    (r->versions == 1 || !r->spec.version_markers))
		return lose_replaced(r);
	return KEEP;
}

static int marker_replayed(struct retain *r, const struct entry *e)
{
	size_t stripe = tombstones_stripe(&r->tombstones, e->seq);
	bool deleting = is_deleting(r, e);
	int err;

	tombstones_reach(&r->deleting, e->ts);
	if (tombstones_wide_after(&r->deleting, stripe, e->seq))
		return resolves(r, stripe) ? DROP : lose_marker(r, e);
	err = note_marker(r, e, deleting);
	if (err < 0)
		return err;
	r->version_met |= e->kind == CELL_DELETE;
	return deleting && resolves(r, stripe) ? DROP : KEEP;
}

/*
 * Markers hide by timestamp, so a put may be dropped only if every reader of it
 * also sees the marker: the marker is in the put's stripe or below. Puts that a
 * deleting marker covers may be dropped; excess versions and markers only when
 * the user asks, since that changes what reads of a time range and later puts
 * show.
 */
static bool may_purge(const struct retain *r, size_t stripe)
{
	return r->spec.major && r->whole && stripe == 0;
}

/* Are versions counted, so that excess ones and markers are dropped? */
static bool counts(const struct retain *r)
{
	return r->spec.nsnapshots == 0 &&
	       (r->spec.trim || (r->spec.major && r->whole));
}

static bool lies_below(const struct retain *r, uint64_t marker, size_t stripe)
{
	return marker != SEQ_NEVER &&
	       tombstones_stripe(&r->tombstones, marker) <= stripe;
}

/* Keeps nothing more of the column. */
static int end_versions(struct retain *r)
{
	r->column_done = true;
	/*
	 * Expired puts, and expiring ones that count, do not tell how many
	 * there were.
	 */
	if (r->puts && (r->loan || r->counted <= r->versions))
		lose(r, 0, r->newest);
	return lose_pushed(r);
}

/* Has it expired, and is it not among the least versions, as HBase counts? */
static bool is_excess_by_ttl(const struct retain *r, const struct entry *e)
{
	if (r->spec.attrs->min_versions == 0)
		return ended_by_ttl(r, e);
	return family_ttl_expired(r, e) &&
	       r->counted > r->spec.attrs->min_versions;
}

static int put_classic(struct retain *r, const struct entry *e)
{
	size_t stripe = tombstones_stripe(&r->tombstones, e->seq);

	if (!(r->has_put && r->put_ts == e->ts))
		count_put(r, e);
	if (tombstones_any(&r->deleting)) {
		tombstones_reach(&r->deleting, e->ts);
		if (lies_below(r, tombstones_oldest(&r->deleting, e->ts),
			       stripe)) {
			if (r->deleting.wide)
				return lose_covered(r, e);
			r->version_gone = true;
			return DROP;
		}
	}
	/* Of several puts with one timestamp the latest is seen. */
	if (r->has_put && r->put_ts == e->ts &&
	    tombstones_stripe(&r->tombstones, r->put_seq) == stripe)
		return lose_replaced(r);
	/* An expiring put ends by itself, unless versions are counted now. */
	if (e->ttl_ms && !counts(r))
		return KEEP;
	r->has_put = true;
	r->put_ts = e->ts;
	r->put_seq = e->seq;
	if (!counts(r))
		return KEEP;
	if (++r->counted <= r->versions && !is_excess_by_ttl(r, e))
		return KEEP;
	/* No lower entry has an effect, markers included. */
	return end_versions(r);
}

/*
 * The verdict on a marker where readers see deleted cells and versions are
 * counted.
 */
static int count_marker(struct retain *r, const struct entry *e)
{
	if (r->spec.trim)
		return KEEP;
	if (e->ts >= r->spec.put_ts_min &&
	    (!family_ttl_expired(r, e) ||
	     r->counted <= r->spec.attrs->min_versions))
		return KEEP;
	return kind_is_family_marker(e->kind) ? DROP : end_versions(r);
}

static int marker_classic(struct retain *r, const struct entry *e)
{
	size_t stripe = tombstones_stripe(&r->tombstones, e->seq);
	bool deleting = is_deleting(r, e);
	int err;

	if (counts(r) && ended_by_ttl(r, e))
		return DROP; /* with all puts that it could cover */
	tombstones_reach(&r->deleting, e->ts);
	if (lies_below(r, tombstones_oldest_wide(&r->deleting), stripe))
		return lose_marker(r, e);
	err = note_marker(r, e, deleting);
	if (err < 0)
		return err;
	if (deleting)
		return may_purge(r, stripe) ? DROP : KEEP;
	return counts(r) ? count_marker(r, e) : KEEP;
}

static int begin_column(struct retain *r)
{
	if (r->in_column)
		end_column(r);
	r->column_to = r->family_to;
	r->puts = 0;
	r->covered = false;
	r->version_gone = false;
	r->loan = false;
	tombstones_column(&r->tombstones);
	tombstones_column(&r->deleting);
	/*
	 * With snapshots the moments of deaths matter, not only their number.
	 */
	version_count_clear(&r->alive, r->versions, r->spec.nsnapshots > 0);
	r->in_column = true;
	r->column_done = false;
	r->steps = 0;
	r->survivors = 0;
	r->counted = 0;
	r->version_met = false;
	r->has_put = false;
	return column_set(&r->qualifier, r->c->at.qualifier);
}

/* Moves to the next entry that was not examined. */
static int retain_step(struct retain *r)
{
	if (r->fresh) {
		r->fresh = false;
		return 1;
	}
	if (!r->in_column || !r->column_done || r->steps++ < STEPS_MAX)
		return cursor_next(r->c);
	return cursor_seek_column(r->c, buf_bytes(&r->qualifier), -1);
}

static int judge(struct retain *r, const struct entry *e)
{
	int verdict;

	if (kind_is_marker(e->kind))
		return r->pass_through ? KEEP : r->marker(r, e);
	if (is_expired(r, e))
		return DROP;
	if (r->pass_through)
		return KEEP;
	verdict = r->put(r, e);
	/*
	 * So many versions live on that all lower ones have been pushed out or
	 * removed, and markers have nothing left to hide.
	 */
	if (r->survivors >= r->versions && r->spec.nsnapshots == 0)
		r->column_done = true;
	return verdict;
}

/* Can no reader tell the entry from one with sequence 0? */
static bool is_resolved(const struct retain *r, const struct entry *e)
{
	return !r->pass_through && e->kind == CELL_PUT && !e->ttl_ms &&
	       r->spec.attrs->keep_deleted == KEEP_DELETED_NO &&
	       resolves(r, tombstones_stripe(&r->tombstones, e->seq));
}

int retain_next(struct retain *r, struct entry *out)
{
	if (r->done)
		return 0;
	for (;;) {
		const struct entry *e = &r->c->at;
		int v = retain_step(r);

		if (v <= 0) {
			r->done = true;
			if (v == 0 && r->in_column)
				end_column(r);
			return v;
		}
		if (e->seq > r->seq_seen)
			r->seq_seen = e->seq;
		if (!kind_is_family_marker(e->kind)) {
			if (!r->in_column ||
			    !column_is(&r->qualifier, e->qualifier)) {
				v = begin_column(r);
				if (v < 0)
					return v;
			} else if (r->column_done) {
				lose_pushed(r);
				continue;
			}
		}
		v = judge(r, e);
		if (v < 0)
			return v;
		if (v == KEEP)
			break;
	}
	*out = r->c->at;
	if (is_resolved(r, out))
		out->seq = 0;
	return 1;
}

void retain_row(struct retain *r, struct cursor *c, bool whole_history)
{
	r->c = c;
	r->all = whole_history;
	r->whole = whole_history && !r->spec.flush;
	r->fresh = true;
	r->done = false;
	r->in_column = false;
	r->column_done = false;
	r->loss.from = r->loss.to = 0;
	r->family_to = r->column_to = -1;
	tombstones_row(&r->tombstones);
	tombstones_row(&r->deleting);
}

int retain_new(const struct retain_spec *spec, struct retain **out)
{
	const struct family_attrs *a = spec->attrs;
	struct retain *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->spec = *spec;
	err = tombstones_init(&r->tombstones, spec->snapshots,
			      spec->nsnapshots);
	if (err == 0)
		err = tombstones_init(&r->deleting, spec->snapshots,
				      spec->nsnapshots);
	if (err < 0) {
		retain_free(r);
		return err;
	}
	r->put = a->new_version_behavior ? put_replayed : put_classic;
	r->marker = a->new_version_behavior ? marker_replayed : marker_classic;
	r->pass_through = spec->flush && a->new_version_behavior;
	r->versions = a->versions == UINT32_MAX ? UINT64_MAX : a->versions;
	if (a->ttl_ms == TTL_FOREVER || a->ttl_ms > INT64_MAX ||
	    __builtin_sub_overflow(spec->now_ms, (int64_t)a->ttl_ms,
				   &r->expired_before))
		r->expired_before = INT64_MIN;
	*out = r;
	return 0;
}

void retain_free(struct retain *r)
{
	if (!r)
		return;
	tombstones_free(&r->tombstones);
	tombstones_free(&r->deleting);
	version_count_free(&r->alive);
	buf_free(&r->qualifier);
	free(r);
}
