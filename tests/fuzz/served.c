/*
 * A session takes any bytes as requests: each has a reply of one whole frame,
 * and the store is as sound behind it as before.
 *
 * Input: requests, each u16 length, then op and fields. Handle 0x100 is a
 * table t with a family f, a row r and a snapshot s.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/remote/wire.h"
#include "store/served.h"
#include "tests/sim/os_sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(void *arg, struct bytes data)
{
	return buf_append(arg, data.data, data.len);
}

/* All that is to be read now, in small pieces; negative if the session is over. */
static int take_all(struct served *sv, struct buf *reply)
{
	size_t before;
	int r;

	do {
		before = reply->len;
		r = served_take(sv, 1000, add, reply);
	} while (r == 0 && reply->len > before);
	return r;
}

static void ask(struct served *sv, struct bytes request)
{
	struct buf frame = {0}, reply = {0};
	struct encoder e = {.out = &frame};
	struct bytes whole;
	struct decoder d;
	size_t at = wire_begin(&e);

	put_u32(&e, 7);
	put_raw(&e, request.data, request.len);
	if (wire_end(&e, at) || served_feed(sv, buf_bytes(&frame)))
		abort();
	if (take_all(sv, &reply) < 0)
		abort();
	if (wire_whole(buf_bytes(&reply), &whole) != 1 ||
	    whole.len + 4 != reply.len)
		abort();
	d = decoder_of(whole);
	if (take_u32(&d) != 7 || take_result(&d) > 1 || d.bad)
		abort();
	buf_free(&frame);
	buf_free(&reply);
}

static void fill(struct store *s)
{
	struct change c = {.op = CHANGE_PUT,
			   .family = bytes_str("f"),
			   .qualifier = bytes_str("q"),
			   .ts = 5,
			   .value = bytes_str("value")};
	struct mutation m = {
		.row = bytes_str("r"), .changes = &c, .nchanges = 1};
	struct table *t;

	if (store_table_create(s, bytes_str("t"), NULL) ||
	    table_open(s, bytes_str("t"), &t) ||
	    table_add_family(t, bytes_str("f")) || table_mutate(t, &m, 0) < 0 ||
	    store_snapshot_create(s, t, bytes_str("s")))
		abort();
	table_unref(t);
}

static void say(void *arg, const char *sentence)
{
	abort();
}

/* A store on a copy of the disk that fill() left, of a size that is made fast. */
static struct store *open_copy(struct os **os)
{
	static struct os *filled;
	struct store_options o = {.create = true,
				  .inline_background = true,
				  .cache_bytes = 64 << 10,
				  .write_buffer_bytes = 64 << 10,
				  .wal_segment_bytes = 16 << 10};
	struct store *s;

	if (!filled) {
		o.os = filled = sim_new(1);
		if (store_open("/store", &o, &s))
			abort();
		fill(s);
		if (store_close(s))
			abort();
	}
	o.os = *os = sim_after_kill(filled);
	if (store_open("/store", &o, &s))
		abort();
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t open_t[] = {WIRE_TABLE_OPEN, 1, 0, 0, 0, 't'};
	struct decoder d = decoder_of(bytes_of(data, size));
	struct served *sv;
	struct store *s;
	struct os *os;
	size_t i;

	if (size > 1 << 14)
		return 0;
	s = open_copy(&os);
	if (served_new(s, NULL, &sv))
		abort();
	ask(sv, bytes_of(open_t, sizeof(open_t)));
	for (i = 0; i < 64 && decoder_left(&d) >= 2; i++) {
		size_t len = (size_t)take_le(&d, 2);

		len = len < decoder_left(&d) ? len : decoder_left(&d);
		ask(sv, take_raw(&d, len));
	}
	/* What is left as it is: no frame, or some, of which a bad one ends the session. */
	if (served_feed(sv, take_raw(&d, decoder_left(&d))) == 0) {
		struct buf rest = {0};
		int r = take_all(sv, &rest);

		if (r < 0 && r != -EPROTO)
			abort();
		buf_free(&rest);
	}
	served_free(sv);
	if (store_close(s) || store_check("/store", os, say, NULL))
		abort();
	sim_free(os);
	return 0;
}
