/*
 * Any components as a path of views: each is refused in words, or makes a view
 * that is narrower than the one above and that the same again does not change.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "fs/kernel/node.h"
#include "fs/tree/view.h"
#include "store/value/why.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool admits(const struct view *v, const struct view_bounds *b,
		   struct bytes key)
{
	int c;

	if (v->empty)
		return false;
	if (b->has_start) {
		c = bytes_cmp(key, buf_bytes(&b->start));
		if (c < 0 || (c == 0 && b->start_exclusive))
			return false;
	}
	return !b->has_stop || bytes_cmp(key, buf_bytes(&b->stop)) < 0;
}

static bool same_bounds(const struct view_bounds *a,
			const struct view_bounds *b)
{
	return a->has_start == b->has_start && a->has_stop == b->has_stop &&
	       a->limit == b->limit &&
	       a->start_exclusive == b->start_exclusive &&
	       bytes_eq(buf_bytes(&a->start), buf_bytes(&b->start)) &&
	       bytes_eq(buf_bytes(&a->stop), buf_bytes(&b->stop));
}

static bool same(const struct view *a, const struct view *b)
{
	return same_bounds(&a->rows, &b->rows) &&
	       same_bounds(&a->qualifiers, &b->qualifiers) &&
	       a->reversed == b->reversed && a->raw == b->raw &&
	       a->has_at == b->has_at && a->at == b->at &&
	       a->ts_min == b->ts_min && a->ts_max == b->ts_max &&
	       a->empty == b->empty;
}

static void check_narrower(const struct view *old, const struct view *v,
			   struct bytes key)
{
	must(!(v->raw && v->has_at));
	must(v->ts_min >= 0 && v->ts_max >= 0);
	if (!old)
		return;
	must(!old->empty || v->empty);
	must(!admits(v, &v->rows, key) || admits(old, &old->rows, key));
	must(!admits(v, &v->qualifiers, key) ||
	     admits(old, &old->qualifiers, key));
	must(!old->rows.limit ||
	     (v->rows.limit && v->rows.limit <= old->rows.limit));
	must(!old->has_at || (v->has_at && v->at <= old->at));
	must(v->ts_min >= old->ts_min);
	must(!old->ts_max || v->empty ||
	     (v->ts_max && v->ts_max <= old->ts_max));
}

/* The view below @old, or NULL when the component is refused. */
static struct view *narrow(const struct view *old, enum view_op op,
			   struct bytes arg, uint8_t level)
{
	struct view *v = NULL, *again = NULL;
	int r;

	why_clear();
	r = view_narrow(old, op, arg, level, &v);
	if (r < 0) {
		must(r == -EINVAL && *store_why() && !v);
		return NULL;
	}
	check_narrower(old, v, arg);
	must(view_narrow(v, op, arg, level, &again) == 0);
	must(same(v, again));
	view_unref(again);
	return v;
}

/* A time that is accepted is the one that its date says. */
static void check_when(struct bytes in)
{
	char text[32];
	struct tm tm;
	int64_t ms;
	time_t t;

	if (!view_parse_when(in, &ms))
		return;
	must(ms >= 0 && ms <= TS_MAX);
	if (in.data[in.len - 1] != 'Z')
		return;
	t = (time_t)(ms / 1000);
	if (t != ms / 1000)
		return; /* time_t has 32 bits */
	must(gmtime_r(&t, &tm) != NULL);
	must(strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 19);
	must(in.len >= 20 && !memcmp(text, in.data, 19));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t levels[] = {NODE_TABLE, NODE_ROW, NODE_FAMILY};
	struct view *v = NULL, *next;
	struct bytes rest, part, name = {0};
	const uint8_t *slash;
	enum view_op op = VIEW_NONE;
	uint8_t level;

	if (size < 2 || size > 2048)
		return 0;
	level = levels[data[0] % 3];
	rest = bytes_of(data + 1, size - 1);
	while (rest.len) {
		slash = memchr(rest.data, '/', rest.len);
		part = bytes_of(rest.data,
				slash ? (size_t)(slash - rest.data) : rest.len);
		rest.data += part.len + (slash != NULL);
		rest.len -= part.len + (slash != NULL);
		check_when(part);
		name = part;
		if (op == VIEW_NONE) {
			op = view_op_of(name);
			if (op != VIEW_RAW)
				continue;
			part.len = 0;
		}
		next = narrow(v, op, part, level);
		op = VIEW_NONE;
		if (!next)
			continue;
		view_unref(v);
		v = next;
	}
	view_unref(v);
	return 0;
}
