#include "store/lsm/write/resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/read/read.h"
#include "store/value/array.h"

/* A commit reads the clock once: that costs as much as a hash. */
static int64_t commit_now(struct commit *c)
{
	if (!c->now_ms)
		c->now_ms = os_now_ms(c->db->os);
	return c->now_ms;
}

static int too_large(const struct commit *c, int family, size_t len)
{
	const struct family_schema *f = &c->st->schema.families[family];

	if (len <= f->attrs.max_value)
		return 0;
	return why(-EFBIG,
		   "a value of %zu bytes is over max_value %u of family %s",
		   len, f->attrs.max_value, f->name);
}

/* Is the value looked at, or only whether there is one? */
static bool check_reads(const struct check *k)
{
	switch (k->op) {
	case CHECK_ABSENT:
	case CHECK_VERSION_ABSENT:
	case CHECK_PRESENT:
	case CHECK_VERSION_PRESENT:
	case CHECK_NEWEST_TS:
		return false;
	}
	return true;
}

static int check_one(struct commit *c, struct bytes row, const struct check *k)
{
	struct buf hold = {0};
	struct cell cell;
	bool exact = check_is_of_version(k->op);
	int r, cmp;

	r = table_state_family(c->st, k->family);
	if (r < 0)
		return r;
	r = lsm_get(&c->table->base, row, k->family, k->qualifier,
		    exact ? k->ts : INT64_MAX, exact, NULL, &cell,
		    check_reads(k) ? &hold : NULL);
	if (r < 0)
		goto out;
	/* A put that replaces the checked value must not be hidden by it. */
	if (r > 0 && check_compares(k->op) && cell.ts > c->checked)
		c->checked = cell.ts;
	/* HBase: an empty expected value asks whether the cell is absent. */
	if (check_compares(k->op) && k->value.len == 0) {
		bool absent = r == 0 || cell.value.len == 0;

		r = k->op == CHECK_NOT_EQUAL ? !absent : absent;
		goto out;
	}
	switch (k->op) {
	case CHECK_ABSENT:
	case CHECK_VERSION_ABSENT:
		r = r == 0;
		goto out;
	case CHECK_PRESENT:
	case CHECK_VERSION_PRESENT:
		goto out;
	case CHECK_NEWEST_TS:
		r = r == 1 && cell.ts == k->ts;
		goto out;
	}
	if (r == 0)
		goto out;
	cmp = bytes_cmp(k->value, cell.value);
	switch (k->op) {
	case CHECK_EQUAL:
	case CHECK_VERSION_EQUAL:
		r = cmp == 0;
		break;
	case CHECK_NOT_EQUAL:
		r = cmp != 0;
		break;
	case CHECK_LESS:
		r = cmp < 0;
		break;
	case CHECK_LESS_OR_EQUAL:
		r = cmp <= 0;
		break;
	case CHECK_GREATER:
		r = cmp > 0;
		break;
	default:
		r = cmp >= 0;
		break;
	}
out:
	buf_free(&hold);
	return r;
}

/*
 * Sets the timestamp of a put or a wide marker. @newest_plus: 1 for a put,
 * which must be newer than all versions; 0 for a marker, which must cover them.
 */
static int resolve_ts(struct commit *c, struct bytes row, struct change *ch,
		      struct tree *tree, int newest_plus)
{
	bool wide = kind_is_family_marker(ch->op);
	int64_t newest = 0, now;
	int r;

	ch->ts_given = ch->ts;
	if (ch->ts <= TS_MAX)
		return 0;
	now = commit_now(c);
	ch->ts_given = now;
	if (ch->ts == TS_CLOCK && ch->op == CHANGE_PUT && c->checked > now)
		ch->ts_given = c->checked;
	if (ch->ts == TS_CLOCK || now > tree->ts_max)
		return 0;
	r = column_newest(c->table, row, ch->family, ch->qualifier, wide,
			  &newest);
	if (r < 0)
		return r;
	if (r == 1 && newest + newest_plus > ch->ts_given)
		ch->ts_given = newest + newest_plus;
	return ch->ts_given > TS_MAX ? no_ts_left(newest) : 0;
}

/*
 * Resolves a delete of the newest version, m->changes[at]. Earlier deletes of
 * the same column in the mutation have taken the newer versions.
 */
static int resolve_delete(struct commit *c, const struct mutation *m, size_t at)
{
	struct column_look look = {.ts_max = INT64_MAX};
	struct change *ch = &m->changes[at];
	struct cell cell;
	int r;

	ch->ts_given = ch->ts;
	if (ch->ts <= TS_MAX)
		return 0;
	for (size_t i = 0; i < at; i++)
		if (m->changes[i].op == CHANGE_DELETE &&
		    m->changes[i].ts > TS_MAX &&
		    change_same_column(&m->changes[i], ch))
			look.older++;
	ch->ts_given = commit_now(c);
	r = column_read(&c->table->base, m->row, ch->family, ch->qualifier,
			&look, &cell, NULL);
	if (r > 0)
		ch->ts_given = cell.ts;
	return r < 0 ? r : 0;
}

/* Reads the old value and makes the new one in a buffer of its own. */
static int resolve_rmw(struct commit *c, struct bytes row, struct change *ch,
		       int family, struct bytes *value)
{
	struct column_look look = {
		.ts_min = ch->ts_min,
		.ts_max = ch->ts_max ? ch->ts_max : INT64_MAX,
	};
	struct buf *held;
	struct cell cell;
	int r;

	if (ARRAY_ONE_MORE(c->held, c->nheld) < 0)
		return why(-ENOMEM, "out of memory");
	held = &c->held[c->nheld++];
	*held = (struct buf){0};
	r = column_read(&c->table->base, row, ch->family, ch->qualifier, &look,
			&cell, held);
	if (r < 0)
		return r;
	ch->ts_given = commit_now(c);
	if (r > 0 && cell.ts >= ch->ts_given && cell.ts < TS_MAX)
		ch->ts_given = cell.ts + 1;
	if (r > 0 && !ch->ttl_ms)
		ch->ttl_ms = cell.ttl_ms;
	if (ch->op == CHANGE_INCREMENT) {
		r = change_count(ch, r > 0, held);
	} else {
		r = too_large(c, family, held->len + ch->value.len);
		if (r == 0)
			r = buf_append(held, ch->value.data, ch->value.len);
	}
	*value = buf_bytes(held);
	return r;
}

static struct pending *next_pending(struct commit *c)
{
	struct lsm *db = c->db;

	if (c->npending == db->entries_cap) {
		size_t cap = db->entries_cap ? 2 * db->entries_cap : 64;
		struct pending *p = realloc(db->pending, cap * sizeof(*p));
		struct entry *e;

		if (p)
			db->pending = p;
		e = p ? realloc(db->entries, cap * sizeof(*e)) : NULL;
		if (!e) {
			why(-ENOMEM, "out of memory");
			return NULL;
		}
		db->entries = e;
		db->entries_cap = cap;
	}
	return &db->pending[c->npending++];
}

static int add_pending(struct commit *c, struct tree *tree,
		       const struct change *ch, uint8_t kind,
		       struct bytes value)
{
	struct pending *p = next_pending(c);

	if (!p)
		return -ENOMEM;
	p->tree = tree->id;
	p->mutation = 0;
	p->piece = ch->op == CHANGE_PUT ? ch->piece : NULL;
	p->entry = (struct entry){
		.qualifier = ch->qualifier,
		.ts = ch->ts_given,
		.seq = c->seq++,
		.ttl_ms = kind == CELL_PUT ? ch->ttl_ms : 0,
		.value = value,
		.kind = kind,
	};
	if (kind_is_family_marker(kind))
		p->entry.qualifier = (struct bytes){0};
	return 0;
}

/*
 * Neighbouring changes usually have the same family, and the same pointer to
 * its name.
 */
static int family_of(struct commit *c, struct bytes name)
{
	int at;

	if (name.data == c->family.data && name.len == c->family.len)
		return c->family_at;
	at = table_state_family(c->st, name);
	if (at >= 0) {
		c->family = name;
		c->family_at = at;
	}
	return at;
}

static void bring_row(struct commit *c, uint32_t tree, struct bytes row)
{
	c->at_row = memtable_at(c->db->active, tree, row);
	if (!c->at_row)
		c->near = memtable_ahead(c->db->active, tree, row);
}

static int resolve(struct commit *c, const struct mutation *m, size_t at,
		   struct change *ch)
{
	struct bytes value = ch->value;
	uint8_t kind = ch->op;
	int family, r;

	family = family_of(c, ch->family);
	if (family < 0)
		return family;
	/* The row is prefetched while the record is made and logged. */
	if (c->npending == 0)
		bring_row(c, c->st->trees[family]->id, m->row);
	switch (ch->op) {
	case CHANGE_PUT:
		r = too_large(c, family, value.len);
		break;
	case CHANGE_INCREMENT:
	case CHANGE_APPEND:
		kind = CELL_PUT;
		r = resolve_rmw(c, m->row, ch, family, &value);
		break;
	default:
		value = (struct bytes){0};
		r = 0;
		break;
	}
	if (r < 0)
		return r;
	if (ch->op == CHANGE_DELETE)
		r = resolve_delete(c, m, at);
	else if (!op_adds(ch->op) || ch->ts != TS_CLOCK)
		r = resolve_ts(c, m->row, ch, c->st->trees[family],
			       kind == CELL_PUT);
	if (r == 0)
		r = given_raise(&c->given, m, at, ch);
	if (r < 0)
		return r;
	ch->seq_given = c->seq;
	return add_pending(c, c->st->trees[family], ch, kind, value);
}

/* A row delete is a family delete in every family. */
static int resolve_row_delete(struct commit *c, const struct mutation *m,
			      size_t at)
{
	struct change *ch = &m->changes[at];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->st->schema.nfamilies; i++) {
		struct change one = *ch;

		one.op = CHANGE_DELETE_FAMILY;
		one.family = bytes_str(c->st->schema.families[i].name);
		r = resolve(c, m, at, &one);
		if (r == 0 && (i == 0 || one.ts_given > ch->ts_given))
			ch->ts_given = one.ts_given;
	}
	return r;
}

int resolve_mutation(struct commit *c, struct mutation *m)
{
	int r = 0;

	c->checked = 0;
	for (size_t i = 0; i < m->nchecks; i++) {
		r = check_one(c, m->row, &m->checks[i]);
		if (r <= 0)
			return r;
	}
	r = 0;
	given_begin(&c->given, m);
	for (size_t i = 0; r == 0 && i < m->nchanges; i++) {
		struct change *ch = &m->changes[i];

		if (ch->op == CHANGE_DELETE_ROW)
			r = resolve_row_delete(c, m, i);
		else
			r = resolve(c, m, i, ch);
	}
	return r < 0 ? r : 1;
}

void commit_release(struct commit *c)
{
	struct lsm *db = c->db;

	given_release(&c->given);
	for (size_t i = 0; i < c->nheld; i++)
		buf_free(&c->held[i]);
	free(c->held);
	/* Free what a row of a million columns needed. */
	if (db->entries_cap > ENTRIES_KEPT_MAX) {
		free(db->pending);
		free(db->entries);
		db->pending = NULL;
		db->entries = NULL;
		db->entries_cap = 0;
	}
	if (db->record.cap > RECORD_KEPT_BYTES_MAX)
		buf_free(&db->record);
}
