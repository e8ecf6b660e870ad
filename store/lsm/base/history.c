#include "store/lsm/base/history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

static void gap_free(struct history_gap *g)
{
	buf_free(&g->row_min);
	buf_free(&g->row_max);
}

void history_free(struct history *h)
{
	for (size_t i = 0; i < h->ngaps; i++)
		gap_free(&h->gaps[i]);
	free(h->gaps);
	*h = (struct history){0};
}

bool history_is_whole(const struct history *h)
{
	return !h->before && !h->pushed_seq && !h->pushed_versions && !h->ngaps;
}

static void gap_take_out(struct history *h, size_t at)
{
	gap_free(&h->gaps[at]);
	h->ngaps--;
	memmove(&h->gaps[at], &h->gaps[at + 1],
		(h->ngaps - at) * sizeof(h->gaps[0]));
}

static void widen(struct history_gap *g, int64_t from, int64_t to)
{
	if (from < g->from)
		g->from = from;
	if (to > g->to)
		g->to = to;
}

/* Joins the gap after @at to the one at @at. */
static void join(struct history *h, size_t at)
{
	struct history_gap *g = &h->gaps[at], *next = g + 1;
	struct buf row = g->row_max;

	assert(at + 1 < h->ngaps);
	widen(g, next->from, next->to);
	if (bytes_cmp(buf_bytes(&next->row_max), buf_bytes(&row)) > 0) {
		g->row_max = next->row_max;
		next->row_max = row;
	}
	gap_take_out(h, at + 1);
}

/* How much more time two neighbours claim when they are joined. */
static uint64_t cost(const struct history_gap *a, const struct history_gap *b)
{
	int64_t from = a->from - b->from, to = a->to - b->to;

	return (uint64_t)(from < 0 ? -from : from) +
	       (uint64_t)(to < 0 ? -to : to);
}

static void join_cheapest(struct history *h)
{
	size_t best = 0;

	for (size_t i = 1; i + 1 < h->ngaps; i++)
		if (cost(&h->gaps[i], &h->gaps[i + 1]) <
		    cost(&h->gaps[best], &h->gaps[best + 1]))
			best = i;
	join(h, best);
}

/* The first gap that does not end before @row. */
static size_t place(const struct history *h, struct bytes row)
{
	size_t i = h->ngaps;

	/* Merges lose rows in ascending order, so it is usually the last. */
	while (i > 0 && bytes_cmp(buf_bytes(&h->gaps[i - 1].row_max), row) >= 0)
		i--;
	return i;
}

static int gap_new(struct history_gap *g, struct bytes min, struct bytes max,
		   int64_t from, int64_t to)
{
	*g = (struct history_gap){.from = from, .to = to};
	if (buf_set(&g->row_min, min) == 0 && buf_set(&g->row_max, max) == 0)
		return 0;
	gap_free(g);
	return -ENOMEM;
}

int history_lose(struct history *h, struct bytes min, struct bytes max,
		 int64_t from, int64_t to)
{
	size_t at = place(h, min);
	struct history_gap *gaps, g;

	if (at < h->ngaps && bytes_eq(buf_bytes(&h->gaps[at].row_min), min) &&
	    bytes_eq(buf_bytes(&h->gaps[at].row_max), max)) {
		widen(&h->gaps[at], from, to);
		return 0;
	}
	gaps = realloc(h->gaps, (h->ngaps + 1) * sizeof(*gaps));
	if (gaps)
		h->gaps = gaps;
	if (!gaps || gap_new(&g, min, max, from, to) < 0)
		return -ENOMEM;
	/* A gap that begins earlier stays before the new one. */
	if (at < h->ngaps &&
	    bytes_cmp(buf_bytes(&h->gaps[at].row_min), min) < 0)
		at++;
	memmove(&gaps[at + 1], &gaps[at], (h->ngaps - at) * sizeof(*gaps));
	gaps[at] = g;
	h->ngaps++;
	if (at > 0 && bytes_cmp(buf_bytes(&h->gaps[at - 1].row_max), min) >= 0)
		join(h, --at);
	while (at + 1 < h->ngaps &&
	       bytes_cmp(buf_bytes(&h->gaps[at + 1].row_min),
			 buf_bytes(&h->gaps[at].row_max)) <= 0)
		join(h, at);
	if (h->ngaps > HISTORY_GAPS_MAX)
		join_cheapest(h);
	assert(h->ngaps <= HISTORY_GAPS_MAX);
	return 0;
}

int history_add(struct history *h, const struct history *more)
{
	int r = 0;

	if (more->before > h->before)
		h->before = more->before;
	if (more->pushed_seq > h->pushed_seq)
		h->pushed_seq = more->pushed_seq;
	if (more->pushed_versions &&
	    (!h->pushed_versions || more->pushed_versions < h->pushed_versions))
		h->pushed_versions = more->pushed_versions;
	for (size_t i = 0; r == 0 && i < more->ngaps; i++)
		r = history_lose(h, buf_bytes(&more->gaps[i].row_min),
				 buf_bytes(&more->gaps[i].row_max),
				 more->gaps[i].from, more->gaps[i].to);
	return r;
}

int history_copy(struct history *to, const struct history *from)
{
	*to = (struct history){0};
	if (history_add(to, from) == 0)
		return 0;
	history_free(to);
	return -ENOMEM;
}

static bool overlaps(const struct history_gap *g,
		     const struct history_rows *rows)
{
	int c;

	if (rows->min.len && bytes_cmp(buf_bytes(&g->row_max), rows->min) < 0)
		return false;
	if (!rows->max.len)
		return true;
	c = bytes_cmp(buf_bytes(&g->row_min), rows->max);
	return c < 0 || (c == 0 && rows->max_inclusive);
}

int history_tells(const struct history *h, const struct history_rows *rows,
		  int64_t when)
{
	if (when < h->before)
		return why(-ENODATA,
			   "as of %lld nothing can be told: what was older "
			   "than %lld has expired and is gone from the disk",
			   (long long)when, (long long)h->before);
	for (size_t i = 0; i < h->ngaps; i++) {
		const struct history_gap *g = &h->gaps[i];

		if (when >= g->from && when < g->to && overlaps(g, rows))
			return why(-ENODATA,
				   "as of %lld it cannot be told: what was "
				   "deleted since then is gone from the disk; "
				   "%lld and later can be read",
				   (long long)when, (long long)g->to);
	}
	return 0;
}
