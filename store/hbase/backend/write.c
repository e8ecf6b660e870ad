/*
 * Mutations.
 *
 * A mutation is resolved (resolve.c) and sent as one atomic call. Its first check
 * goes with it as HBase's condition; HBase takes one, so that further checks
 * hold when they are looked at, right before. A put whose timestamp the store
 * chooses is resolved again when another has put a newer version in between.
 */
#include <errno.h>
#include <stdlib.h>

#include <xxhash.h>

#include "store/hbase/backend/inside.h"
#include "store/hbase/calls/multi.h"
#include "store/hbase/filters/filter_message.h"
#include "store/hbase/wire/messages.h"

/* As often a put is resolved again before its caller hears of it. */
#define TRIES 32
/*
 * So many rows are sent in one go, and such values: a server syncs its log once
 * for each, warns of more than 5,000 rows, and refuses a request of 256 MiB.
 */
#define ROWS_MANY 4096
#define BYTES_MANY (4u << 20)

/* A condition and the memory that it points to. */
struct condition {
	struct pb_condition message;
	struct buf value;
	struct filter_list filters;
};

static void condition_free(struct condition *c)
{
	buf_free(&c->value);
	filter_list_free(&c->filters);
}

/* The comparison that HBase is to make of a value. */
static uint32_t compare_of(uint8_t op)
{
	static const uint8_t of[] = {
		[CHECK_NOT_EQUAL] = COMPARE_NOT_EQUAL,
		[CHECK_LESS] = COMPARE_LESS,
		[CHECK_LESS_OR_EQUAL] = COMPARE_LESS_OR_EQUAL,
		[CHECK_GREATER] = COMPARE_GREATER,
		[CHECK_GREATER_OR_EQUAL] = COMPARE_GREATER_OR_EQUAL,
	};

	return op >= CHECK_NOT_EQUAL && op <= CHECK_GREATER_OR_EQUAL
		       ? of[op]
		       : COMPARE_EQUAL;
}

/* By a filter: something of the column must pass it. */
static int condition_filter(const struct check *k, struct condition *c)
{
	filter_add_family(&c->filters, k->family);
	filter_add_qualifier(&c->filters, k->qualifier);
	if (k->op == CHECK_NEWEST_TS) {
		filter_add_first(&c->filters);
		filter_add_ts(&c->filters, k->ts);
	}
	return filter_message(&c->filters, &c->message.filter);
}

/*
 * By a comparison: of the value, or "absent or empty". That an empty value is
 * there the caller has seen before.
 */
static int condition_compare(const struct check *k, struct condition *c)
{
	bool absent = k->op == CHECK_ABSENT || k->op == CHECK_VERSION_ABSENT;
	int r = binary_comparator(absent ? (struct bytes){0} : k->value,
				  &c->value);

	c->message.compare = compare_of(k->op);
	c->message.comparator = (struct pb_comparator){
		true, bytes_str(BINARY_COMPARATOR), buf_bytes(&c->value)};
	return r < 0 ? why(r, "out of memory for a check") : 0;
}

static int condition_new(struct bytes row, const struct check *k,
			 bool and_newer, struct condition *c)
{
	*c = (struct condition){0};
	proto_init(&pb_condition, &c->message);
	c->message.here = true;
	c->message.row = row;
	c->message.family = k->family;
	c->message.qualifier = k->qualifier;
	if (check_is_of_version(k->op))
		c->message.range = (struct pb_time_range){
			true, (uint64_t)k->ts,
			and_newer ? INT64_MAX : (uint64_t)k->ts + 1};
	switch (k->op) {
	case CHECK_PRESENT:
	case CHECK_VERSION_PRESENT:
	case CHECK_NEWEST_TS:
		return condition_filter(k, c);
	default:
		return condition_compare(k, c);
	}
}

static uint32_t durability_of(const struct table *t, unsigned flags)
{
	return flags & MUTATE_SYNC || hbase_of(t->store)->sync
		       ? DURABILITY_FSYNC_WAL
		       : DURABILITY_TABLE;
}

/* What increments and appends have become. */
static int take_sums(struct mutation *m, struct proto_list sums)
{
	struct pb_cell cell;
	int r;

	while ((r = proto_next(&sums, &cell)) > 0)
		for (size_t i = 0; i < m->nchanges; i++) {
			struct change *c = &m->changes[i];

			if (!op_adds(c->op) ||
			    !bytes_eq(c->family, cell.family) ||
			    !bytes_eq(c->qualifier, cell.qualifier))
				continue;
			c->ts_given = (int64_t)cell.ts;
			if (c->op == CHANGE_INCREMENT && cell.value.len == 8)
				c->result_int = (int64_t)be64toh(
					bytes_load64(cell.value.data));
		}
	return r;
}

static int not_known(int err, const char *reason)
{
	return why(err == -EINTR ? err : -ETIMEDOUT,
		   "%.700s: it is not known whether the change was made",
		   reason);
}

/* Does its condition say that what it deletes is there, and nothing else? */
static bool deletes_checked(const struct mutation *m)
{
	const struct change *c = m->changes;
	const struct check *k = m->checks;

	if (m->nchanges != 1 || m->nchecks != 1 ||
	    !bytes_eq(c->family, k->family) ||
	    !bytes_eq(c->qualifier, k->qualifier))
		return false;
	if (k->op == CHECK_PRESENT)
		return c->op == CHANGE_DELETE_COLUMN && c->ts > TS_MAX;
	return k->op == CHECK_VERSION_PRESENT && c->op == CHANGE_DELETE &&
	       c->ts == k->ts;
}

/*
 * A condition did not hold at the second try of a call whose first one was not
 * answered: perhaps because the first was applied. 1 if what it put is there, at
 * the moment that was chosen for it, or what it was to delete is gone; anything else
 * may be of others.
 */
static int was_applied(struct table *t, const struct mutation *m)
{
	struct buf value = {0};
	struct cell cell;
	int r = 0;

	if (deletes_checked(m))
		return 1;
	for (size_t i = 0; r == 0 && i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		if (c->op == CHANGE_PUT && c->ts > TS_MAX)
			r = hbase_get(t, m->row, c->family, c->qualifier,
				      c->ts_given, true, NULL, &cell, &value);
		if (r > 0)
			r = bytes_eq(cell.value, c->value);
	}
	buf_free(&value);
	return r > 0 ? 1 : not_known(r, "a server was lost");
}

/* Sends what was resolved: 1, 0, or an error. */
static int apply(struct table *t, struct mutation *m, struct row_actions *ra,
		 const struct check *k, bool guards, unsigned flags)
{
	struct row_result result = {0};
	struct condition c = {0};
	int r = k ? condition_new(m->row, k, guards, &c) : 0;

	if (r == 0)
		r = multi_row(cluster_of(t), name_of(t), ra,
			      k ? &c.message : NULL, durability_of(t, flags),
			      &result);
	if (r > 0 && ra->counts) {
		r = take_sums(m, result.sums);
		r = r < 0 ? r : 1;
	} else if (r == 0 && result.may_be_done) {
		r = was_applied(t, m);
	} else if (r < 0 && result.may_be_done) {
		r = not_known(r, store_why());
	}
	attempt_end(&result.call);
	condition_free(&c);
	return r;
}

/* One try: 1, 0 = a check did not hold, -EAGAIN = to be resolved again. */
static int mutate_once(struct table *t, struct mutation *m, unsigned flags)
{
	struct row_actions ra = {.row = m->row};
	struct check guard;
	const struct check *k = m->nchecks ? m->checks : NULL;
	int64_t checked, *newest = NULL;
	int r = resolve_checks(t, m, &checked), err;

	if (r == 1 && (err = hbase_newest_many(t, m, 1, &newest)) < 0)
		r = err;
	if (r == 1) {
		r = resolve_changes(t, m, checked, newest, &ra, &guard);
		if (r == 0 && !k && guard.op != CHECKS)
			k = &guard;
		if (r == 0)
			r = ra.n ? apply(t, m, &ra, k, k == &guard, flags) : 1;
		if (r == 0 && k == &guard)
			r = -EAGAIN;
	}
	row_actions_free(&ra);
	free(newest);
	return r;
}

/* Sends what is not to be done, as *ra says. */
static int ask(struct table *t, struct row_actions *ra,
	       const struct pb_condition *condition)
{
	struct row_result result = {0};
	int r = multi_row(cluster_of(t), name_of(t), ra, condition,
			  durability_of(t, 0), &result);

	attempt_end(&result.call);
	return r < 0 ? r : 0;
}

/*
 * A put under a condition that does not hold: no value has a time in an empty range,
 * and for a server that did not look at the range it is a value that nobody puts.
 */
static int put_nothing(struct table *t, struct row_actions *ra,
		       const struct change *put)
{
	const struct check check = {.op = CHECK_EQUAL,
				    .family = put->family,
				    .qualifier = put->qualifier,
				    .value = bytes_str("what no cell has")};
	struct condition never = {0};
	int r = condition_new(ra->row, &check, false, &never);

	never.message.range = (struct pb_time_range){true, 1, 1};
	if (r == 0)
		r = ask(t, ra, &never.message);
	condition_free(&never);
	return r;
}

/*
 * Asks the same for a user who may not read, as a condition needs that right: sends the
 * put and, in the same atomic act, a put into a family that does not exist. HBase does
 * neither, and refuses first what the user has no right to.
 */
static int put_beside_none(struct table *t, struct row_actions *ra,
			   struct change put)
{
	int r;

	put.family = bytes_str(".");
	put.ttl_ms = 1; /* not that of the first: an action of its own */
	r = row_actions_add(ra, &put);
	if (r == 0)
		r = ask(t, ra, NULL);
	return r == -EPERM || (r == -EACCES && strstr(store_why(), "family=."))
		       ? 0
		       : r;
}

static int ask_for_put(struct table *t, struct bytes row,
		       const struct change *c)
{
	const struct change put = {.op = CHANGE_PUT,
				   .family = c->family,
				   .qualifier = c->qualifier,
				   .ts = 1};
	struct row_actions ra = {.row = row};
	int r = row_actions_add(&ra, &put);

	if (r == 0)
		r = put_nothing(t, &ra, &put);
	if (r == -EACCES && strstr(store_why(), "action=READ"))
		r = put_beside_none(t, &ra, put);
	row_actions_free(&ra);
	return r;
}

/*
 * The servers look at what the user may do, and at quotas, before they look at a
 * condition: so they are asked, for who would not look at the error of a close(2).
 */
int hbase_may_put(struct table *base, struct bytes row, const struct change *c)
{
	struct hbase_table *t = table_of(base);
	struct os *os = hbase_of(base->store)->os;
	uint64_t family = XXH3_64bits(c->family.data, c->family.len);
	size_t at = family % PUTS_KNOWN;
	bool known;
	int r;

	pthread_mutex_lock(&t->lock);
	known = t->puts[at].family == family &&
		os_monotonic_ns(os) < t->puts[at].until_ns;
	pthread_mutex_unlock(&t->lock);
	if (known)
		return 0;
	r = ask_for_put(base, row, c);
	if (r < 0)
		return r;
	pthread_mutex_lock(&t->lock);
	t->puts[at].family = family;
	t->puts[at].until_ns =
		os_monotonic_ns(os) + SCHEMA_SECONDS * 1000000000ull;
	pthread_mutex_unlock(&t->lock);
	return 0;
}

/* A sum with a timestamp of the caller's, which HBase would not take. */
static bool is_dated_sum(const struct mutation *m)
{
	const struct change *c = m->changes;

	return m->nchanges == 1 && c->ts <= TS_MAX && op_adds(c->op);
}

/* The new value of a sum, from the old one in @value. */
static int add_up(struct change *c, bool found, struct buf *value)
{
	if (c->op == CHANGE_INCREMENT)
		return change_count(c, found, value);
	if (!found)
		value->len = 0;
	return buf_append(value, c->value.data, c->value.len);
}

/*
 * Reads the old value and puts the new one under the condition that the old one
 * is still there. The mutation's own checks hold when they are looked at.
 */
static int sum_once(struct table *t, struct mutation *m, unsigned flags)
{
	struct change *c = m->changes;
	struct buf old = {0}, value = {0};
	struct check still = {
		.op = CHECK_VERSION_EQUAL,
		.family = c->family,
		.qualifier = c->qualifier,
	};
	struct change put = *c;
	struct mutation one = {.row = m->row,
			       .changes = &put,
			       .nchanges = 1,
			       .checks = &still,
			       .nchecks = 1};
	struct cell cell;
	int64_t checked;
	int r = resolve_checks(t, m, &checked), found = 0;

	if (r == 1)
		found = hbase_get(t, m->row, c->family, c->qualifier,
				  c->ts_max ? c->ts_max - 1 : TS_MAX, false,
				  NULL, &cell, &old);
	/*
	 * Nothing is there, or nothing at the time; in a family that keeps what
	 * is deleted that version is still found by its time.
	 */
	if (found == 0)
		still.op = c->ts_max ? CHECK_VERSION_ABSENT : CHECK_ABSENT;
	if (found > 0 && cell.ts < c->ts_min) {
		still.op = CHECK_VERSION_ABSENT;
		found = 0;
	}
	if (r == 1 && found >= 0) {
		r = buf_set(&value, buf_bytes(&old));
		if (r == 0)
			r = add_up(c, found, &value);
		still.ts = found ? cell.ts : c->ts;
		still.value = buf_bytes(&old);
		put.op = CHANGE_PUT;
		put.value = buf_bytes(&value);
		/* As HBase's own sums: the old value's ttl, unless it has one. */
		if (found && !put.ttl_ms)
			put.ttl_ms = cell.ttl_ms;
		if (r == 0)
			r = mutate_once(t, &one, flags);
		c->ts_given = put.ts_given;
		if (r == 0)
			r = -EAGAIN;
	}
	buf_free(&old);
	buf_free(&value);
	return found < 0 ? found : r;
}

int hbase_mutate(struct table *t, struct mutation *m, unsigned flags)
{
	int r = -EAGAIN;

	for (unsigned i = 0; i < TRIES && r == -EAGAIN; i++)
		r = is_dated_sum(m) ? sum_once(t, m, flags)
				    : mutate_once(t, m, flags);
	if (r == -EAGAIN)
		return why(-EBUSY, "other clients write the same column all "
				   "the time");
	return r;
}

/* Can the mutation go with others, by what was asked for them together? */
static bool goes_with_others(const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++) {
		const struct change *c = &m->changes[i];

		if ((c->ts == TS_AUTO && !change_asks_newest(c)) ||
		    op_adds(c->op) ||
		    (c->op == CHANGE_DELETE && c->ts > TS_MAX))
			return false;
	}
	return true;
}

/* Mutations of different rows that go together. */
struct company {
	struct row_actions *rows;
	struct condition *conditions; /* of those that have one */
	size_t n, max;
	bool *done;
	uint16_t *places; /* of rows by their hash: index + 1, 0 = free */
};

static int company_new(size_t n, struct company *c)
{
	c->n = 0;
	c->max = n < ROWS_MANY ? n : ROWS_MANY;
	c->rows = calloc(c->max, sizeof(*c->rows));
	c->conditions = calloc(c->max, sizeof(*c->conditions));
	c->done = calloc(c->max, sizeof(*c->done));
	c->places = calloc((size_t)2 * ROWS_MANY, sizeof(*c->places));
	if (!c->rows || !c->conditions || !c->done || !c->places)
		return why(-ENOMEM, "out of memory for changes");
	return 0;
}

static void company_free(struct company *c)
{
	/* The row of which the resolving failed has memory as well. */
	for (size_t i = 0; c->rows && c->conditions && i < c->max; i++) {
		row_actions_free(&c->rows[i]);
		condition_free(&c->conditions[i]);
	}
	free(c->rows);
	free(c->conditions);
	free(c->done);
	free(c->places);
}

/* The place of @row, which is free if no mutation here is of that row. */
static uint16_t *company_place(struct company *c, struct bytes row)
{
	size_t at = XXH3_64bits(row.data, row.len) % (2 * ROWS_MANY);

	while (c->places[at] && !bytes_eq(c->rows[c->places[at] - 1].row, row))
		at = (at + 1) % (2 * ROWS_MANY);
	return &c->places[at];
}

static size_t value_bytes(const struct mutation *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->nchanges; i++)
		n += m->changes[i].value.len;
	return n;
}

/* Takes into @c what can go together of @m. */
static void company_choose(const struct mutation *m, struct company *c)
{
	size_t bytes = 0;

	while (c->n < c->max && goes_with_others(&m[c->n])) {
		uint16_t *place = company_place(c, m[c->n].row);

		bytes += value_bytes(&m[c->n]);
		if (*place || (c->n && bytes > BYTES_MANY))
			break;
		c->rows[c->n].row = m[c->n].row;
		*place = (uint16_t)++c->n;
	}
}

/* Resolves them: 0, or why one is refused, and then @c has those before it. */
static int company_resolve(struct table *t, struct mutation *m,
			   struct company *c)
{
	int64_t *newest;
	struct check guard;
	size_t at = 0;
	int r = hbase_newest_many(t, m, c->n, &newest);

	if (r < 0)
		c->n = 0;
	for (size_t i = 0; i < c->n; at += m[i++].nchanges) {
		struct row_actions *ra = &c->rows[i];

		r = resolve_changes(t, &m[i], 0, newest ? newest + at : NULL,
				    ra, &guard);
		if (r == 0 && guard.op != CHECKS) {
			r = condition_new(m[i].row, &guard, true,
					  &c->conditions[i]);
			ra->condition = &c->conditions[i].message;
		}
		if (r < 0)
			c->n = i;
	}
	free(newest);
	return r;
}

/* Each row of which others have put a newer version meanwhile is done alone. */
static int company_finish(struct table *t, struct mutation *m,
			  struct company *c, unsigned flags)
{
	int r = 1;

	for (size_t i = 0; r > 0 && i < c->n; i++) {
		if (c->done[i])
			continue;
		r = c->rows[i].tries > 1 ? was_applied(t, &m[i])
					 : hbase_mutate(t, &m[i], flags);
		c->done[i] = r > 0;
	}
	return r < 0 ? r : 0;
}

/* What is made anew of rows that are done is to be the same. */
static void keep_times(const struct company *c, struct mutation *m)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; c->done[i] && k < m[i].nchanges; k++)
			if (change_asks_newest(&m[i].changes[k]))
				m[i].changes[k].ts = m[i].changes[k].ts_given;
}

static int company_send(struct table *t, struct mutation *m, struct company *c,
			unsigned flags, size_t *done)
{
	int r = multi_rows(cluster_of(t), name_of(t), c->rows, c->n,
			   durability_of(t, flags), c->done);

	if (r == 0)
		r = company_finish(t, m, c, flags);
	if (r < 0)
		keep_times(c, m);
	for (size_t i = 0; i < c->n && c->done[i]; i++)
		++*done;
	return r;
}

/* Sends mutations of different rows together, and counts those applied. */
static int many(struct table *t, struct mutation *m, size_t n, unsigned flags,
		size_t *done)
{
	struct company c;
	int r = company_new(n, &c);

	if (r == 0) {
		company_choose(m, &c);
		r = company_resolve(t, m, &c);
	}
	/* Those before one that is refused are applied. */
	if (c.n > 0) {
		struct why_kept kept;
		int sent;

		why_keep(&kept);
		sent = company_send(t, m, &c, flags, done);
		if (sent < 0)
			r = sent;
		else
			why_restore(&kept);
	}
	company_free(&c);
	return r;
}

int hbase_mutate_many(struct table *t, struct mutation *m, size_t n,
		      unsigned flags, size_t *done)
{
	int r = 0;

	while (r == 0 && *done < n) {
		struct mutation *next = &m[*done];

		if (goes_with_others(next)) {
			r = many(t, next, n - *done, flags, done);
			continue;
		}
		r = hbase_mutate(t, next, flags);
		if (r > 0) {
			r = 0;
			++*done;
		}
	}
	return r;
}
