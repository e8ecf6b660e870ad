/* Tables of the engine, their schemas, quotas and snapshots. */
#include <sys/stat.h>

#include "store/lsm/background/background.h"
#include "tests/sim/os_sim.h"
#include "tests/unit/engine.h"

static const struct store_ops *ops_of_store;

/* Another's put comes when all looks of the wrapper are behind it. */
static int put_and_alter(struct table *t, const struct alter *a)
{
	struct change c = a_put("f", "q", 5, "late");
	struct mutation m = change_of("r", &c);

	assert_int_equal(ops_of_store->mutate(t, &m, 0), 1);
	return ops_of_store->table_alter(t, a);
}

BOTH(a_schema_that_would_hide_a_put_just_made_is_refused)
{
	struct alter a = {.rest = ALTER_DROP};
	struct store_ops ops = *the.store->ops;

	ops_of_store = the.store->ops;
	ops.table_alter = put_and_alter;
	the.store->ops = &ops;
	the.store->no_delete = true;
	/* It drops f, which is empty until then. */
	assert_int_equal(table_change(the.table, &a), -EPERM);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "late");
	the.store->ops = ops_of_store;
	the.store->no_delete = false;
	assert_int_equal(table_change(the.table, &a), 0);
}

/* The versions of one family, as one changes a schema. */
static int keep_versions(const char *family, uint32_t n)
{
	struct schema schema = {0};
	int r;

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[schema_find(&schema, bytes_str(family))]
		.attrs.versions = n;
	r = table_alter(the.table, &schema, false);
	schema_free(&schema);
	return r;
}

BOTH(without_deletes_a_family_with_cells_may_not_show_less)
{
	struct schema schema = {0};

	assert_int_equal(keep_versions("f", 2), 0);
	assert_int_equal(keep_versions("g", 2), 0);
	temp_put(&the, "r", "f", "q", 7, "value");
	the.store->no_delete = true;
	/* As much, more, and less where there is no cell. */
	assert_int_equal(keep_versions("f", 2), 0);
	assert_int_equal(keep_versions("f", 3), 0);
	assert_int_equal(keep_versions("g", 1), 0);
	assert_int_equal(keep_versions("f", 1), -EPERM);
	assert_non_null(strstr(store_why(), "family f holds cells, and this "
					    "(versions) would hide some"));
	assert_int_equal(table_schema(the.table, &schema), 0);
	assert_int_equal(schema.families[0].attrs.versions, 3);
	schema_free(&schema);
	the.store->no_delete = false;
	assert_int_equal(keep_versions("f", 1), 0);
}

/* What the store shows of r f:q as of a moment; "?" = it cannot be told. */
static const char *as_of(int64_t ts)
{
	const struct scan_spec spec = {
		.granularity = SCAN_CELLS, .has_as_of = true, .as_of = ts};
	static char text[32];
	struct scan *sc;
	struct cell c;
	int r = scan_open(the.table, &spec, &sc);

	if (r == -ENODATA)
		return "?";
	assert_int_equal(r, 0);
	text[0] = '\0';
	if (scan_next(sc, &c) > 0)
		snprintf(text, sizeof(text), "%.*s",
			 c.kind == CELL_LOST ? 1 : (int)c.value.len,
			 c.kind == CELL_LOST ? "?"
					     : (const char *)c.value.data);
	scan_close(sc);
	return text;
}

/* In the classic order, where a flush drops what is one version too many. */
BOTH(what_a_flush_has_dropped_is_told_after_a_restart)
{
	struct schema schema = {0};

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.versions = 1;
	schema.families[0].attrs.new_version_behavior = false;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	temp_put(&the, "r", "f", "q", 5, "old");
	temp_put(&the, "r", "f", "q", 9, "new");
	assert_string_equal(as_of(6), "old");
	assert_int_equal(store_flush(the.store, the.table), 0);
	assert_string_equal(as_of(6), "?");
	assert_string_equal(as_of(9), "new");
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(as_of(6), "?");
	assert_string_equal(as_of(9), "new");
}

BOTH(a_change_of_what_is_no_more_is_refused)
{
	struct alter a = {.has_from = true};

	a.from = table_schema_version(the.table);
	assert_int_equal(table_schema(the.table, &a.to), 0);
	assert_int_equal(table_add_family(the.table, bytes_str("meanwhile")),
			 0);
	a.to.mode = 0700;
	assert_int_equal(table_change(the.table, &a), -EAGAIN);
	a.dry = true;
	assert_int_equal(table_change(the.table, &a), -EAGAIN);
	alter_free(&a);
	assert_int_equal(table_schema(the.table, &a.to), 0);
	assert_true(schema_find(&a.to, bytes_str("meanwhile")) >= 0);
	assert_int_equal(a.to.mode, 0755);
	alter_free(&a);
}

struct meanwhile {
	struct table *t;
	unsigned calls;
	int fails;
};

static int edit_mode(void *arg, const struct schema *now, struct alter *a)
{
	struct meanwhile *m = arg;

	if (!m->calls++)
		assert_int_equal(table_add_family(m->t, bytes_str("new")), 0);
	assert_int_equal(schema_copy(&a->to, now), 0);
	a->to.mode = 0700;
	return m->fails;
}

BOTH(an_edit_is_made_again_of_what_has_changed_meanwhile)
{
	struct meanwhile m = {.t = the.table};
	struct schema schema = {0};

	assert_int_equal(table_edit(the.table, edit_mode, &m), 0);
	assert_int_equal(m.calls, 2);
	m.fails = -EDOM;
	assert_int_equal(table_edit(the.table, edit_mode, &m), -EDOM);
	assert_int_equal(m.calls, 3);
	assert_int_equal(table_schema(the.table, &schema), 0);
	assert_true(schema_find(&schema, bytes_str("new")) >= 0);
	assert_int_equal(schema.mode, 0700);
	schema_free(&schema);
}

BOTH(a_snapshot_keeps_what_compaction_would_drop)
{
	struct snapshot *snap;
	struct buf hold = {0};
	struct cell c;

	temp_put(&the, "r", "f", "q", 7, "old");
	assert_int_equal(snapshot_take(the.store, &snap), 0);
	temp_put(&the, "r", "f", "q", 7, "new");
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_int_equal(table_get(the.table, bytes_str("r"), bytes_str("f"),
				   bytes_str("q"), TS_MAX, snap, &c, &hold),
			 1);
	assert_true(bytes_eq(c.value, bytes_str("old")));
	snapshot_release(snap);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "new");
	buf_free(&hold);
}

/* The value of r f:q in a named snapshot; NULL = none, or no such snapshot. */
static const char *shown(struct table *t, const char *name)
{
	static struct buf hold;
	struct snapshot *snap;
	struct cell c;
	int r = store_snapshot_open(the.store, t, bytes_str(name), &snap);

	if (r < 0)
		return NULL;
	r = table_get(the.table, bytes_str("r"), bytes_str("f"), bytes_str("q"),
		      TS_MAX, snap, &c, &hold);
	snapshot_release(snap);
	if (r <= 0 || buf_append(&hold, "", 1) < 0)
		return NULL;
	return (const char *)hold.data;
}

BOTH(a_named_snapshot_survives_restart_and_compaction)
{
	struct snapshot_info info;

	temp_put(&the, "r", "f", "q", 7, "old");
	assert_int_equal(store_snapshot_create(the.store, the.table,
					       bytes_str("nightly")),
			 0);
	assert_int_equal(store_snapshot_create(the.store, the.table,
					       bytes_str("nightly")),
			 -EEXIST);
	assert_int_equal(
		store_snapshot_create(the.store, NULL, bytes_str("all")), 0);
	temp_put(&the, "r", "f", "q", 7, "new");
	for (int i = 0; i < 4; i++) {
		assert_string_equal(temp_get(&the, "r", "f", "q"), "new");
		assert_string_equal(shown(the.table, "nightly"), "old");
		assert_string_equal(shown(NULL, "all"), "old");
		assert_null(shown(NULL, "nightly"));
		assert_null(shown(the.table, "all"));
		if (i == 0) {
			assert_int_equal(temp_close(&the), 0);
			assert_int_equal(temp_open(&the), 0);
		} else if (i == 1) {
			table_unref(the.table);
			lsm_abandon(the.store);
			assert_int_equal(temp_open(&the), 0);
		} else {
			assert_int_equal(store_compact(the.store, NULL), 0);
		}
	}
	assert_int_equal(store_snapshot_rename(the.store, the.table,
					       bytes_str("nightly"),
					       bytes_str("weekly")),
			 0);
	assert_int_equal(
		store_snapshot_next(the.store, the.table, bytes_str(""), &info),
		1);
	assert_string_equal(info.name, "weekly");
	assert_true(info.taken_ms > 0);
	assert_int_equal(store_snapshot_next(the.store, the.table,
					     bytes_str("weekly"), &info),
			 0);
	assert_string_equal(shown(the.table, "weekly"), "old");
	assert_int_equal(
		store_snapshot_drop(the.store, the.table, bytes_str("nightly")),
		-ENOENT);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(shown(the.table, "weekly"), "old");
}

BOTH(what_a_snapshot_shows_is_not_dropped)
{
	struct schema schema = {0};
	struct bytes name = bytes_str("n");

	for (int whole = 0; whole < 2; whole++) {
		struct table *t = whole ? NULL : the.table;

		assert_int_equal(store_snapshot_create(the.store, t, name), 0);
		assert_int_equal(table_add_family(the.table, bytes_str("h")),
				 0);
		for (int empty = 0; empty < 2; empty++)
			assert_int_equal(store_table_drop(the.store,
							  bytes_str("t"),
							  empty),
					 -ENOTEMPTY);
		assert_int_equal(table_schema(the.table, &schema), 0);
		schema_remove(&schema, bytes_str("h"));
		assert_int_equal(table_alter(the.table, &schema, false), 0);
		schema_remove(&schema, bytes_str("f"));
		for (int drop = 0; drop < 2; drop++)
			assert_int_equal(table_alter(the.table, &schema, drop),
					 -EBUSY);
		schema_free(&schema);
		assert_int_equal(store_snapshot_drop(the.store, t, name), 0);
	}
	assert_int_equal(store_snapshot_create(the.store, NULL, name), 0);
	assert_int_equal(
		store_table_create(the.store, bytes_str("later"), NULL), 0);
	assert_int_equal(store_table_drop(the.store, bytes_str("later"), false),
			 0);
	assert_int_equal(store_snapshot_drop(the.store, NULL, name), 0);
	assert_int_equal(store_table_drop(the.store, bytes_str("t"), true), 0);
	assert_int_equal(store_snapshot_create(the.store, the.table, name),
			 -ENOENT);
}

/* Families f and g with so many versions, and a ttl of f. */
static int alter_to(uint32_t versions, uint64_t ttl_ms)
{
	struct schema schema;
	int r;

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.versions = versions;
	schema.families[0].attrs.ttl_ms = ttl_ms;
	r = table_alter(the.table, &schema, false);
	schema_free(&schema);
	return r;
}

static void assert_kept(uint32_t versions, uint64_t ttl_ms, const char *word)
{
	assert_int_equal(alter_to(versions, ttl_ms), -EBUSY);
	assert_non_null(strstr(store_why(), word));
	assert_non_null(strstr(store_why(), "snapshot"));
}

/* Else a compaction would take from the snapshot what the table hides. */
BOTH(a_schema_that_would_hide_what_a_snapshot_shows_is_refused)
{
	struct bytes name = bytes_str("monday");
	const struct table *const scopes[] = {the.table, NULL};

	for (size_t i = 0; i < 2; i++) {
		struct table *scope = (struct table *)scopes[i];

		assert_int_equal(alter_to(5, 100000000), 0);
		assert_int_equal(store_snapshot_create(the.store, scope, name),
				 0);
		assert_kept(4, 100000000, "(versions)");
		assert_kept(5, 99999999, "(ttl)");
		/* What it has gained since may go. */
		assert_int_equal(alter_to(9, TTL_FOREVER), 0);
		assert_kept(4, TTL_FOREVER, "(versions)");
		assert_int_equal(alter_to(5, 100000000), 0);
		assert_int_equal(store_snapshot_drop(the.store, scope, name),
				 0);
		assert_int_equal(alter_to(1, 5), 0);
	}
}

/* The timestamps of r f:q, of one digit, by a listing and each by a get. */
static const char *versions_of(const struct snapshot *snap)
{
	static char text[32];
	struct scan_spec spec = {.granularity = SCAN_CELLS, .snapshot = snap};
	struct cell c;
	struct scan *sc;
	size_t n = 0;

	assert_int_equal(scan_open(the.table, &spec, &sc), 0);
	while (scan_next(sc, &c) > 0)
		text[n++] = (char)('0' + c.ts);
	scan_close(sc);
	text[n++] = ' ';
	for (int64_t ts = 9; ts > 0; ts--)
		if (table_get_version(the.table, bytes_str("r"), bytes_str("f"),
				      bytes_str("q"), ts, snap, &c, NULL) > 0)
			text[n++] = (char)('0' + ts);
	text[n] = 0;
	return text;
}

static void put_version(int64_t ts)
{
	struct change c = a_put("f", "q", ts, "v");
	struct mutation m = change_of("r", &c);

	assert_int_equal(table_mutate(the.table, &m, 0), 1);
}

/* What the table hid is there still when it comes to show more. */
BOTH(a_snapshot_shows_no_more_when_its_table_does)
{
	struct bytes name = bytes_str("monday");
	struct table *const scopes[] = {the.table, NULL};

	for (size_t i = 0; i < 2; i++) {
		struct snapshot *snap;

		assert_int_equal(alter_to(1, TTL_FOREVER), 0);
		for (int64_t ts = 3; ts <= 5; ts++)
			put_version(ts + (int64_t)i);
		assert_int_equal(
			store_snapshot_create(the.store, scopes[i], name), 0);
		assert_int_equal(
			store_snapshot_open(the.store, scopes[i], name, &snap),
			0);
		assert_string_equal(versions_of(snap), i ? "6 6" : "5 5");
		assert_int_equal(alter_to(2, TTL_FOREVER), 0);
		put_version(9);
		assert_string_equal(versions_of(NULL), i ? "96 96" : "95 95");
		assert_string_equal(versions_of(snap), i ? "6 6" : "5 5");
		assert_int_equal(store_compact(the.store, the.table), 0);
		assert_string_equal(versions_of(snap), i ? "6 6" : "5 5");
		snapshot_release(snap);
		assert_int_equal(
			store_snapshot_drop(the.store, scopes[i], name), 0);
		assert_int_equal(
			store_table_truncate(the.store, bytes_str("t")), 0);
	}
}

static unsigned columns_of(const struct snapshot *snap)
{
	struct scan_spec spec = {.granularity = SCAN_COLUMNS, .snapshot = snap};
	struct scan *sc;
	struct cell c;
	unsigned n = 0;

	assert_int_equal(scan_open(the.table, &spec, &sc), 0);
	while (scan_next(sc, &c) > 0)
		n++;
	scan_close(sc);
	return n;
}

/* Readers tell each other what is hidden, but not by other settings. */
BOTH(what_a_snapshot_hides_is_not_hidden_from_its_table)
{
	enum {
		N = 5000
	};
	struct bytes name = bytes_str("monday");
	struct snapshot *snap;
	char q[16];
	struct change c = {.op = CHANGE_PUT, .family = bytes_str("f"), .ts = 9};
	struct mutation m = change_of("r", &c);

	for (int i = 0; i < N; i++) {
		c.qualifier = bytes_of(q, (size_t)snprintf(q, 16, "%05d", i));
		assert_int_equal(table_mutate(the.table, &m, 0), 1);
	}
	assert_int_equal(alter_to(3, 1000), 0);
	assert_int_equal(store_snapshot_create(the.store, the.table, name), 0);
	assert_int_equal(store_snapshot_open(the.store, the.table, name, &snap),
			 0);
	assert_int_equal(alter_to(3, TTL_FOREVER), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(columns_of(snap), 0);
	assert_int_equal(columns_of(NULL), N);
	snapshot_release(snap);
}

BOTH(a_table_that_is_dropped_says_so)
{
	char name[TABLE_NAME_LEN_MAX + 1];
	struct schema schema;

	assert_int_equal(store_table_drop(the.store, bytes_str("t"), true), 0);
	assert_int_equal(table_schema(the.table, &schema), -ENOENT);
	assert_string_equal(store_why(), "the table has been dropped");
	assert_int_equal(table_name(the.table, name), -ENOENT);
	assert_string_equal(store_why(), "the table has been dropped");
}

BOTH(a_scan_outlives_its_table)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct bytes u = bytes_str("u");
	char row[16];

	for (int step = 0; step < 2; step++) {
		struct change c = a_put("f", "q", TS_AUTO, "v");
		struct mutation m = {.changes = &c, .nchanges = 1};
		struct table *t;
		struct scan *sc;
		struct cell cell;

		assert_int_equal(store_table_create(the.store, u, NULL), 0);
		assert_int_equal(table_open(the.store, u, &t), 0);
		assert_int_equal(table_add_family(t, c.family), 0);
		for (int i = 0; i < 300; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			m.row = bytes_str(row);
			assert_int_equal(table_mutate(t, &m, 0), 1);
		}
		if (step == 1)
			assert_int_equal(store_flush(the.store, NULL), 0);
		assert_int_equal(scan_open(t, &spec, &sc), 0);
		assert_int_equal(store_table_drop(the.store, u, false), 0);
		table_unref(t);
		for (int i = 0; i < 300; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			assert_int_equal(scan_next(sc, &cell), 1);
			assert_true(bytes_eq(cell.row, bytes_str(row)));
		}
		assert_int_equal(scan_next(sc, &cell), 0);
		scan_close(sc);
	}
}

BOTH(a_snapshot_remembers_names_and_schemas)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct schema schema = {0};
	struct table *t, *other;
	struct snapshot *snap;
	struct scan *sc;
	struct scan_spec spec = {0};

	assert_int_equal(store_table_create(the.store, bytes_str("u"), NULL),
			 0);
	assert_int_equal(store_snapshot_create(the.store, NULL, bytes_str("n")),
			 0);
	assert_int_equal(
		store_table_rename(the.store, bytes_str("t"), bytes_str("z")),
		0);
	assert_int_equal(table_add_family(the.table, bytes_str("h")), 0);
	assert_int_equal(
		store_snapshot_open(the.store, NULL, bytes_str("n"), &snap), 0);
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 1);
	assert_string_equal(name, "t");
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 1);
	assert_string_equal(name, "u");
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 0);
	assert_int_equal(snapshot_table_open(snap, bytes_str("t"), &t), 0);
	assert_ptr_equal(t, the.table);
	assert_int_equal(snapshot_table_open(snap, bytes_str("z"), &other),
			 -ENOENT);
	assert_int_equal(snapshot_schema(snap, t, &schema), 0);
	assert_int_equal(schema.nfamilies, 2);
	schema_free(&schema);

	/* For who reads only one table it forgets the others. */
	snapshot_keep(snap, t);
	name[0] = '\0';
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 1);
	assert_string_equal(name, "t");
	assert_int_equal(snapshot_table_next(snap, bytes_str(name), name), 0);
	assert_int_equal(snapshot_schema(snap, t, &schema), 0);
	schema_free(&schema);
	spec.snapshot = snap;
	assert_int_equal(scan_open(t, &spec, &sc), 0);
	scan_close(sc);
	table_unref(t);
	snapshot_release(snap);

	/* One of another table is no snapshot of this one. */
	assert_int_equal(table_open(the.store, bytes_str("u"), &other), 0);
	assert_int_equal(
		store_snapshot_create(the.store, other, bytes_str("m")), 0);
	assert_int_equal(
		store_snapshot_open(the.store, other, bytes_str("m"), &snap),
		0);
	spec.snapshot = snap;
	assert_int_equal(scan_open(the.table, &spec, &sc), -EINVAL);
	snapshot_release(snap);
	table_unref(other);
	assert_int_equal(
		store_table_rename(the.store, bytes_str("z"), bytes_str("t")),
		0);
}

BOTH(dropping_a_snapshot_frees_the_space)
{
	struct bytes name = bytes_str("n");
	uint64_t one;
	struct table *u;

	rewrite();
	assert_int_equal(store_compact(the.store, NULL), 0);
	one = stat_of(the.store, "sstable_bytes");
	assert_int_not_equal(one, UINT64_MAX);
	/* One of another table holds nothing back. */
	assert_int_equal(store_table_create(the.store, bytes_str("u"), NULL),
			 0);
	assert_int_equal(table_open(the.store, bytes_str("u"), &u), 0);
	assert_int_equal(store_snapshot_create(the.store, u, name), 0);
	rewrite();
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_in_range(stat_of(the.store, "sstable_bytes"), 0, one * 5 / 4);
	table_unref(u);
	/* One that was taken since the open, and one that the open found. */
	for (int reopened = 0; reopened < 2; reopened++) {
		assert_int_equal(
			store_snapshot_create(the.store, the.table, name), 0);
		rewrite();
		assert_int_equal(store_compact(the.store, NULL), 0);
		assert_in_range(stat_of(the.store, "sstable_bytes"),
				one * 3 / 2, one * 3);
		if (reopened) {
			assert_int_equal(temp_close(&the), 0);
			assert_int_equal(temp_open(&the), 0);
		}
		/* The next work in the background finds it. */
		assert_int_equal(
			store_snapshot_drop(the.store, the.table, name), 0);
		for (int i = 0; i < 6000; i++) {
			if (stat_of(the.store, "sstable_bytes") <= one * 5 / 4)
				break;
			/* Without threads a writer that fills its buffer
			 * works. */
			temp_put(&the, "r", "f", "q", 7, filler);
			usleep(5000);
		}
		assert_in_range(stat_of(the.store, "sstable_bytes"), 0,
				one * 5 / 4);
	}
}

/* A merge that failed is not tried again at once, whatever wants it. */
SMALL(what_a_snapshot_frees_waits_for_a_tree_that_may_be_merged)
{
	struct lsm *db = lsm_of(the.store);
	struct bytes name = bytes_str("n");
	struct tree *t;

	rewrite();
	assert_int_equal(store_snapshot_create(the.store, the.table, name), 0);
	rewrite();
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_int_equal(store_snapshot_drop(the.store, the.table, name), 0);
	t = db->tables[0]->now->trees[0];
	assert_true(t->freed.number);
	t->retry_ns = UINT64_MAX;
	assert_int_equal(compact_one(db), 0);
	assert_true(t->freed.number);
	t->retry_ns = 0;
	assert_int_equal(compact_one(db), 1);
}

static int open_id(uint64_t id)
{
	struct table *t = NULL;
	int r = the.store->ops->table_open_id(the.store, id, &t);

	if (r == 0) {
		assert_int_equal(t->id, id);
		table_unref(t);
	}
	return r;
}

BOTH(an_id_opens_its_table_and_no_other)
{
	uint64_t ids[9] = {the.table->id};
	char name[2] = "t";
	struct table *t;

	/* As many as any step of the list's memory has, and one more. */
	for (int n = 1; n < 9; n++) {
		name[0] = (char)('a' + n);
		assert_int_equal(
			store_table_create(the.store, bytes_str(name), NULL),
			0);
		assert_int_equal(table_open(the.store, bytes_str(name), &t), 0);
		ids[n] = t->id;
		table_unref(t);
		for (int i = 0; i <= n; i++)
			assert_int_equal(open_id(ids[i]), 0);
		assert_int_equal(open_id(ids[n] + 1), -ENOENT);
	}
	for (int n = 8; n >= 0; n--) {
		name[0] = (char)(n ? 'a' + n : 't');
		assert_int_equal(
			store_table_drop(the.store, bytes_str(name), false), 0);
		for (int i = 0; i < 9; i++)
			assert_int_equal(open_id(ids[i]), i < n ? 0 : -ENOENT);
	}
}

BOTH(a_dropped_table_is_gone_and_its_files_too)
{
	temp_put(&the, "r", "f", "q", 7, "x");
	assert_int_equal(store_table_drop(the.store, bytes_str("t"), true),
			 -ENOTEMPTY);
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(store_table_drop(the.store, bytes_str("t"), false), 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 7, "x"), -ENOENT);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_null(temp_get(&the, "r", "f", "q"));
}

BOTH(families_come_change_and_go)
{
	struct schema schema;

	temp_put(&the, "r", "g", "q", 7, "x");
	assert_int_equal(table_schema(the.table, &schema), 0);
	assert_int_equal(schema_remove(&schema, bytes_str("g")), 0);
	assert_int_equal(table_alter(the.table, &schema, false), -EBUSY);
	assert_int_equal(table_alter(the.table, &schema, true), 0);
	assert_null(temp_get(&the, "r", "g", "q"));
	assert_int_equal(table_add_family(the.table, bytes_str("g")), 0);
	assert_null(temp_get(&the, "r", "g", "q"));
	schema_free(&schema);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_null(temp_get(&the, "r", "g", "q"));
}

BOTH(a_creation_that_a_crash_cut_short_is_done_again)
{
	char path[128];
	FILE *f;

	assert_int_equal(temp_remove(&the), 0);
	assert_int_equal(mkdir(the.path, 0700), 0);
	/* Whether the lock file or this comes back first is up to the disk. */
	snprintf(path, sizeof(path), "%s/CATALOG.new", the.path);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(temp_open(&the), 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
}

TEST(what_was_written_before_a_table_change_is_there_with_it)
{
	struct os *os = sim_new(1), *after;
	struct table *t;

	the = (struct temp_store){.path = "/store",
				  .options.inline_background = true};
	the.options.os = os;
	assert_int_equal(temp_open(&the), 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_table_create(the.store, bytes_str("u"), NULL),
			 0);
	after = sim_after_power_loss(os);
	assert_int_equal(temp_close(&the), 0);
	the.options.os = after;
	assert_int_equal(temp_open(&the), 0);
	assert_int_equal(table_open(the.store, bytes_str("u"), &t), 0);
	table_unref(t);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "v");
	assert_int_equal(temp_close(&the), 0);
	sim_free(after);
	sim_free(os);
}

static void set_quota(uint64_t bytes)
{
	struct schema schema;

	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.quota = bytes;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
}

BOTH(each_change_of_a_quota_counts_at_once)
{
	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_flush(the.store, NULL), 0);
	for (uint64_t changes = 1; changes <= 4; changes++) {
		set_quota(0);
		assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
		for (uint64_t bytes = 1; bytes <= changes; bytes++)
			set_quota(bytes);
		assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"),
				 -ENOSPC);
	}
}

BOTH(a_table_over_its_quota_takes_deletes_only)
{
	struct change c[] = {{.op = CHANGE_DELETE_COLUMN,
			      .family = bytes_str("f"),
			      .qualifier = bytes_str("q"),
			      .ts = TS_AUTO},
			     {.op = CHANGE_PUT,
			      .family = bytes_str("f"),
			      .qualifier = bytes_str("q"),
			      .ts = TS_AUTO,
			      .value = bytes_str("v")}};
	struct mutation m[] = {
		{.row = bytes_str("r0001"), .changes = c, .nchanges = 1},
		{.row = bytes_str("r0002"), .changes = c, .nchanges = 1},
		{.row = bytes_str("r0003"), .changes = c + 1, .nchanges = 1},
		{.row = bytes_str("r0004"), .changes = c, .nchanges = 1},
	};
	size_t done;

	rewrite();
	assert_int_equal(store_flush(the.store, NULL), 0);
	assert_int_equal(table_writable(the.table), 0);
	set_quota(1000);
	for (int reopened = 0; reopened < 2; reopened++) {
		assert_int_equal(table_writable(the.table), -ENOSPC);
		assert_non_null(strstr(store_why(), "its quota is 1000"));
		assert_int_equal(table_mutate(the.table, &m[2], 0), -ENOSPC);
		assert_int_equal(table_mutate_try(the.table, &m[2]), -ENOSPC);
		assert_int_equal(
			table_mutate(the.table, &m[2], MUTATE_ADMITTED), 1);
		assert_int_equal(table_mutate(the.table, &m[0], 0), 1);
		assert_int_equal(table_mutate_many(the.table, m, 4, 0, &done),
				 -ENOSPC);
		assert_int_equal(done, 2);
		assert_int_equal(temp_close(&the), 0);
		assert_int_equal(temp_open(&the), 0);
	}
	set_quota(1 << 30);
	assert_int_equal(table_mutate_many(the.table, m, 4, 0, &done), 0);
	set_quota(1000);
	assert_int_equal(table_mutate(the.table, &m[2], 0), -ENOSPC);
	set_quota(0);
	assert_int_equal(table_mutate(the.table, &m[2], 0), 1);
}

/* The table is dropped, or its quota raised, behind the look at what was kept. */
BOTH(a_quota_that_has_gone_meanwhile_refuses_nothing)
{
	struct lsm *db = lsm_of(the.store);
	struct lsm_table *t = db->tables[0];

	for (int dropped = 0; dropped < 2; dropped++) {
		if (dropped)
			assert_int_equal(store_table_drop(the.store,
							  bytes_str("t"),
							  false),
					 0);
		atomic_store(&t->quota_over, true);
		atomic_store(&t->quota_seen, atomic_load(&db->generation) + 1);
		assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"),
				 dropped ? -ENOENT : 1);
	}
}

TEST(what_was_written_before_a_snapshot_goes_is_there_without_it)
{
	struct os *os = sim_new(1), *after;

	the = (struct temp_store){.path = "/store",
				  .options.inline_background = true};
	the.options.os = os;
	assert_int_equal(temp_open(&the), 0);
	assert_int_equal(store_snapshot_create(the.store, NULL, bytes_str("n")),
			 0);
	assert_int_equal(temp_put(&the, "r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_snapshot_drop(the.store, NULL, bytes_str("n")),
			 0);
	after = sim_after_power_loss(os);
	assert_int_equal(temp_close(&the), 0);
	the.options.os = after;
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "v");
	assert_int_equal(temp_close(&the), 0);
	sim_free(after);
	sim_free(os);
}

BOTH(what_a_table_holds_is_counted_or_estimated)
{
	struct table_info i;
	char row[16];

	assert_int_equal(table_info(the.table, &i), 0);
	assert_true(i.exact);
	assert_int_equal(i.rows + i.cells + i.entries + i.files, 0);
	temp_put(&the, "a", "f", "q", 7, "x");
	temp_put(&the, "a", "g", "q", 5, "x");
	for (int ts = 10; ts < 14; ts++) /* the family keeps three */
		temp_put(&the, "b", "f", "q", ts, "x");
	for (int step = 0; step < 2; step++) {
		assert_int_equal(table_info(the.table, &i), 0);
		assert_true(i.exact);
		assert_int_equal(i.rows, 2);
		assert_int_equal(i.cells, 5);
		assert_int_equal(i.oldest, 5);
		assert_int_equal(i.newest, 13);
		assert_int_equal(store_compact(the.store, NULL), 0);
	}
	assert_int_equal(i.files, 2);
	for (int k = 0; k < TABLE_INFO_COUNTED; k++) {
		snprintf(row, sizeof(row), "r%05d", k);
		temp_put(&the, row, "f", "q", 100, "x");
	}
	for (int step = 0; step < 3; step++) {
		assert_int_equal(table_info(the.table, &i), 0);
		assert_false(i.exact);
		assert_int_equal(i.cells, TABLE_INFO_COUNTED + 5);
		assert_int_equal(i.entries, i.cells);
		/* A row can be in several files. */
		assert_in_range(i.rows, TABLE_INFO_COUNTED + 2,
				TABLE_INFO_COUNTED + 40);
		assert_int_equal(i.oldest, 5);
		assert_int_equal(i.newest, 100);
		if (step == 0)
			assert_int_equal(store_flush(the.store, NULL), 0);
		else
			assert_int_equal(store_compact(the.store, NULL), 0);
	}
	assert_true(i.files >= 2 && i.bytes > 0);
}
