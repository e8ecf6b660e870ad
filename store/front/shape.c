#include "store/front/shape.h"

#include <errno.h>

#include "store/front/front.h"
#include "store/front/heat.h"
#include "store/value/codec.h"

/* How many numbers an item of each kind has. */
static const uint8_t numbers[SHAPE_KINDS] = {
	[SHAPE_NOW] = 3,    [SHAPE_TABLE] = 0, [SHAPE_FILE] = 6,
	[SHAPE_OTHERS] = 2, [SHAPE_PART] = 1,  [SHAPE_MEMORY] = 1,
	[SHAPE_DAY] = 2,    [SHAPE_CALL] = 3,
};

static struct bytes cut(struct bytes row)
{
	return bytes_of(row.data,
			row.len < SHAPE_ROW_MAX ? row.len : SHAPE_ROW_MAX);
}

int shape_put(struct buf *out, const struct shape_item *item)
{
	struct encoder e = {.out = out};

	put_u8(&e, item->kind);
	put_u64(&e, item->table);
	put_bytes(&e, item->name);
	put_bytes(&e, cut(item->row));
	put_bytes(&e, cut(item->last));
	for (int i = 0; i < numbers[item->kind]; i++)
		put_u64(&e, item->n[i]);
	return e.err < 0 ? why(-ENOMEM, "out of memory for a shape") : 0;
}

int store_shape_next(struct bytes *rest, struct shape_item *out)
{
	struct decoder d = decoder_of(*rest);

	if (!rest->len)
		return 0;
	*out = (struct shape_item){.kind = take_u8(&d)};
	out->table = take_u64(&d);
	out->name = take_bytes(&d, TABLE_NAME_LEN_MAX);
	out->row = take_bytes(&d, SHAPE_ROW_MAX);
	out->last = take_bytes(&d, SHAPE_ROW_MAX);
	if (d.bad || out->kind >= SHAPE_KINDS)
		return why(-EPROTO, "the store says of itself what cannot be");
	for (int i = 0; i < numbers[out->kind]; i++)
		out->n[i] = take_u64(&d);
	if (d.bad)
		return why(-EPROTO, "the store says of itself what cannot be");
	*rest = bytes_of(d.at, decoder_left(&d));
	return 1;
}

int store_heat(struct store *s)
{
	front_begin();
	if (s->heat)
		return 0;
	s->heat = heat_new(store_now_ms(s));
	if (!s->heat)
		return front_end(s, why(-ENOMEM, "out of memory"));
	atomic_store(&s->heat_every, 1);
	return 0;
}

/* A table that is dropped meanwhile is left out. */
static int put_table(struct store *s, const char *name, struct buf *out)
{
	struct shape_item item = {.kind = SHAPE_TABLE, .name = bytes_str(name)};
	struct table *t;
	int r = s->ops->table_open(s, item.name, &t);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	item.table = t->id;
	table_unref(t);
	return shape_put(out, &item);
}

static int put_tables(struct store *s, struct buf *out)
{
	char name[TABLE_NAME_LEN_MAX + 1] = "";
	int r = 0;

	for (int i = 0; r == 0 && i < SHAPE_TABLES_MAX; i++) {
		r = s->ops->table_next(s, bytes_str(name), name);
		if (r <= 0)
			return r;
		r = put_table(s, name, out);
	}
	return r;
}

int store_shape(struct store *s, struct buf *out)
{
	int64_t now = store_now_ms(s);
	const struct shape_item item = {
		.kind = SHAPE_NOW,
		.n = {(uint64_t)now,
		      s->heat ? (uint64_t)heat_since(s->heat) : 0,
		      s->ops->shape != NULL},
	};
	int r;

	front_begin();
	if (s->counts_elsewhere)
		return front_end(s, s->ops->shape(s, out));
	r = shape_put(out, &item);
	if (r == 0)
		r = put_tables(s, out);
	if (r == 0 && s->ops->shape)
		r = s->ops->shape(s, out);
	if (r == 0 && s->heat)
		r = heat_put(s->heat, now, out);
	return front_end(s, r);
}
