#include <errno.h>
#include <stdlib.h>

#include "tests/model/ref_inside.h"

/* A mutation under way. */
struct applying {
	struct ref_store *rs;
	struct ref_table *t;
	struct bytes row;
	/* Whatever a change depends on is what was there before them all. */
	uint64_t seq_before;
	size_t *n_before; /* changes of the row, by family */
	size_t change;	  /* the present one, counted over the whole call */
	const struct mutation *m;
	size_t at;	 /* the present change of @m */
	int64_t checked; /* the greatest timestamp whose value was checked */
};

/*
 * Of the visible versions that @look and the column leave the one behind
 * @older newer ones, if any.
 */
static int nth_newest(struct applying *a, int family, struct bytes qualifier,
		      const struct ref_look *look, size_t older,
		      struct ref_change **out)
{
	struct ref_row *row = ref_row_find(&a->t->families[family], a->row);
	struct ref_list l = {0};
	int r = row ? ref_visible(a->rs, row, look, &l) : 0;

	*out = NULL;
	for (size_t i = 0; r == 0 && i < l.n && !*out; i++)
		if (bytes_eq(l.at[i]->qualifier, qualifier) && older-- == 0)
			*out = l.at[i];
	ref_list_free(&l);
	return r;
}

static int newest(struct applying *a, int family, struct bytes qualifier,
		  struct ref_look *look, struct ref_change **out)
{
	return nth_newest(a, family, qualifier, look, 0, out);
}

/* HBase's CheckAndMutate. */
static bool value_holds(const struct check *k, const struct ref_change *at)
{
	bool absent = !at || at->value.len == 0;
	int c;

	if (k->value.len == 0)
		return k->op == CHECK_NOT_EQUAL ? !absent : absent;
	if (!at)
		return false;
	c = bytes_cmp(k->value, at->value);
	switch (k->op) {
	case CHECK_EQUAL:
		return c == 0;
	case CHECK_NOT_EQUAL:
		return c != 0;
	case CHECK_LESS:
		return c < 0;
	case CHECK_LESS_OR_EQUAL:
		return c <= 0;
	case CHECK_GREATER:
		return c > 0;
	default:
		return c >= 0;
	}
}

static int check_holds(struct applying *a, const struct check *k)
{
	int family = schema_find(&a->t->schema, k->family);
	struct ref_change *at = NULL;
	struct ref_look look;
	int r;

	if (family < 0)
		return why(-EPERM, "the family %.*s is not declared",
			   (int)k->family.len, (const char *)k->family.data);
	look = ref_look_now(a->t, family);
	if (check_is_of_version(k->op)) {
		look.ts_min = k->ts;
		look.ts_max = k->ts + 1;
		look.whole = true;
	}
	r = newest(a, family, k->qualifier, &look, &at);
	if (r < 0)
		return r;
	switch (k->op) {
	case CHECK_ABSENT:
	case CHECK_VERSION_ABSENT:
		return !at;
	case CHECK_PRESENT:
	case CHECK_VERSION_PRESENT:
		return at != NULL;
	case CHECK_NEWEST_TS:
		return at && at->ts == k->ts;
	case CHECK_VERSION_EQUAL:
		return at && bytes_eq(at->value, k->value);
	default:
		if (at && at->ts > a->checked)
			a->checked = at->ts;
		return value_holds(k, at);
	}
}

/*
 * The newest timestamp of what was stored in a column before the mutation, the
 * markers that cover it included; of the whole family if @qualifier is NULL.
 * -1 if nothing was.
 */
static int64_t newest_stored(struct applying *a, int family,
			     const struct bytes *qualifier)
{
	struct ref_row *row = ref_row_find(&a->t->families[family], a->row);
	int64_t ts = -1;

	for (size_t i = 0; row && i < row->n; i++) {
		struct ref_change *c = row->changes[i];

		if (c->seq > a->seq_before ||
		    (qualifier && !kind_is_family_marker(c->kind) &&
		     !bytes_eq(c->qualifier, *qualifier)))
			continue;
		if (c->ts > ts)
			ts = c->ts;
	}
	return ts;
}

/* The same of what is visible. */
static int newest_visible(struct applying *a, int family,
			  const struct bytes *qualifier, int64_t *out)
{
	struct ref_row *row = ref_row_find(&a->t->families[family], a->row);
	struct ref_look look = ref_look_now(a->t, family);
	struct ref_list l = {0};
	int r;

	*out = -1;
	look.seq_max = a->seq_before;
	r = row ? ref_visible(a->rs, row, &look, &l) : 0;
	for (size_t i = 0; r == 0 && i < l.n; i++)
		if ((!qualifier || bytes_eq(l.at[i]->qualifier, *qualifier)) &&
		    l.at[i]->ts > *out)
			*out = l.at[i]->ts;
	ref_list_free(&l);
	return r;
}

static int64_t after(int64_t now, int64_t newest, int plus)
{
	return newest >= 0 && newest + plus > now ? newest + plus : now;
}

/*
 * What the mutation itself has made before of the column, or of the family, with
 * @plus. Which timestamp a delete of the row has in a family is not told: @least, if
 * it is as old as it may be.
 */
static int64_t behind(const struct applying *a, int family,
		      const struct bytes *qualifier, int plus, bool least)
{
	struct ref_row *row = ref_row_find(&a->t->families[family], a->row);
	struct bytes name = bytes_str(a->t->schema.families[family].name);
	int64_t ts = -1;

	for (size_t i = 0; i < a->at; i++) {
		const struct change *c = &a->m->changes[i];
		bool of_row = c->op == CHANGE_DELETE_ROW;

		if (of_row ? least
			   : bytes_eq(c->family, name) &&
				     (!qualifier ||
				      kind_is_family_marker(c->op) ||
				      bytes_eq(c->qualifier, *qualifier)))
			ts = after(ts,
				   of_row && c->ts == TS_AUTO ? a->rs->now()
							      : c->ts_given,
				   0);
	}
	for (size_t i = 0; !least && row && i < row->n; i++)
		if (row->changes[i]->seq > a->seq_before &&
		    kind_is_family_marker(row->changes[i]->kind))
			ts = after(ts, row->changes[i]->ts, 0);
	return ts < 0 ? ts : ts + plus;
}

/*
 * The store's own choice: @plus 1 for a put, that must be newer than all there
 * is; 0 for a marker, that must cover it. How much of the hidden is still
 * stored is up to the store, so a hint between what is visible and what was
 * ever written is taken.
 */
static int auto_ts(struct applying *a, int family,
		   const struct bytes *qualifier, int plus, int64_t *out)
{
	int64_t now = a->rs->now(), hint = -1, visible;
	int r;

	if (a->rs->plant == PLANT_TS_REPEATS)
		plus = 0;
	*out = after(now, newest_stored(a, family, qualifier), plus);
	*out = after(*out, behind(a, family, qualifier, plus, false), 0);
	if (a->change < a->rs->nhints)
		hint = a->rs->hints[a->change];
	if (hint < 0 || hint >= *out)
		return 0;
	r = newest_visible(a, family, qualifier, &visible);
	if (r == 0 && hint >= after(now, visible, plus) &&
	    hint >= behind(a, family, qualifier, plus, true))
		*out = hint;
	return r;
}

/* Of a put or a wide marker. */
static int settle_ts(struct applying *a, int family, const struct change *c,
		     int64_t *out)
{
	bool wide = kind_is_family_marker(c->op) || c->op == CHANGE_DELETE_ROW;
	int plus = c->op == CHANGE_PUT || c->op == CHANGE_INCREMENT ||
		   c->op == CHANGE_APPEND;

	*out = c->ts;
	if (c->ts == TS_CLOCK)
		*out = a->rs->now();
	if (c->ts == TS_CLOCK && c->op == CHANGE_PUT && a->checked > *out)
		*out = a->checked;
	if (c->ts != TS_AUTO)
		return 0;
	return auto_ts(a, family, wide ? NULL : &c->qualifier, plus, out);
}

/* Of the deletion of one version. */
static int delete_ts(struct applying *a, int family, const struct change *c,
		     int64_t *out)
{
	struct ref_change *at;
	struct ref_look look;
	size_t older = 0;
	int r;

	*out = c->ts;
	if (c->ts != TS_AUTO && c->ts != TS_CLOCK)
		return 0;
	*out = a->rs->now();
	look = ref_look_now(a->t, family);
	look.seq_max = a->seq_before;
	for (size_t i = 0; i < a->at; i++)
		older += a->m->changes[i].op == CHANGE_DELETE &&
			 a->m->changes[i].ts > TS_MAX &&
			 bytes_eq(a->m->changes[i].family, c->family) &&
			 bytes_eq(a->m->changes[i].qualifier, c->qualifier);
	r = nth_newest(a, family, c->qualifier, &look, older, &at);
	if (r == 0 && at)
		*out = at->ts;
	return r;
}

static int add(struct applying *a, int family, struct ref_change *what)
{
	struct ref_row *row;
	int r = ref_row_make(&a->t->families[family], a->row, &row);

	what->seq = ++a->rs->last_seq;
	return r < 0 ? r : ref_row_add(row, what);
}

/* @old: what the value was made of, or NULL. */
static int put(struct applying *a, int family, struct change *c,
	       struct bytes value, uint64_t ttl_ms,
	       const struct ref_change *old)
{
	struct ref_change what = {
		.kind = CELL_PUT,
		.ttl_ms = ttl_ms,
		.qualifier = c->qualifier,
		.value = value,
	};
	uint32_t max = a->t->schema.families[family].attrs.max_value;
	int r;

	if (value.len > max)
		return why(-EFBIG,
			   "the value is %zu bytes long, the family "
			   "%s takes at most %u",
			   value.len, a->t->schema.families[family].name, max);
	r = settle_ts(a, family, c, &what.ts);
	if (c->ts == TS_CLOCK && old && old->ts >= what.ts && old->ts < TS_MAX)
		what.ts = old->ts + 1;
	c->ts_given = what.ts;
	return r < 0 ? r : add(a, family, &what);
}

static int increment(struct applying *a, int family, struct change *c,
		     const struct ref_change *old)
{
	uint8_t bytes[8];
	uint64_t n = 0;

	if (old && old->value.len != sizeof(bytes))
		return why(-EINVAL, "the counter is %zu bytes long, not 8",
			   old->value.len);
	for (int i = 0; old && i < 8; i++)
		n = n << 8 | old->value.data[i];
	n += (uint64_t)c->delta;
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(n >> (56 - 8 * i));
	c->result_int = (int64_t)n;
	return put(a, family, c, bytes_of(bytes, sizeof(bytes)),
		   c->ttl_ms || !old ? c->ttl_ms : old->ttl_ms, old);
}

static int append(struct applying *a, int family, struct change *c,
		  const struct ref_change *old)
{
	struct buf value = {0};
	int r = old ? buf_set(&value, old->value) : 0;

	if (r == 0)
		r = buf_append(&value, c->value.data, c->value.len);
	if (r == 0)
		r = put(a, family, c, buf_bytes(&value),
			c->ttl_ms || !old ? c->ttl_ms : old->ttl_ms, old);
	buf_free(&value);
	return r;
}

/* A marker in each family, each with a timestamp of its own. */
static int delete_row(struct applying *a, struct change *c)
{
	int64_t given = -1;
	int r = 0;

	for (uint32_t f = 0; r == 0 && f < a->t->schema.nfamilies; f++) {
		struct ref_change what = {.kind = CELL_DELETE_FAMILY};

		r = settle_ts(a, f, c, &what.ts);
		if (r == 0)
			r = add(a, f, &what);
		if (what.ts > given)
			given = what.ts;
	}
	if (given >= 0)
		c->ts_given = given;
	return r;
}

static int apply(struct applying *a, struct change *c)
{
	struct ref_change what = {.kind = c->op, .qualifier = c->qualifier};
	struct ref_change *old = NULL;
	struct ref_look look;
	int family, r;

	if (c->op == CHANGE_DELETE_ROW)
		return delete_row(a, c);
	family = schema_find(&a->t->schema, c->family);
	if (family < 0)
		return why(-EPERM, "the family %.*s is not declared",
			   (int)c->family.len, (const char *)c->family.data);
	if (c->op == CHANGE_PUT)
		return put(a, family, c, c->value, c->ttl_ms, NULL);
	if (c->op != CHANGE_INCREMENT && c->op != CHANGE_APPEND) {
		r = c->op == CHANGE_DELETE ? delete_ts(a, family, c, &what.ts)
					   : settle_ts(a, family, c, &what.ts);
		c->ts_given = what.ts;
		return r < 0 ? r : add(a, family, &what);
	}
	look = ref_look_now(a->t, family);
	look.seq_max = a->seq_before;
	look.ts_min = c->ts_min;
	look.ts_max = c->ts_max ? c->ts_max : INT64_MAX;
	r = newest(a, family, c->qualifier, &look, &old);
	if (r < 0)
		return r;
	return c->op == CHANGE_APPEND ? append(a, family, c, old)
				      : increment(a, family, c, old);
}

static int begin(struct applying *a)
{
	struct ref_table *t = a->t;

	a->n_before = calloc(t->schema.nfamilies + 1, sizeof(*a->n_before));
	if (!a->n_before)
		return -ENOMEM;
	for (uint32_t f = 0; f < t->schema.nfamilies; f++) {
		struct ref_row *row = ref_row_find(&t->families[f], a->row);

		a->n_before[f] = row ? row->n : 0;
	}
	return 0;
}

/* Takes back all that was done. */
static void undo(struct applying *a)
{
	for (uint32_t f = 0; f < a->t->schema.nfamilies; f++) {
		struct ref_row *row = ref_row_find(&a->t->families[f], a->row);

		if (row)
			ref_row_cut(row, a->n_before[f]);
	}
	a->rs->last_seq = a->seq_before;
}

static int mutate(struct ref_store *rs, struct ref_table *t, struct mutation *m,
		  size_t nbefore)
{
	struct applying a = {
		.rs = rs,
		.t = t,
		.row = m->row,
		.seq_before = rs->last_seq,
		.change = nbefore,
		.m = m,
	};
	bool checked = rs->plant != PLANT_CHECK_IGNORED;
	int r = ref_gone(t);

	if (r < 0)
		return r;
	for (size_t i = 0; i < m->nchecks; i++) {
		r = check_holds(&a, &m->checks[i]);
		if (r < 0 || (r == 0 && checked))
			return r;
	}
	r = begin(&a);
	for (size_t i = 0; r == 0 && i < m->nchanges; i++, a.change++) {
		a.at = i;
		if (i != 2 || rs->plant != PLANT_LOST_CHANGE)
			r = apply(&a, &m->changes[i]);
	}
	if (r < 0 && a.n_before && rs->plant != PLANT_HALF_MUTATION)
		undo(&a);
	free(a.n_before);
	return r < 0 ? r : 1;
}

/* Hints are for one call. */
static int forget_hints(struct ref_store *rs, int r)
{
	rs->nhints = 0;
	return r;
}

int ref_mutate(struct table *base, struct mutation *m, unsigned flags)
{
	struct ref_store *rs = ref_lock(base->store);
	int r = mutate(rs, table_of(base), m, 0);

	return ref_unlock(rs, forget_hints(rs, r));
}

int ref_mutate_many(struct table *base, struct mutation *m, size_t n,
		    unsigned flags, size_t *done)
{
	struct ref_store *rs = ref_lock(base->store);
	size_t changes = 0;
	int r = 1;

	for (*done = 0; r > 0 && *done<n; *done += r> 0) {
		r = mutate(rs, table_of(base), &m[*done], changes);
		changes += m[*done].nchanges;
	}
	return ref_unlock(rs, forget_hints(rs, r < 0 ? r : 0));
}
