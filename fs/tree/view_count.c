/*
 * Is a key among the first N of its view?
 *
 * Only counting can tell, and a walk through .first/N asks for each of the N.
 * So a count is kept in the table and goes on from the key where it stopped:
 *
 *	lookup a  c  b  e		.first/3
 *	count  a..c  |  |		a, c, d: b lies behind c and is in,
 *		  last	|		e is not reached: counted anew, as
 *			d full		what was removed may have made room
 *
 * All that lies before the last key counted is in. That is believed for a
 * second, as the kernel believes an entry of a view; that a key is not in is
 * never said from memory.
 */
#include <errno.h>

#include "fs/tree/place.h"
#include "fs/tree/view.h"
#include "store/os/clock.h"

#define BELIEVED_MS 1000

static bool counts_rows(const struct place *p)
{
	return kind_of(p->kind)->key == KEY_ROW;
}

bool view_is_counted(const struct place *p)
{
	const struct view_bounds *bounds = view_bounds_of(p);

	return bounds && bounds->limit;
}

static int put_bytes(struct buf *out, struct bytes b)
{
	int r = buf_append(out, &b.len, sizeof(b.len));

	return r < 0 ? r : buf_append(out, b.data, b.len);
}

static int put_bounds(struct buf *out, const struct view_bounds *b)
{
	uint64_t n[] = {b->start_exclusive, b->has_start, b->has_stop,
			b->limit};
	int r = buf_append(out, n, sizeof(n));

	if (r == 0)
		r = put_bytes(out, buf_bytes(&b->start));
	return r < 0 ? r : put_bytes(out, buf_bytes(&b->stop));
}

/* All that decides what is counted; two views of one spelling are one. */
static int describe(const struct place *p, struct buf *out)
{
	const struct view *v = p->view;
	int64_t n[] = {v->reversed, v->raw,    v->has_at, v->has_times,
		       v->at,	    v->ts_min, v->ts_max};
	int r = buf_append(out, n, sizeof(n));

	if (r == 0)
		r = put_bounds(out, &v->rows);
	if (r == 0)
		r = put_bounds(out, &v->qualifiers);
	if (r == 0 && !counts_rows(p))
		r = put_bytes(out, p->row);
	if (r == 0 && !counts_rows(p))
		r = put_bytes(out, p->family);
	return r;
}

/* Of a and b in the order of the view: negative when a is the earlier. */
static int compare(const struct place *p, struct bytes a, struct bytes b)
{
	int c = bytes_cmp(a, b);

	return counts_rows(p) && p->view->reversed ? -c : c;
}

/* The keys behind those that are counted. */
static int scan_on(const struct place *p, const struct fstable_count *c,
		   struct view_scan **out)
{
	struct column_name column = {.family = p->family, .whole_family = true};
	struct bytes last = buf_bytes(&c->last);
	struct scan_spec s = {.granularity = SCAN_ROWS, .keys_only = true};

	if (!counts_rows(p)) {
		s.granularity = SCAN_COLUMNS;
		s.row_start = s.row_stop = p->row;
		s.row_stop_inclusive = true;
		s.columns = &column;
		s.ncolumns = 1;
		s.has_qual_start = s.qual_start_exclusive = c->seen;
		s.qual_start = last;
	} else if (p->view->reversed) {
		s.row_stop = last;
	} else {
		s.row_start = last;
		s.row_start_exclusive = c->seen;
	}
	return view_scan_open(p->table, p->view, &s, out);
}

/* Counts up to @key, the view's count, or the end. 0 or an error. */
static int count_to(const struct place *p, struct bytes key,
		    struct fstable_count *c)
{
	uint64_t limit = view_bounds_of(p)->limit;
	struct view_scan *vs;
	struct cell cell;
	int r = scan_on(p, c, &vs);

	if (r < 0)
		return r;
	while (c->seen < limit && (r = view_scan_next(vs, &cell)) > 0) {
		struct bytes at = counts_rows(p) ? cell.row : cell.qualifier;

		c->seen++;
		r = buf_set(&c->last, at);
		if (r < 0 || compare(p, at, key) >= 0)
			break;
	}
	view_scan_close(vs);
	return r < 0 ? r : 0;
}

static bool is_counted_in(const struct place *p, struct bytes key,
			  const struct fstable_count *c)
{
	return c->seen && compare(p, key, buf_bytes(&c->last)) <= 0;
}

/* The count that is kept, if it is of this view and young, or a new one. */
static int take_count(const struct place *p, int which, struct fstable_count *c)
{
	struct buf view = {0};
	int r = describe(p, &view);

	fstable_count_take(p->table, which, c);
	if (r == 0 && bytes_eq(buf_bytes(&view), buf_bytes(&c->view)) &&
	    monotonic_ms() - c->since_ms < BELIEVED_MS) {
		buf_free(&view);
		return 0;
	}
	buf_free(&c->view);
	c->view = view;
	c->last.len = 0;
	c->seen = 0;
	c->since_ms = monotonic_ms();
	return r;
}

int view_counts(const struct place *p)
{
	int which = counts_rows(p) ? COUNT_ROWS : COUNT_QUALIFIERS;
	struct bytes key = place_key(p);
	struct fstable_count c;
	int r = take_count(p, which, &c);
	bool kept = r == 0 && c.seen, in = false;

	if (r == 0) {
		in = is_counted_in(p, key, &c);
		if (!in)
			r = count_to(p, key, &c);
		in = is_counted_in(p, key, &c);
	}
	/* Not from memory. */
	if (r == 0 && !in && kept) {
		c.last.len = 0;
		c.seen = 0;
		c.since_ms = monotonic_ms();
		r = count_to(p, key, &c);
		in = is_counted_in(p, key, &c);
	}
	if (r < 0)
		c.view.len = 0;
	fstable_count_put(p->table, which, &c);
	if (r == -ENOMEM)
		why(r, "out of memory for a view");
	return r < 0 ? r : in;
}
