/* Tables made of snapshots, and put back to them. */
#include "tests/unit/unit.h"
#include "store/front/backend.h"
#include "store/os/os.h"
#include "tests/unit/engine.h"

/* Work in the caller, and small files. */
static int setup_clone(void **state)
{
	the = (struct temp_store){.options = {.inline_background = true,
					      .table_file_bytes = 8 << 10}};
	return temp_make(&the);
}

EACH_TEST_IN(setup_clone, teardown);

static int take(const char *name)
{
	return store_snapshot_create(the.store, the.table, bytes_str(name));
}

static int clone_to(const char *name, const char *to)
{
	return store_snapshot_clone(the.store, the.table, bytes_str(name),
				    (struct bytes){0}, bytes_str(to));
}

static int restore(const char *name)
{
	return store_snapshot_restore(the.store, the.table, bytes_str(name),
				      (struct bytes){0});
}

static int mark(uint8_t op, int64_t ts)
{
	struct change c = {.op = op, .family = bytes_str("f"), .ts = ts};
	struct mutation m = change_of("r", &c);

	if (op != CHANGE_DELETE_FAMILY)
		c.qualifier = bytes_str("q");
	return table_mutate(the.table, &m, 0);
}

/* All that a raw scan shows of the table, as text; freed by the next call. */
static const char *raw(const char *table, const char *snapshot)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS, .raw = true};
	struct snapshot *snap = NULL;
	static struct buf text;
	struct table *t;
	struct scan *sc;
	struct cell c;

	text.len = 0;
	assert_int_equal(table_open(the.store, bytes_str(table), &t), 0);
	if (snapshot)
		assert_int_equal(store_snapshot_open(the.store, t,
						     bytes_str(snapshot),
						     &snap),
				 0);
	spec.snapshot = snap;
	assert_int_equal(scan_open(t, &spec, &sc), 0);
	while (scan_next(sc, &c) == 1) {
		char line[256];

		snprintf(line, sizeof(line), "%.*s %.*s:%.*s %lld k%u %.*s;",
			 (int)c.row.len, (const char *)c.row.data,
			 (int)c.family.len, (const char *)c.family.data,
			 (int)c.qualifier.len, (const char *)c.qualifier.data,
			 (long long)c.ts, c.kind, (int)c.value.len,
			 (const char *)c.value.data);
		buf_append(&text, line, strlen(line));
	}
	scan_close(sc);
	snapshot_release(snap);
	table_unref(t);
	buf_append(&text, "", 1);
	return (const char *)text.data;
}

static char *kept(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return copy;
}

static const char *get_of(const char *table)
{
	struct table *own = the.table;
	const char *value;

	assert_int_equal(table_open(the.store, bytes_str(table), &the.table),
			 0);
	value = temp_get(&the, "r", "f", "q");
	table_unref(the.table);
	the.table = own;
	return value;
}

/* Where the cells lie as the snapshot is taken, and as it is cloned. */
static void lie(int where)
{
	if (where == 1)
		assert_int_equal(store_flush(the.store, NULL), 0);
	if (where == 2)
		assert_int_equal(store_compact(the.store, NULL), 0);
}

TEST(a_clone_holds_what_the_snapshot_shows)
{
	char name[8], *then;

	for (int before = 0; before < 3; before++) {
		for (int behind = 0; behind < 3; behind++) {
			snprintf(name, sizeof(name), "c%d%d", before, behind);
			temp_put(&the, "r", "f", "q", 50, "old");
			mark(CHANGE_DELETE_COLUMN, 60);
			temp_put(&the, "r", "f", "q", 55, "late");
			mark(CHANGE_DELETE, 55);
			temp_put(&the, "r", "f", "q", 40, "seen");
			temp_put(&the, "s", "g", "q", 40, "other");
			lie(before);
			assert_int_equal(take(name), 0);
			mark(CHANGE_DELETE_FAMILY, 99);
			temp_put(&the, "r", "f", "q", 70, "new");
			temp_put(&the, "u", "f", "q", 70, "new");
			lie(behind);
			then = kept(raw("t", name));
			assert_int_equal(clone_to(name, name), 0);
			assert_string_equal(raw(name, NULL), then);
			assert_string_equal(get_of(name), "seen");
			assert_string_equal(temp_get(&the, "r", "f", "q"),
					    "new");
			free(then);
			mark(CHANGE_DELETE_FAMILY, TS_AUTO);
		}
	}
}

TEST(a_clone_has_a_life_of_its_own)
{
	struct table *own = the.table, *c;
	char row[8];

	for (int i = 0; i < 500; i++) {
		snprintf(row, sizeof(row), "r%03d", i);
		temp_put(&the, row, "f", "q", 7,
			 "a value of some length, for more than one file");
	}
	temp_put(&the, "r", "f", "q", 7, "then");
	assert_int_equal(take("n"), 0);
	assert_int_equal(clone_to("n", "c"), 0);
	temp_put(&the, "r", "f", "q", 8, "now");
	assert_int_equal(table_open(the.store, bytes_str("c"), &c), 0);
	assert_int_not_equal(table_id(c), table_id(own));
	the.table = c;
	/* Written before the clone, below a marker that is written now. */
	assert_int_equal(mark(CHANGE_DELETE_COLUMN, 9), 1);
	assert_null(temp_get(&the, "r", "f", "q"));
	temp_put(&the, "r", "f", "q", 6, "again");
	assert_string_equal(temp_get(&the, "r", "f", "q"), "again");
	table_unref(c);
	the.table = own;
	assert_string_equal(temp_get(&the, "r", "f", "q"), "now");
	assert_int_equal(
		store_snapshot_drop(the.store, the.table, bytes_str("n")), 0);
	assert_int_equal(store_table_drop(the.store, bytes_str("t"), false), 0);
	assert_int_equal(store_compact(the.store, NULL), 0);
	assert_string_equal(get_of("c"), "again");
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(get_of("c"), "again");
}

TEST(a_clone_is_there_after_the_death_of_the_process)
{
	temp_put(&the, "r", "f", "q", 7, "then");
	assert_int_equal(take("n"), 0);
	assert_int_equal(clone_to("n", "c"), 0);
	temp_put(&the, "r", "f", "q", 7, "now");
	assert_int_equal(restore("n"), 0);
	table_unref(the.table);
	lsm_abandon(the.store);
	assert_int_equal(temp_open(&the), 0);
	assert_string_equal(get_of("c"), "then");
	assert_string_equal(temp_get(&the, "r", "f", "q"), "then");
}

TEST(a_restore_brings_cells_and_schema_back)
{
	uint64_t id = table_id(the.table), version;
	struct schema schema;

	temp_put(&the, "r", "f", "q", 7, "older");
	assert_int_equal(take("older"), 0);
	temp_put(&the, "r", "f", "q", 7, "then");
	assert_int_equal(take("n"), 0);
	version = table_schema_version(the.table);
	assert_int_equal(table_add_family(the.table, bytes_str("h")), 0);
	temp_put(&the, "r", "h", "q", 7, "x");
	temp_put(&the, "r", "f", "q", 7, "now");
	assert_int_equal(restore("n"), 0);
	assert_int_equal(table_id(the.table), id);
	assert_true(table_schema_version(the.table) > version);
	assert_int_equal(table_schema(the.table, &schema), 0);
	assert_int_equal(schema.nfamilies, 2);
	schema_free(&schema);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "then");
	/* The snapshots show what they did, and can be taken up again. */
	temp_put(&the, "r", "f", "q", 7, "now");
	assert_int_equal(clone_to("older", "c"), 0);
	assert_string_equal(get_of("c"), "older");
	assert_int_equal(restore("older"), -EBUSY);
	assert_non_null(strstr(store_why(), "snapshot n"));
	assert_string_equal(temp_get(&the, "r", "f", "q"), "now");
	assert_int_equal(restore("n"), 0);
	assert_int_equal(
		store_snapshot_drop(the.store, the.table, bytes_str("n")), 0);
	assert_int_equal(restore("older"), 0);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "older");
}

TEST(a_snapshot_of_the_store_names_the_table)
{
	struct bytes all = bytes_str("all"), t = bytes_str("t");

	temp_put(&the, "r", "f", "q", 7, "then");
	assert_int_equal(store_snapshot_create(the.store, NULL, all), 0);
	temp_put(&the, "r", "f", "q", 7, "now");
	assert_int_equal(store_snapshot_clone(the.store, NULL, all,
					      (struct bytes){0},
					      bytes_str("c")),
			 -EINVAL);
	assert_int_equal(store_snapshot_clone(the.store, NULL, all,
					      bytes_str("x"), bytes_str("c")),
			 -ENOENT);
	assert_int_equal(
		store_snapshot_clone(the.store, NULL, all, t, bytes_str("c")),
		0);
	assert_string_equal(get_of("c"), "then");
	assert_int_equal(store_snapshot_restore(the.store, NULL, all, t), 0);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "then");
}

TEST(what_cannot_be_cloned_leaves_nothing_behind)
{
	char name[TABLE_NAME_LEN_MAX + 1];

	assert_int_equal(take("n"), 0);
	assert_int_equal(clone_to("x", "c"), -ENOENT);
	assert_int_equal(clone_to("n", "t"), -EEXIST);
	assert_int_equal(clone_to("n", "a/b"), -EINVAL);
	assert_int_equal(clone_to("n", ""), -EINVAL);
	assert_int_equal(clone_to("n", "nowhere:c"), -ENOENT);
	assert_int_equal(clone_to("n", "hbase:c"), -EINVAL);
	assert_int_equal(restore("x"), -ENOENT);
	assert_int_equal(store_table_next(the.store, bytes_str(""), name), 1);
	assert_string_equal(name, "t");
	assert_int_equal(store_table_next(the.store, bytes_str(name), name), 0);
	assert_int_equal(temp_close(&the), 0);
	assert_int_equal(store_check(the.path, NULL, NULL, NULL), 0);
	the.options.read_only = true;
	assert_int_equal(store_open(the.path, &the.options, &the.store), 0);
	assert_int_equal(table_open(the.store, bytes_str("t"), &the.table), 0);
	assert_int_equal(clone_to("n", "c"), -EPERM);
	assert_int_equal(restore("n"), -EPERM);
}

/* What is done once while a copy is made, as its first file is. */
static struct os_ops ops;
static struct os os = {&ops};
static int (*meanwhile)(struct store *s);
static struct store *meanwhile_of;

static int open_meanwhile(struct os_dir *d, const char *name, unsigned flags,
			  struct os_file **out)
{
	int (*act)(struct store * s) = meanwhile;

	if (act && (flags & OS_EXCL) && strstr(name, ".sst")) {
		meanwhile = NULL;
		/* Who waits for that waits for ever here. */
		assert_int_equal(
			pthread_mutex_trylock(&meanwhile_of->schema_lock), 0);
		pthread_mutex_unlock(&meanwhile_of->schema_lock);
		assert_int_equal(act(meanwhile_of), 0);
	}
	return os_posix()->ops->open(d, name, flags, out);
}

static int make_table(struct store *s)
{
	static char name[] = "made0";

	name[4]++;
	return store_table_create(s, bytes_str(name), NULL);
}

static int drop_namespace(struct store *s)
{
	return store_namespace_drop(s, bytes_str("n"));
}

static void open_with_meanwhile(void)
{
	assert_int_equal(temp_close(&the), 0);
	ops = *os_posix()->ops;
	ops.open = open_meanwhile;
	the.options.os = &os;
	assert_int_equal(temp_open(&the), 0);
	meanwhile_of = the.store;
	assert_int_equal(temp_put(&the, "r", "f", "q", 7, "then"), 1);
	assert_int_equal(take("n"), 0);
	assert_int_equal(store_flush(the.store, NULL), 0);
}

TEST(tables_are_made_while_others_are_copied)
{
	open_with_meanwhile();
	meanwhile = make_table;
	assert_int_equal(clone_to("n", "c"), 0);
	assert_null(meanwhile);
	assert_string_equal(get_of("c"), "then");
	assert_int_equal(temp_put(&the, "r", "f", "q", 7, "now"), 1);
	meanwhile = make_table;
	assert_int_equal(restore("n"), 0);
	assert_null(meanwhile);
	assert_string_equal(temp_get(&the, "r", "f", "q"), "then");
}

TEST(no_clone_is_made_in_a_namespace_that_went_meanwhile)
{
	struct table *t;

	open_with_meanwhile();
	assert_int_equal(store_namespace_create(the.store, bytes_str("n")), 0);
	meanwhile = drop_namespace;
	assert_int_equal(clone_to("n", "n:c"), -ENOENT);
	assert_non_null(strstr(store_why(), "no namespace 'n'"));
	assert_int_equal(table_open(the.store, bytes_str("n:c"), &t), -ENOENT);
}

/* Five versions are kept from now on, and seen by the snapshot. */
static int keep_five(struct store *s)
{
	struct schema schema;
	struct table *t;
	int r = table_open(s, bytes_str("t"), &t);

	if (r == 0)
		r = table_schema(t, &schema);
	if (r < 0)
		return r;
	schema.families[0].attrs.versions = 5;
	r = table_alter(t, &schema, false);
	if (r == 0)
		r = store_snapshot_create(s, t, bytes_str("five"));
	schema_free(&schema);
	table_unref(t);
	return r;
}

/* What began before, a merge or a flush that counts versions, keeps three. */
static void assert_keeps_five(bool merges)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct snapshot *snap;
	struct schema schema;

	open_with_meanwhile();
	assert_int_equal(
		store_snapshot_drop(the.store, the.table, bytes_str("n")), 0);
	assert_int_equal(table_schema(the.table, &schema), 0);
	schema.families[0].attrs.new_version_behavior = merges;
	assert_int_equal(table_alter(the.table, &schema, false), 0);
	schema_free(&schema);
	for (int64_t ts = 1; ts <= 5; ts++)
		assert_int_equal(temp_put(&the, "r", "f", "q", ts, "v"), 1);
	if (merges)
		assert_int_equal(store_flush(the.store, NULL), 0);
	meanwhile = keep_five;
	assert_int_equal(merges ? store_compact(the.store, NULL)
				: store_flush(the.store, the.table),
			 0);
	assert_null(meanwhile);
	assert_int_equal(store_snapshot_open(the.store, the.table,
					     bytes_str("five"), &snap),
			 0);
	spec.snapshot = snap;
	assert_int_equal(count(&spec), 5);
	snapshot_release(snap);
}

TEST(what_a_snapshot_shows_is_taken_by_no_merge_that_runs)
{
	assert_keeps_five(true);
}

TEST(what_a_snapshot_shows_is_taken_by_no_flush_that_runs)
{
	assert_keeps_five(false);
}

/* Once the snapshot is dropped the table may lose what it shows. */
TEST(what_goes_before_it_is_copied_is_missed)
{
	const struct store_ops *does = the.store->ops;
	struct schema schema, none;
	struct snapshot *snap;
	struct table *t;

	schema_init(&none, 0, 0);
	assert_int_equal(table_schema(the.table, &schema), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(temp_put(&the, "r", "f", "q", 7, "then"), 1);
		assert_int_equal(take("n"), 0);
		assert_int_equal(does->snapshot_open(the.store, the.table,
						     bytes_str("n"), &snap),
				 0);
		snap->store = the.store;
		assert_int_equal(store_snapshot_drop(the.store, the.table,
						     bytes_str("n")),
				 0);
		assert_int_equal(
			i == 0 ? store_table_truncate(the.store, bytes_str("t"))
			: i == 1 ? table_alter(the.table, &none, true) ||
					   table_alter(the.table, &schema, true)
				 : table_alter(the.table, &none, true),
			0);
		/* Another one behind the same change does not stand for it. */
		assert_int_equal(take("n"), 0);
		snap->taken_ms -= i < 2;
		assert_int_equal(does->snapshot_clone(snap, &snap->tables.at[0],
						      bytes_str("c")),
				 -ENOENT);
		assert_non_null(strstr(store_why(), "has been dropped"));
		snapshot_release(snap);
		assert_int_equal(table_open(the.store, bytes_str("c"), &t),
				 -ENOENT);
		assert_int_equal(store_snapshot_drop(the.store, the.table,
						     bytes_str("n")),
				 0);
	}
	schema_free(&schema);
}
