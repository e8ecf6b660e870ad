#include "store/lsm/rules/visibility.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/column.h"
#include "store/lsm/rules/tombstones.h"
#include "store/lsm/rules/version_count.h"
#include "store/value/why.h"

/* Entries of a finished column that are stepped over before a seek. */
#define STEPS_MAX 4
/* Hidden entries that are walked over before a guide is asked that may know. */
#define EARLY 4
/* The most timestamps asked of the guide at once. */
#define NEAR_MAX 64u
/* So many times the patience, walked in one column, make it a deep column. */
#define DEEP_TIMES 8

/* The verdict on a put, and on those below it in its column. */
enum verdict {
	HIDE,
	SHOW,
	END,	 /* hidden, and so are all below it */
	NEWER,	 /* newer than the moment that is read */
	COVERED, /* by a wide marker, as are those it pushed out */
};

struct visible {
	struct visible_spec spec;
	struct cursor *c;
	/* The verdict on an entry of a column, or -ENOMEM. */
	int (*judge)(struct visible *v, const struct entry *e);
	/* The verdict on a put by the order of deletes, or -ENOMEM. */
	int (*put)(struct visible *v, const struct entry *e);
	int64_t expired_before; /* the family's ttl; INT64_MIN = forever */
	uint64_t versions;	/* kept by the family; UINT64_MAX = all */
	uint64_t shown_max;
	struct tombstones tombstones;
	struct version_count alive;
	/* The moment that is read; INT64_MAX = now. */
	int64_t as_of;
	uint64_t pushed_max; /* so many puts may have pushed out another */
	bool lost;
	bool fresh;		  /* the cursor's entry was not examined yet */
	bool done;		  /* the row is finished */
	bool in_column;		  /* past the family markers */
	bool column_done;	  /* skip the rest of the column */
	const struct bytes *last; /* last column to read; NULL: all */
	bool last_inclusive;
	bool guides; /* there is a guide to ask */
	/* Hidden entries that are walked over before the guide is asked. */
	uint64_t patience, early;
	struct buf qualifier;
	uint32_t steps;	  /* steps in a finished column */
	uint64_t markers; /* markers that did or could hide something */
	/* Of the present column: */
	uint64_t rank;	  /* of the last version not hidden; newest = 1 */
	uint64_t shown;	  /* shown, in the time range */
	uint64_t pushers; /* puts not shown that may have pushed out others */
	int64_t pusher_ts;
	bool has_rank_ts, has_put;
	int64_t rank_ts;  /* timestamp of the version with that rank */
	int64_t put_ts;	  /* of the last put that can replace others */
	uint64_t put_seq; /* its sequence */
	uint64_t vain;	  /* entries not shown */
	bool guided;	  /* follows the timestamps in near */
	bool lost_way;	  /* do not ask in this row any more */
	/* Alive timestamps of the guide, and whether there are more below. */
	int64_t *near;
	uint32_t nnear, near_at;
	bool near_more;
	/* Since an entry was shown: entries, and the columns that hid them. */
	uint64_t streak, ask_at;
	bool has_hidden;
	uint64_t hidden_at; /* streak when these columns began */
	struct buf hidden, hidden_to;
	bool loans;  /* the row has puts with their own ttl */
	bool shares; /* its findings hold for all readers */
	uint64_t walked, deep;
	bool deep_here;
	struct buf row, deep_row, deep_qualifier;
	/* For raw: coordinates of the last entry shown. */
	bool has_last;
	uint8_t last_kind;
	int64_t last_ts;
	uint64_t last_seq;
};

static bool own_ttl_expired(const struct entry *e, int64_t now_ms)
{
	int64_t age;

	/* A difference beyond the range of int64 counts as not expired. */
	if (!e->ttl_ms || __builtin_sub_overflow(now_ms, e->ts, &age))
		return false;
	return age > 0 && (uint64_t)age > e->ttl_ms;
}

/*
 * Gives a version that no delete hides its rank: SHOW if the time range, the
 * ttl and the number of versions allow it.
 */
static int rank_survivor(struct visible *v, const struct entry *e)
{
	const struct visible_spec *s = &v->spec;

	/* An expiring put of the same timestamp is alive and shown instead. */
	if (v->has_rank_ts && v->rank_ts == e->ts)
		return HIDE;
	v->has_rank_ts = true;
	v->rank_ts = e->ts;
	v->rank++;
	if (v->rank > v->versions)
		return END;
	if (e->ts < v->expired_before && v->rank > s->attrs->min_versions)
		return END;
	if (v->rank == v->versions)
		v->column_done = true;
	if (e->ts >= s->ts_max)
		return HIDE;
	if (++v->shown == v->shown_max)
		v->column_done = true;
	return SHOW;
}

/* The replay; version_count.h says what is pushed out. */
static int put_replayed(struct visible *v, const struct entry *e)
{
	bool loan = e->ttl_ms != 0;
	uint64_t death = SEQ_NEVER;
	int r;

	if (v->has_put && v->put_ts == e->ts) {
		/* A copy with the same sequence dies at its birth. */
		death = v->put_seq;
	}
	if (tombstones_any(&v->tombstones)) {
		uint64_t marker;

		tombstones_reach(&v->tombstones, e->ts);
		/*
		 * A wide marker hides all below it as well: the put has pushed
		 * out no version that would otherwise be seen.
		 */
		if (tombstones_wide_after(&v->tombstones, 0, e->seq))
			return COVERED;
		marker =
			tombstones_version_after(&v->tombstones, e->ts, e->seq);
		if (marker < death)
			death = marker;
	}
	if (!loan) {
		v->has_put = true;
		v->put_ts = e->ts;
		v->put_seq = e->seq;
	}
	if (version_count_first(&v->alive, e->seq, death) < death)
		return HIDE;
	if (!loan && v->versions != UINT64_MAX) {
		r = version_count_add(&v->alive, e->seq, death);
		if (r < 0)
			return r;
	}
	return death == SEQ_NEVER ? rank_survivor(v, e) : HIDE;
}

/* HBase's own order: by timestamp alone, counted within the time range. */
static int put_classic(struct visible *v, const struct entry *e)
{
	if (tombstones_any(&v->tombstones)) {
		tombstones_reach(&v->tombstones, e->ts);
		if (v->tombstones.wide)
			return END;
		if (tombstones_oldest(&v->tombstones, e->ts) != SEQ_NEVER)
			return HIDE;
	}
	return e->ts >= v->spec.ts_max && !v->spec.whole ? HIDE
							 : rank_survivor(v, e);
}

/* With keep_deleted, a reader whose range ends before a marker ignores it. */
static bool is_honoured(const struct visible *v, const struct entry *marker)
{
	if (marker->ts > v->as_of)
		return false;
	return v->spec.whole ||
	       v->spec.attrs->keep_deleted == KEEP_DELETED_NO ||
	       (marker->ts >= v->spec.ts_min && marker->ts < v->spec.ts_max);
}

static int mask(struct visible *v, const struct entry *marker)
{
	v->markers++;
	return tombstones_add(&v->tombstones, marker);
}

/*
 * Is the put the last of as many, above the moment that is read, as a column
 * had when some version was pushed out (history.h)?
 */
static bool may_be_lost(struct visible *v, const struct entry *e)
{
	if (e->seq > v->spec.pushed_seq || e->ttl_ms ||
	    kind_is_marker(e->kind) || (v->pushers && v->pusher_ts == e->ts))
		return false;
	v->pusher_ts = e->ts;
	return ++v->pushers >= v->pushed_max;
}

static int judge(struct visible *v, const struct entry *e)
{
	if (e->ts < v->spec.ts_min)
		return END;
	if (e->ts > v->as_of)
		return NEWER;
	if (e->ts < v->expired_before && v->spec.attrs->min_versions == 0)
		return END;
	if (kind_is_marker(e->kind)) {
		int r = is_honoured(v, e) ? mask(v, e) : 0;

		return r < 0 ? r : HIDE;
	}
	if (e->ttl_ms) {
		v->loans = true;
		if (own_ttl_expired(e, v->spec.now_ms))
			return HIDE;
	}
	return v->put(v, e);
}

/* A column whose past is not known is shown by its last such put. */
static int judge_past(struct visible *v, const struct entry *e)
{
	int r = judge(v, e);

	if ((r == HIDE || r == NEWER) && may_be_lost(v, e)) {
		v->lost = true;
		v->column_done = true;
		r = SHOW;
	}
	return r;
}

static int judge_raw(struct visible *v, const struct entry *e)
{
	if (e->ts < v->spec.ts_min && !kind_is_family_marker(e->kind))
		return END;
	if (e->ts < v->spec.ts_min || e->ts >= v->spec.ts_max)
		return HIDE;
	if (v->has_last && v->last_ts == e->ts && v->last_kind == e->kind &&
	    (!v->spec.replaced || v->last_seq == e->seq))
		return HIDE;
	if (!kind_is_marker(e->kind) && v->shown++ == v->shown_max)
		return END;
	v->has_last = true;
	v->last_ts = e->ts;
	v->last_kind = e->kind;
	v->last_seq = e->seq;
	return SHOW;
}

static int begin_column(struct visible *v)
{
	tombstones_column(&v->tombstones);
	version_count_clear(&v->alive, v->versions, false);
	v->in_column = true;
	v->column_done = false;
	v->steps = 0;
	v->vain = 0;
	v->deep_here = false;
	v->rank = 0;
	v->shown = 0;
	v->pushers = 0;
	v->has_rank_ts = false;
	v->has_put = false;
	v->has_last = false;
	return column_set(&v->qualifier, v->c->at.qualifier);
}

/* Moves to the next entry that was not examined. */
static int visible_step(struct visible *v)
{
	if (v->fresh) {
		v->fresh = false;
		return 1;
	}
	if (!v->in_column || !v->column_done)
		return cursor_next(v->c);
	/* A few more versions are stepped over; many are skipped by a seek. */
	if (v->steps++ < STEPS_MAX)
		return cursor_next(v->c);
	return cursor_seek_column(v->c, buf_bytes(&v->qualifier), -1);
}

/* Skips entries of the column that are too new; 0: the row ends. */
static int pass_newer(struct visible *v)
{
	int r;

	if (v->pushed_max || v->steps++ < STEPS_MAX)
		return 1; /* examine each one */
	v->steps = 0;
	r = cursor_seek_column(v->c, buf_bytes(&v->qualifier), v->as_of);
	v->fresh = r > 0;
	v->done = r <= 0;
	return r;
}

/*
 * A reader that has walked over many hidden entries of a column, or over a few of
 * one that others have met, asks the guide which versions of it are alive, and then
 * seeks from one of these to the next: it need not know what happened above them. If the answer ends before the
 * column does, because writers are faster, the reader starts the row again and
 * walks. A reader that finds column after column with nothing to show asks for
 * runs of such columns, and reports those that it has found.
 */
static int ask_versions(struct visible *v, int64_t ts)
{
	const struct visible_guide *g = v->spec.guide;
	uint64_t n = v->shown_max - v->shown, max = 2 * v->patience;
	/* With a ttl the ranks count; else fewer than `versions` are above. */
	bool ranked = v->expired_before != INT64_MIN;
	uint64_t above = v->rank;
	int found;

	if (max > NEAR_MAX)
		max = NEAR_MAX;
	if (!v->near)
		v->near = malloc(NEAR_MAX * sizeof(*v->near));
	if (!v->near)
		return 0;
	if (n > max)
		n = max;
	if (ts >= v->spec.ts_max)
		ts = v->spec.ts_max - 1;
	found = g->versions(g, v->c->row, buf_bytes(&v->qualifier), ts, v->near,
			    (size_t)n, ranked ? &above : NULL);
	if (found < 0)
		return 0;
	v->rank = above;
	v->nnear = (uint32_t)found;
	v->near_at = 0;
	v->near_more = (uint64_t)found == n;
	return 1;
}

/* The guide's versions end at @ts: walk from there, as visible_next(). */
static int walk_from(struct visible *v, int64_t ts)
{
	struct buf qualifier = {0};
	int r = buf_set(&v->row, v->c->row);

	if (r == 0)
		r = buf_set(&qualifier, buf_bytes(&v->qualifier));
	if (r == 0)
		r = cursor_seek_exact(v->c, buf_bytes(&v->row));
	if (r > 0) {
		const struct bytes *last = v->last;

		visible_row(v, v->c);
		v->last = last;
		v->lost_way = true;
		r = visible_seek(v, buf_bytes(&qualifier), ts);
	} else {
		v->done = true;
	}
	buf_free(&qualifier);
	return r;
}

/*
 * Leaves the column: 0; the cursor is on what follows, unless the row is done.
 */
static int leave_guided(struct visible *v)
{
	int r = cursor_seek_column(v->c, buf_bytes(&v->qualifier), -1);

	v->guided = false;
	v->column_done = true;
	v->fresh = r > 0;
	v->done = r <= 0;
	return r < 0 ? r : 0;
}

/* The verdict on a version that the guide said is alive. */
static int judge_alive(struct visible *v, const struct entry *e)
{
	if (e->ts < v->spec.ts_min)
		return END;
	if (e->ts < v->expired_before && v->spec.attrs->min_versions == 0)
		return END;
	return rank_survivor(v, e);
}

/*
 * Moves to the next version that is alive and shown: 1. 0: there is none, and
 * the column was left by leave_guided().
 */
static int next_alive(struct visible *v)
{
	const struct entry *e = &v->c->at;
	int64_t ts;
	int r;

	while (!v->column_done) {
		if (v->near_at == v->nnear) {
			if (!v->near_more)
				break;
			ts = v->near[v->nnear - 1];
			if (ts == INT64_MIN)
				break;
			if (!ask_versions(v, ts - 1))
				return walk_from(v, ts - 1);
			continue;
		}
		ts = v->near[v->near_at++];
		if (ts < v->spec.ts_min)
			break;
		r = cursor_seek_put(v->c, buf_bytes(&v->qualifier), ts);
		if (r <= 0 || !column_is(&v->qualifier, e->qualifier)) {
			v->guided = false;
			v->column_done = true;
			v->fresh = r > 0;
			v->done = r <= 0;
			return r < 0 ? r : 0;
		}
		if (e->ts != ts || kind_is_marker(e->kind))
			continue;
		r = judge_alive(v, e);
		if (r == SHOW)
			return 1;
		if (r == END)
			break;
	}
	return leave_guided(v);
}

static int note_deep(struct visible *v)
{
	if (v->vain == DEEP_TIMES * v->patience && !v->deep && !v->lost_way &&
	    v->spec.attrs->new_version_behavior &&
	    buf_set(&v->deep_row, v->c->row) == 0 &&
	    buf_set(&v->deep_qualifier, buf_bytes(&v->qualifier)) == 0)
		v->deep_here = true;
	if (v->deep_here)
		v->deep = v->vain;
	return v->spec.walk_max && v->vain > v->spec.walk_max ? -EAGAIN : 0;
}

/* Goes on by the versions that the guide knows of, if it does. */
static void follow(struct visible *v)
{
	int64_t ts = v->c->at.ts;

	/* Who has no guide has lost the way from the begin. */
	if (v->lost_way || v->column_done ||
	    !v->spec.attrs->new_version_behavior)
		return;
	if (v->has_rank_ts && v->rank_ts == ts) {
		if (ts == INT64_MIN)
			return;
		ts--;
	}
	v->guided = ask_versions(v, ts);
}

/* Counts an entry of the column that was not shown. 0 or an error. */
static int walked_in_vain(struct visible *v)
{
	const struct visible_guide *g = v->spec.guide;

	if (++v->vain == v->early && v->guides && g->knows(g, v->c->row))
		follow(v);
	if (v->vain < v->patience)
		return 0;
	v->walked++;
	if (v->vain >= DEEP_TIMES * v->patience)
		return note_deep(v);
	if (v->vain == v->patience && !v->guided)
		follow(v);
	return 0;
}

/* Reports the columns that showed nothing, up to column @to. */
static void end_streak(struct visible *v, const struct bytes *to)
{
	const struct visible_guide *g = v->spec.guide;

	if (v->has_hidden && v->shares && !v->loans)
		g->found_hidden(g, v->c->row, buf_bytes(&v->hidden), to,
				v->streak - v->hidden_at);
	v->has_hidden = false;
	v->streak = 0;
	v->ask_at = v->patience;
}

/*
 * The cursor is on the first entry of a column, after many hidden ones: 1 if it
 * was moved past columns that show nothing, 0 if the row ends with such
 * columns, -EAGAIN if nothing is known, or another error.
 */
static int pass_hidden(struct visible *v)
{
	const struct visible_guide *g = v->spec.guide;
	int r;

	if (!v->has_hidden && buf_set(&v->hidden, v->c->at.qualifier) == 0) {
		v->has_hidden = true;
		v->hidden_at = v->streak;
	}
	v->walked++;
	if (v->streak < v->ask_at)
		return -EAGAIN;
	r = g->hidden(g, v->c->row, v->c->at.qualifier, &v->hidden_to);
	if (r < 0) {
		v->ask_at = 2 * v->streak;
		return -EAGAIN;
	}
	if (r > 0)
		r = cursor_seek_column(v->c, buf_bytes(&v->hidden_to),
				       INT64_MAX);
	return r;
}

void visible_until(struct visible *v, const struct bytes *last, bool inclusive)
{
	v->last = last;
	v->last_inclusive = inclusive;
}

static bool is_behind(const struct visible *v, struct bytes qualifier)
{
	int c = bytes_cmp(qualifier, *v->last);

	return c > 0 || (c == 0 && !v->last_inclusive);
}

int visible_next(struct visible *v)
{
	v->lost = false;
	for (;;) {
		const struct entry *e = &v->c->at;
		int r;

		if (v->guided) {
			r = next_alive(v);
			if (r > 0 && v->streak)
				end_streak(v, &e->qualifier);
			if (r != 0) {
				v->has_hidden = false;
				return r;
			}
		}
		if (v->done) {
			end_streak(v, NULL);
			return 0;
		}
		r = visible_step(v);
		if (r <= 0) {
			v->done = true;
			v->has_hidden &= r == 0;
			end_streak(v, NULL);
			return r;
		}
		v->streak++;
		if (kind_is_family_marker(e->kind)) {
			if (v->spec.raw)
				r = judge_raw(v, e);
			else if (is_honoured(v, e))
				r = mask(v, e);
			else
				r = HIDE;
			if (r < 0 || r == SHOW)
				return r;
			continue;
		}
		if (!v->in_column || !column_is(&v->qualifier, e->qualifier)) {
			if (v->last && is_behind(v, e->qualifier)) {
				end_streak(v, &e->qualifier);
				v->fresh = true;
				return 0;
			}
			if (v->streak > v->patience && v->guides) {
				r = pass_hidden(v);
				if (r != -EAGAIN) {
					v->fresh = r > 0;
					v->done = r <= 0;
					if (r < 0)
						return r;
					continue;
				}
			}
			r = begin_column(v);
			if (r < 0)
				return r;
		} else if (v->column_done) {
			continue;
		}
		r = v->judge(v, e);
		if (r == SHOW && v->streak > v->patience)
			end_streak(v, &e->qualifier);
		if (r == SHOW)
			v->streak = 0;
		if (r < 0 || r == SHOW)
			return r;
		if (r == END) {
			v->column_done = true;
		} else if (r == NEWER) {
			r = pass_newer(v);
			if (r <= 0)
				return r;
		}
		r = walked_in_vain(v);
		if (r < 0)
			return r;
	}
}

uint64_t visible_walked(const struct visible *v)
{
	return v->walked;
}

uint64_t visible_deep(const struct visible *v, struct bytes *row,
		      struct bytes *qualifier)
{
	*row = buf_bytes(&v->deep_row);
	*qualifier = buf_bytes(&v->deep_qualifier);
	return v->deep;
}

bool visible_loans(const struct visible *v)
{
	return v->loans;
}

bool visible_lost(const struct visible *v)
{
	return v->lost;
}

uint64_t visible_markers(const struct visible *v)
{
	return v->markers;
}

void visible_skip_column(struct visible *v)
{
	if (v->in_column)
		v->column_done = true;
}

/*
 * Does a search for (@qualifier, @ts) skip the entry? It is no family marker, and of
 * no column before.
 */
static bool is_before(const struct entry *e, struct bytes qualifier, int64_t ts)
{
	return e->ts > ts && bytes_eq(e->qualifier, qualifier);
}

/* Reads the family markers, which concern all columns. */
static int pass_head(struct visible *v)
{
	const struct entry *e = &v->c->at;
	int r;

	for (; !v->in_column; v->fresh = true) {
		if (!v->fresh) {
			r = cursor_next(v->c);
			if (r <= 0)
				return r;
		}
		if (!kind_is_family_marker(e->kind)) {
			v->fresh = true;
			return 1;
		}
		r = 0;
		if (!v->spec.raw && is_honoured(v, e))
			r = mask(v, e);
		if (r < 0)
			return r;
		r = cursor_next(v->c);
		if (r <= 0)
			return r;
	}
	return 1;
}

int visible_seek(struct visible *v, struct bytes qualifier, int64_t ts)
{
	int r;

	if (v->done)
		return 0;
	r = pass_head(v);
	/* To the beginning of the column: its markers and versions count. */
	if (r == 1 && bytes_cmp(v->c->at.qualifier, qualifier) < 0) {
		r = cursor_seek_column(v->c, qualifier, INT64_MAX);
		v->fresh = true;
		v->guided = false;
		v->has_hidden = false;
		v->streak = 0;
	}
	if (r <= 0) {
		v->done = true;
		return r;
	}
	do
		r = visible_next(v);
	while (r == 1 && is_before(&v->c->at, qualifier, ts));
	return r;
}

void visible_row(struct visible *v, struct cursor *c)
{
	v->c = c;
	v->fresh = true;
	v->done = false;
	v->in_column = false;
	v->column_done = false;
	v->has_last = false;
	v->last = NULL;
	v->guided = false;
	v->lost_way = !v->guides;
	v->streak = 0;
	v->ask_at = v->patience;
	v->has_hidden = false;
	v->loans = false;
	v->shown = 0;
	tombstones_row(&v->tombstones);
}

int64_t visible_expired_before(const struct family_attrs *a, int64_t now_ms)
{
	int64_t before;

	if (a->ttl_ms == TTL_FOREVER || a->ttl_ms > INT64_MAX ||
	    __builtin_sub_overflow(now_ms, (int64_t)a->ttl_ms, &before))
		return INT64_MIN;
	return before;
}

int visible_as_of(struct visible_spec *s, int64_t as_of, struct bytes family,
		  const struct history *lost, const struct history_rows *rows)
{
	int64_t meant = ts_of_seconds(as_of);
	int r;

	s->has_as_of = true;
	s->as_of = as_of;
	s->versions = 1;
	s->pushed_seq = lost->pushed_seq;
	s->pushed_versions = lost->pushed_versions;
	if (as_of < visible_expired_before(s->attrs, s->now_ms))
		r = why(-ENODATA,
			"what family %.*s held as of %lld has expired (ttl)",
			(int)family.len, (const char *)family.data,
			(long long)as_of);
	else
		r = history_tells(lost, rows, as_of);
	if (r == -ENODATA && meant)
		why(r, "%s; a time is in milliseconds: that would be %lld",
		    store_why(), (long long)meant);
	return r;
}

int visible_new(const struct visible_spec *spec, struct visible **out)
{
	const struct family_attrs *a = spec->attrs;
	struct visible *v = malloc(sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	*v = (struct visible){0};
	r = tombstones_init(&v->tombstones, NULL, 0);
	if (r < 0) {
		free(v);
		return r;
	}
	v->spec = *spec;
	v->put = a->new_version_behavior ? put_replayed : put_classic;
	v->judge = spec->raw ? judge_raw : judge;
	v->versions = a->versions == UINT32_MAX ? UINT64_MAX : a->versions;
	v->shown_max = spec->versions ? spec->versions : UINT64_MAX;
	v->as_of = spec->has_as_of ? spec->as_of : INT64_MAX;
	if (spec->has_as_of && spec->pushed_versions) {
		v->pushed_max = spec->pushed_versions;
		v->judge = judge_past;
	}
	v->expired_before = visible_expired_before(a, spec->now_ms);
	v->patience = spec->guide ? spec->guide->patience : PATIENCE;
	/* A single version mostly lies deep. */
	v->early = spec->ts_min == spec->ts_max - 1 ? 1 : EARLY;
	v->guides = spec->guide && !spec->raw && !spec->has_as_of &&
		    a->keep_deleted == KEEP_DELETED_NO;
	v->shares = v->guides && spec->ts_min <= 0 &&
		    spec->ts_max == INT64_MAX && v->expired_before == INT64_MIN;
	*out = v;
	return 0;
}

void visible_free(struct visible *v)
{
	if (!v)
		return;
	tombstones_free(&v->tombstones);
	version_count_free(&v->alive);
	buf_free(&v->qualifier);
	free(v->near);
	buf_free(&v->hidden);
	buf_free(&v->hidden_to);
	buf_free(&v->row);
	buf_free(&v->deep_row);
	buf_free(&v->deep_qualifier);
	free(v);
}
