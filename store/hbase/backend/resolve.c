/*
 * A mutation as HBase can apply it: each change has its timestamp, and what HBase
 * would take in another order than it is written here has another timestamp or
 * is refused.
 *
 * HBase gives all changes of a mutation one moment, in which a delete hides a
 * put of its timestamp or an older one, wherever it stands. Here they count in
 * their order. So a put behind a delete that would hide it gets the next
 * timestamp, if it may choose; else it is refused.
 * What deletes there are to send markers.c says.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/calls/multi.h"
#include "store/value/array.h"
#include "store/value/given.h"

/* Does the marker hide the put, if both are of one moment? */
static bool hides(const struct change *marker, const struct change *put)
{
	switch (marker->op) {
	case CHANGE_DELETE:
		return change_same_column(marker, put) &&
		       marker->ts_given == put->ts_given;
	case CHANGE_DELETE_COLUMN:
		return change_same_column(marker, put) &&
		       marker->ts_given >= put->ts_given;
	case CHANGE_DELETE_FAMILY_VERSION:
		return bytes_eq(marker->family, put->family) &&
		       marker->ts_given == put->ts_given;
	case CHANGE_DELETE_FAMILY:
		return bytes_eq(marker->family, put->family) &&
		       marker->ts_given >= put->ts_given;
	default:
		return false;
	}
}

struct resolver {
	struct table *t;
	struct mutation *m;
	struct row_actions *out;
	int64_t now_ms, checked;
	const int64_t
		*newest; /* of each change, if they were asked for; or NULL */
	size_t nmarkers; /* so many changes before this one are no puts */
	size_t nsums;	 /* so many before it are sums, at the server's time */
	/* What is sent, each with its timestamp. */
	struct change *sent;
	size_t nsent, cap;
	struct schema schema; /* whose families a delete of the row names */
	/* What the deletes of the row are: a marker for each family. */
	struct change *rows;
	size_t nrows, rows_cap;
	struct given given;
};

static int send(struct resolver *rs, const struct change *c)
{
	/* Without markers there is nothing to clear. */
	if (!rs->nmarkers)
		return row_actions_add(rs->out, c);
	if (ARRAY_RESERVE(rs->sent, rs->cap, rs->nsent + 1) < 0)
		return why(-ENOMEM, "out of memory for changes");
	rs->sent[rs->nsent++] = *c;
	return 0;
}

static int check_size(const struct change *c, const struct family_attrs *a)
{
	if (c->op != CHANGE_PUT || c->value.len <= a->max_value)
		return 0;
	return why(-EFBIG,
		   "a value of %zu bytes is over max_value %" PRIu32
		   " of family %.*s",
		   c->value.len, a->max_value, (int)c->family.len,
		   (const char *)c->family.data);
}

/*
 * HBase puts a sum behind the newest version, also where that is the last one that
 * has a timestamp: what it makes there can be read by nobody here. Each of several
 * sums of a column may take a timestamp.
 */
static int check_sum(const struct resolver *rs, size_t at)
{
	const struct change *c = &rs->m->changes[at];
	int64_t taken = 1;
	struct cell cell;
	int r;

	for (size_t i = 0; i < at; i++)
		taken += op_adds(rs->m->changes[i].op) &&
			 change_same_column(&rs->m->changes[i], c);
	r = hbase_get(rs->t, rs->m->row, c->family, c->qualifier, TS_MAX, false,
		      NULL, &cell, NULL);
	if (r > 0)
		r = cell.ts > TS_MAX - taken ? no_ts_left(cell.ts) : 0;
	return r;
}

/* So many deletes of the newest version stand before this one. */
static uint32_t deletes_before(const struct resolver *rs, size_t at)
{
	const struct change *c = &rs->m->changes[at];
	uint32_t n = 0;

	for (size_t i = 0; i < at; i++)
		n += rs->m->changes[i].op == CHANGE_DELETE &&
		     rs->m->changes[i].ts > TS_MAX &&
		     change_same_column(&rs->m->changes[i], c);
	return n;
}

/* Sets ts_given where the caller leaves it to the store. */
static int resolve_ts(struct resolver *rs, size_t at, struct change *c,
		      const struct family_attrs *a)
{
	bool whole = kind_is_family_marker(c->op);
	bool one = c->op == CHANGE_DELETE;
	int64_t newest = 0;
	int r;

	c->ts_given = c->ts <= TS_MAX ? c->ts : rs->now_ms;
	if (c->ts == TS_CLOCK && c->op == CHANGE_PUT &&
	    rs->checked > rs->now_ms)
		c->ts_given = rs->checked;
	if (c->ts <= TS_MAX || op_adds(c->op) || (c->ts == TS_CLOCK && !one))
		return 0;
	if (rs->newest && rs->newest[at] != NEWEST_UNASKED) {
		newest = rs->newest[at];
		r = newest >= 0;
	} else {
		r = hbase_newest(rs->t, rs->m->row, c->family, c->qualifier,
				 whole, !one && !a->new_version_behavior,
				 one ? deletes_before(rs, at) : 0, &newest);
	}
	if (r <= 0)
		return r;
	newest += op_writes(c->op);
	if (one || newest > c->ts_given)
		c->ts_given = newest;
	return c->ts_given > TS_MAX ? no_ts_left(newest - 1) : 0;
}

/* A marker before the change that hides it, or NULL. */
static const struct change *hider(const struct resolver *rs, size_t at)
{
	const struct change *c = &rs->m->changes[at];

	for (size_t i = 0; i < at; i++)
		if (hides(&rs->m->changes[i], c))
			return &rs->m->changes[i];
	for (size_t i = 0; i < rs->nrows; i++)
		if (hides(&rs->rows[i], c))
			return &rs->rows[i];
	return NULL;
}

/* Puts the change behind the deletes that stand before it. */
static int resolve_order(struct resolver *rs, size_t at,
			 const struct family_attrs *a)
{
	struct change *c = &rs->m->changes[at];
	const struct change *before;

	if (!op_writes(c->op)) {
		rs->nmarkers++;
		return 0;
	}
	/* In the classic order the delete wins here, too. */
	if (!rs->nmarkers || (!a->new_version_behavior && c->ts != TS_AUTO))
		return 0;
	while ((before = hider(rs, at)) != NULL) {
		if (c->ts <= TS_MAX || op_adds(c->op))
			return why(-EOPNOTSUPP,
				   "HBase cannot delete and put one column at "
				   "%" PRId64
				   " in one mutation: give the put a greater "
				   "timestamp, or make two of it",
				   c->ts_given);
		if (before->ts_given >= TS_MAX)
			return no_ts_left(before->ts_given);
		c->ts_given = before->ts_given + 1;
	}
	return 0;
}

/*
 * May HBase take two changes, one of them a sum, in another order than that in which they
 * are written, @a first? The server gives the sum its timestamp, the clock's at least,
 * which nobody knows before: a delete behind it may be too old to hide it, and a put
 * before or behind it may be newer or older than it.
 */
static bool clashes(const struct change *a, const struct change *b)
{
	if (!op_writes(b->op))
		return op_adds(a->op) && hides(b, a);
	if (op_adds(a->op) == op_adds(b->op) || !op_writes(a->op) ||
	    !change_same_column(a, b))
		return false;
	return op_adds(a->op) ? b->ts > TS_MAX : a->ts_given >= b->ts_given;
}

static int resolve_beside_sums(const struct resolver *rs, size_t at,
			       const struct change *c)
{
	bool any = rs->nsums || op_adds(c->op);

	for (size_t i = 0; any && i < at; i++)
		if (clashes(&rs->m->changes[i], c))
			return why(-EOPNOTSUPP,
				   "HBase cannot add to a column and %s it in "
				   "one mutation: make two of it",
				   op_writes(c->op) ? "put" : "delete");
	return 0;
}

/* As hbase_family(), where a table without the family is an error. */
static int family_of(struct table *t, struct bytes family,
		     struct family_attrs *out)
{
	int r = hbase_family(t, family, out);

	return r ? r
		 : why(-EPERM, "the table has no family %.*s", (int)family.len,
		       (const char *)family.data);
}

static int resolve_one(struct resolver *rs, size_t at)
{
	struct change *c = &rs->m->changes[at];
	struct family_attrs a;
	int r = family_of(rs->t, c->family, &a);

	if (r > 0)
		r = check_size(c, &a);
	/* One that is alone is not resolved, but read and put: write.c. */
	if (r == 0 && op_adds(c->op) && c->ts <= TS_MAX)
		r = why(-EOPNOTSUPP,
			"HBase does not add to a value at a given timestamp "
			"together with other changes of the row: make it a "
			"mutation of its own");
	else if (r == 0 && op_adds(c->op))
		r = check_sum(rs, at);
	if (r == 0)
		r = resolve_ts(rs, at, c, &a);
	/* The server gives a sum its timestamp. */
	if (r == 0 && !op_adds(c->op))
		r = given_raise(&rs->given, rs->m, at, c);
	if (r == 0)
		r = resolve_beside_sums(rs, at, c);
	rs->nsums += op_adds(c->op);
	return r < 0 ? r : resolve_order(rs, at, &a);
}

/* Each marker covers what its own family has, and no more. */
static int resolve_row_delete(struct resolver *rs, size_t at)
{
	struct change *c = &rs->m->changes[at];
	const struct schema *schema = &rs->schema;
	int r = schema->nfamilies ? 0 : hbase_table_schema(rs->t, &rs->schema);

	if (r == 0 && ARRAY_RESERVE(rs->rows, rs->rows_cap,
				    rs->nrows + schema->nfamilies) < 0)
		r = why(-ENOMEM, "out of memory for changes");
	for (uint32_t i = 0; r == 0 && i < schema->nfamilies; i++) {
		struct change *one = &rs->rows[rs->nrows++];

		*one = (struct change){
			.op = CHANGE_DELETE_FAMILY,
			.family = bytes_str(schema->families[i].name),
			.ts = c->ts,
		};
		r = resolve_ts(rs, at, one, &schema->families[i].attrs);
		if (r == 0)
			r = given_raise(&rs->given, rs->m, at, one);
		if (r == 0)
			r = resolve_beside_sums(rs, at, one);
		if (i == 0 || one->ts_given > c->ts_given)
			c->ts_given = one->ts_given;
	}
	rs->nmarkers++;
	return r;
}

/*
 * Is the same version put again behind this one? HBase would keep either. Few
 * mutations do that, and long ones come sorted, so that the next one tells.
 */
static bool is_replaced(const struct mutation *m, size_t at)
{
	const struct change *c = &m->changes[at];
	size_t end = m->nchanges < 64 ? m->nchanges : at + 2;

	if (c->op != CHANGE_PUT)
		return false;
	for (size_t i = at + 1; i < end && i < m->nchanges; i++) {
		const struct change *next = &m->changes[i];

		if (next->op == CHANGE_PUT && change_same_column(next, c) &&
		    next->ts_given == c->ts_given)
			return true;
	}
	return false;
}

static int send_all(struct resolver *rs)
{
	struct change *row = rs->rows;
	int r = 0;

	for (size_t i = 0; i < rs->m->nchanges && r == 0; i++) {
		struct change one = rs->m->changes[i];

		if (one.op == CHANGE_DELETE_ROW) {
			for (uint32_t f = 0; r == 0 && f < rs->schema.nfamilies;
			     f++, row++) {
				row->ts = row->ts_given;
				r = send(rs, row);
			}
			continue;
		}
		if (is_replaced(rs->m, i))
			continue;
		/* The server's clock and the old value give that of a sum. */
		one.ts = op_adds(one.op) ? TS_CLOCK : one.ts_given;
		if (kind_is_family_marker(one.op))
			one.qualifier = (struct bytes){0};
		r = send(rs, &one);
	}
	return r;
}

static int add(struct resolver *rs)
{
	int r = send_all(rs);

	if (r == 0 && rs->nmarkers > 1)
		r = hbase_clear_markers(rs->t, rs->sent, rs->nsent);
	for (size_t i = 0; r == 0 && i < rs->nsent; i++)
		if (rs->sent[i].op != MARKER_CLEARED)
			r = row_actions_add(rs->out, &rs->sent[i]);
	return r;
}

int resolve_changes(struct table *t, struct mutation *m, int64_t checked,
		    const int64_t *newest, struct row_actions *out,
		    struct check *guard)
{
	struct resolver rs = {
		.t = t,
		.m = m,
		.checked = checked,
		.newest = newest,
		.out = out,
		.now_ms = t->store->ops->now_ms(t->store),
	};
	const struct change *first = m->changes;
	bool guarded = true;
	int r = 0;

	given_begin(&rs.given, m);
	for (size_t i = 0; i < m->nchanges && r == 0; i++) {
		if (m->changes[i].op == CHANGE_DELETE_ROW) {
			r = resolve_row_delete(&rs, i);
			guarded = false;
			continue;
		}
		r = resolve_one(&rs, i);
		guarded = guarded && m->changes[i].op == CHANGE_PUT &&
			  change_same_column(&m->changes[i], first);
	}
	if (r == 0)
		r = add(&rs);
	free(rs.sent);
	free(rs.rows);
	given_release(&rs.given);
	schema_free(&rs.schema);
	/* What comes between the look at the newest and the put is noticed. */
	*guard = (struct check){.op = CHECKS};
	if (r == 0 && guarded && m->nchanges == 1 && first->ts == TS_AUTO)
		*guard = (struct check){
			.op = CHECK_VERSION_ABSENT,
			.family = first->family,
			.qualifier = first->qualifier,
			.ts = first->ts_given,
		};
	return r;
}

/* Is a timestamp left for what is put into the column? */
static int has_time(struct table *t, struct bytes row, const struct change *c)
{
	struct cell cell;
	int r = hbase_get(t, row, c->family, c->qualifier, TS_MAX, true, NULL,
			  &cell, NULL);

	return r > 0 ? no_ts_left(cell.ts) : r;
}

int hbase_mutate_try(struct table *t, struct mutation *m)
{
	int64_t *newest = NULL;
	int r = hbase_writable(t);

	if (r == 0)
		r = hbase_newest_many(t, m, 1, &newest);
	for (size_t i = 0; i < m->nchanges && r >= 0; i++) {
		const struct change *c = &m->changes[i];
		struct family_attrs attrs;

		if (c->op == CHANGE_DELETE_ROW)
			continue;
		r = family_of(t, c->family, &attrs);
		if (r > 0)
			r = check_size(c, &attrs);
		if (r == 0 && op_writes(c->op))
			r = hbase_may_put(t, m->row, c);
		if (r < 0 || !op_writes(c->op) || c->ts <= TS_MAX)
			continue;
		if (!newest || newest[i] == NEWEST_UNASKED)
			r = has_time(t, m->row, c);
		else if (newest[i] >= TS_MAX)
			r = no_ts_left(newest[i]);
	}
	free(newest);
	return r < 0 ? r : 1;
}

static bool compares(uint8_t op, int order)
{
	switch (op) {
	case CHECK_EQUAL:
	case CHECK_VERSION_EQUAL:
		return order == 0;
	case CHECK_NOT_EQUAL:
		return order != 0;
	case CHECK_LESS:
		return order < 0;
	case CHECK_LESS_OR_EQUAL:
		return order <= 0;
	case CHECK_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}

/* Does one check hold, where @found says if there is a cell to look at? */
static bool holds(const struct check *k, bool found, const struct cell *cell)
{
	if (check_compares(k->op) && !k->value.len)
		return (k->op == CHECK_NOT_EQUAL) == (found && cell->value.len);
	switch (k->op) {
	case CHECK_ABSENT:
	case CHECK_VERSION_ABSENT:
		return !found;
	case CHECK_PRESENT:
	case CHECK_VERSION_PRESENT:
		return found;
	case CHECK_NEWEST_TS:
		return found && cell->ts == k->ts;
	default:
		return found &&
		       compares(k->op, bytes_cmp(k->value, cell->value));
	}
}

int resolve_checks(struct table *t, const struct mutation *m, int64_t *checked)
{
	struct buf value = {0};
	int r = 1;

	*checked = 0;
	for (size_t i = 0; i < m->nchecks && r == 1; i++) {
		const struct check *k = &m->checks[i];
		bool exact = check_is_of_version(k->op);
		bool looks =
			check_compares(k->op) || k->op == CHECK_VERSION_EQUAL;
		struct family_attrs attrs;
		struct cell cell = {0};

		r = family_of(t, k->family, &attrs);
		if (r > 0)
			r = hbase_get(t, m->row, k->family, k->qualifier,
				      exact ? k->ts : TS_MAX, exact, NULL,
				      &cell, looks ? &value : NULL);
		if (r > 0 && check_compares(k->op) && cell.ts > *checked)
			*checked = cell.ts;
		if (r >= 0)
			r = holds(k, r > 0, &cell);
	}
	buf_free(&value);
	return r;
}
