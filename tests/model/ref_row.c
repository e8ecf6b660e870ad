#include "tests/model/ref_row.h"

#include <errno.h>
#include <stdlib.h>

int ref_row_new(struct bytes key, struct ref_row **out)
{
	struct ref_row *row = calloc(1, sizeof(*row) + key.len);

	if (!row)
		return -ENOMEM;
	row->refs = 1;
	memcpy(row + 1, key.data, key.len);
	row->key = bytes_of(row + 1, key.len);
	*out = row;
	return 0;
}

void ref_row_ref(struct ref_row *row)
{
	row->refs++;
}

static void change_unref(struct ref_change *c)
{
	if (--c->refs == 0)
		free(c);
}

void ref_row_cut(struct ref_row *row, size_t n)
{
	while (row->n > n) {
		change_unref(row->all[--row->nall]);
		change_unref(row->changes[--row->n]);
	}
}

void ref_row_unref(struct ref_row *row)
{
	if (!row || --row->refs)
		return;
	for (size_t i = 0; i < row->n; i++)
		change_unref(row->changes[i]);
	for (size_t i = 0; i < row->nall; i++)
		change_unref(row->all[i]);
	free(row->changes);
	free(row->all);
	free(row);
}

static struct ref_change *change_copy(const struct ref_change *what)
{
	struct bytes q = what->qualifier, v = what->value;
	struct ref_change *c = malloc(sizeof(*c) + q.len + v.len);
	uint8_t *p = (uint8_t *)(c + 1);

	if (!c)
		return NULL;
	*c = *what;
	c->refs = 1;
	if (q.len)
		memcpy(p, q.data, q.len);
	if (v.len)
		memcpy(p + q.len, v.data, v.len);
	c->qualifier = bytes_of(p, q.len);
	c->value = bytes_of(p + q.len, v.len);
	return c;
}

static int push(struct ref_change ***at, size_t *n, size_t *cap,
		struct ref_change *c)
{
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 2;
		void *p = realloc(*at, more * sizeof(**at));

		if (!p)
			return -ENOMEM;
		*at = p;
		*cap = more;
	}
	(*at)[(*n)++] = c;
	c->refs++;
	return 0;
}

int ref_row_add(struct ref_row *row, const struct ref_change *what)
{
	struct ref_change *c = change_copy(what);
	int r;

	if (!c)
		return -ENOMEM;
	r = push(&row->all, &row->nall, &row->cap_all, c);
	if (r == 0)
		r = push(&row->changes, &row->n, &row->cap, c);
	change_unref(c);
	return r;
}

int ref_row_inherit(struct ref_row *row, const struct ref_row *from,
		    const struct ref_list *kept)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->nall; i++)
		r = push(&row->all, &row->nall, &row->cap_all, from->all[i]);
	/* The history is in the order of sequences, the list is not. */
	for (size_t i = 0; r == 0 && i < from->n; i++)
		for (size_t k = 0; r == 0 && k < kept->n; k++)
			if (kept->at[k] == from->changes[i])
				r = push(&row->changes, &row->n, &row->cap,
					 kept->at[k]);
	return r;
}

void ref_list_free(struct ref_list *l)
{
	free(l->at);
	*l = (struct ref_list){0};
}

static int list_add(struct ref_list *l, struct ref_change *c)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		void *p = realloc(l->at, cap * sizeof(*l->at));

		if (!p)
			return -ENOMEM;
		l->at = p;
		l->cap = cap;
	}
	l->at[l->n++] = c;
	return 0;
}

static void list_remove(struct ref_list *l, size_t i)
{
	memmove(&l->at[i], &l->at[i + 1], (l->n - i - 1) * sizeof(*l->at));
	l->n--;
}

static bool in_range(const struct ref_look *look, int64_t ts)
{
	return ts >= look->ts_min && ts < look->ts_max;
}

/* Does a marker speak for a put, whenever each was written? */
static bool covers(const struct ref_change *marker,
		   const struct ref_change *put)
{
	if (!kind_is_family_marker(marker->kind) &&
	    !bytes_eq(marker->qualifier, put->qualifier))
		return false;
	if (marker->kind == CELL_DELETE ||
	    marker->kind == CELL_DELETE_FAMILY_VERSION)
		return put->ts == marker->ts;
	return put->ts <= marker->ts;
}

/* With keep_deleted a marker outside the range that is read says nothing. */
static bool honoured(const struct ref_look *look,
		     const struct ref_change *marker)
{
	return look->whole || look->attrs->keep_deleted == KEEP_DELETED_NO ||
	       in_range(look, marker->ts);
}

static bool same_version(const struct ref_change *a, const struct ref_change *b)
{
	return a->ts == b->ts && bytes_eq(a->qualifier, b->qualifier);
}

/* Versions of the column that are newer than @put and stay for ever. */
static uint32_t newer_permanent(const struct ref_list *l,
				const struct ref_change *put)
{
	uint32_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->at[i]->ts > put->ts && l->at[i]->ttl_ms == 0 &&
		     bytes_eq(l->at[i]->qualifier, put->qualifier);
	return n;
}

/* Was it there at the moment of which the row is looked at? */
static bool counts(const struct ref_look *look, const struct ref_change *c)
{
	return c->seq <= look->seq_max &&
	       !(look->has_as_of && c->ts > look->as_of &&
		 !(look->late_markers && kind_is_marker(c->kind)));
}

/* Removes for good what lies beyond `versions` of @put's column. */
static void push_out(struct ref_list *l, const struct ref_change *put,
		     uint32_t versions)
{
	for (size_t i = l->n; i-- > 0;)
		if (bytes_eq(l->at[i]->qualifier, put->qualifier) &&
		    newer_permanent(l, l->at[i]) >= versions)
			list_remove(l, i);
}

static int replay_put(struct ref_list *live, struct ref_change *put,
		      uint32_t versions)
{
	int r;

	/* A loan stands in front of what it replaces, and gives it back. */
	for (size_t i = live->n; put->ttl_ms == 0 && i-- > 0;)
		if (same_version(live->at[i], put))
			list_remove(live, i);
	r = list_add(live, put);
	if (r == 0)
		push_out(live, put, versions);
	return r;
}

/* new_version_behavior: what the writes in their order leave. */
static int replay(const struct ref_row *row, const struct ref_look *look,
		  struct ref_list *live)
{
	for (size_t i = 0; i < row->n; i++) {
		struct ref_change *c = row->changes[i];
		int r;

		if (!counts(look, c))
			continue;
		if (c->kind == CELL_PUT) {
			r = replay_put(live, c, look->attrs->versions);
			if (r < 0)
				return r;
			continue;
		}
		if (!honoured(look, c))
			continue;
		for (size_t j = live->n; j-- > 0;)
			if (covers(c, live->at[j]))
				list_remove(live, j);
	}
	return 0;
}

static bool masked(const struct ref_row *row, const struct ref_look *look,
		   const struct ref_change *put)
{
	for (size_t i = 0; i < row->n; i++) {
		const struct ref_change *c = row->changes[i];

		if (!counts(look, c))
			continue;
		if (kind_is_marker(c->kind) && honoured(look, c) &&
		    covers(c, put))
			return true;
		/* A later write of the same coordinates replaces it. */
		if (c->kind == CELL_PUT && c->seq > put->seq &&
		    c->ttl_ms == 0 && same_version(c, put))
			return true;
	}
	return false;
}

/* The classic order: markers hide whatever they cover. */
static int unmasked(const struct ref_row *row, const struct ref_look *look,
		    struct ref_list *live)
{
	for (size_t i = 0; i < row->n; i++) {
		struct ref_change *c = row->changes[i];
		int r;

		if (c->kind != CELL_PUT || !counts(look, c) ||
		    masked(row, look, c))
			continue;
		r = list_add(live, c);
		if (r < 0)
			return r;
	}
	return 0;
}

static int live_puts(const struct ref_row *row, const struct ref_look *look,
		     struct ref_list *live)
{
	return look->attrs->new_version_behavior ? replay(row, look, live)
						 : unmasked(row, look, live);
}

/* The order of cells inside a row: see cell.h and cursor.h. */
static int change_cmp(const void *pa, const void *pb)
{
	const struct ref_change *a = *(struct ref_change *const *)pa;
	const struct ref_change *b = *(struct ref_change *const *)pb;
	bool fa = kind_is_family_marker(a->kind);
	bool fb = kind_is_family_marker(b->kind);
	int c;

	if (fa != fb)
		return fa ? -1 : 1;
	c = bytes_cmp(a->qualifier, b->qualifier);
	if (c)
		return c;
	if (a->ts != b->ts)
		return a->ts > b->ts ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind > b->kind ? -1 : 1;
	return (a->seq < b->seq) - (a->seq > b->seq);
}

static void list_sort(struct ref_list *l)
{
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), change_cmp);
}

static bool expired_by(int64_t ts, uint64_t ttl, int64_t now)
{
	return now > ts && (uint64_t)(now - ts) > ttl;
}

static bool own_expired(const struct ref_look *look, const struct ref_change *c)
{
	return c->ttl_ms && expired_by(c->ts, c->ttl_ms, look->now_ms);
}

static bool family_expired(const struct ref_look *look,
			   const struct ref_change *c)
{
	return look->attrs->ttl_ms != TTL_FOREVER &&
	       expired_by(c->ts, look->attrs->ttl_ms, look->now_ms);
}

enum drop {
	DROP_OUT_OF_RANGE,
	DROP_OWN_EXPIRED
};

static void list_drop(struct ref_list *l, const struct ref_look *look,
		      enum drop what)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct ref_change *c = l->at[i];

		if (what == DROP_OUT_OF_RANGE && !in_range(look, c->ts))
			continue;
		if (what == DROP_OWN_EXPIRED && own_expired(look, c))
			continue;
		l->at[n++] = c;
	}
	l->n = n;
}

/* Of each version the one that was written last. */
static void list_unique(struct ref_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (n == 0 || !same_version(l->at[n - 1], l->at[i]))
			l->at[n++] = l->at[i];
	l->n = n;
}

/*
 * Of each column the newest @max, and of what has outlived the family's ttl
 * only those among the newest min_versions. Only permanent ones count if
 * @permanent: what lives for a while uncovers others when it goes.
 */
static void list_limit(struct ref_list *l, const struct ref_look *look,
		       uint32_t max, bool permanent)
{
	size_t n = 0;
	uint32_t newer = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct ref_change *c = l->at[i];

		if (i == 0 || !bytes_eq(c->qualifier, l->at[i - 1]->qualifier))
			newer = 0;
		if (newer < max && (!family_expired(look, c) ||
				    newer < look->attrs->min_versions))
			l->at[n++] = c;
		newer += !permanent || c->ttl_ms == 0;
	}
	l->n = n;
}

/* Of each column the newest @max; 0 = all. */
static void list_newest(struct ref_list *l, uint32_t max)
{
	size_t n = 0;
	struct bytes column = {0};
	uint32_t seen = 0;

	for (size_t i = 0; max && i < l->n; i++) {
		struct ref_change *c = l->at[i];

		if (i == 0 || !bytes_eq(c->qualifier, column))
			seen = 0;
		column = c->qualifier;
		if (seen++ < max)
			l->at[n++] = c;
	}
	if (max)
		l->n = n;
}

static int visible_raw(const struct ref_row *row, const struct ref_look *look,
		       struct ref_list *out)
{
	struct bytes column = {0};
	uint32_t puts = 0;
	size_t n = 0;

	for (size_t i = 0; i < row->n; i++)
		if (row->changes[i]->seq <= look->seq_max) {
			int r = list_add(out, row->changes[i]);

			if (r < 0)
				return r;
		}
	list_sort(out);
	list_drop(out, look, DROP_OUT_OF_RANGE);
	for (size_t i = 0; i < out->n; i++) {
		struct ref_change *c = out->at[i];

		if (n && out->at[n - 1]->kind == c->kind &&
		    same_version(out->at[n - 1], c))
			continue; /* an older write of the same coordinates */
		if (i == 0 || !bytes_eq(c->qualifier, column))
			puts = 0;
		column = c->qualifier;
		puts += c->kind == CELL_PUT;
		/* Markers in front of the first put too many are shown. */
		if (look->versions && puts > look->versions)
			continue;
		out->at[n++] = c;
	}
	out->n = n;
	return 0;
}

int ref_row_visible(const struct ref_row *row, const struct ref_look *look,
		    struct ref_list *out)
{
	struct ref_row past = *row;
	int r;

	if (look->has_as_of) {
		past.changes = row->all;
		past.n = row->nall;
		row = &past;
	}
	if (look->raw)
		return visible_raw(row, look, out);
	r = live_puts(row, look, out);
	if (r < 0)
		return r;
	list_sort(out);
	list_drop(out, look, DROP_OWN_EXPIRED);
	list_unique(out);
	if (look->attrs->new_version_behavior || look->whole) {
		/* What was pushed out is gone, whoever asks. */
		list_limit(out, look, look->attrs->versions, false);
		list_drop(out, look, DROP_OUT_OF_RANGE);
	} else {
		/* As in HBase the range comes before the count. */
		list_drop(out, look, DROP_OUT_OF_RANGE);
		list_limit(out, look, look->attrs->versions, false);
	}
	list_newest(out, look->versions);
	return 0;
}

int ref_row_kept(const struct ref_row *row, const struct ref_look *look,
		 struct ref_list *out)
{
	struct family_attrs attrs = *look->attrs;
	struct ref_look l = *look;
	int r = live_puts(row, look, out);

	if (r < 0)
		return r;
	list_sort(out);
	list_drop(out, look, DROP_OWN_EXPIRED);
	if (!attrs.new_version_behavior)
		list_unique(out);
	/*
	 * With min_versions the deletion of newer ones calls back what has
	 * expired; in the classic order a compaction may show, and counts what
	 * lives for a while as it counts all others.
	 */
	if (attrs.min_versions && attrs.new_version_behavior)
		attrs.ttl_ms = TTL_FOREVER;
	l.attrs = &attrs;
	list_limit(out, &l, attrs.versions, attrs.new_version_behavior);
	return 0;
}
