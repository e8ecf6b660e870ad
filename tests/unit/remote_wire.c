/*
 * What goes between the ends of a served store: byte by byte, cut, damaged.
 */
#include "tests/unit/remote.h"
#include "store/remote/client.h"
#include "store/remote/server_inside.h"

EACH_TEST_IN(begin, end);

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

TEST(a_session_gives_back_what_a_client_leaves_open)
{
	struct field spec = {.spec = {.granularity = SCAN_CELLS}};
	struct buf body = {0}, requests = {0}, replies = {0};
	struct encoder e = {.out = &body};
	struct served *sv;

	for (int i = 0; i < 100; i++) {
		char row[8];

		snprintf(row, sizeof(row), "r%d", i);
		assert_int_equal(put_in(the.t, row, str("value")), 1);
	}
	assert_int_equal(served_new(the.behind, NULL, &sv), 0);
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
}

TEST(requests_and_replies_may_come_byte_by_byte)
{
	struct buf requests = {0}, replies = {0};
	struct served *sv;

	assert_int_equal(served_new(the.behind, NULL, &sv), 0);
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
}

TEST(who_only_writes_is_stopped)
{
	struct buf requests = {0}, replies = {0};
	struct served *sv;
	int r;

	assert_int_equal(served_new(the.behind, NULL, &sv), 0);
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
}

TEST(a_frame_without_bounds_ends_the_session_only)
{
	static const uint8_t huge[] = {0xFF, 0xFF, 0xFF, 0x7F};
	struct buf replies = {0};
	struct served *sv;

	assert_int_equal(served_new(the.behind, NULL, &sv), 0);
	assert_int_equal(served_feed(sv, bytes_of(huge, 4)), -EPROTO);
	assert_int_equal(served_feed(sv, bytes_of(huge, 1)), -EPROTO);
	assert_int_equal(served_take(sv, 100, collect, &replies), -EPROTO);
	assert_non_null(strstr(store_why(), "over"));
	served_free(sv);
	assert_int_equal(put_in(the.t, "r", str("v")), 1);
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

static void fill(void)
{
	assert_int_equal(put_in(the.t, "r", str("value")), 1);
	assert_int_equal(put_in(the.t, "s", str("value")), 1);
	assert_int_equal(store_snapshot_create(the.s, NULL, str("all")), 0);
}

static void is_sound(void)
{
	struct table *t;

	assert_int_equal(table_open(the.behind, str("t"), &t), 0);
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

TEST(a_request_that_is_cut_or_damaged_does_no_harm)
{
	struct buf requests = {0};
	struct bytes left, frame;
	struct store *s;
	struct tap *tap;
	uint8_t copy[512];

	fill();
	tap = tap_new(the.behind);
	tap->requests = &requests;
	assert_int_equal(remote_open(&tap->base, NULL, &s), 0);
	use(s);
	assert_int_equal(store_close(s), 0);
	for (left = buf_bytes(&requests); left.len;
	     left.data += frame.len + 4, left.len -= frame.len + 4) {
		assert_int_equal(wire_whole(left, &frame), 1);
		assert_in_range(frame.len, 5, sizeof(copy));
		for (size_t n = 5; n <= frame.len; n++)
			ask(the.behind, bytes_of(frame.data + 4, n - 4));
		for (size_t i = 4; i < frame.len; i++) {
			memcpy(copy, frame.data, frame.len);
			copy[i] ^= (uint8_t)(1u << i % 8);
			ask(the.behind, bytes_of(copy + 4, frame.len - 4));
		}
	}
	is_sound();
	buf_free(&requests);
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

TEST(a_reply_that_is_cut_or_damaged_does_no_harm)
{
	struct buf replies = {0};
	struct bytes left, frame;
	struct store *s;
	struct tap *tap;
	unsigned nth = 1;

	fill();
	tap = tap_new(the.behind);
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
			use_damaged(the.behind, nth, n, 0);
		for (size_t n = 1; n <= frame.len + 4; n += n < 200 ? 1 : 97)
			use_damaged(the.behind, nth, 0, n);
	}
	assert_true(nth > 10);
	is_sound();
	buf_free(&replies);
}

TEST(a_lost_store_says_so_at_every_call)
{
	struct tap *tap;
	struct store *s;
	struct table *t;
	char name[TABLE_NAME_LEN_MAX + 1];

	fill();
	tap = tap_new(the.behind);
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
}

/* Of what is asked for later it is: it was not. */
TEST(a_change_whose_reply_is_lost_may_be_made)
{
	struct change c = {.op = CHANGE_INCREMENT,
			   .family = str("f"),
			   .qualifier = str("n"),
			   .delta = 1,
			   .ts = TS_AUTO};
	struct mutation m = {.row = str("r"), .changes = &c, .nchanges = 1};
	struct tap *tap;
	struct store *s;
	struct table *t;

	fill();
	tap = tap_new(the.behind);
	tap->nth = 3;
	tap->cut = 3;
	assert_int_equal(remote_open(&tap->base, NULL, &s), 0);
	assert_int_equal(table_open(s, str("t"), &t), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(table_mutate(t, &m, 0), -ENOTCONN);
		assert_int_equal(
			strstr(store_why(), "it is not known whether") != NULL,
			i == 0);
	}
	table_unref(t);
	assert_int_equal(store_close(s), -ENOTCONN);
	assert_int_equal(table_mutate(the.t, &m, 0), 1);
	assert_int_equal(c.result_int, 2);
}

/* Both ends walk the letters, so each must be one that they know. */
TEST(each_operation_has_fields_that_both_ends_know)
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
