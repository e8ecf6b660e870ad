#include "tests/model/world.h"

#include <errno.h>
#include <stdlib.h>

#include "store/filter/filter.h"

int64_t world_now = WORLD_START_MS;

int64_t world_clock(void)
{
	return world_now;
}

/* A table goes by one of two names, so that it can be renamed. */
static struct bytes table_name_of(unsigned table, unsigned which)
{
	static const char *const names[STEP_TABLES][2] = {{"t0", "u0"},
							  {"t1", "u1"}};

	return bytes_str(names[table][which]);
}

void world_set_now(struct world *w, int64_t now)
{
	w->now = now < 0 ? 0 : now;
	world_now = w->now;
	if (w->set_now)
		w->set_now(w, w->now);
}

int world_make_table(struct world *w, unsigned table)
{
	struct schema schema = {0};
	struct family_attrs attrs;
	int r = 0;

	schema_init(&schema, 0, 0);
	family_attrs_default(&attrs);
	attrs.block_size = 1024;
	for (unsigned i = 0; r == 0 && i < STEP_FAMILIES; i++) {
		attrs.versions = w->many ? 1000 : i ? 2 : 3;
		attrs.new_version_behavior = !w->classic || i == 0;
		attrs.bloom = i ? BLOOM_ROWCOL : BLOOM_ROW;
		/* HBase shows the past of a row if all of it is kept. */
		attrs.keep_deleted =
			i && !w->cluster ? KEEP_DELETED_NO : w->keep;
		attrs.compression = i ? COMPRESSION_ZLIB : COMPRESSION_NONE;
		r = schema_add(&schema, step_family(i), &attrs);
	}
	if (r == 0)
		r = store_table_create(w->store, table_name_of(table, 0),
				       &schema);
	schema_free(&schema);
	return r;
}

int world_begin(struct world *w)
{
	int r = 0;

	world_set_now(w, WORLD_START_MS);
	w->pristine = !w->tiny;
	for (unsigned i = 0; r == 0 && i < STEP_TABLES; i++)
		r = world_make_table(w, i);
	return r == 0 ? world_attach(w) : r;
}

int world_attach(struct world *w)
{
	for (unsigned i = 0; i < STEP_TABLES; i++)
		for (unsigned which = 0; which < 2 && !w->tables[i]; which++) {
			int r = table_open(w->store, table_name_of(i, which),
					   &w->tables[i]);

			if (r < 0 && r != -ENOENT)
				return r;
		}
	return 0;
}

static void release_all(struct world *w)
{
	for (unsigned i = 0; i < STEP_SNAPSHOTS; i++) {
		snapshot_release(w->snapshots[i]);
		w->snapshots[i] = NULL;
	}
}

void world_detach(struct world *w)
{
	release_all(w);
	scan_close(w->held);
	w->held = NULL;
	for (unsigned i = 0; i < STEP_TABLES; i++) {
		table_unref(w->tables[i]);
		w->tables[i] = NULL;
	}
}

struct changes {
	struct change changes[STEP_CHANGES];
	struct check checks[STEP_CHECKS];
	struct buf values[STEP_CHANGES + STEP_CHECKS];
	struct mutation m;
};

static struct bytes value_of(struct buf *b, enum step_value kind, uint32_t id,
			     unsigned k)
{
	if (step_value(b, kind, id, k) < 0)
		abort();
	return buf_bytes(b);
}

static void change_fill(const struct step *s, unsigned i, int64_t now,
			struct changes *c)
{
	const struct step_change *from = &s->changes[i];
	struct change *to = &c->changes[i];
	bool writes = from->op == CHANGE_PUT || from->op == CHANGE_APPEND;

	*to = (struct change){
		.op = from->op,
		.ts = step_ts(from->ts, now),
		.ts_given = -1,
	};
	if (from->op != CHANGE_DELETE_ROW)
		to->family = step_family(from->family);
	if (from->op != CHANGE_DELETE_ROW && !kind_is_family_marker(from->op))
		to->qualifier = step_qualifier(from->qualifier);
	if (writes)
		to->value = value_of(&c->values[i], from->value, s->id, i);
	if (from->op == CHANGE_INCREMENT)
		to->delta = from->delta;
	if ((writes || from->op == CHANGE_INCREMENT) && from->ttl)
		to->ttl_ms = step_ttl(from->ttl);
}

static void changes_fill(const struct step *s, int64_t now, struct changes *c)
{
	for (unsigned i = 0; i < s->nchanges; i++)
		change_fill(s, i, now, c);
	for (unsigned i = 0; i < s->nchecks; i++) {
		const struct step_check *from = &s->checks[i];

		c->checks[i] = (struct check){
			.op = from->op,
			.family = step_family(from->family),
			.qualifier = step_qualifier(from->qualifier),
			.ts = step_ts(from->ts, now),
			.value = value_of(&c->values[STEP_CHANGES + i],
					  from->value, s->id, i),
		};
	}
	c->m = (struct mutation){
		.row = step_row(s->row),
		.changes = c->changes,
		.nchanges = s->nchanges,
		.checks = c->checks,
		.nchecks = s->nchecks,
	};
}

static void changes_free(struct changes *c)
{
	for (unsigned i = 0; i < STEP_CHANGES + STEP_CHECKS; i++)
		buf_free(&c->values[i]);
}

/* Also of a call that failed: it may have happened all the same. */
static void note_given(struct world *w, const struct mutation *m)
{
	for (size_t i = 0; i < m->nchanges; i++)
		w->given[w->ngiven++] = m->changes[i].ts_given;
}

static void say_given(const struct mutation *m, struct buf *answer)
{
	for (size_t i = 0; i < m->nchanges; i++) {
		say(answer, " @%lld", (long long)m->changes[i].ts_given);
		if (m->changes[i].op == CHANGE_INCREMENT)
			say(answer, "=%lld",
			    (long long)m->changes[i].result_int);
	}
}

static void apply_mutate(struct world *w, struct table *t, const struct step *s,
			 struct buf *answer)
{
	struct changes c = {0};
	int r;

	changes_fill(s, w->now, &c);
	r = w->result = table_mutate(t, &c.m, s->flags);
	say(answer, "%d", r);
	note_given(w, &c.m);
	if (r > 0)
		say_given(&c.m, answer);
	say(answer, "\n");
	changes_free(&c);
}

static void apply_many(struct world *w, struct table *t, const struct step *s,
		       struct buf *answer)
{
	struct changes c[STEP_ROWS] = {0};
	struct mutation m[STEP_ROWS];
	size_t done = 0;
	int r;

	for (unsigned i = 0; i < STEP_ROWS; i++) {
		changes_fill(s, w->now, &c[i]);
		c[i].m.row = step_row(i);
		c[i].m.nchecks = 0;
		m[i] = c[i].m;
	}
	r = w->result = table_mutate_many(t, m, STEP_ROWS, s->flags, &done);
	say(answer, "%d %zu", r, done);
	for (size_t i = 0; i < STEP_ROWS; i++)
		note_given(w, &m[i]);
	for (size_t i = 0; i < done; i++)
		say_given(&m[i], answer);
	say(answer, "\n");
	for (unsigned i = 0; i < STEP_ROWS; i++)
		changes_free(&c[i]);
}

static void say_cell(const struct cell *c, uint8_t granularity, bool keys_only,
		     struct buf *answer)
{
	say_text(answer, c->kind == CELL_LOST ? "? " : "  ");
	say_key(answer, c->row);
	if (granularity >= SCAN_FAMILIES) {
		say_text(answer, " ");
		say_key(answer, c->family);
	}
	if (granularity >= SCAN_COLUMNS) {
		say_text(answer, ":");
		say_key(answer, c->qualifier);
	}
	if (granularity >= SCAN_COLUMNS && c->kind != CELL_LOST) {
		say_text(answer, " @");
		say_number(answer, c->ts);
		say_text(answer, " ");
		say_text(answer, kind_name(c->kind));
		if (c->ttl_ms)
			say(answer, " ttl %llu", (unsigned long long)c->ttl_ms);
		say_text(answer, " ");
		if (keys_only)
			say(answer, "[%zu]%s", c->value.len,
			    c->value.data ? " has data" : "");
		else
			say_key(answer, c->value);
	}
	say_text(answer, "\n");
}

static void drain(struct scan *sc, uint8_t granularity, bool keys_only,
		  struct buf *answer)
{
	struct cell cells[9];
	size_t n = 1;
	int r;

	/* In batches of all sizes. */
	while ((r = scan_next_many(sc, cells, n)) > 0) {
		for (int i = 0; i < r; i++)
			say_cell(&cells[i], granularity, keys_only, answer);
		n = n % 9 + 1;
	}
	if (r < 0)
		say(answer, "%d\n", r);
	scan_close(sc);
}

/* 0, or why it could not be opened. */
static int scan_all(struct table *t, const struct scan_spec *spec,
		    struct buf *answer)
{
	struct scan *sc = NULL;
	int r = scan_open(t, spec, &sc);

	if (r < 0)
		say(answer, "%d\n", r);
	else
		drain(sc, spec->granularity, spec->keys_only, answer);
	return r;
}

/* A scan sees the store as it was when it was opened, whatever comes. */
static void hold(struct world *w, struct table *t, const struct scan_spec *spec,
		 struct buf *answer)
{
	struct cell cell;
	int r;

	scan_close(w->held);
	w->held = NULL;
	w->held_granularity = spec->granularity;
	w->held_keys_only = spec->keys_only;
	r = scan_open(t, spec, &w->held);
	say(answer, "%d\n", r);
	if (r == 0 && scan_next(w->held, &cell) > 0)
		say_cell(&cell, spec->granularity, spec->keys_only, answer);
}

/* 0 = open; the first is between no keys. */
static struct bytes row_end(uint8_t i)
{
	return i ? step_row(i - 1u) : (struct bytes){0};
}

/* 0 = open. */
static int64_t time_end(const struct world *w, uint8_t i)
{
	return i ? step_ts(STEP_TS_FIRST + i - 1u, w->now) : 0;
}

static int make_filter(const struct world *w, uint32_t seed,
		       struct filter **out)
{
	struct buf text = {0};
	int r;

	step_filter(&text, seed, w->now);
	r = filter_parse(buf_bytes(&text), out);
	buf_free(&text);
	return r;
}

static void apply_scan(struct world *w, struct table *t, const struct step *s,
		       struct buf *answer)
{
	const struct step_scan *c = &s->scan;
	struct column_name columns[2];
	struct family_range range;
	struct filter *filter = NULL;
	struct scan_spec spec = {
		.granularity = c->granularity,
		.reversed = c->reversed,
		.raw = c->raw,
		.keys_only = c->keys_only,
		.row_start = row_end(c->start),
		.row_stop = row_end(c->stop),
		.row_start_exclusive = c->start_exclusive,
		.row_stop_inclusive = c->stop_inclusive,
		.has_qual_start = c->qual_start,
		.has_qual_stop = c->qual_stop,
		.qual_start_exclusive = c->qual_exclusive,
		.qual_stop_inclusive = c->qual_inclusive,
		.columns = columns,
		.ncolumns = c->columns,
		.versions = c->versions,
		.limit_rows = c->limit,
		.has_as_of = c->as_of,
		.family_ranges = &range,
		.nfamily_ranges = c->range_family != 0,
		.family_limit = c->family_limit,
		.family_offset = c->family_offset,
	};

	if (c->raw && !w->pristine)
		return;
	if (c->qual_start)
		spec.qual_start = step_qualifier(c->qual_start - 1u);
	if (c->qual_stop)
		spec.qual_stop = step_qualifier(c->qual_stop - 1u);
	spec.ts_min = time_end(w, c->ts_min);
	spec.ts_max = time_end(w, c->ts_max);
	spec.as_of = time_end(w, c->as_of);
	if (c->range_family)
		range = (struct family_range){
			.family = step_family(c->range_family - 1u),
			.ts_min = time_end(w, c->range_min),
			.ts_max = time_end(w, c->range_max),
		};
	for (unsigned i = 0; i < c->columns; i++) {
		columns[i].family = step_family(c->column[i] & 1);
		columns[i].whole_family = c->column[i] / 2 == STEP_QUALIFIERS;
		columns[i].qualifier = step_qualifier(c->column[i] / 2u);
	}
	if (s->snapshot) {
		spec.snapshot = w->snapshots[s->snapshot - 1];
		if (!spec.snapshot)
			return;
	}
	if (c->filter && make_filter(w, c->filter, &filter) < 0)
		say(answer, "no filter: %s\n", store_why());
	spec.filter = filter;
	if (s->kind == STEP_HOLD && !filter)
		hold(w, t, &spec, answer);
	else
		w->result = scan_all(t, &spec, answer);
	filter_free(filter);
}

static void say_got(int r, const struct cell *cell, const struct buf *hold,
		    struct buf *answer)
{
	say_number(answer, r);
	if (r > 0) {
		say_text(answer, " @");
		say_number(answer, cell->ts);
		say_text(answer, " ");
		say_text(answer, kind_name(cell->kind));
		say(answer, " ttl %llu [%zu] ",
		    (unsigned long long)cell->ttl_ms, cell->value.len);
		if (hold)
			say_key(answer, cell->value);
	}
	say_text(answer, "\n");
}

static void get_both(struct table *t, struct bytes row, struct bytes family,
		     struct bytes qualifier, int64_t ts,
		     const struct snapshot *snap, struct buf *answer)
{
	struct buf hold = {0};
	struct cell cell;
	int r = table_get(t, row, family, qualifier, ts, snap, &cell, &hold);

	say_got(r, &cell, &hold, answer);
	r = table_get(t, row, family, qualifier, ts, snap, &cell, NULL);
	say_got(r, &cell, NULL, answer);
	r = table_get_version(t, row, family, qualifier, ts, snap, &cell,
			      &hold);
	say_got(r, &cell, &hold, answer);
	buf_free(&hold);
}

static void apply_get(struct world *w, struct table *t, const struct step *s,
		      struct buf *answer)
{
	const struct step_change *c = &s->changes[0];
	const struct snapshot *snap = NULL;
	int64_t ts = step_ts(c->ts, w->now);

	if (s->snapshot) {
		snap = w->snapshots[s->snapshot - 1];
		if (!snap)
			return;
	}
	get_both(t, step_row(s->row), step_family(c->family),
		 step_qualifier(c->qualifier), ts > TS_MAX ? TS_MAX : ts, snap,
		 answer);
	say(answer, "%d %d\n", table_has_row(t, step_row(s->row)),
	    table_has_family(t, step_row(s->row), step_family(c->family)));
}

static void say_schema(struct table *t, struct buf *answer)
{
	struct schema schema = {0};
	int r = table_schema(t, &schema);

	say(answer, "schema %d", r);
	for (uint32_t i = 0; r == 0 && i < schema.nfamilies; i++) {
		const struct family_attrs *a = &schema.families[i].attrs;

		say(answer, " %s:%u,%u,%llu", schema.families[i].name,
		    a->versions, a->min_versions,
		    (unsigned long long)a->ttl_ms);
	}
	say(answer, "\n");
	if (r == 0)
		schema_free(&schema);
}

/* One of two names, which no snapshot of the other table has. */
static struct bytes snapshot_name(unsigned table, unsigned i)
{
	static const char *const names[STEP_TABLES][2] = {{"nightly", "weekly"},
							  {"daily", "yearly"}};

	return bytes_str(names[table % STEP_TABLES][i % 2]);
}

/* What the named snapshots of @t (NULL = of the store) show. */
static void say_named(struct world *w, struct table *t, struct buf *answer)
{
	struct snapshot_info info = {.name = ""};
	int r;

	while ((r = store_snapshot_next(w->store, t, bytes_str(info.name),
					&info)) > 0) {
		struct scan_spec spec = {.granularity = SCAN_CELLS};
		char name[TABLE_NAME_LEN_MAX + 1] = "";
		struct snapshot *snap = NULL;
		struct table *shown;

		say(answer, "snapshot %s", info.name);
		/* A cluster has a clock of its own. */
		if (!w->cluster)
			say(answer, " @%lld", (long long)info.taken_ms);
		r = store_snapshot_open(w->store, t, bytes_str(info.name),
					&snap);
		say(answer, " %d\n", r);
		if (r < 0)
			return;
		spec.snapshot = snap;
		while (snapshot_table_next(snap, bytes_str(name), name)) {
			struct schema schema = {0};

			r = snapshot_table_open(snap, bytes_str(name), &shown);
			say(answer, " of %s %d", name, r);
			if (r < 0)
				continue;
			r = snapshot_schema(snap, shown, &schema);
			say(answer, " %d, %u families\n", r, schema.nfamilies);
			schema_free(&schema);
			scan_all(shown, &spec, answer);
			table_unref(shown);
		}
		snapshot_release(snap);
	}
	if (r < 0)
		say(answer, "snapshots %d\n", r);
}

static bool has_named(struct world *w)
{
	struct snapshot_info info;
	int n = store_snapshot_next(w->store, NULL, bytes_str(""), &info) != 0;

	for (unsigned i = 0; i < STEP_TABLES; i++)
		if (w->tables[i])
			n += store_snapshot_next(w->store, w->tables[i],
						 bytes_str(""), &info) != 0;
	return n > 0;
}

static void say_tables(struct world *w, struct buf *answer)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	int r;

	while ((r = store_table_next(w->store, bytes_str(name), name)) > 0)
		say(answer, "table %s\n", name);
	if (r < 0)
		say(answer, "tables %d\n", r);
}

void world_content(struct world *w, struct buf *answer)
{
	const struct scan_spec spec = {.granularity = SCAN_CELLS};

	char name[TABLE_NAME_LEN_MAX + 1];

	if (!w->cluster)
		say_tables(w, answer);
	/* A dropped table may still have its handle. */
	for (unsigned i = 0; i < STEP_TABLES; i++)
		if (w->tables[i] && table_name(w->tables[i], name) == 0) {
			say(answer, "t%u ", i);
			say_schema(w->tables[i], answer);
			scan_all(w->tables[i], &spec, answer);
			say_named(w, w->tables[i], answer);
		}
	say_named(w, NULL, answer);
}

static void dump_table(struct table *t, struct buf *answer)
{
	for (unsigned g = SCAN_ROWS; g <= SCAN_CELLS; g++)
		for (unsigned reversed = 0; reversed < 2; reversed++) {
			const struct scan_spec spec = {.granularity = g,
						       .reversed = reversed};

			say(answer, " granularity %u reversed %u\n", g,
			    reversed);
			scan_all(t, &spec, answer);
		}
	for (unsigned i = 0; i < STEP_ROWS * STEP_FAMILIES * STEP_QUALIFIERS;
	     i++)
		get_both(t, step_row(i), step_family(i / STEP_ROWS),
			 step_qualifier(i / STEP_ROWS / STEP_FAMILIES), TS_MAX,
			 NULL, answer);
}

void world_dump(struct world *w, struct buf *answer)
{
	world_content(w, answer);
	for (unsigned i = 0; i < STEP_TABLES; i++)
		if (w->tables[i])
			dump_table(w->tables[i], answer);
}

static void apply_reopen(struct world *w, bool die, struct buf *answer)
{
	int r;

	world_detach(w);
	r = w->reopen ? w->reopen(w, die) : 0;
	if (r == 0)
		r = world_attach(w);
	w->result = r;
	say(answer, "%d\n", r);
}

/*
 * A change of what a family keeps is compared after a compaction only: until
 * then it is the store's choice what of the hidden is still there.
 */
static void apply_alter(struct world *w, struct table *t, const struct step *s,
			struct buf *answer)
{
	struct schema schema = {0};
	int r, at;

	/* And no compaction takes away what a snapshot shows. */
	if (has_named(w))
		return;
	release_all(w);
	r = store_compact(w->store, NULL);
	if (r == 0)
		r = table_schema(t, &schema);
	if (r == 0) {
		at = schema_find(&schema, step_family(s->family));
		if (at >= 0) {
			struct family_attrs *a = &schema.families[at].attrs;

			a->versions =
				s->versions > 3 ? UINT32_MAX : s->versions;
			a->min_versions = s->min_versions < a->versions
						  ? s->min_versions
						  : 0;
			a->ttl_ms = step_ttl(s->ttl);
			r = table_alter(t, &schema, false);
		}
		schema_free(&schema);
	}
	w->result = r;
	say(answer, "%d\n", r);
}

static int has_family(struct table *t, struct bytes family)
{
	struct schema schema = {0};
	int r = table_schema(t, &schema);

	if (r == 0)
		r = schema_find(&schema, family) >= 0;
	schema_free(&schema);
	return r;
}

/* 0 when the family has gone, 1 when it stays: nothing was changed then. */
static int family_drop(struct table *t, const struct step *s)
{
	unsigned how = (unsigned)s->clock + 128;
	struct alter a = {.rest = (uint8_t)(how % 3), .dry = how & 8};
	int r = table_schema(t, &a.to);

	if (r < 0)
		return r;
	r = schema_remove(&a.to, step_family(s->family));
	if (r == 0 && how & 4) {
		struct family_attrs attrs;

		family_attrs_default(&attrs);
		r = schema_add(&a.drop, step_family(s->family), &attrs);
	}
	if (r == 0)
		r = table_change(t, &a);
	alter_free(&a);
	return r == 0 ? has_family(t, step_family(s->family)) : r;
}

static int family_add(struct table *t, const struct step *s)
{
	return table_add_family(t, step_family(s->family));
}

/* One of the names is there, if any. */
static unsigned name_now(struct world *w, unsigned table)
{
	struct table *t = NULL;

	if (table_open(w->store, table_name_of(table, 1), &t) < 0)
		return 0;
	table_unref(t);
	return 1;
}

static void apply_table(struct world *w, const struct step *s,
			struct buf *answer)
{
	unsigned i = s->table, which = name_now(w, i);
	int r;

	switch (s->kind) {
	case STEP_CREATE:
		if (which == 1)
			return;
		r = world_make_table(w, i);
		if (r == 0) {
			table_unref(w->tables[i]);
			w->tables[i] = NULL;
			r = world_attach(w);
		}
		break;
	case STEP_TRUNCATE:
		w->pristine = false; /* nobody can tell what was */
		release_all(w);
		r = store_table_truncate(w->store, table_name_of(i, which));
		break;
	case STEP_DROP:
		release_all(w);
		r = store_table_drop(w->store, table_name_of(i, which),
				     s->clock & 1);
		/* A cluster's schema is believed for a second. */
		if (r == 0 && w->cluster) {
			table_unref(w->tables[i]);
			w->tables[i] = NULL;
		}
		break;
	default:
		r = store_table_rename(w->store, table_name_of(i, which),
				       table_name_of(i, !which));
	}
	w->result = r;
	say(answer, "%d\n", r);
}

static void apply_snapshot(struct world *w, const struct step *s,
			   struct buf *answer)
{
	struct snapshot **slot =
		&w->snapshots[s->snapshot ? s->snapshot - 1 : 0];

	snapshot_release(*slot);
	*slot = NULL;
	if (s->kind == STEP_SNAPSHOT)
		say(answer, "%d\n", snapshot_take(w->store, slot));
}

int world_make_room(struct world *w, const struct step *s)
{
	unsigned to = !s->table;
	int r;

	release_all(w);
	r = store_table_drop(w->store, table_name_of(to, name_now(w, to)),
			     false);
	return r == -ENOENT || r == -ENOTEMPTY ? 0 : r;
}

/* The other table makes room, if it may, and becomes as this is shown. */
static int clone_named(struct world *w, struct table *t, struct bytes name,
		       const struct step *s)
{
	unsigned to = !s->table;
	int r = world_make_room(w, s);

	if (r < 0)
		return r;
	r = store_snapshot_clone(w->store, t, name,
				 t ? (struct bytes){0}
				   : table_name_of(s->table, 0),
				 table_name_of(to, 0));
	if (r < 0)
		return r;
	table_unref(w->tables[to]);
	w->tables[to] = NULL;
	return world_attach(w);
}

static void apply_named(struct world *w, const struct step *s,
			struct buf *answer)
{
	struct table *t = s->family ? NULL : w->tables[s->table];
	struct bytes name = snapshot_name(s->table, s->row);
	struct snapshot **slot;
	int r;

	if (!s->family && !t)
		return;
	/* HBase flushes what it takes a snapshot of. */
	w->pristine = w->pristine && !w->cluster;
	switch (s->kind) {
	case STEP_NAMED:
		r = store_snapshot_create(w->store, t, name);
		break;
	case STEP_NAMED_DROP:
		r = store_snapshot_drop(w->store, t, name);
		break;
	case STEP_NAMED_RENAME:
		r = store_snapshot_rename(w->store, t, name,
					  snapshot_name(s->table, s->row + 1u));
		break;
	case STEP_NAMED_RESTORE:
		/* Who looks at the table of before is on his own. */
		release_all(w);
		r = store_snapshot_restore(w->store, t, name,
					   t ? (struct bytes){0}
					     : table_name_of(s->table, 0));
		break;
	case STEP_NAMED_CLONE:
		r = clone_named(w, t, name, s);
		break;
	default:
		slot = &w->snapshots[s->snapshot ? s->snapshot - 1 : 0];
		snapshot_release(*slot);
		*slot = NULL;
		r = store_snapshot_open(w->store, t, name, slot);
	}
	w->result = r;
	say(answer, "%d\n", r);
}

static void apply_to_table(struct world *w, struct table *t,
			   const struct step *s, struct buf *answer)
{
	switch (s->kind) {
	case STEP_MUTATE:
		apply_mutate(w, t, s, answer);
		break;
	case STEP_MANY:
		apply_many(w, t, s, answer);
		break;
	case STEP_SCAN:
	case STEP_HOLD:
		apply_scan(w, t, s, answer);
		break;
	case STEP_GET:
		apply_get(w, t, s, answer);
		break;
	case STEP_ALTER:
		apply_alter(w, t, s, answer);
		break;
	case STEP_FAMILY_ADD:
		w->result = family_add(t, s);
		say(answer, "%d\n", w->result);
		break;
	case STEP_FAMILY_DROP:
		release_all(w);
		w->result = family_drop(t, s);
		say(answer, "%d\n", w->result);
		break;
	}
}

void world_apply(struct world *w, const struct step *s, struct buf *answer)
{
	struct table *t = w->tables[s->table];

	w->ngiven = 0;
	w->result = -ENODATA;
	switch (s->kind) {
	case STEP_DUMP:
		world_dump(w, answer);
		break;
	case STEP_DRAIN:
		if (w->held)
			drain(w->held, w->held_granularity, w->held_keys_only,
			      answer);
		w->held = NULL;
		break;
	case STEP_FLUSH:
		w->pristine = false;
		w->result = store_flush(w->store, NULL);
		say(answer, "%d\n", w->result);
		break;
	case STEP_COMPACT:
		w->pristine = false;
		/*
		 * What a compaction leaves of the classic order while a
		 * snapshot lives is the store's choice, and shows.
		 */
		if (w->classic)
			release_all(w);
		w->result = store_compact(w->store, NULL);
		say(answer, "%d\n", w->result);
		break;
	case STEP_SYNC:
		w->result = store_sync(w->store);
		say(answer, "%d\n", w->result);
		break;
	case STEP_REOPEN:
	case STEP_DIE:
		w->pristine = false;
		apply_reopen(w, s->kind == STEP_DIE, answer);
		break;
	case STEP_CLOCK:
		world_set_now(w, w->now + s->clock);
		break;
	case STEP_SNAPSHOT:
	case STEP_RELEASE:
		apply_snapshot(w, s, answer);
		break;
	case STEP_CREATE:
	case STEP_DROP:
	case STEP_RENAME:
	case STEP_TRUNCATE:
		apply_table(w, s, answer);
		break;
	case STEP_NAMED:
	case STEP_NAMED_DROP:
	case STEP_NAMED_RENAME:
	case STEP_NAMED_OPEN:
	case STEP_NAMED_RESTORE:
	case STEP_NAMED_CLONE:
		apply_named(w, s, answer);
		break;
	default:
		if (s->kind == STEP_ALTER)
			w->pristine = false;
		if (t)
			apply_to_table(w, t, s, answer);
	}
}
