#include "store/lsm/visibility.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/column.h"
#include "store/lsm/masking.h"
#include "store/lsm/timeline.h"

/* Entries of a finished column that are stepped over before it is sought. */
#define STEPS_MAX 4

/* What becomes of a put, and of those below it in the column. */
enum verdict {
	HIDE,
	SHOW,
	END,	 /* hidden, and nothing below it is visible */
	NEWER,	 /* than the moment that is asked for */
	COVERED, /* by a wide marker: so is what it may have pushed out */
};

struct visible {
	struct visible_spec spec;
	struct cursor *c;
	/* The verdict on an entry of a column, or -ENOMEM. */
	int (*judge)(struct visible *v, const struct entry *e);
	/* The verdict on a put, or -ENOMEM: the order of deletes. */
	int (*put)(struct visible *v, const struct entry *e);
	int64_t expired_before; /* the family's ttl; INT64_MIN = forever */
	uint64_t versions;	/* kept by the family; UINT64_MAX = all */
	uint64_t shown_max;
	struct masking masking;
	struct timeline alive;
	/* As of a moment: INT64_MAX = of now. */
	int64_t as_of;
	uint64_t pushed_max; /* so many puts may have pushed out another */
	bool lost;
	bool fresh;		  /* the cursor's entry was not looked at yet */
	bool done;		  /* the row is exhausted */
	bool in_column;		  /* past the family markers */
	bool column_done;	  /* nothing more of this column */
	const struct bytes *last; /* column that is asked for; NULL: all */
	bool last_inclusive;
	struct buf qualifier;
	uint32_t steps;	  /* taken in a finished column */
	uint64_t markers; /* that have hidden anything, or could have */
	/* Of the present column */
	uint64_t rank;	  /* of the last that is not hidden; newest = 1 */
	uint64_t shown;	  /* in the time range */
	uint64_t pushers; /* puts not shown that may have pushed out others */
	int64_t pusher_ts;
	bool has_rank_ts, has_put;
	int64_t rank_ts;  /* timestamp of the one with that rank */
	int64_t put_ts;	  /* of the last put that can replace others */
	uint64_t put_seq; /* ... its sequence */
	/* For raw: coordinates of the last entry that was shown. */
	bool has_last;
	uint8_t last_kind;
	int64_t last_ts;
};

static bool own_ttl_expired(const struct entry *e, int64_t now_ms)
{
	int64_t age;

	/* A timestamp from beyond what a clock can say is never old. */
	if (!e->ttl_ms || __builtin_sub_overflow(now_ms, e->ts, &age))
		return false;
	return age > 0 && (uint64_t)age > e->ttl_ms;
}

/*
 * What is left after deletes becomes a version with a rank: SHOW if the time
 * range, ttl and the number asked for agree.
 */
static int rank_survivor(struct visible *v, const struct entry *e)
{
	const struct visible_spec *s = &v->spec;

	/* Behind a loan of the same timestamp, which is alive and shown. */
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

/* The replay: see timeline.h for what is pushed out. */
static int put_replayed(struct visible *v, const struct entry *e)
{
	bool loan = e->ttl_ms != 0;
	uint64_t death = SEQ_NEVER;
	int r;

	if (v->has_put && v->put_ts == e->ts) {
		/* Also ends a copy with the same sequence at its birth. */
		death = v->put_seq;
	}
	if (masking_any(&v->masking)) {
		uint64_t marker;

		masking_reach(&v->masking, e->ts);
		/*
		 * A wide marker ends all below it as well: its put has pushed
		 * out none that would be seen but for it.
		 */
		if (masking_wide_after(&v->masking, 0, e->seq))
			return COVERED;
		marker = masking_version_after(&v->masking, e->ts, e->seq);
		if (marker < death)
			death = marker;
	}
	if (!loan) {
		v->has_put = true;
		v->put_ts = e->ts;
		v->put_seq = e->seq;
	}
	if (timeline_first(&v->alive, e->seq, death) < death)
		return HIDE;
	if (!loan && v->versions != UINT64_MAX) {
		r = timeline_add(&v->alive, e->seq, death);
		if (r < 0)
			return r;
	}
	return death == SEQ_NEVER ? rank_survivor(v, e) : HIDE;
}

/* HBase's own order: by timestamp alone, counted within the time range. */
static int put_classic(struct visible *v, const struct entry *e)
{
	if (masking_any(&v->masking)) {
		masking_reach(&v->masking, e->ts);
		if (v->masking.wide)
			return END;
		if (masking_oldest(&v->masking, e->ts) != SEQ_NEVER)
			return HIDE;
	}
	return e->ts >= v->spec.ts_max ? HIDE : rank_survivor(v, e);
}

/*
 * With keep_deleted a reader whose range ends before a marker looks behind it.
 */
static bool is_honoured(const struct visible *v, const struct entry *marker)
{
	if (marker->ts > v->as_of)
		return false;
	return v->spec.attrs->keep_deleted == KEEP_DELETED_NO ||
	       (marker->ts >= v->spec.ts_min && marker->ts < v->spec.ts_max);
}

static int mask(struct visible *v, const struct entry *marker)
{
	v->markers++;
	return masking_add(&v->masking, marker);
}

/*
 * Is it the last of so many puts above what is asked for as a column held that
 * pushed some out (history.h)?
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
	if (own_ttl_expired(e, v->spec.now_ms))
		return HIDE;
	return v->put(v, e);
}

/* A column whose past is not known is shown by its last pusher. */
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
	if (v->has_last && v->last_ts == e->ts && v->last_kind == e->kind)
		return HIDE;
	if (!kind_is_marker(e->kind) && v->shown++ == v->shown_max)
		return END;
	v->has_last = true;
	v->last_ts = e->ts;
	v->last_kind = e->kind;
	return SHOW;
}

static int begin_column(struct visible *v)
{
	masking_column(&v->masking);
	timeline_clear(&v->alive, v->versions, false);
	v->in_column = true;
	v->column_done = false;
	v->steps = 0;
	v->rank = 0;
	v->shown = 0;
	v->pushers = 0;
	v->has_rank_ts = false;
	v->has_put = false;
	v->has_last = false;
	return column_set(&v->qualifier, v->c->at.qualifier);
}

/* To the next entry that nobody has looked at. */
static int step(struct visible *v)
{
	if (v->fresh) {
		v->fresh = false;
		return 1;
	}
	if (!v->in_column || !v->column_done)
		return cursor_next(v->c);
	/* One or two more versions are stepped over; many are sought past. */
	if (v->steps++ < STEPS_MAX)
		return cursor_next(v->c);
	return cursor_seek_column(v->c, buf_bytes(&v->qualifier), -1);
}

/* From an entry of the column that is too new; 0 = none follows in the row. */
static int pass_newer(struct visible *v)
{
	int r;

	if (v->pushed_max || v->steps++ < STEPS_MAX)
		return 1; /* each one is looked at */
	v->steps = 0;
	r = cursor_seek_column(v->c, buf_bytes(&v->qualifier), v->as_of);
	v->fresh = r > 0;
	v->done = r <= 0;
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
	if (v->done)
		return 0;
	for (;;) {
		const struct entry *e = &v->c->at;
		int r = step(v);

		if (r <= 0) {
			v->done = true;
			return r;
		}
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
				v->fresh = true;
				return 0;
			}
			r = begin_column(v);
			if (r < 0)
				return r;
		} else if (v->column_done) {
			continue;
		}
		r = v->judge(v, e);
		if (r < 0 || r == SHOW)
			return r;
		if (r == END) {
			v->column_done = true;
		} else if (r == NEWER) {
			r = pass_newer(v);
			if (r <= 0)
				return r;
		}
	}
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

/* Is the entry one that a search for (@qualifier, @ts) passes over? */
static bool is_before(const struct entry *e, struct bytes qualifier, int64_t ts)
{
	int c;

	if (kind_is_family_marker(e->kind))
		return true;
	c = bytes_cmp(e->qualifier, qualifier);
	return c < 0 || (c == 0 && e->ts > ts);
}

/* Takes note of the family markers: they speak for all columns. */
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
	/* From the head of the column on: its markers and versions count. */
	if (r == 1 && bytes_cmp(v->c->at.qualifier, qualifier) < 0) {
		r = cursor_seek_column(v->c, qualifier, INT64_MAX);
		v->fresh = true;
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
	v->shown = 0;
	masking_row(&v->masking);
}

int visible_new(const struct visible_spec *spec, struct visible **out)
{
	const struct family_attrs *a = spec->attrs;
	struct visible *v = malloc(sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	*v = (struct visible){0};
	r = masking_init(&v->masking, NULL, 0);
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
	if (a->ttl_ms == TTL_FOREVER || a->ttl_ms > INT64_MAX ||
	    __builtin_sub_overflow(spec->now_ms, (int64_t)a->ttl_ms,
				   &v->expired_before))
		v->expired_before = INT64_MIN;
	*out = v;
	return 0;
}

void visible_free(struct visible *v)
{
	if (!v)
		return;
	masking_free(&v->masking);
	timeline_free(&v->alive);
	buf_free(&v->qualifier);
	free(v);
}
