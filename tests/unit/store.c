/* The wrappers of store.h, with the reference of the model tests behind. */
#include <pthread.h>

#include "tests/unit/unit.h"
#include "tests/unit/change.h"
#include "store/front/args.h"
#include "store/front/backend.h"
#include "store/front/latency.h"
#include "store/front/watch.h"
#include "store/hold.h"
#include "store/os/patience.h"
#include "store/value/why.h"
#include "tests/model/ref_store.h"

static int64_t now = 1000;

static int64_t clock_now(void)
{
	return now;
}

static struct bytes str(const char *s)
{
	return bytes_str(s);
}

/* A store with the table t of families f and g. */
static struct {
	struct store *s;
	struct table *t;
} the;

static int begin(void **state)
{
	now = 1000;
	assert_int_equal(ref_store_open(clock_now, true, &the.s), 0);
	assert_int_equal(store_table_create(the.s, str("t"), NULL), 0);
	assert_int_equal(table_open(the.s, str("t"), &the.t), 0);
	assert_int_equal(table_add_family(the.t, str("f")), 0);
	assert_int_equal(table_add_family(the.t, str("g")), 0);
	return 0;
}

static int end(void **state)
{
	table_unref(the.t);
	return store_close(the.s);
}

EACH_TEST_IN(begin, end);

static int put(const char *row, const char *family, const char *qualifier,
	       int64_t ts, const char *value)
{
	struct change c = a_put(family, qualifier, ts, value);
	struct mutation m = change_of(row, &c);

	return table_mutate(the.t, &m, 0);
}

static int change(struct change c)
{
	struct mutation m = change_of("r", &c);

	return table_mutate(the.t, &m, 0);
}

static uint64_t stat_value(struct store *s, const char *name)
{
	struct store_stat st;

	for (unsigned i = 0; store_stat(s, i, &st) == 1; i++)
		if (!strcmp(st.name, name))
			return st.value;
	fail_msg("there is no figure %s", name);
	return 0;
}

TEST(newest_version_is_read_back)
{
	struct buf hold = {0};
	struct cell cell;

	assert_int_equal(put("r", "f", "q", 10, "old"), 1);
	assert_int_equal(put("r", "f", "q", 20, "new"), 1);
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, &hold),
			 1);
	assert_int_equal(cell.ts, 20);
	assert_true(bytes_eq(cell.value, str("new")));
	assert_true(bytes_eq(cell.row, str("r")));
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), 19,
				   NULL, &cell, NULL),
			 1);
	assert_int_equal(cell.ts, 10);
	assert_null(cell.value.data);
	assert_int_equal(cell.value.len, 3);
	assert_int_equal(table_get_version(the.t, str("r"), str("f"), str("q"),
					   15, NULL, &cell, &hold),
			 0);
	assert_int_equal(table_get_version(the.t, str("r"), str("f"), str("q"),
					   10, NULL, NULL, NULL),
			 1);
	buf_free(&hold);
}

TEST(names_of_a_wrong_length_are_refused_with_a_sentence)
{
	struct scan *sc;
	char *row = calloc(1, ROW_LEN_MAX + 2);
	struct change c = {.op = CHANGE_PUT, .family = str("f")};
	struct mutation m = {.changes = &c, .nchanges = 1};
	struct scan_spec spec = {0};

	assert_non_null(row);
	assert_int_equal(put("", "f", "q", 1, "v"), -EINVAL);
	assert_non_null(strstr(store_why(), "row key is empty"));
	assert_int_equal(put("r", "", "q", 1, "v"), -EINVAL);
	assert_non_null(strstr(store_why(), "family name is empty"));
	m.row = bytes_of(row, ROW_LEN_MAX + 1);
	assert_int_equal(table_mutate(the.t, &m, 0), -EINVAL);
	assert_non_null(strstr(store_why(), "32768"));
	m.row = bytes_of(row, ROW_LEN_MAX);
	c.qualifier = bytes_of(row, QUALIFIER_LEN_MAX);
	assert_int_equal(table_mutate(the.t, &m, 0), 1);
	c.qualifier.len++;
	assert_int_equal(table_mutate(the.t, &m, 0), -EINVAL);
	c.qualifier.len = 0;
	c.family = bytes_of(row, FAMILY_LEN_MAX + 1);
	assert_int_equal(table_mutate(the.t, &m, 0), -EINVAL);
	/* A bound may be the successor of the longest key. */
	spec.row_stop = bytes_of(row, ROW_LEN_MAX + 1);
	assert_int_equal(scan_open(the.t, &spec, &sc), 0);
	scan_close(sc);
	spec.row_stop.len++;
	assert_int_equal(scan_open(the.t, &spec, &sc), -EINVAL);
	free(row);
}

TEST(timestamps_out_of_range_are_refused)
{
	struct scan *sc;
	struct scan_spec spec = {.ts_min = 5, .ts_max = 4};

	assert_int_equal(put("r", "f", "q", -1, "v"), -EINVAL);
	assert_int_equal(put("r", "f", "q", TS_MAX, "v"), 1);
	assert_int_equal(put("r", "f", "q", 0, "v"), 1);
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), TS_AUTO,
				   NULL, NULL, NULL),
			 -EINVAL);
	assert_int_equal(scan_open(the.t, &spec, &sc), -EINVAL);
	assert_non_null(strstr(store_why(), "no time range"));
	spec.ts_min = -1;
	assert_int_equal(scan_open(the.t, &spec, &sc), -EINVAL);
}

TEST(shapes_that_mean_nothing_are_refused)
{
	struct mutation none = {.row = str("r")};
	struct check bad = {.op = 99, .family = str("f")};
	struct change ok = {.op = CHANGE_PUT, .family = str("f")};
	struct mutation checked = {.row = str("r"),
				   .changes = &ok,
				   .nchanges = 1,
				   .checks = &bad,
				   .nchecks = 1};
	struct scan_spec spec = {.granularity = 9};
	struct scan *sc;
	size_t done;

	assert_int_equal(table_mutate(the.t, &none, 0), -EINVAL);
	assert_int_equal(change((struct change){.op = 5}), -EINVAL);
	assert_int_equal(change((struct change){.op = CHANGE_DELETE_FAMILY,
						.family = str("f"),
						.qualifier = str("q")}),
			 -EINVAL);
	assert_int_equal(change((struct change){.op = CHANGE_DELETE_ROW,
						.family = str("f")}),
			 -EINVAL);
	assert_int_equal(change((struct change){.op = CHANGE_DELETE,
						.family = str("f"),
						.value = str("v")}),
			 -EINVAL);
	assert_int_equal(change((struct change){.op = CHANGE_DELETE,
						.family = str("f"),
						.ttl_ms = 5}),
			 -EINVAL);
	assert_int_equal(change((struct change){.op = CHANGE_INCREMENT,
						.family = str("f"),
						.value = str("v")}),
			 -EINVAL);
	assert_int_equal(table_mutate(the.t, &checked, 0), -EINVAL);
	bad.op = CHECK_ABSENT;
	assert_int_equal(table_mutate_many(the.t, &checked, 1, 0, &done),
			 -EINVAL);
	assert_int_equal(done, 0);
	assert_int_equal(scan_open(the.t, &spec, &sc), -EINVAL);
}

TEST(values_over_the_limit_are_too_big)
{
	/* Only the length is looked at before it is refused. */
	struct change c = {.op = CHANGE_PUT,
			   .family = str("f"),
			   .value = bytes_of("", VALUE_LEN_MAX + 1ul)};

	assert_int_equal(change(c), -EFBIG);
	assert_non_null(strstr(store_why(), "split"));
}

/* Only counts and lengths are looked at before these are refused. */
TEST(more_than_a_call_takes_is_refused)
{
	struct change c[3];
	struct mutation m = {
		.row = str("r"), .changes = c, .nchanges = 3, .nchecks = 0};
	struct scan_spec spec = {0};
	struct scan *sc;
	char name[SNAPSHOT_NAME_MAX + 1];

	for (size_t i = 0; i < 3; i++)
		c[i] = (struct change){.op = CHANGE_PUT,
				       .family = str("f"),
				       .value = bytes_of("", VALUE_LEN_MAX)};
	assert_int_equal(table_mutate(the.t, &m, 0), -EFBIG);
	assert_non_null(strstr(store_why(), "at most 536870912 are allowed"));
	m.nchanges = MUTATION_CHANGES_MAX + 1;
	assert_int_equal(table_mutate(the.t, &m, 0), -EINVAL);
	assert_non_null(strstr(store_why(), "at most 1048576 are allowed"));
	spec.ncolumns = SCAN_COLUMNS_MAX + 1;
	assert_int_equal(scan_open(the.t, &spec, &sc), -EINVAL);
	assert_non_null(strstr(store_why(), "at most 65536 are allowed"));
	memset(name, 's', sizeof(name));
	assert_int_equal(
		store_snapshot_create(the.s, the.t,
				      bytes_of(name, SNAPSHOT_NAME_MAX)),
		0);
	assert_int_equal(store_snapshot_create(the.s, the.t,
					       bytes_of(name, sizeof(name))),
			 -EINVAL);
	assert_int_equal(
		store_snapshot_rename(the.s, the.t,
				      bytes_of(name, SNAPSHOT_NAME_MAX),
				      bytes_of(name, sizeof(name))),
		-EINVAL);
	assert_int_equal(store_snapshot_drop(the.s, the.t,
					     bytes_of(name, SNAPSHOT_NAME_MAX)),
			 0);
}

TEST(a_store_opened_read_only_changes_nothing)
{
	struct schema schema = {0};

	assert_int_equal(table_schema(the.t, &schema), 0);
	the.s->read_only = true;
	assert_true(store_is_read_only(the.s));
	assert_int_equal(put("r", "f", "q", 1, "v"), -EPERM);
	assert_non_null(strstr(store_why(), "read-only"));
	assert_int_equal(table_add_family(the.t, str("h")), -EPERM);
	assert_int_equal(table_alter(the.t, &schema, false), -EPERM);
	assert_int_equal(store_table_create(the.s, str("u"), NULL), -EPERM);
	assert_int_equal(store_table_drop(the.s, str("t"), false), -EPERM);
	assert_int_equal(store_table_rename(the.s, str("t"), str("u")), -EPERM);
	assert_int_equal(store_flush(the.s, NULL), -EPERM);
	assert_int_equal(store_compact(the.s, NULL), -EPERM);
	assert_int_equal(store_sync(the.s), 0);
	assert_int_equal(table_has_row(the.t, str("r")), 0);
	schema_free(&schema);
}

TEST(what_is_kept_beside_the_store_has_a_plain_name)
{
	char longest[257];

	memset(longest, 'x', sizeof(longest));
	assert_int_equal(store_keep(the.s, str(""), str("x")), -EINVAL);
	assert_int_equal(store_keep(the.s, str(".x"), str("x")), -EINVAL);
	assert_int_equal(store_keep(the.s, str("a/b"), str("x")), -EINVAL);
	assert_int_equal(store_keep(the.s, bytes_of("a\0b", 3), str("x")),
			 -EINVAL);
	assert_int_equal(store_keep(the.s, bytes_of(longest, 256), str("x")),
			 -EINVAL);
	/* The reference is in no directory. */
	assert_int_equal(store_keep(the.s, bytes_of(longest, 255), str("x")),
			 -EOPNOTSUPP);
	assert_non_null(strstr(store_why(), "directory"));
}

static void refuses(int r, enum store_ability a)
{
	assert_int_equal(r, -EOPNOTSUPP);
	assert_non_null(strstr(store_why(), store_ability(a)));
}

TEST(what_a_store_cannot_is_refused_in_words)
{
	struct scan_spec past = {.has_as_of = true, .as_of = 5};
	struct snapshot_info info = {0};
	struct store_space space;
	struct table_info held;
	struct snapshot *snap;
	struct scan *sc;

	for (unsigned a = 0; a < STORE_ABILITIES; a++)
		assert_int_equal(store_can(the.s, a), a != CAN_KEEP);
	assert_int_equal(store_snapshot_create(the.s, the.t, str("own")), 0);
	the.s->can = 0;
	refuses(scan_open(the.t, &past, &sc), CAN_SHOW_PAST);
	refuses(snapshot_take(the.s, &snap), CAN_VIEW_NOW);
	refuses(store_snapshot_create(the.s, NULL, str("a")), CAN_SNAPSHOT_ALL);
	refuses(store_snapshot_rename(the.s, the.t, str("own"), str("b")),
		CAN_RENAME_SNAPSHOT);
	refuses(store_table_rename(the.s, str("t"), str("u")),
		CAN_RENAME_TABLE);
	refuses(table_info(the.t, &held), CAN_TELL_INFO);
	refuses(store_space(the.s, &space), CAN_TELL_SPACE);
	refuses(store_keep(the.s, str("x"), str("x")), CAN_KEEP);
	/* Nothing is known of a ttl, so there may be one. */
	assert_int_equal(table_has_ttl(the.t), 1);
	/* And nothing has happened. */
	assert_int_equal(store_snapshot_next(the.s, the.t, str(""), &info), 1);
	assert_string_equal(info.name, "own");
	assert_int_equal(store_snapshot_next(the.s, NULL, str(""), &info), 0);
	assert_int_equal(store_snapshot_drop(the.s, the.t, str("own")), 0);
}

TEST(a_table_keeps_its_identity_over_a_rename)
{
	struct table *t = NULL;
	char name[TABLE_NAME_LEN_MAX + 1];

	assert_int_equal(store_table_rename(the.s, str("t"), str("new")), 0);
	assert_int_equal(table_open(the.s, str("t"), &t), -ENOENT);
	assert_int_equal(table_open(the.s, str("new"), &t), 0);
	assert_ptr_equal(t, the.t);
	assert_int_equal(table_id(t), table_id(the.t));
	assert_int_equal(table_name(t, name), 0);
	assert_string_equal(name, "new");
	table_unref(t);
}

TEST(a_dropped_table_lives_until_its_last_reference)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct scan *sc = NULL, *none = NULL;
	struct cell cell;

	assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_table_drop(the.s, str("t"), true), -ENOTEMPTY);
	assert_int_equal(scan_open(the.t, &spec, &sc), 0);
	assert_int_equal(store_table_drop(the.s, str("t"), false), 0);
	assert_int_equal(put("r", "f", "q", 1, "v"), -ENOENT);
	assert_int_equal(scan_open(the.t, &spec, &none), -ENOENT);
	table_unref(the.t);
	the.t = NULL;
	/* The scan holds the table. */
	assert_int_equal(scan_next(sc, &cell), 1);
	assert_true(bytes_eq(cell.value, str("v")));
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
}

TEST(a_family_is_declared_once_and_not_in_a_fixed_table)
{
	struct schema schema = {0};
	uint64_t before = table_schema_version(the.t);

	assert_int_equal(table_add_family(the.t, str("f")), -EEXIST);
	assert_int_equal(table_add_family(the.t, str("a:b")), -EINVAL);
	assert_int_equal(table_schema_version(the.t), before);
	assert_int_equal(put("r", "h", "q", 1, "v"), -EPERM);
	assert_int_equal(table_schema(the.t, &schema), 0);
	schema.fixed = true;
	assert_int_equal(table_alter(the.t, &schema, false), 0);
	assert_int_equal(table_add_family(the.t, str("h")), -EPERM);
	assert_non_null(strstr(store_why(), "fixed"));
	schema_free(&schema);
}

/* A % takes three bytes in the name of a file. */
TEST(a_family_that_no_file_can_be_named_after_is_refused)
{
	struct family_attrs attrs;
	struct alter there = {0};
	struct schema schema;
	char name[87];

	family_attrs_default(&attrs);
	memset(name, '%', 86);
	name[86] = '\0';
	assert_int_equal(table_add_family(the.t, str(name)), -ENAMETOOLONG);
	assert_non_null(strstr(store_why(), "258 bytes"));
	assert_int_equal(table_schema(the.t, &schema), 0);
	assert_int_equal(schema_add(&schema, str(name), &attrs), 0);
	assert_int_equal(table_alter(the.t, &schema, false), -ENAMETOOLONG);
	assert_int_equal(store_table_create(the.s, str("u"), &schema),
			 -ENAMETOOLONG);
	/* One that is there, by another program, hinders no other change. */
	there.to = schema;
	assert_int_equal(the.s->ops->table_alter(the.t, &there), 0);
	schema.mode = 0700;
	assert_int_equal(table_alter(the.t, &schema, false), 0);
	assert_int_equal(schema_add(&there.drop, str(name), &attrs), 0);
	assert_int_equal(schema_remove(&there.to, str(name)), 0);
	assert_int_equal(table_change(the.t, &there), 0);
	alter_free(&there);
	name[0] = '-';
	name[85] = '\0';
	assert_int_equal(table_add_family(the.t, str(name)), 0);
}

struct adder {
	struct table *t;
	char first;
};

static void *add_families(void *arg)
{
	struct adder *a = arg;
	char name[4] = {a->first, 0, 0, 0};

	for (char c = 'a'; c <= 'z'; c++) {
		name[1] = c;
		if (table_add_family(a->t, bytes_str(name)) < 0)
			return arg;
	}
	return NULL;
}

TEST(families_added_at_once_are_all_there)
{
	struct schema schema = {0};
	pthread_t threads[4];
	struct adder adders[4];

	for (int i = 0; i < 4; i++) {
		adders[i] = (struct adder){the.t, (char)('A' + i)};
		assert_int_equal(pthread_create(&threads[i], NULL, add_families,
						&adders[i]),
				 0);
	}
	for (int i = 0; i < 4; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(table_schema(the.t, &schema), 0);
	assert_int_equal(schema.nfamilies, 2 + 4 * 26);
	schema_free(&schema);
}

TEST(a_schema_out_of_order_is_refused)
{
	struct schema schema = {0};
	struct family_schema swap;

	assert_int_equal(table_schema(the.t, &schema), 0);
	swap = schema.families[0];
	schema.families[0] = schema.families[1];
	schema.families[1] = swap;
	assert_int_equal(table_alter(the.t, &schema, false), -EINVAL);
	assert_int_equal(store_table_create(the.s, str("u"), &schema), -EINVAL);
	schema.families[1] = schema.families[0];
	assert_int_equal(table_alter(the.t, &schema, false), -EINVAL);
	memset(schema.families[0].name, 'x', sizeof(schema.families[0].name));
	assert_int_equal(table_alter(the.t, &schema, false), -EINVAL);
	schema_free(&schema);
}

TEST(calls_are_counted)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct scan *sc = NULL;
	struct cell cell;
	uint64_t errors = stat_value(the.s, "errors_total");

	assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	assert_int_equal(put("", "f", "q", 1, "v"), -EINVAL);
	assert_int_equal(stat_value(the.s, "mutations_total"), 1);
	assert_int_equal(stat_value(the.s, "errors_total"), errors + 1);
	assert_int_equal(scan_open(the.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 1);
	scan_close(sc);
	assert_int_equal(stat_value(the.s, "scans_total"), 1);
	assert_int_equal(stat_value(the.s, "scan_cells_total"), 1);
}

TEST(changes_and_gets_are_counted_apart)
{
	struct change ch[2] = {
		{.op = CHANGE_PUT, .ts = 1, .family = str("f")},
		{.op = CHANGE_PUT, .ts = 2, .family = str("f")},
	};
	struct mutation m[2] = {
		{.row = str("r"), .changes = ch, .nchanges = 2},
		{.row = str("s"), .changes = ch, .nchanges = 1},
	};
	size_t done;

	assert_int_equal(table_mutate(the.t, m, 0), 1);
	assert_int_equal(table_mutate_many(the.t, m, 2, 0, &done), 0);
	assert_int_equal(stat_value(the.s, "mutations_total"), 3);
	assert_int_equal(stat_value(the.s, "changes_total"), 5);
	assert_int_equal(table_get(the.t, str("r"), str("f"), str(""), TS_MAX,
				   NULL, NULL, NULL),
			 1);
	assert_int_equal(table_get(the.t, str("t"), str("f"), str(""), TS_MAX,
				   NULL, NULL, NULL),
			 0);
	assert_int_equal(stat_value(the.s, "gets_total"), 2);
	assert_int_equal(stat_value(the.s, "gets_found_total"), 1);
}

static void *put_hundred(void *arg)
{
	for (int i = 0; i < 100; i++)
		if (put("r", "f", "q", i, "v") != 1)
			return arg;
	return NULL;
}

TEST(what_threads_do_is_counted_for_all)
{
	/* More than there are stripes: some share one. */
	enum {
		THREADS = COUNT_STRIPES + 4
	};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, put_hundred, &the),
			0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(stat_value(the.s, "mutations_total"), THREADS * 100);
}

/* Each look at this clock is so much later. */
static uint64_t step_ns = 20000;

static uint64_t clock_ns(void)
{
	static _Atomic uint64_t ns;

	return atomic_fetch_add(&ns, step_ns) + step_ns;
}

static struct latency times_of(struct store *s, const char *call)
{
	struct latency l = {0};
	const char *name;
	unsigned i = 0;

	while (store_call_times(s, i, &name, &l) > 0 && strcmp(name, call))
		i++;
	assert_string_equal(name, call);
	return l;
}

static uint64_t ns_of(struct store *s, const char *call)
{
	struct latency l = times_of(s, call);

	return atomic_load(&l.ns);
}

static void read_all(void)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct cell cell;
	struct scan *sc;

	assert_int_equal(scan_open(the.t, &spec, &sc), 0);
	while (scan_next(sc, &cell) > 0)
		;
	scan_close(sc);
}

TEST(calls_are_timed_for_who_watches)
{
	struct latency l;
	const char *name;

	assert_int_equal(store_call_times(the.s, 0, &name, &l), 0);
	assert_int_equal(store_watch(the.s, clock_ns), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(put("r", "f", "q", i + 1, "v"), 1);
	l = times_of(the.s, "mutate");
	assert_int_equal(l.buckets[1], 20);
	assert_int_equal(l.ns, 20 * 20000);
	assert_int_equal(ns_of(the.s, "get"), 0);
	/* Of three cells and the end, as of twenty, the first step is timed. */
	read_all();
	assert_int_equal(times_of(the.s, "scan_open").buckets[1], 1);
	assert_int_equal(times_of(the.s, "scan_next").buckets[1], 1);
	for (int i = 0; i < 17; i++) {
		char row[8];

		snprintf(row, sizeof(row), "r%d", i);
		assert_int_equal(put(row, "f", "q", 1, "v"), 1);
	}
	read_all();
	assert_int_equal(times_of(the.s, "scan_next").buckets[1], 3);
	step_ns = 5000;
	assert_int_equal(put("r", "f", "q", 21, "v"), 1);
	step_ns = 20000;
	assert_int_equal(times_of(the.s, "mutate").buckets[0], 1);
}

TEST(calls_are_counted_by_table_for_who_watches)
{
	struct table_calls c;
	struct table *u;

	read_all();
	table_calls(the.t, &c);
	assert_int_equal(c.reads, 0);
	assert_int_equal(store_watch(the.s, clock_ns), 0);
	assert_int_equal(store_table_create(the.s, str("u"), NULL), 0);
	assert_int_equal(table_open(the.s, str("u"), &u), 0);
	read_all();
	assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), 1, NULL,
				   NULL, NULL),
			 1);
	table_calls(the.t, &c);
	assert_int_equal(c.reads, 2);
	assert_int_equal(c.writes, 1);
	table_calls(u, &c);
	assert_int_equal(c.reads + c.writes, 0);
	table_unref(u);
}

static int fails(struct store *s, struct bytes name, struct table **out)
{
	return why(-ETIMEDOUT, "nobody answers");
}

TEST(a_shape_that_cannot_be_had_says_why)
{
	const struct store_ops *ops = the.s->ops;
	struct store_ops broken = *ops;
	struct buf out = {0};

	broken.table_open = fails;
	the.s->ops = &broken;
	assert_int_equal(store_shape(the.s, &out), -ETIMEDOUT);
	assert_string_equal(store_why(), "nobody answers");
	the.s->ops = ops;
	buf_free(&out);
}

TEST(who_watches_again_goes_on_counting)
{
	struct table_calls c;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(store_watch(the.s, clock_ns), 0);
		assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	}
	table_calls(the.t, &c);
	assert_int_equal(c.writes, 3);
}

TEST(what_a_table_holds_is_told_without_a_call_of_it)
{
	struct table_info info;
	struct table_calls c;

	assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	assert_int_equal(store_watch(the.s, clock_ns), 0);
	assert_int_equal(table_info(the.t, &info), 0);
	assert_int_equal(info.cells, 1);
	table_calls(the.t, &c);
	assert_int_equal(c.reads, 0);
	assert_int_equal(ns_of(the.s, "scan_open"), 0);
	assert_int_equal(ns_of(the.s, "scan_next"), 0);
}

TEST(the_counts_of_many_tables_take_bounded_memory)
{
	struct table_calls c;
	struct table *t;
	char name[16];

	assert_int_equal(store_watch(the.s, clock_ns), 0);
	for (int i = 0; i < 1100; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		assert_int_equal(store_table_create(the.s, str(name), NULL), 0);
		assert_int_equal(table_open(the.s, str(name), &t), 0);
		table_has_row(t, str("r"));
		table_calls(t, &c);
		assert_int_equal(c.reads, 1);
		table_unref(t);
		assert_int_equal(store_table_drop(the.s, str(name), false), 0);
	}
}

TEST(a_table_that_counts_is_not_searched_for)
{
	struct table_watch *all;
	struct table_calls c;

	assert_int_equal(store_watch(the.s, clock_ns), 0);
	assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	all = the.s->watch->tables;
	the.s->watch->tables = NULL;
	table_calls(the.t, &c);
	the.s->watch->tables = all;
	assert_int_equal(c.writes, 1);
}

TEST(rows_and_families_are_told_from_absent_ones)
{
	assert_int_equal(put("r", "f", "q", 1, "v"), 1);
	assert_int_equal(table_has_row(the.t, str("r")), 1);
	assert_int_equal(table_has_row(the.t, str("rr")), 0);
	assert_int_equal(table_has_row(the.t, str("")), -EINVAL);
	assert_int_equal(table_has_family(the.t, str("r"), str("f")), 1);
	assert_int_equal(table_has_family(the.t, str("r"), str("g")), 0);
	assert_int_equal(table_has_family(the.t, str("r"), str("nope")), 0);
}

TEST(every_error_has_a_sentence)
{
	struct table *t;

	why_clear();
	assert_int_equal(table_open(the.s, str("nope"), &t), -ENOENT);
	assert_true(store_why()[0]);
	assert_int_equal(table_open(the.s, str(""), &t), -ENOENT);
	assert_true(store_why()[0]);
	/* And what works leaves none of an earlier failure. */
	assert_int_equal(store_sync(the.s), 0);
	assert_string_equal(store_why(), "");
}

/* The call forgets the reason of an earlier one, and what that waited in vain. */
#define BEGINS(call)                                                 \
	do {                                                         \
		patience.lost_ns = 1;                                \
		why(-EIO, "of an earlier call");                     \
		(void)(call);                                        \
		if (patience.lost_ns ||                              \
		    !strcmp(store_why(), "of an earlier call"))      \
			fail_msg("%s goes on with what was", #call); \
	} while (0)

TEST(a_call_of_a_table_begins_anew)
{
	const struct bytes none = str(""), nope = str("nope");
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct schema schema = {0};
	struct table_info info;
	struct alter a = {0};
	struct table *t;

	BEGINS(table_open(the.s, nope, &t));
	BEGINS(table_schema(the.t, &schema));
	BEGINS(table_name(the.t, name));
	BEGINS(store_table_create(the.s, none, NULL));
	BEGINS(store_table_drop(the.s, nope, false));
	BEGINS(store_table_truncate(the.s, nope));
	BEGINS(store_table_rename(the.s, nope, none));
	BEGINS(table_enable(the.t, true));
	BEGINS(table_is_enabled(the.t));
	BEGINS(table_alter(the.t, &schema, false));
	BEGINS(table_change(the.t, &a));
	BEGINS(table_add_family(the.t, none));
	BEGINS(store_table_next(the.s, str("t"), name));
	BEGINS(table_info(the.t, &info));
	BEGINS(table_has_ttl(the.t));
	BEGINS(store_namespace_create(the.s, none));
	BEGINS(store_namespace_ensure(the.s, none));
	BEGINS(store_namespace_drop(the.s, nope));
	BEGINS(store_namespace_next(the.s, none, name));
	schema_free(&schema);
}

TEST(a_call_of_a_snapshot_begins_anew)
{
	const struct bytes none = str(""), nope = str("nope");
	struct snapshot_info info = {0};
	struct schema schema = {0};
	struct snapshot *snap = NULL, *own;
	struct table *t;

	BEGINS(snapshot_take(the.s, &snap));
	BEGINS(snapshot_table_open(snap, nope, &t));
	BEGINS(snapshot_schema(snap, the.t, &schema));
	BEGINS(store_snapshot_create(the.s, the.t, none));
	BEGINS(store_snapshot_drop(the.s, the.t, nope));
	BEGINS(store_snapshot_rename(the.s, the.t, nope, none));
	BEGINS(store_snapshot_next(the.s, the.t, none, &info));
	BEGINS(store_snapshot_open(the.s, the.t, nope, &own));
	BEGINS(store_snapshot_clone(the.s, the.t, nope, none, none));
	BEGINS(store_snapshot_restore(the.s, the.t, nope, none));
	snapshot_release(snap);
}

TEST(a_call_of_cells_or_of_the_store_begins_anew)
{
	const struct bytes none = str(""), row = str("r"), f = str("f");
	const struct scan_spec spec = {0};
	struct change c = a_put("f", "q", 1, "v");
	struct mutation m = change_of("r", &c);
	struct store_space space;
	struct buf shape = {0};
	struct hold *hold;
	struct store *s;
	struct scan *sc;
	struct cell cell;
	size_t done;

	BEGINS(table_mutate(the.t, &m, 0));
	BEGINS(table_mutate_many(the.t, &m, 1, 0, &done));
	BEGINS(table_mutate_try(the.t, &m));
	BEGINS(table_get(the.t, row, f, none, 1, NULL, NULL, NULL));
	BEGINS(table_get_version(the.t, row, f, none, 1, NULL, NULL, NULL));
	BEGINS(table_has_row(the.t, none));
	BEGINS(table_has_family(the.t, none, f));
	BEGINS(scan_open(the.t, &spec, &sc));
	BEGINS(scan_next_many(sc, &cell, 1));
	BEGINS(scan_next(sc, &cell));
	scan_close(sc);
	BEGINS(store_flush(the.s, the.t));
	BEGINS(store_compact(the.s, the.t));
	BEGINS(store_sync(the.s));
	BEGINS(store_space(the.s, &space));
	BEGINS(store_keep(the.s, none, none));
	BEGINS(store_hold(the.s, &hold));
	BEGINS(store_keep_log(the.s, 1));
	BEGINS(store_watch(the.s, clock_ns));
	BEGINS(store_heat(the.s));
	BEGINS(store_shape(the.s, &shape));
	buf_free(&shape);
	assert_int_equal(ref_store_open(clock_now, false, &s), 0);
	BEGINS(store_close(s));
}
