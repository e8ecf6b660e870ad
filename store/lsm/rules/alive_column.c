/* The alive versions of a column. */
#include "store/lsm/rules/alive_inside.h"

#include <stdlib.h>

#include "store/lsm/base/bisect.h"
#include "store/value/array.h"

/* Changes of a set that can be undone: so many times the patience. */
#define UNDO_TIMES 2
#define PAST_MAX 64
/* Changes logged while a reader learns; with more, its result is dropped. */
#define LOG_MAX 65536u
/* A learning reader may walk over so many times the entries walked before, */
#define LEARN_RATIO 4
/* and so many times the patience. */
#define LEARN_MIN 128

static void column_forget(struct alive_column *c)
{
	ts_set_free(&c->set);
	free(c->undo);
	free(c->log);
	c->undo = NULL;
	c->log = NULL;
	c->nundo = c->undo_max = 0;
	c->nlog = c->log_cap = 0;
	c->known = false;
	c->token = 0;
}

void alive_column_free(struct alive_column *c)
{
	column_forget(c);
	buf_free(&c->qualifier);
	free(c);
}

static size_t column_bytes(const struct alive_column *c)
{
	return sizeof(*c) + sizeof(c) + c->qualifier.cap + c->set.bytes +
	       c->undo_max * sizeof(*c->undo) + c->log_cap * sizeof(*c->log);
}

/* The index of the first column of the row that is not before @qualifier. */
static size_t column_place(const struct alive_row *r, struct bytes qualifier)
{
	size_t lo = 0, hi = r->ncolumns;

	BISECT(lo, hi, mid,
	       bytes_cmp(buf_bytes(&r->columns[mid]->qualifier), qualifier) <
		       0);
	return lo;
}

static struct alive_column *column_find(const struct alive_row *r,
					struct bytes qualifier)
{
	size_t i = column_place(r, qualifier);

	if (i == r->ncolumns ||
	    !bytes_eq(buf_bytes(&r->columns[i]->qualifier), qualifier))
		return NULL;
	return r->columns[i];
}

/* Finds or adds the column; NULL without memory. */
static struct alive_column *column_make(struct alive *a, struct alive_row *r,
					struct bytes qualifier)
{
	struct alive_column *c = column_find(r, qualifier);
	size_t i = column_place(r, qualifier);

	if (c)
		return c;
	if (ARRAY_RESERVE(r->columns, r->columns_cap, r->ncolumns + 1) < 0)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c || buf_set(&c->qualifier, qualifier) < 0) {
		free(c);
		return NULL;
	}
	memmove(&r->columns[i + 1], &r->columns[i],
		(r->ncolumns - i) * sizeof(*r->columns));
	r->columns[i] = c;
	r->ncolumns++;
	alive_row_weigh(a, r, 0, column_bytes(c));
	return c;
}

static void undo_add(struct alive_column *c, uint64_t seq, int64_t ts, bool was)
{
	struct alive_undo *u = &c->undo[c->nundo % c->undo_max];

	if (c->nundo >= c->undo_max)
		c->since = u->seq;
	*u = (struct alive_undo){seq, ts, was};
	c->nundo++;
}

/* Applies a marker that covers all timestamps up to @ts. */
static void set_cut(struct alive_column *c, uint64_t seq, int64_t ts)
{
	uint64_t gone = c->set.n - ts_set_above(&c->set, ts);
	int64_t least;

	if (gone > c->undo_max / 2) {
		ts_set_cut(&c->set, ts);
		c->since = seq;
		c->nundo = 0;
		return;
	}
	for (; gone && ts_set_least(&c->set, &least); gone--) {
		ts_set_remove(&c->set, least);
		undo_add(c, seq, least, true);
	}
}

static void set_change(struct alive_column *c, uint64_t seq, int64_t ts,
		       uint8_t kind)
{
	int64_t least;
	int r;

	switch (kind) {
	case CELL_PUT:
		r = ts_set_add(&c->set, ts);
		if (r < 0)
			column_forget(c);
		if (r <= 0)
			return;
		undo_add(c, seq, ts, false);
		if (c->versions == UINT32_MAX || c->set.n <= c->versions ||
		    !ts_set_least(&c->set, &least))
			return;
		ts_set_remove(&c->set, least);
		undo_add(c, seq, least, true);
		return;
	case CELL_DELETE:
	case CELL_DELETE_FAMILY_VERSION:
		if (ts_set_remove(&c->set, ts))
			undo_add(c, seq, ts, true);
		return;
	default:
		set_cut(c, seq, ts);
	}
}

static void log_change(struct alive_column *c, const struct entry *e)
{
	if (c->nlog == c->log_cap) {
		size_t cap = c->log_cap ? 2 * c->log_cap : 64;
		struct alive_logged *log =
			cap > LOG_MAX ? NULL
				      : reallocarray(c->log, cap, sizeof(*log));

		if (!log) {
			c->token = 0;
			return;
		}
		c->log = log;
		c->log_cap = cap;
	}
	c->log[c->nlog++] = (struct alive_logged){e->seq, e->ts, e->kind};
}

static void column_change(struct alive *a, struct alive_row *r,
			  struct alive_column *c, const struct entry *e)
{
	size_t was = column_bytes(c);

	if (e->ttl_ms)
		column_forget(c);
	if (c->token)
		log_change(c, e);
	if (c->known)
		set_change(c, e->seq, e->ts, e->kind);
	alive_row_weigh(a, r, was, column_bytes(c));
}

void alive_columns_change(struct alive *a, struct alive_row *r,
			  const struct entry *e)
{
	struct alive_column *c;

	if (!kind_is_family_marker(e->kind)) {
		c = column_find(r, e->qualifier);
		if (c)
			column_change(a, r, c, e);
		return;
	}
	for (size_t i = 0; i < r->ncolumns; i++)
		column_change(a, r, r->columns[i], e);
}

/* Timestamps whose presence as of a sequence differs from the present. */
struct past {
	const struct alive_undo *of[PAST_MAX];
	size_t n;
};

static void past_of(const struct alive_column *c, uint64_t seq, struct past *p)
{
	uint64_t first = c->nundo < c->undo_max ? 0 : c->nundo - c->undo_max;

	p->n = 0;
	for (uint64_t i = c->nundo; i-- > first;) {
		const struct alive_undo *u = &c->undo[i % c->undo_max];
		size_t k = 0;

		if (u->seq <= seq)
			return;
		while (k < p->n && p->of[k]->ts != u->ts)
			k++;
		p->of[k] = u;
		p->n += k == p->n;
	}
}

/* 1: was in the set, 0: was not, -1: as now. */
static int was_there(const struct past *p, int64_t ts)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->of[i]->ts == ts)
			return p->of[i]->was;
	return -1;
}

static bool at_most(const struct alive_column *c, const struct past *p,
		    int64_t ts, int64_t *out)
{
	bool found = ts_set_at_most(&c->set, ts, out);

	while (found && was_there(p, *out) == 0)
		found = *out > INT64_MIN &&
			ts_set_at_most(&c->set, *out - 1, out);
	for (size_t i = 0; i < p->n; i++) {
		const struct alive_undo *u = p->of[i];

		if (!u->was || u->ts > ts || (found && u->ts <= *out))
			continue;
		*out = u->ts;
		found = true;
	}
	return found;
}

static uint64_t count_above(const struct alive_column *c, const struct past *p,
			    int64_t ts)
{
	uint64_t n = ts_set_above(&c->set, ts);

	for (size_t i = 0; i < p->n; i++)
		if (p->of[i]->ts > ts)
			n += (uint64_t)p->of[i]->was -
			     (uint64_t)ts_set_has(&c->set, p->of[i]->ts);
	return n;
}

static int versions(const struct alive_column *c, uint64_t seq, int64_t ts,
		    int64_t *out, size_t n, uint64_t *above)
{
	struct past past;
	size_t found = 0;

	past_of(c, seq, &past);
	if (above)
		*above = count_above(c, &past, ts);
	while (found < n && at_most(c, &past, ts, &out[found])) {
		ts = out[found++];
		if (ts == INT64_MIN)
			break;
		ts--;
	}
	return (int)found;
}

int alive_versions(struct alive *a, const struct alive_place *p,
		   struct bytes qualifier, uint64_t seq, int64_t ts,
		   int64_t *out, size_t n, uint64_t *above)
{
	const struct alive_column *c = NULL;
	struct alive_row *r;
	int found = -1;

	if (!atomic_load(&a->nrows))
		return -1;
	pthread_mutex_lock(&a->lock);
	r = alive_row_find(a, p);
	if (r)
		c = column_find(r, qualifier);
	if (c && c->known && seq >= c->since)
		found = versions(c, seq, ts, out, n, above);
	pthread_mutex_unlock(&a->lock);
	return found;
}

static bool begin(struct alive *a, struct alive_column *c, uint64_t walked,
		  uint64_t *token, uint64_t *seq, uint64_t *max)
{
	if (c->known || c->token)
		return false;
	c->walked += walked;
	if (c->walked < c->walked_min)
		return false;
	*token = c->token = ++a->tokens;
	/* Changes that are not logged must be published before the walk. */
	if (atomic_load(&a->committing)) {
		c->token = 0;
		return false;
	}
	*seq = c->since = atomic_load(a->seq);
	*max = LEARN_RATIO * c->walked + LEARN_MIN * a->patience;
	return true;
}

bool alive_learn(struct alive *a, const struct alive_place *p,
		 struct bytes qualifier, uint64_t walked, uint64_t *token,
		 uint64_t *seq, uint64_t *max)
{
	struct alive_column *c;
	struct alive_row *r;
	bool yes = false;

	pthread_mutex_lock(&a->lock);
	r = alive_row_watch(a, p);
	c = r ? column_make(a, r, qualifier) : NULL;
	if (c)
		yes = begin(a, c, walked, token, seq, max);
	alive_trim(a);
	pthread_mutex_unlock(&a->lock);
	return yes;
}

static void learnt(struct alive_column *c, const int64_t *descending, size_t n,
		   uint64_t patience)
{
	c->undo_max = UNDO_TIMES * patience;
	if (c->undo_max > PAST_MAX)
		c->undo_max = PAST_MAX;
	c->undo = calloc(c->undo_max, sizeof(*c->undo));
	if (!c->undo || ts_set_fill(&c->set, descending, n) < 0) {
		column_forget(c);
		return;
	}
	c->known = true;
	c->token = 0;
	/* All of them came after the walk began: see begin(). */
	for (size_t i = 0; c->known && i < c->nlog; i++)
		set_change(c, c->log[i].seq, c->log[i].ts, c->log[i].kind);
	free(c->log);
	c->log = NULL;
	c->nlog = c->log_cap = 0;
}

void alive_learnt(struct alive *a, const struct alive_place *p,
		  struct bytes qualifier, uint64_t token, uint32_t versions,
		  const int64_t *descending, size_t n, bool known,
		  uint64_t walked)
{
	struct alive_column *c = NULL;
	struct alive_row *r;
	size_t was;

	pthread_mutex_lock(&a->lock);
	r = alive_row_find(a, p);
	if (r)
		c = column_find(r, qualifier);
	if (c && c->token == token) {
		was = column_bytes(c);
		c->versions = versions;
		c->walked = 0;
		c->walked_min = walked / 2;
		if (known)
			learnt(c, descending, n, a->patience);
		else
			column_forget(c);
		alive_row_weigh(a, r, was, column_bytes(c));
		alive_trim(a);
	}
	pthread_mutex_unlock(&a->lock);
}
