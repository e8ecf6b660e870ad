/*
 * A served store, as who calls it sees it. That the client answers as the store
 * does is shown by `model --subject remote` and `run-cases --served`.
 */
#include "tests/unit/remote.h"
#include "store/front/backend.h"
#include "store/remote/wire.h"

EACH_TEST_IN(begin, end);

static size_t count(struct table *t, const struct scan_spec *spec, int *result)
{
	struct scan *sc;
	struct cell cell;
	size_t n = 0;

	assert_int_equal(scan_open(t, spec, &sc), 0);
	while ((*result = scan_next(sc, &cell)) > 0)
		n++;
	scan_close(sc);
	return n;
}

TEST(a_value_of_ten_mebibytes_goes_through)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct buf hold = {0};
	size_t len = 10 << 20;
	uint8_t *big = malloc(len);
	struct cell cell;
	int r;

	assert_non_null(big);
	for (size_t i = 0; i < len; i++)
		big[i] = (uint8_t)(i * 31 >> 3);
	assert_int_equal(put_in(the.t, "r", bytes_of(big, len)), 1);
	assert_int_equal(put_in(the.t, "s", str("small")), 1);
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, &hold),
			 1);
	assert_true(bytes_eq(cell.value, bytes_of(big, len)));
	assert_int_equal(count(the.t, &spec, &r), 2);
	assert_int_equal(r, 0);
	buf_free(&hold);
	free(big);
}

TEST(a_larger_one_is_refused_and_nothing_else)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct family_attrs attrs;
	struct schema schema;
	struct buf hold = {0};
	struct table *own;
	size_t len = WIRE_FRAME_MAX + 1;
	uint8_t *big = calloc(1, len);
	struct cell cell;
	int r;

	assert_non_null(big);
	assert_int_equal(table_open(the.behind, str("t"), &own), 0);
	schema_init(&schema, 0, 0);
	family_attrs_default(&attrs);
	attrs.max_value = VALUE_LEN_MAX;
	assert_int_equal(schema_add(&schema, str("f"), &attrs), 0);
	assert_int_equal(table_alter(the.t, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(put_in(the.t, "r", bytes_of(big, len)), -EFBIG);
	assert_non_null(strstr(store_why(), "at most"));
	/* It is there by another way, behind one that goes through. */
	assert_int_equal(put_in(own, "r", bytes_of(big, len)), 1);
	assert_int_equal(put_in(own, "a", str("before")), 1);
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, &hold),
			 -EFBIG);
	assert_non_null(strstr(store_why(), "as a file"));
	assert_int_equal(table_get(the.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, NULL),
			 1);
	assert_int_equal(cell.value.len, len);
	assert_null(cell.value.data);
	assert_int_equal(count(the.t, &spec, &r), 1);
	assert_int_equal(r, -EFBIG);
	spec.keys_only = true;
	assert_int_equal(count(the.t, &spec, &r), 2);
	assert_int_equal(r, 0);
	buf_free(&hold);
	free(big);
	table_unref(own);
}

TEST(many_mutations_are_parted_over_messages)
{
	enum {
		N = 70
	};
	struct scan_spec spec = {.granularity = SCAN_ROWS};
	struct change changes[N];
	struct mutation m[N];
	char rows[N][8];
	size_t len = 700000, done;
	uint8_t *value = calloc(1, len);
	int r;

	assert_non_null(value);
	for (int i = 0; i < N; i++) {
		snprintf(rows[i], sizeof(rows[i]), "r%02d", i);
		changes[i] = (struct change){.op = CHANGE_PUT,
					     .family = str("f"),
					     .ts = TS_AUTO,
					     .ts_given = -1,
					     .value = bytes_of(value, len)};
		m[i] = (struct mutation){.row = str(rows[i]),
					 .changes = &changes[i],
					 .nchanges = 1};
	}
	assert_int_equal(table_mutate_many(the.t, m, N, 0, &done), 0);
	assert_int_equal(done, N);
	for (int i = 0; i < N; i++)
		assert_true(changes[i].ts_given > 0);
	assert_int_equal(count(the.t, &spec, &r), N);
	/* One that fails in the third message leaves those before it. */
	changes[60].family = str("nope");
	assert_int_equal(table_mutate_many(the.t, m, N, 0, &done), -EPERM);
	assert_int_equal(done, 60);
	assert_non_null(strstr(store_why(), "nope"));
	free(value);
}

TEST(a_scan_of_many_batches_is_whole_and_in_order)
{
	enum {
		N = 20000
	};
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct scan *sc;
	struct cell cell;
	char row[16];
	int n = 0;

	for (int i = 0; i < N; i++) {
		snprintf(row, sizeof(row), "r%05d", i);
		assert_int_equal(put_in(the.t, row, str(row)), 1);
	}
	assert_int_equal(scan_open(the.t, &spec, &sc), 0);
	/* What comes later is not in it, whatever batch it would be in. */
	assert_int_equal(put_in(the.t, "r19999x", str("late")), 1);
	while (scan_next(sc, &cell) > 0) {
		snprintf(row, sizeof(row), "r%05d", n++);
		assert_true(bytes_eq(cell.row, str(row)));
		assert_true(bytes_eq(cell.value, str(row)));
	}
	assert_int_equal(n, N);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
}

TEST(a_scan_as_of_a_moment_shows_that_moment)
{
	struct scan_spec spec = {
		.granularity = SCAN_COLUMNS, .has_as_of = true, .as_of = 15};
	struct change c = {.op = CHANGE_PUT, .family = str("f")};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};
	struct scan *sc;
	struct cell cell;

	for (c.ts = 10; c.ts <= 20; c.ts += 10)
		assert_int_equal(table_mutate(the.t, &m, 0), 1);
	assert_int_equal(scan_open(the.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 1);
	assert_int_equal(cell.ts, 10);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
}

TEST(what_the_store_can_is_handed_on)
{
	struct store_space space;
	struct store *s;

	for (unsigned a = 0; a < STORE_ABILITIES; a++) {
		assert_true(store_can(the.behind, a));
		assert_int_equal(store_can(the.s, a), a != CAN_KEEP);
	}
	the.behind->can = ABILITY(CAN_RENAME_TABLE) | ABILITY(CAN_KEEP);
	assert_int_equal(loop_open(the.behind, NULL, &s), 0);
	for (unsigned a = 0; a < STORE_ABILITIES; a++)
		assert_int_equal(store_can(s, a), a == CAN_RENAME_TABLE);
	assert_int_equal(store_space(s, &space), -EOPNOTSUPP);
	assert_int_equal(store_table_rename(s, str("t"), str("u")), 0);
	assert_int_equal(store_close(s), 0);
	the.behind->can = ABILITIES_ALL;
}

TEST(a_schema_s_version_costs_a_request_once)
{
	uint64_t first, behind;
	struct table *own;

	assert_int_equal(table_open(the.behind, str("t"), &own), 0);
	first = table_schema_version(the.t);
	assert_int_equal(first, table_schema_version(own));
	assert_int_equal(table_add_family(own, str("g")), 0);
	behind = table_schema_version(own);
	assert_true(behind != first);
	/* Nothing was asked in between: it is not asked again. */
	assert_int_equal(table_schema_version(the.t), first);
	assert_int_equal(put_in(the.t, "r", str("v")), 1);
	assert_int_equal(table_schema_version(the.t), behind);
	table_unref(own);
}

TEST(errors_arrive_with_their_sentences)
{
	struct table *none;
	struct change c = {.op = CHANGE_PUT, .family = str("g")};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};

	assert_int_equal(table_open(the.s, str("none"), &none), -ENOENT);
	assert_non_null(strstr(store_why(), "none"));
	assert_int_equal(table_mutate(the.t, &m, 0), -EPERM);
	assert_non_null(strstr(store_why(), "g"));
	assert_int_equal(store_table_create(the.s, str("n:t"), NULL), -ENOENT);
	assert_non_null(strstr(store_why(), "namespace"));
	assert_int_equal(store_namespace_create(the.s, str("n")), 0);
	assert_int_equal(store_table_create(the.s, str("n:t"), NULL), 0);
	assert_int_equal(store_namespace_drop(the.s, str("n")), -ENOTEMPTY);
	assert_int_equal(table_add_family(the.t, str("f")), -EEXIST);
	/* A close leaves the sentence of the failure before it. */
	assert_int_equal(table_open(the.s, str("none"), &none), -ENOENT);
	table_unref(the.t);
	the.t = NULL;
	assert_non_null(strstr(store_why(), "none"));
}

TEST(figures_are_the_store_s_and_stay_where_they_are)
{
	struct store_stat a, b;
	const char *first = NULL;

	assert_int_equal(put_in(the.t, "r", str("v")), 1);
	for (unsigned i = 0; store_stat(the.s, i, &a) > 0; i++) {
		assert_int_equal(store_stat(the.behind, i, &b), 1);
		assert_string_equal(a.name, b.name);
		if (i == 0)
			first = a.name;
		if (!strcmp(a.name, "mutations_total"))
			assert_int_equal(a.value, 1);
	}
	assert_int_equal(put_in(the.t, "r", str("w")), 1);
	assert_int_equal(store_stat(the.s, 0, &a), 1);
	assert_ptr_equal(a.name, first);
	assert_int_equal(a.value, 2);
}

TEST(what_a_table_holds_is_told_alike)
{
	struct table_info a, b;
	struct table *behind;
	char row[16];

	assert_int_equal(table_open(the.behind, str("t"), &behind), 0);
	for (int rows = 3; rows <= TABLE_INFO_COUNTED + 1;
	     rows += TABLE_INFO_COUNTED - 2) {
		for (int i = 0; i < rows; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			assert_int_equal(put_in(the.t, row, str("v")), 1);
		}
		assert_int_equal(table_info(the.t, &a), 0);
		assert_int_equal(table_info(behind, &b), 0);
		assert_int_equal(a.exact, rows == 3);
		assert_int_equal(a.exact, b.exact);
		assert_true(a.rows >= (uint64_t)rows);
		assert_int_equal(a.rows, b.rows);
		assert_int_equal(a.cells, b.cells);
		assert_int_equal(a.oldest, b.oldest);
		assert_int_equal(a.newest, b.newest);
		assert_int_equal(a.entries, b.entries);
		assert_false(a.has_ttl);
		assert_false(b.has_ttl);
		assert_int_equal(a.bytes, b.bytes);
		assert_int_equal(a.files, b.files);
	}
	table_unref(behind);
}
TEST(a_session_has_so_much_open_and_no_more)
{
	struct table *open[256];
	int n = 0, r;

	while ((r = table_open(the.s, str("t"), &open[n])) == 0)
		n++;
	assert_int_equal(r, -EMFILE);
	assert_int_equal(n, 255); /* and the fixture's */
	table_unref(open[--n]);
	assert_int_equal(table_open(the.s, str("t"), &open[n]), 0);
	for (n++; n > 0;)
		table_unref(open[--n]);
}

struct owner {
	int refuse; /* the error for what deletes */
	unsigned asked, told, deleting;
};

static int owner_before(void *arg, struct served_act *act)
{
	struct owner *o = arg;

	o->asked |= 1u << act->what;
	o->deleting += act->deletes;
	if (act->deletes && o->refuse)
		return why(o->refuse, "the owner keeps it");
	return 0;
}

static void owner_after(void *arg, struct served_act *act, int result)
{
	struct owner *o = arg;

	/* What it finds wrong meanwhile is not the client's. */
	why(-EIO, "something else");
	if (result >= 0)
		o->told |= 1u << act->what;
}

static int change_one(struct table *t, uint8_t op)
{
	struct change c = {.op = op, .ts = TS_AUTO};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};

	if (op != CHANGE_DELETE_ROW)
		c.family = str("f");
	return table_mutate(t, &m, 0);
}

/* Everything that changes a store, by its own result. */
static void change_all(int deletes)
{
	struct schema schema;
	size_t done;
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};

	assert_int_equal(put_in(the.t, "r", str("v")), 1);
	assert_int_equal(change_one(the.t, CHANGE_DELETE_FAMILY),
			 deletes ? deletes : 1);
	assert_int_equal(change_one(the.t, CHANGE_DELETE_ROW),
			 deletes ? deletes : 1);
	assert_int_equal(table_mutate_many(the.t, &m, 1, 0, &done), deletes);
	assert_int_equal(store_namespace_create(the.s, str("n")), 0);
	assert_int_equal(store_namespace_drop(the.s, str("n")), deletes);
	assert_int_equal(store_table_create(the.s, str("u"), NULL), 0);
	assert_int_equal(store_table_rename(the.s, str("u"), str("w")), 0);
	assert_int_equal(table_add_family(the.t, str("g")), 0);
	assert_int_equal(table_schema(the.t, &schema), 0);
	assert_int_equal(table_alter(the.t, &schema, false), 0);
	assert_int_equal(table_alter(the.t, &schema, true), deletes);
	schema_free(&schema);
	assert_int_equal(store_table_truncate(the.s, str("w")), deletes);
	assert_int_equal(store_table_drop(the.s, str("w"), true), deletes);
	assert_int_equal(store_snapshot_create(the.s, the.t, str("a")), 0);
	assert_int_equal(
		store_snapshot_rename(the.s, the.t, str("a"), str("b")), 0);
	assert_int_equal(store_snapshot_clone(the.s, the.t, str("b"), str("t"),
					      str("copy")),
			 0);
	assert_int_equal(
		store_snapshot_restore(the.s, the.t, str("b"), str("t")),
		deletes);
	assert_int_equal(store_snapshot_drop(the.s, the.t, str("b")), deletes);
	assert_int_equal(store_flush(the.s, NULL), 0);
	assert_int_equal(store_compact(the.s, the.t), 0);
	/* Of the engine each is in service. */
	assert_int_equal(table_enable(the.t, false), 0);
	assert_int_equal(table_is_enabled(the.t), 1);
}

struct meanwhile {
	struct table *t; /* the owner's */
	unsigned calls;
};

static int edit_mode(void *arg, const struct schema *now, struct alter *a)
{
	struct meanwhile *m = arg;

	if (!m->calls++)
		assert_int_equal(table_add_family(m->t, str("new")), 0);
	assert_int_equal(schema_copy(&a->to, now), 0);
	a->to.mode = 0700;
	return 0;
}

TEST(an_edit_takes_nothing_of_who_was_first_away)
{
	struct meanwhile m = {0};
	struct schema schema;

	assert_int_equal(table_open(the.behind, str("t"), &m.t), 0);
	assert_int_equal(table_edit(the.t, edit_mode, &m), 0);
	assert_int_equal(m.calls, 2);
	assert_int_equal(table_schema(m.t, &schema), 0);
	assert_true(schema_find(&schema, str("new")) >= 0);
	assert_int_equal(schema.mode, 0700);
	schema_free(&schema);
	table_unref(m.t);
}

TEST(the_owner_is_asked_of_every_change_and_told)
{
	struct owner owner = {0};
	struct served_hooks hooks = {owner_before, owner_after, &owner};

	end(state);
	begin_hooked(&hooks);
	change_all(0);
	assert_int_equal(owner.asked, (1u << (SERVED_CARE + 1)) - 1);
	assert_int_equal(owner.told, owner.asked);
	assert_int_equal(owner.deleting, 9);
}

TEST(what_the_owner_refuses_does_not_happen)
{
	struct owner owner = {.refuse = -EPERM};
	struct served_hooks hooks = {owner_before, owner_after, &owner};
	struct snapshot_info info;

	end(state);
	begin_hooked(&hooks);
	change_all(-EPERM);
	assert_int_equal(change_one(the.t, CHANGE_DELETE_ROW), -EPERM);
	assert_string_equal(store_why(), "the owner keeps it");
	assert_int_equal(table_has_row(the.t, str("r")), 1);
	assert_int_equal(store_snapshot_next(the.s, the.t, str(""), &info), 1);
	assert_string_equal(info.name, "b");
	/* An error that the store finds is the one that arrives. */
	assert_int_equal(store_table_create(the.s, str("t"), NULL), -EEXIST);
	assert_null(strstr(store_why(), "something else"));
}
