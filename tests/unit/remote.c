/*
 * A served store: client and session joined in one process, over the engine on
 * a disk in memory. That the client answers as the store does is shown by
 * `model --subject remote` and `run-cases --served`.
 */
#include "tests/unit/unit.h"
#include "store/front/backend.h"
#include "store/remote/client.h"
#include "store/remote/server_inside.h"
#include "store/remote/wire.h"
#include "store/served.h"
#include "tests/model/loop.h"
#include "tests/sim/os_sim.h"

struct fixture {
	struct os *os;
	struct store *behind, *s;
	struct table *t; /* the client's: table t, family f */
};

static struct bytes str(const char *s)
{
	return bytes_str(s);
}

static void begin_hooked(struct fixture *f, const struct served_hooks *hooks)
{
	struct store_options o = {.create = true, .inline_background = true};

	f->os = o.os = sim_new(1);
	assert_int_equal(store_open("/store", &o, &f->behind), 0);
	assert_int_equal(store_table_create(f->behind, str("t"), NULL), 0);
	assert_int_equal(table_open(f->behind, str("t"), &f->t), 0);
	assert_int_equal(table_add_family(f->t, str("f")), 0);
	table_unref(f->t);
	assert_int_equal(loop_open(f->behind, hooks, &f->s), 0);
	assert_int_equal(table_open(f->s, str("t"), &f->t), 0);
}

static void begin(struct fixture *f)
{
	begin_hooked(f, NULL);
}

static void end(struct fixture *f)
{
	table_unref(f->t);
	assert_int_equal(store_close(f->s), 0);
	assert_int_equal(store_close(f->behind), 0);
	sim_free(f->os);
}

static int put_in(struct table *t, const char *row, struct bytes value)
{
	struct change c = {.op = CHANGE_PUT,
			   .family = str("f"),
			   .qualifier = str("q"),
			   .ts = TS_AUTO,
			   .value = value};
	struct mutation m = {.row = str(row), .changes = &c, .nchanges = 1};

	return table_mutate(t, &m, 0);
}

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

static void a_value_of_ten_mebibytes_goes_through(void **state)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct fixture f;
	struct buf hold = {0};
	size_t len = 10 << 20;
	uint8_t *big = malloc(len);
	struct cell cell;
	int r;

	begin(&f);
	assert_non_null(big);
	for (size_t i = 0; i < len; i++)
		big[i] = (uint8_t)(i * 31 >> 3);
	assert_int_equal(put_in(f.t, "r", bytes_of(big, len)), 1);
	assert_int_equal(put_in(f.t, "s", str("small")), 1);
	assert_int_equal(table_get(f.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, &hold),
			 1);
	assert_true(bytes_eq(cell.value, bytes_of(big, len)));
	assert_int_equal(count(f.t, &spec, &r), 2);
	assert_int_equal(r, 0);
	buf_free(&hold);
	free(big);
	end(&f);
}

static void a_larger_one_is_refused_and_nothing_else(void **state)
{
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct family_attrs attrs;
	struct schema schema;
	struct fixture f;
	struct buf hold = {0};
	struct table *own;
	size_t len = WIRE_FRAME_MAX + 1;
	uint8_t *big = calloc(1, len);
	struct cell cell;
	int r;

	begin(&f);
	assert_non_null(big);
	assert_int_equal(table_open(f.behind, str("t"), &own), 0);
	schema_init(&schema, 0, 0);
	family_attrs_default(&attrs);
	attrs.max_value = VALUE_LEN_MAX;
	assert_int_equal(schema_add(&schema, str("f"), &attrs), 0);
	assert_int_equal(table_alter(f.t, &schema, false), 0);
	schema_free(&schema);
	assert_int_equal(put_in(f.t, "r", bytes_of(big, len)), -EFBIG);
	assert_non_null(strstr(store_why(), "at most"));
	/* It is there by another way, behind one that goes through. */
	assert_int_equal(put_in(own, "r", bytes_of(big, len)), 1);
	assert_int_equal(put_in(own, "a", str("before")), 1);
	assert_int_equal(table_get(f.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, &hold),
			 -EFBIG);
	assert_non_null(strstr(store_why(), "as a file"));
	assert_int_equal(table_get(f.t, str("r"), str("f"), str("q"), TS_MAX,
				   NULL, &cell, NULL),
			 1);
	assert_int_equal(cell.value.len, len);
	assert_null(cell.value.data);
	assert_int_equal(count(f.t, &spec, &r), 1);
	assert_int_equal(r, -EFBIG);
	spec.keys_only = true;
	assert_int_equal(count(f.t, &spec, &r), 2);
	assert_int_equal(r, 0);
	buf_free(&hold);
	free(big);
	table_unref(own);
	end(&f);
}

static void many_mutations_are_parted_over_messages(void **state)
{
	enum {
		N = 70
	};
	struct scan_spec spec = {.granularity = SCAN_ROWS};
	struct change changes[N];
	struct mutation m[N];
	char rows[N][8];
	struct fixture f;
	size_t len = 700000, done;
	uint8_t *value = calloc(1, len);
	int r;

	begin(&f);
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
	assert_int_equal(table_mutate_many(f.t, m, N, 0, &done), 0);
	assert_int_equal(done, N);
	for (int i = 0; i < N; i++)
		assert_true(changes[i].ts_given > 0);
	assert_int_equal(count(f.t, &spec, &r), N);
	/* One that fails in the third message leaves those before it. */
	changes[60].family = str("nope");
	assert_int_equal(table_mutate_many(f.t, m, N, 0, &done), -EPERM);
	assert_int_equal(done, 60);
	assert_non_null(strstr(store_why(), "nope"));
	free(value);
	end(&f);
}

static void a_scan_of_many_batches_is_whole_and_in_order(void **state)
{
	enum {
		N = 20000
	};
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	struct fixture f;
	struct scan *sc;
	struct cell cell;
	char row[16];
	int n = 0;

	begin(&f);
	for (int i = 0; i < N; i++) {
		snprintf(row, sizeof(row), "r%05d", i);
		assert_int_equal(put_in(f.t, row, str(row)), 1);
	}
	assert_int_equal(scan_open(f.t, &spec, &sc), 0);
	/* What comes later is not in it, whatever batch it would be in. */
	assert_int_equal(put_in(f.t, "r19999x", str("late")), 1);
	while (scan_next(sc, &cell) > 0) {
		snprintf(row, sizeof(row), "r%05d", n++);
		assert_true(bytes_eq(cell.row, str(row)));
		assert_true(bytes_eq(cell.value, str(row)));
	}
	assert_int_equal(n, N);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	end(&f);
}

static void a_scan_as_of_a_moment_shows_that_moment(void **state)
{
	struct scan_spec spec = {
		.granularity = SCAN_COLUMNS, .has_as_of = true, .as_of = 15};
	struct change c = {.op = CHANGE_PUT, .family = str("f")};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};
	struct fixture f;
	struct scan *sc;
	struct cell cell;

	begin(&f);
	for (c.ts = 10; c.ts <= 20; c.ts += 10)
		assert_int_equal(table_mutate(f.t, &m, 0), 1);
	assert_int_equal(scan_open(f.t, &spec, &sc), 0);
	assert_int_equal(scan_next(sc, &cell), 1);
	assert_int_equal(cell.ts, 10);
	assert_int_equal(scan_next(sc, &cell), 0);
	scan_close(sc);
	end(&f);
}

static void what_the_store_can_is_handed_on(void **state)
{
	struct store_space space;
	struct store *s;
	struct fixture f;

	begin(&f);
	for (unsigned a = 0; a < STORE_ABILITIES; a++) {
		assert_true(store_can(f.behind, a));
		assert_int_equal(store_can(f.s, a), a != CAN_KEEP);
	}
	f.behind->can = ABILITY(CAN_RENAME_TABLE) | ABILITY(CAN_KEEP);
	assert_int_equal(loop_open(f.behind, NULL, &s), 0);
	for (unsigned a = 0; a < STORE_ABILITIES; a++)
		assert_int_equal(store_can(s, a), a == CAN_RENAME_TABLE);
	assert_int_equal(store_space(s, &space), -EOPNOTSUPP);
	assert_int_equal(store_table_rename(s, str("t"), str("u")), 0);
	assert_int_equal(store_close(s), 0);
	f.behind->can = ABILITIES_ALL;
	end(&f);
}

static void a_schema_s_version_costs_a_request_once(void **state)
{
	uint64_t first, behind;
	struct fixture f;
	struct table *own;

	begin(&f);
	assert_int_equal(table_open(f.behind, str("t"), &own), 0);
	first = table_schema_version(f.t);
	assert_int_equal(first, table_schema_version(own));
	assert_int_equal(table_add_family(own, str("g")), 0);
	behind = table_schema_version(own);
	assert_true(behind != first);
	/* Nothing was asked in between: it is not asked again. */
	assert_int_equal(table_schema_version(f.t), first);
	assert_int_equal(put_in(f.t, "r", str("v")), 1);
	assert_int_equal(table_schema_version(f.t), behind);
	table_unref(own);
	end(&f);
}

static void errors_arrive_with_their_sentences(void **state)
{
	struct fixture f;
	struct table *none;
	struct change c = {.op = CHANGE_PUT, .family = str("g")};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};

	begin(&f);
	assert_int_equal(table_open(f.s, str("none"), &none), -ENOENT);
	assert_non_null(strstr(store_why(), "none"));
	assert_int_equal(table_mutate(f.t, &m, 0), -EPERM);
	assert_non_null(strstr(store_why(), "g"));
	assert_int_equal(store_table_create(f.s, str("n:t"), NULL), -ENOENT);
	assert_non_null(strstr(store_why(), "namespace"));
	assert_int_equal(store_namespace_create(f.s, str("n")), 0);
	assert_int_equal(store_table_create(f.s, str("n:t"), NULL), 0);
	assert_int_equal(store_namespace_drop(f.s, str("n")), -ENOTEMPTY);
	assert_int_equal(table_add_family(f.t, str("f")), -EEXIST);
	/* A close leaves the sentence of the failure before it. */
	assert_int_equal(table_open(f.s, str("none"), &none), -ENOENT);
	table_unref(f.t);
	f.t = NULL;
	assert_non_null(strstr(store_why(), "none"));
	end(&f);
}

static void figures_are_the_store_s_and_stay_where_they_are(void **state)
{
	struct fixture f;
	struct store_stat a, b;
	const char *first = NULL;

	begin(&f);
	assert_int_equal(put_in(f.t, "r", str("v")), 1);
	for (unsigned i = 0; store_stat(f.s, i, &a) > 0; i++) {
		assert_int_equal(store_stat(f.behind, i, &b), 1);
		assert_string_equal(a.name, b.name);
		if (i == 0)
			first = a.name;
		if (!strcmp(a.name, "mutations_total"))
			assert_int_equal(a.value, 1);
	}
	assert_int_equal(put_in(f.t, "r", str("w")), 1);
	assert_int_equal(store_stat(f.s, 0, &a), 1);
	assert_ptr_equal(a.name, first);
	assert_int_equal(a.value, 2);
	end(&f);
}

static void what_a_table_holds_is_told_alike(void **state)
{
	struct table_info a, b;
	struct table *behind;
	struct fixture f;
	char row[16];

	begin(&f);
	assert_int_equal(table_open(f.behind, str("t"), &behind), 0);
	for (int rows = 3; rows <= TABLE_INFO_COUNTED + 1;
	     rows += TABLE_INFO_COUNTED - 2) {
		for (int i = 0; i < rows; i++) {
			snprintf(row, sizeof(row), "r%05d", i);
			assert_int_equal(put_in(f.t, row, str("v")), 1);
		}
		assert_int_equal(table_info(f.t, &a), 0);
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
	end(&f);
}

static int collect(void *arg, struct bytes data)
{
	return buf_append(arg, data.data, data.len);
}

/* All replies that are due, read @size bytes at a time. */
static void drain(struct served *sv, size_t size, struct buf *replies)
{
	size_t before;

	do {
		before = replies->len;
		assert_int_equal(served_take(sv, size, collect, replies), 0);
	} while (replies->len > before);
}

/* One request with the fields of @body. */
static void add_request(struct buf *out, uint32_t id, uint8_t op,
			struct bytes body)
{
	struct encoder e = {.out = out};
	size_t at = wire_begin(&e);

	put_u32(&e, id);
	put_u8(&e, op);
	put_raw(&e, body.data, body.len);
	assert_int_equal(wire_end(&e, at), 0);
}

static const uint8_t open_t[] = {1, 0, 0, 0, 't'};

/* The result of the first reply, which is cut off. */
static int next_result(struct buf *replies, uint32_t id)
{
	struct bytes frame;
	struct decoder d;
	int r;

	assert_int_equal(wire_whole(buf_bytes(replies), &frame), 1);
	d = decoder_of(frame);
	assert_int_equal(take_u32(&d), id);
	r = take_result(&d);
	assert_false(d.bad);
	replies->len -= frame.len + 4;
	memmove(replies->data, replies->data + frame.len + 4, replies->len);
	return r;
}

static void a_session_gives_back_what_a_client_leaves_open(void **state)
{
	struct field spec = {.spec = {.granularity = SCAN_CELLS}};
	struct buf body = {0}, requests = {0}, replies = {0};
	struct encoder e = {.out = &body};
	struct served *sv;
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 100; i++) {
		char row[8];

		snprintf(row, sizeof(row), "r%d", i);
		assert_int_equal(put_in(f.t, row, str("value")), 1);
	}
	assert_int_equal(served_new(f.behind, NULL, &sv), 0);
	put_u32(&e, 0x100);
	put_u32(&e, 0x101);
	put_u32(&e, 100); /* bytes: there is more */
	put_fields(&e, "q", &spec);
	add_request(&requests, 1, WIRE_TABLE_OPEN,
		    bytes_of(open_t, sizeof(open_t)));
	add_request(&requests, 2, WIRE_SNAPSHOT_TAKE, str(""));
	add_request(&requests, 3, WIRE_SCAN_OPEN, buf_bytes(&body));
	assert_int_equal(served_feed(sv, buf_bytes(&requests)), 0);
	drain(sv, 4096, &replies);
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(next_result(&replies, i), 0);
	/* The sanitizer says what would be left. */
	served_free(sv);
	buf_free(&body);
	buf_free(&requests);
	buf_free(&replies);
	end(&f);
}

static void requests_and_replies_may_come_byte_by_byte(void **state)
{
	struct buf requests = {0}, replies = {0};
	struct served *sv;
	struct fixture f;

	begin(&f);
	assert_int_equal(served_new(f.behind, NULL, &sv), 0);
	drain(sv, 100, &replies);
	assert_int_equal(replies.len, 0);
	add_request(&requests, 1, WIRE_TABLE_OPEN,
		    bytes_of(open_t, sizeof(open_t)));
	add_request(&requests, 2, WIRE_HEALTH, str(""));
	for (size_t i = 0; i < requests.len; i++) {
		assert_int_equal(
			served_feed(sv, bytes_of(requests.data + i, 1)), 0);
		if (i + 2 == requests.len)
			drain(sv, 1, &replies);
	}
	assert_int_equal(next_result(&replies, 1), 0);
	assert_int_equal(replies.len, 0);
	drain(sv, 1, &replies);
	assert_int_equal(next_result(&replies, 2), 0);
	served_free(sv);
	buf_free(&requests);
	buf_free(&replies);
	end(&f);
}

static void who_only_writes_is_stopped(void **state)
{
	struct buf requests = {0}, replies = {0};
	struct served *sv;
	struct fixture f;
	int r;

	begin(&f);
	assert_int_equal(served_new(f.behind, NULL, &sv), 0);
	for (uint32_t i = 0; i < 1000; i++)
		add_request(&requests, 1, WIRE_NOW, str(""));
	while ((r = served_feed(sv, buf_bytes(&requests))) == 0)
		;
	assert_int_equal(r, -EAGAIN);
	/* A reply that was read makes room for a request. */
	assert_int_equal(served_take(sv, 4096, collect, &replies), 0);
	assert_int_equal(next_result(&replies, 1), 0);
	served_free(sv);
	buf_free(&requests);
	buf_free(&replies);
	end(&f);
}

static void a_frame_without_bounds_ends_the_session_only(void **state)
{
	static const uint8_t huge[] = {0xFF, 0xFF, 0xFF, 0x7F};
	struct buf replies = {0};
	struct served *sv;
	struct fixture f;

	begin(&f);
	assert_int_equal(served_new(f.behind, NULL, &sv), 0);
	assert_int_equal(served_feed(sv, bytes_of(huge, 4)), -EPROTO);
	assert_int_equal(served_feed(sv, bytes_of(huge, 1)), -EPROTO);
	assert_int_equal(served_take(sv, 100, collect, &replies), -EPROTO);
	assert_non_null(strstr(store_why(), "over"));
	served_free(sv);
	assert_int_equal(put_in(f.t, "r", str("v")), 1);
	end(&f);
}

static void a_session_has_so_much_open_and_no_more(void **state)
{
	struct table *open[256];
	struct fixture f;
	int n = 0, r;

	begin(&f);
	while ((r = table_open(f.s, str("t"), &open[n])) == 0)
		n++;
	assert_int_equal(r, -EMFILE);
	assert_int_equal(n, 255); /* and the fixture's */
	table_unref(open[--n]);
	assert_int_equal(table_open(f.s, str("t"), &open[n]), 0);
	for (n++; n > 0;)
		table_unref(open[--n]);
	end(&f);
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
static void change_all(struct fixture *f, int deletes)
{
	struct schema schema;
	size_t done;
	struct change c = {.op = CHANGE_DELETE_ROW, .ts = TS_AUTO};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};

	assert_int_equal(put_in(f->t, "r", str("v")), 1);
	assert_int_equal(change_one(f->t, CHANGE_DELETE_FAMILY),
			 deletes ? deletes : 1);
	assert_int_equal(change_one(f->t, CHANGE_DELETE_ROW),
			 deletes ? deletes : 1);
	assert_int_equal(table_mutate_many(f->t, &m, 1, 0, &done), deletes);
	assert_int_equal(store_namespace_create(f->s, str("n")), 0);
	assert_int_equal(store_namespace_drop(f->s, str("n")), deletes);
	assert_int_equal(store_table_create(f->s, str("u"), NULL), 0);
	assert_int_equal(store_table_rename(f->s, str("u"), str("w")), 0);
	assert_int_equal(table_add_family(f->t, str("g")), 0);
	assert_int_equal(table_schema(f->t, &schema), 0);
	assert_int_equal(table_alter(f->t, &schema, false), 0);
	assert_int_equal(table_alter(f->t, &schema, true), deletes);
	schema_free(&schema);
	assert_int_equal(store_table_truncate(f->s, str("w")), deletes);
	assert_int_equal(store_table_drop(f->s, str("w"), true), deletes);
	assert_int_equal(store_snapshot_create(f->s, f->t, str("a")), 0);
	assert_int_equal(store_snapshot_rename(f->s, f->t, str("a"), str("b")),
			 0);
	assert_int_equal(store_snapshot_clone(f->s, f->t, str("b"), str("t"),
					      str("copy")),
			 0);
	assert_int_equal(store_snapshot_restore(f->s, f->t, str("b"), str("t")),
			 deletes);
	assert_int_equal(store_snapshot_drop(f->s, f->t, str("b")), deletes);
	assert_int_equal(store_flush(f->s, NULL), 0);
	assert_int_equal(store_compact(f->s, f->t), 0);
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

static void an_edit_takes_nothing_of_who_was_first_away(void **state)
{
	struct meanwhile m = {0};
	struct schema schema;
	struct fixture f;

	begin(&f);
	assert_int_equal(table_open(f.behind, str("t"), &m.t), 0);
	assert_int_equal(table_edit(f.t, edit_mode, &m), 0);
	assert_int_equal(m.calls, 2);
	assert_int_equal(table_schema(m.t, &schema), 0);
	assert_true(schema_find(&schema, str("new")) >= 0);
	assert_int_equal(schema.mode, 0700);
	schema_free(&schema);
	table_unref(m.t);
	end(&f);
}

static void the_owner_is_asked_of_every_change_and_told(void **state)
{
	struct owner owner = {0};
	struct served_hooks hooks = {owner_before, owner_after, &owner};
	struct fixture f;

	begin_hooked(&f, &hooks);
	change_all(&f, 0);
	assert_int_equal(owner.asked, (1u << (SERVED_CARE + 1)) - 1);
	assert_int_equal(owner.told, owner.asked);
	assert_int_equal(owner.deleting, 9);
	end(&f);
}

static void what_the_owner_refuses_does_not_happen(void **state)
{
	struct owner owner = {.refuse = -EPERM};
	struct served_hooks hooks = {owner_before, owner_after, &owner};
	struct snapshot_info info;
	struct fixture f;

	begin_hooked(&f, &hooks);
	change_all(&f, -EPERM);
	assert_int_equal(change_one(f.t, CHANGE_DELETE_ROW), -EPERM);
	assert_string_equal(store_why(), "the owner keeps it");
	assert_int_equal(table_has_row(f.t, str("r")), 1);
	assert_int_equal(store_snapshot_next(f.s, f.t, str(""), &info), 1);
	assert_string_equal(info.name, "b");
	/* An error that the store finds is the one that arrives. */
	assert_int_equal(store_table_create(f.s, str("t"), NULL), -EEXIST);
	assert_null(strstr(store_why(), "something else"));
	end(&f);
}

/* A channel that keeps what goes through, or changes one reply. */
struct tap {
	struct channel base;
	struct served *served;
	struct buf *requests, *replies; /* frames as they come; may be NULL */
	unsigned nth;			/* the reply that is changed, from 1 */
	size_t cut;			/* to so many bytes, 0 = not */
	size_t flip;			/* a bit of this byte, from 1 */
	struct buf reply;
	size_t at;
};

static int tap_send(struct channel *ch, struct bytes data)
{
	struct tap *t = (struct tap *)ch;
	uint8_t *p;
	size_t len;

	if (t->requests && buf_append(t->requests, data.data, data.len) < 0)
		return -ENOMEM;
	t->reply.len = t->at = 0;
	if (served_feed(t->served, data) < 0)
		return -EIO;
	drain(t->served, 1 << 20, &t->reply);
	if (t->replies &&
	    buf_append(t->replies, t->reply.data, t->reply.len) < 0)
		return -ENOMEM;
	if (t->nth != 1) {
		t->nth -= t->nth > 0;
		return 0;
	}
	t->nth = 0;
	if (t->cut && t->cut < t->reply.len)
		t->reply.len = t->cut;
	p = t->reply.data;
	if (t->flip && t->flip <= t->reply.len)
		p[t->flip - 1] ^= (uint8_t)(1u << t->flip % 8);
	/* A shorter frame that knows it: what is inside ends too soon. */
	len = t->reply.len - 4;
	for (int i = 0; t->cut > 4 && i < 4; i++)
		p[i] = (uint8_t)(len >> (8 * i));
	return 0;
}

static ssize_t tap_receive(struct channel *ch, void *to, size_t n)
{
	struct tap *t = (struct tap *)ch;
	size_t left = t->reply.len - t->at;

	n = n < left ? n : left;
	memcpy(to, t->reply.data + t->at, n);
	t->at += n;
	return (ssize_t)n;
}

static void tap_close(struct channel *ch)
{
	struct tap *t = (struct tap *)ch;

	served_free(t->served);
	buf_free(&t->reply);
	free(t);
}

static struct tap *tap_new(struct store *behind)
{
	struct tap *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->base = (struct channel){tap_send, tap_receive, tap_close};
	assert_int_equal(served_new(behind, NULL, &t->served), 0);
	return t;
}

/* Most of what a client can ask. Whatever it gets, it ends. */
static void use(struct store *s)
{
	struct check check = {.op = CHECK_ABSENT, .family = str("f")};
	struct change c = {.op = CHANGE_INCREMENT,
			   .family = str("f"),
			   .qualifier = str("n"),
			   .ts = TS_AUTO,
			   .delta = 1};
	struct mutation m = {.row = str("r"),
			     .changes = &c,
			     .nchanges = 1,
			     .checks = &check,
			     .nchecks = 1};
	struct column_name column = {.family = str("f"), .whole_family = true};
	struct scan_spec spec = {
		.granularity = SCAN_CELLS, .columns = &column, .ncolumns = 1};
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct snapshot_info info = {0};
	struct snapshot *snap;
	struct schema schema;
	struct table_info held;
	struct buf hold = {0};
	struct store_stat st;
	struct cell cell;
	struct table *t;
	struct scan *sc;
	size_t done;

	while (store_table_next(s, str(name), name) > 0)
		;
	store_stat(s, 0, &st);
	if (store_snapshot_open(s, NULL, str("all"), &snap) == 0)
		snapshot_release(snap);
	store_snapshot_next(s, NULL, str(info.name), &info);
	if (table_open(s, str("t"), &t) < 0)
		return;
	if (table_schema(t, &schema) == 0)
		schema_free(&schema);
	table_info(t, &held);
	table_mutate(t, &m, 0);
	m.nchecks = 0;
	table_mutate_many(t, &m, 1, 0, &done);
	if (scan_open(t, &spec, &sc) == 0) {
		while (scan_next(sc, &cell) > 0)
			;
		scan_close(sc);
	}
	table_get(t, str("r"), str("f"), str("q"), TS_MAX, NULL, &cell, &hold);
	buf_free(&hold);
	table_unref(t);
}

static void begin_used(struct fixture *f)
{
	begin(f);
	assert_int_equal(put_in(f->t, "r", str("value")), 1);
	assert_int_equal(put_in(f->t, "s", str("value")), 1);
	assert_int_equal(store_snapshot_create(f->s, NULL, str("all")), 0);
}

static void is_sound(struct fixture *f)
{
	struct table *t;

	assert_int_equal(table_open(f->behind, str("t"), &t), 0);
	table_unref(t);
}

/* A request of its own session, behind one that opens the table. */
static void ask(struct store *behind, struct bytes request)
{
	struct buf all = {0}, replies = {0};
	struct bytes frame;
	struct served *sv;

	assert_int_equal(served_new(behind, NULL, &sv), 0);
	add_request(&all, 1, WIRE_TABLE_OPEN, bytes_of(open_t, sizeof(open_t)));
	add_request(&all, 2, request.data[0],
		    bytes_of(request.data + 1, request.len - 1));
	assert_int_equal(served_feed(sv, buf_bytes(&all)), 0);
	drain(sv, 1 << 20, &replies);
	assert_int_equal(next_result(&replies, 1), 0);
	assert_int_equal(wire_whole(buf_bytes(&replies), &frame), 1);
	next_result(&replies, 2);
	assert_int_equal(replies.len, 0);
	served_free(sv);
	buf_free(&all);
	buf_free(&replies);
}

static void a_request_that_is_cut_or_damaged_does_no_harm(void **state)
{
	struct buf requests = {0};
	struct bytes left, frame;
	struct fixture f;
	struct store *s;
	struct tap *tap;
	uint8_t copy[512];

	begin_used(&f);
	tap = tap_new(f.behind);
	tap->requests = &requests;
	assert_int_equal(remote_open(&tap->base, NULL, &s), 0);
	use(s);
	assert_int_equal(store_close(s), 0);
	for (left = buf_bytes(&requests); left.len;
	     left.data += frame.len + 4, left.len -= frame.len + 4) {
		assert_int_equal(wire_whole(left, &frame), 1);
		assert_in_range(frame.len, 5, sizeof(copy));
		for (size_t n = 5; n <= frame.len; n++)
			ask(f.behind, bytes_of(frame.data + 4, n - 4));
		for (size_t i = 4; i < frame.len; i++) {
			memcpy(copy, frame.data, frame.len);
			copy[i] ^= (uint8_t)(1u << i % 8);
			ask(f.behind, bytes_of(copy + 4, frame.len - 4));
		}
	}
	is_sound(&f);
	buf_free(&requests);
	end(&f);
}

/* Uses a store whose @nth reply is cut or flipped. */
static void use_damaged(struct store *behind, unsigned nth, size_t cut,
			size_t flip)
{
	struct tap *tap = tap_new(behind);
	struct store *s;

	tap->nth = nth;
	tap->cut = cut;
	tap->flip = flip;
	if (remote_open(&tap->base, NULL, &s) < 0)
		return;
	use(s);
	store_close(s);
}

static void a_reply_that_is_cut_or_damaged_does_no_harm(void **state)
{
	struct buf replies = {0};
	struct bytes left, frame;
	struct fixture f;
	struct store *s;
	struct tap *tap;
	unsigned nth = 1;

	begin_used(&f);
	tap = tap_new(f.behind);
	tap->replies = &replies;
	assert_int_equal(remote_open(&tap->base, NULL, &s), 0);
	use(s);
	assert_int_equal(store_close(s), 0);
	for (left = buf_bytes(&replies); left.len; nth++) {
		assert_int_equal(wire_whole(left, &frame), 1);
		left.data += frame.len + 4;
		left.len -= frame.len + 4;
		/* The figures are many alike. */
		for (size_t n = 1; n < frame.len + 4; n += n < 200 ? 1 : 97)
			use_damaged(f.behind, nth, n, 0);
		for (size_t n = 1; n <= frame.len + 4; n += n < 200 ? 1 : 97)
			use_damaged(f.behind, nth, 0, n);
	}
	assert_true(nth > 10);
	is_sound(&f);
	buf_free(&replies);
	end(&f);
}

static void a_lost_store_says_so_at_every_call(void **state)
{
	struct fixture f;
	struct tap *tap;
	struct store *s;
	struct table *t;
	char name[TABLE_NAME_LEN_MAX + 1];

	begin_used(&f);
	tap = tap_new(f.behind);
	tap->nth = 3;
	tap->cut = 3;
	assert_int_equal(remote_open(&tap->base, NULL, &s), 0);
	assert_int_equal(table_open(s, str("t"), &t), 0);
	assert_int_equal(table_name(t, name), -ENOTCONN);
	assert_non_null(strstr(store_why(), "mount"));
	assert_int_equal(table_name(t, name), -ENOTCONN);
	assert_int_equal(put_in(t, "r", str("v")), -ENOTCONN);
	assert_int_equal(store_health(s), -ENOTCONN);
	table_unref(t);
	/* What could not be synced was not synced. */
	assert_int_equal(store_close(s), -ENOTCONN);
	end(&f);
}

/* Both ends walk the letters, so each must be one that they know. */
static void each_operation_has_fields_that_both_ends_know(void **state)
{
	for (int op = 0; op < WIRE_OPS; op++) {
		const struct wire_row *w = &wire_rows[op];
		const struct served_row *s = &served_rows[op];

		assert_false(s->deletes && !s->change);
		assert_true(strlen(w->request) <= FIELDS_MAX);
		assert_true(strlen(w->reply) <= FIELDS_MAX);
		assert_int_equal(strspn(w->request, "tTSZ148ibskcmMqaC"),
				 strlen(w->request));
		assert_int_equal(strspn(w->reply, "148isbncgGvlrIpC"),
				 strlen(w->reply));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_has_fields_that_both_ends_know),
		cmocka_unit_test(a_value_of_ten_mebibytes_goes_through),
		cmocka_unit_test(a_larger_one_is_refused_and_nothing_else),
		cmocka_unit_test(many_mutations_are_parted_over_messages),
		cmocka_unit_test(a_scan_of_many_batches_is_whole_and_in_order),
		cmocka_unit_test(a_scan_as_of_a_moment_shows_that_moment),
		cmocka_unit_test(what_the_store_can_is_handed_on),
		cmocka_unit_test(a_schema_s_version_costs_a_request_once),
		cmocka_unit_test(errors_arrive_with_their_sentences),
		cmocka_unit_test(
			figures_are_the_store_s_and_stay_where_they_are),
		cmocka_unit_test(what_a_table_holds_is_told_alike),
		cmocka_unit_test(
			a_session_gives_back_what_a_client_leaves_open),
		cmocka_unit_test(requests_and_replies_may_come_byte_by_byte),
		cmocka_unit_test(who_only_writes_is_stopped),
		cmocka_unit_test(a_frame_without_bounds_ends_the_session_only),
		cmocka_unit_test(a_session_has_so_much_open_and_no_more),
		cmocka_unit_test(an_edit_takes_nothing_of_who_was_first_away),
		cmocka_unit_test(the_owner_is_asked_of_every_change_and_told),
		cmocka_unit_test(what_the_owner_refuses_does_not_happen),
		cmocka_unit_test(a_request_that_is_cut_or_damaged_does_no_harm),
		cmocka_unit_test(a_reply_that_is_cut_or_damaged_does_no_harm),
		cmocka_unit_test(a_lost_store_says_so_at_every_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
