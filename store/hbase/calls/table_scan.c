#include "store/hbase/calls/table_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

#define PARTS_MAX 4
/* The reader waits this long for where a later part is, and then goes on. */
#define SEARCH_MS 1000

struct table_scan {
	struct range_scan_options o;
	struct buf table, stop; /* the memory of names in .o */
	struct range_scan *parts[PARTS_MAX];
	unsigned n;
	unsigned batches; /* of the first part, when it was looked at */
	/* Rows behind the last part, or before it, that no part has: */
	bool has_more;
	struct buf next; /* where they begin */
};

static int no_memory(void)
{
	return why(-ENOMEM, "out of memory for a scan");
}

int table_scan_new(const struct range_scan_options *o, struct table_scan **out)
{
	struct table_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return no_memory();
	s->o = *o;
	r = buf_set(&s->table, o->table);
	if (r == 0)
		r = buf_set(&s->stop, o->scan.stop_row);
	if (r == 0)
		r = range_scan_new(o, &s->parts[0]);
	if (r < 0) {
		table_scan_free(s);
		return no_memory();
	}
	s->n = 1;
	s->o.table = buf_bytes(&s->table);
	s->o.scan.stop_row = buf_bytes(&s->stop);
	s->o.scan.include_start = !o->scan.reversed;
	s->o.rows_first = 0;
	*out = s;
	return 0;
}

void table_scan_free(struct table_scan *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++)
		range_scan_free(s->parts[i]);
	buf_free(&s->table);
	buf_free(&s->stop);
	buf_free(&s->next);
	free(s);
}

/* Cuts the last part at the border of its region; what is beyond is next. */
static void cut(struct table_scan *s, struct range_scan *last)
{
	struct bytes border;

	/* Without memory it stays whole. */
	s->has_more = range_scan_border(last, &border) &&
		      buf_set(&s->next, border) == 0 &&
		      range_scan_cut(last) == 0;
}

/* Appends a part of all that is left: 0 or -ENOMEM. */
static int add_part(struct table_scan *s)
{
	struct range_scan_options o = s->o;
	int r;

	o.scan.start_row = buf_bytes(&s->next);
	r = range_scan_new(&o, &s->parts[s->n]);
	if (r < 0)
		return r;
	s->n++;
	s->has_more = false;
	return 0;
}

static void start_part(struct table_scan *s)
{
	struct retry retry = cluster_retry(s->o.cluster);
	uint64_t soon = os_monotonic_ns(retry.os) + SEARCH_MS * 1000000ull;

	if (add_part(s) < 0)
		return;
	if (retry.deadline_ns > soon)
		retry.deadline_ns = soon;
	/* One that is not started is read from its beginning, like any. */
	if (range_scan_start(s->parts[s->n - 1], &retry) == 0)
		cut(s, s->parts[s->n - 1]);
}

/* The first part has read a batch: the others go on, and more are started. */
static void look_ahead(struct table_scan *s)
{
	struct why_kept kept;

	if (s->o.rows_max || (s->n == 1 && s->batches < 2))
		return;
	why_keep(&kept);
	if (s->n == 1 && !s->has_more)
		cut(s, s->parts[0]);
	for (unsigned i = 1; i < s->n; i++)
		range_scan_urge(s->parts[i]);
	while (s->has_more && s->n < PARTS_MAX)
		start_part(s);
	why_restore(&kept);
}

/* The first part has ended: 1, or 0 if it was the last. */
static int next_part(struct table_scan *s)
{
	int r;

	if (s->n == 1 && s->has_more) {
		r = add_part(s);
		if (r < 0)
			return r;
	}
	if (s->n == 1)
		return 0;
	range_scan_free(s->parts[0]);
	memmove(s->parts, s->parts + 1, --s->n * sizeof(*s->parts));
	s->batches = 0;
	return 1;
}

int table_scan_next(struct table_scan *s, struct cell *out)
{
	int r;

	do {
		r = range_scan_next(s->parts[0], out);
		if (r > 0 && s->batches != range_scan_batches(s->parts[0])) {
			s->batches = range_scan_batches(s->parts[0]);
			look_ahead(s);
		}
	} while (r == 0 && (r = next_part(s)) > 0);
	return r;
}
