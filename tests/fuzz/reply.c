/*
 * Any bytes as replies do the client of a served store no harm, and what it
 * hands out keeps to the limits of the data model.
 *
 * Input: replies, each u16 length, then result and fields. The other end gives
 * each the id that is due and its length, and says no more behind the last.
 */
#include <stdlib.h>

#include "store/filter/filter.h"
#include "store/remote/client.h"
#include "store/remote/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct script {
	struct channel base;
	struct decoder in;
	uint32_t id;
	struct buf frame; /* the present reply, from at on */
	size_t at;
};

static int send(struct channel *ch, struct bytes data)
{
	struct script *s = (struct script *)ch;
	struct encoder e = {.out = &s->frame};
	struct bytes whole;
	struct decoder d;
	size_t len, at;

	if (wire_whole(data, &whole) != 1 || whole.len + 4 != data.len)
		abort();
	d = decoder_of(whole);
	s->id = take_u32(&d);
	s->frame.len = s->at = 0;
	if (decoder_left(&s->in) < 2)
		return 0;
	len = (size_t)take_le(&s->in, 2);
	len = len < decoder_left(&s->in) ? len : decoder_left(&s->in);
	at = wire_begin(&e);
	put_u32(&e, s->id);
	put_raw(&e, s->in.at, len);
	take_raw(&s->in, len);
	return wire_end(&e, at);
}

static ssize_t receive(struct channel *ch, void *to, size_t n)
{
	struct script *s = (struct script *)ch;
	size_t left = s->frame.len - s->at;

	/* In two pieces, so that the client gathers. */
	n = n < left ? n : left > 9 && s->at == 0 ? 9 : left;
	if (n)
		memcpy(to, s->frame.data + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static void end(struct channel *ch)
{
	struct script *s = (struct script *)ch;

	buf_free(&s->frame);
	free(s);
}

static void touch(const struct cell *c, uint64_t *sum)
{
	const struct bytes all[] = {c->row, c->family, c->qualifier, c->value};

	if (c->row.len > ROW_LEN_MAX || c->family.len > FAMILY_LEN_MAX ||
	    c->qualifier.len > QUALIFIER_LEN_MAX || c->ts < 0)
		abort();
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; all[i].data && k < all[i].len; k++)
			*sum += all[i].data[k];
}

static void use_table(struct store *s, struct table *t, uint64_t *sum)
{
	struct change c = {.op = CHANGE_INCREMENT, .family = bytes_str("f")};
	struct mutation m[2] = {
		{.row = bytes_str("r"), .changes = &c, .nchanges = 1},
		{.row = bytes_str("s"), .changes = &c, .nchanges = 1}};
	struct scan_spec spec = {.granularity = SCAN_CELLS};
	char name[TABLE_NAME_LEN_MAX + 1];
	struct schema schema;
	struct buf hold = {0};
	struct cell cell;
	struct scan *sc;
	size_t done;

	if (table_schema(t, &schema) == 0)
		schema_free(&schema);
	if (table_name(t, name) == 0 && strlen(name) > TABLE_NAME_LEN_MAX)
		abort();
	if (scan_open(t, &spec, &sc) == 0) {
		while (scan_next(sc, &cell) > 0)
			touch(&cell, sum);
		scan_close(sc);
	}
	if (table_get(t, bytes_str("r"), bytes_str("f"), bytes_str("q"), TS_MAX,
		      NULL, &cell, &hold) > 0)
		touch(&cell, sum);
	buf_free(&hold);
	if (table_mutate(t, m, 0) > 1 ||
	    table_mutate_many(t, m, 2, 0, &done) > 0 || done > 2)
		abort();
}

static void use(struct store *s, uint64_t *sum)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	struct snapshot_info info = {0};
	struct snapshot *snap;
	struct store_stat st;
	struct store_space space;
	struct table_info held;
	struct table *t = NULL;

	for (int i = 0; i < 9; i++)
		if (store_table_next(s, bytes_str(name), name) <= 0)
			break;
	for (unsigned i = 0; store_stat(s, i, &st) > 0; i++)
		*sum += strlen(st.name) + strlen(st.help);
	store_space(s, &space);
	while (store_snapshot_next(s, NULL, bytes_str(info.name), &info) > 0)
		*sum += strlen(info.name);
	if (store_snapshot_open(s, NULL, bytes_str("s"), &snap) == 0) {
		name[0] = '\0';
		while (snapshot_table_next(snap, bytes_str(name), name) > 0)
			*sum += strlen(name);
		snapshot_release(snap);
	}
	if (table_open(s, bytes_str("t"), &t) == 0)
		use_table(s, t, sum);
	*sum += (uint64_t)store_now_ms(s);
	if (t && table_info(t, &held) == 0)
		*sum += held.rows + held.cells;
	table_unref(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script *script = calloc(1, sizeof(*script));
	struct store *s;
	uint64_t sum = 0;

	if (!script)
		abort();
	script->base = (struct channel){send, receive, end};
	script->in = decoder_of(bytes_of(data, size));
	if (remote_open(&script->base, NULL, &s) < 0)
		return 0;
	use(s, &sum);
	store_close(s);
	return 0;
}
