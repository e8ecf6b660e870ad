#include "fs/tree/view.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/kernel/node.h"
#include "fs/text/name.h"

static const struct {
	const char *name;
	enum view_op op;
} names[] = {
	{".range", VIEW_RANGE},	    {".prefix", VIEW_PREFIX},
	{".first", VIEW_FIRST},	    {".last", VIEW_LAST},
	{".after", VIEW_AFTER},	    {".since", VIEW_SINCE},
	{".between", VIEW_BETWEEN}, {".at", VIEW_AT},
	{".raw", VIEW_RAW},
};

enum view_op view_op_of(struct bytes name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (bytes_eq(name, bytes_str(names[i].name)))
			return names[i].op;
	return VIEW_NONE;
}

void view_ref(struct view *v)
{
	if (v)
		atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
}

void view_unref(struct view *v)
{
	if (!v || !refs_drop(&v->refs))
		return;
	buf_free(&v->rows.start);
	buf_free(&v->rows.stop);
	buf_free(&v->qualifiers.start);
	buf_free(&v->qualifiers.stop);
	free(v);
}

static int bounds_copy(struct view_bounds *to, const struct view_bounds *from)
{
	int r;

	*to = *from;
	to->start = to->stop = (struct buf){0};
	r = buf_set(&to->start, buf_bytes(&from->start));
	return r < 0 ? r : buf_set(&to->stop, buf_bytes(&from->stop));
}

static int view_copy(const struct view *from, struct view **out)
{
	struct view *v = calloc(1, sizeof(*v));
	int r = 0;

	if (!v)
		return -ENOMEM;
	if (from) {
		v->reversed = from->reversed;
		v->raw = from->raw;
		v->has_at = from->has_at;
		v->has_times = from->has_times;
		v->at = from->at;
		v->ts_min = from->ts_min;
		v->ts_max = from->ts_max;
		v->empty = from->empty;
		r = bounds_copy(&v->rows, &from->rows);
		if (r == 0)
			r = bounds_copy(&v->qualifiers, &from->qualifiers);
	}
	atomic_init(&v->refs, 1);
	if (r < 0) {
		view_unref(v);
		return r;
	}
	*out = v;
	return 0;
}

static int narrow_start(struct view_bounds *b, struct bytes key, bool exclusive)
{
	int c = b->has_start ? bytes_cmp(key, buf_bytes(&b->start)) : 1;

	if (c < 0 || (c == 0 && !exclusive))
		return 0;
	b->has_start = true;
	b->start_exclusive = exclusive;
	return buf_set(&b->start, key);
}

static int narrow_stop(struct view_bounds *b, struct bytes key)
{
	if (b->has_stop && bytes_cmp(key, buf_bytes(&b->stop)) >= 0)
		return 0;
	b->has_stop = true;
	return buf_set(&b->stop, key);
}

/* A key as it is written in a view: escapes are undone, any spelling goes. */
static int decode_key(struct bytes arg, struct buf *key)
{
	key->len = 0;
	if (arg.len == 1 && arg.data[0] == '%')
		return 0;
	return name_unescape(arg, key);
}

/* Where "A..B" is parted: the first "..". */
static bool split_range(struct bytes arg, struct bytes *a, struct bytes *b)
{
	for (size_t i = 0; i + 1 < arg.len; i++) {
		if (arg.data[i] != '.' || arg.data[i + 1] != '.')
			continue;
		*a = bytes_of(arg.data, i);
		*b = bytes_of(arg.data + i + 2, arg.len - i - 2);
		return true;
	}
	return false;
}

static int narrow_range(struct view_bounds *bounds, struct bytes arg)
{
	struct buf key = {0};
	struct bytes a, b;
	int r = 0;

	if (!split_range(arg, &a, &b))
		return why(-EINVAL, "a range is A..B, A.. or ..B: from A "
				    "(inclusive) up to B (exclusive)");
	if (a.len)
		r = decode_key(a, &key);
	if (r == 0 && a.len)
		r = narrow_start(bounds, buf_bytes(&key), false);
	if (r == 0 && b.len)
		r = decode_key(b, &key);
	if (r == 0 && b.len)
		r = narrow_stop(bounds, buf_bytes(&key));
	buf_free(&key);
	return r;
}

static int narrow_prefix(struct view_bounds *bounds, struct bytes arg)
{
	struct buf key = {0};
	int r = decode_key(arg, &key);

	if (r == 0)
		r = narrow_start(bounds, buf_bytes(&key), false);
	/* The first key that is greater than all that begin with it. */
	while (key.len && key.data[key.len - 1] == 0xFF)
		key.len--;
	if (r == 0 && key.len) {
		key.data[key.len - 1]++;
		r = narrow_stop(bounds, buf_bytes(&key));
	}
	buf_free(&key);
	return r;
}

static int narrow_after(struct view_bounds *bounds, struct bytes arg)
{
	struct buf key = {0};
	int r = decode_key(arg, &key);

	if (r == 0)
		r = narrow_start(bounds, buf_bytes(&key), true);
	buf_free(&key);
	return r;
}

static int narrow_count(struct view *v, struct view_bounds *bounds,
			struct bytes arg, bool last)
{
	int64_t n;

	if (!name_parse_ts(arg, &n) || n == 0)
		return why(-EINVAL, "how many is a decimal number from 1");
	if (last && bounds != &v->rows)
		return why(-EINVAL, "qualifiers are not read backwards: .last "
				    "is for rows");
	if (bounds->limit && bounds == &v->rows && v->reversed != last)
		return why(-EINVAL, ".first and .last do not go together");
	if (!bounds->limit || bounds->limit > (uint64_t)n)
		bounds->limit = (uint64_t)n;
	if (last)
		v->reversed = true;
	return 0;
}

static int bad_when(void)
{
	return why(-EINVAL, "a time is milliseconds since 1970, now, or UTC "
			    "as 2026-11-20T10:00:00.123Z");
}

static void narrow_times(struct view *v, int64_t from, int64_t before)
{
	v->has_times = true;
	if (from > v->ts_min)
		v->ts_min = from;
	if (before >= 0 && (!v->ts_max || before < v->ts_max))
		v->ts_max = before;
	/* 0 would be no bound at all. */
	if (before == 0)
		v->empty = true;
}

static int narrow_between(struct view *v, struct bytes arg)
{
	struct bytes a, b;
	int64_t from = 0, before = -1;

	if (!split_range(arg, &a, &b))
		return why(-EINVAL, "times are T1..T2: from T1 (inclusive) up "
				    "to T2 (exclusive)");
	if (a.len && !view_parse_when(a, &from))
		return bad_when();
	if (b.len && !view_parse_when(b, &before))
		return bad_when();
	narrow_times(v, from, before);
	return 0;
}

static int narrow_at(struct view *v, struct bytes arg)
{
	int64_t at;

	if (!view_parse_when(arg, &at))
		return bad_when();
	if (v->raw)
		return why(-EINVAL, ".raw shows what is stored and .at what "
				    "was seen: they do not go together");
	if (!v->has_at || at < v->at)
		v->at = at;
	v->has_at = true;
	return 0;
}

static int narrow_raw(struct view *v)
{
	if (v->has_at)
		return why(-EINVAL, ".raw shows what is stored and .at what "
				    "was seen: they do not go together");
	v->raw = true;
	return 0;
}

static bool is_of_keys(enum view_op op)
{
	return op == VIEW_RANGE || op == VIEW_PREFIX || op == VIEW_FIRST ||
	       op == VIEW_LAST || op == VIEW_AFTER;
}

static int narrow(struct view *v, enum view_op op, struct bytes arg,
		  uint8_t level)
{
	struct view_bounds *bounds =
		level == NODE_TABLE ? &v->rows : &v->qualifiers;
	int64_t from;

	if (is_of_keys(op) && level == NODE_ROW)
		return why(-EINVAL, "a range of keys is one of rows, in the "
				    "table, or of qualifiers, in a family");
	switch (op) {
	case VIEW_RANGE:
		return narrow_range(bounds, arg);
	case VIEW_PREFIX:
		return narrow_prefix(bounds, arg);
	case VIEW_AFTER:
		return narrow_after(bounds, arg);
	case VIEW_FIRST:
	case VIEW_LAST:
		return narrow_count(v, bounds, arg, op == VIEW_LAST);
	case VIEW_SINCE:
		if (!view_parse_when(arg, &from))
			return bad_when();
		narrow_times(v, from, -1);
		return 0;
	case VIEW_BETWEEN:
		return narrow_between(v, arg);
	case VIEW_AT:
		return narrow_at(v, arg);
	case VIEW_RAW:
		return narrow_raw(v);
	case VIEW_NONE:
		break;
	}
	return -EINVAL;
}

/* Without a start it is the empty key, before which there is none. */
static bool is_empty(const struct view_bounds *b)
{
	return b->has_stop &&
	       bytes_cmp(buf_bytes(&b->start), buf_bytes(&b->stop)) >= 0;
}

int view_narrow(const struct view *old, enum view_op op, struct bytes arg,
		uint8_t level, struct view **out)
{
	struct view *v = NULL;
	int r = view_copy(old, &v);

	if (r == 0)
		r = narrow(v, op, arg, level);
	if (r == -ENOMEM)
		why(r, "out of memory for a view");
	if (r < 0) {
		view_unref(v);
		return r;
	}
	if (is_empty(&v->rows) || is_empty(&v->qualifiers) ||
	    (v->ts_max && v->ts_min >= v->ts_max))
		v->empty = true;
	*out = v;
	return 0;
}

/* Exactly @n digits at @s. */
static bool digits(const char *s, int n, int *out)
{
	*out = 0;
	for (int i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*out = *out * 10 + (s[i] - '0');
	}
	return true;
}

/*
 * From 1970 to that month, 13 being January of the next year. timegm() ends in 2038
 * where time_t has 32 bits.
 */
static int days_before(int year, int month)
{
	static const short of_months[] = {0,   31,  59,	 90,  120, 151, 181,
					  212, 243, 273, 304, 334, 365};
	int last = year - 1;
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return (year - 1970) * 365 + last / 4 - last / 100 + last / 400 - 477 +
	       of_months[month - 1] + (leap && month > 2);
}

/* "2026-11-20T10:00:00Z", with up to three decimals of a second. */
static bool parse_utc(const char *s, size_t len, int64_t *ms)
{
	int year, month, day, hour, minute, second, fraction = 0, places = 0;

	if (len < 20 || len > 24 || s[len - 1] != 'Z')
		return false;
	if (!digits(s, 4, &year) || s[4] != '-' || !digits(s + 5, 2, &month) ||
	    s[7] != '-' || !digits(s + 8, 2, &day) || s[10] != 'T' ||
	    !digits(s + 11, 2, &hour) || s[13] != ':' ||
	    !digits(s + 14, 2, &minute) || s[16] != ':' ||
	    !digits(s + 17, 2, &second))
		return false;
	if (len > 20) {
		places = (int)len - 21;
		if (s[19] != '.' || places < 1 ||
		    !digits(s + 20, places, &fraction))
			return false;
		for (; places < 3; places++)
			fraction *= 10;
	}
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 ||
	    hour > 23 || minute > 59 || second > 59)
		return false;
	if (day > days_before(year, month + 1) - days_before(year, month))
		return false;
	*ms = (days_before(year, month) + day - 1) * 86400000ll +
	      (hour * 3600 + minute * 60 + second) * 1000ll + fraction;
	return true;
}

bool view_parse_when(struct bytes s, int64_t *ms)
{
	if (bytes_eq(s, bytes_str("now"))) {
		*ms = TS_MAX;
		return true;
	}
	return name_parse_ts(s, ms) ||
	       parse_utc((const char *)s.data, s.len, ms);
}
