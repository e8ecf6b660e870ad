#include "store/remote/wire.h"

#include <errno.h>

#include "store/value/why.h"

size_t wire_begin(struct encoder *e)
{
	size_t at = e->out->len;

	put_u32(e, 0);
	return at;
}

int wire_end(struct encoder *e, size_t at)
{
	size_t len;

	if (e->err)
		return why(e->err, "out of memory for a message");
	len = e->out->len - at - 4;
	if (len > WIRE_FRAME_MAX)
		return why(-EFBIG,
			   "a message of %zu bytes: at most %u go through a "
			   "mount at once",
			   len, WIRE_FRAME_MAX);
	bytes_put_le32(e->out->data + at, (uint32_t)len);
	return 0;
}

int wire_whole(struct bytes in, struct bytes *frame)
{
	struct decoder d = decoder_of(in);
	uint32_t len;

	if (in.len < 4)
		return 0;
	len = take_u32(&d);
	if (len > WIRE_FRAME_MAX)
		return why(-EPROTO,
			   "a message of %u bytes: at most %u are "
			   "taken",
			   len, WIRE_FRAME_MAX);
	*frame = take_raw(&d, len);
	return !d.bad;
}

int wire_done(const struct decoder *d)
{
	if (d->bad || decoder_left(d))
		return why(-EPROTO, "a message that cannot be understood");
	return 0;
}

enum {
	CELL_SAME_ROW = 1,
	CELL_SAME_FAMILY = 2,
	CELL_SAME_QUALIFIER = 4,
	CELL_HAS_VALUE = 8,
	CELL_HAS_TTL = 16,
	CELL_HERE = 128,
	CELL_ALL = 159,
};

static size_t store_le(uint8_t *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(v >> (8 * i));
	return n;
}

static bool is_at(const struct buf *b, size_t at, size_t len, struct bytes s)
{
	return bytes_eq(bytes_of(b->data + at, len), s);
}

static void put_cell_name(struct encoder *e, struct bytes s, size_t *at,
			  size_t *len)
{
	put_bytes(e, s);
	*at = e->out->len - s.len;
	*len = s.len;
}

void put_cell(struct cells_out *o, const struct cell *c)
{
	const struct buf *b = o->e->out;
	uint8_t head[2 + 3 * 8 + 4], flags = CELL_HERE;
	size_t n = 2;

	if (o->e->err)
		return;
	if (o->any && is_at(b, o->row_at, o->row_len, c->row))
		flags |= CELL_SAME_ROW;
	if (o->any && is_at(b, o->family_at, o->family_len, c->family))
		flags |= CELL_SAME_FAMILY;
	if (o->any && is_at(b, o->qualifier_at, o->qualifier_len, c->qualifier))
		flags |= CELL_SAME_QUALIFIER;
	if (c->value.data)
		flags |= CELL_HAS_VALUE;
	if (c->ttl_ms)
		flags |= CELL_HAS_TTL;
	head[0] = flags;
	head[1] = c->kind;
	n += store_le(head + n, (uint64_t)c->ts, 8);
	n += store_le(head + n, c->seq, 8);
	if (c->ttl_ms)
		n += store_le(head + n, c->ttl_ms, 8);
	n += store_le(head + n, c->value.len, 4);
	put_raw(o->e, head, n);
	if (!(flags & CELL_SAME_ROW))
		put_cell_name(o->e, c->row, &o->row_at, &o->row_len);
	if (!(flags & CELL_SAME_FAMILY))
		put_cell_name(o->e, c->family, &o->family_at, &o->family_len);
	if (!(flags & CELL_SAME_QUALIFIER))
		put_cell_name(o->e, c->qualifier, &o->qualifier_at,
			      &o->qualifier_len);
	if (c->value.data)
		put_raw(o->e, c->value.data, c->value.len);
	o->any = true;
}

void put_state(struct encoder *e, int state, const char *sentence)
{
	put_u8(e, 0);
	put_result(e, state);
	put_bytes(e, bytes_str(sentence));
}

int take_cell(struct decoder *d, struct cell *c)
{
	uint8_t flags = take_u8(d);
	uint32_t len;

	if (d->bad || !flags)
		return 0;
	if (flags & ~CELL_ALL || !(flags & CELL_HERE))
		d->bad = true;
	c->kind = take_u8(d);
	c->ts = (int64_t)take_u64(d);
	if (c->ts < 0)
		d->bad = true;
	c->seq = take_u64(d);
	c->ttl_ms = flags & CELL_HAS_TTL ? take_u64(d) : 0;
	len = take_u32(d);
	if (!(flags & CELL_SAME_ROW))
		c->row = take_bytes(d, ROW_LEN_MAX);
	if (!(flags & CELL_SAME_FAMILY))
		c->family = take_bytes(d, FAMILY_LEN_MAX);
	if (!(flags & CELL_SAME_QUALIFIER))
		c->qualifier = take_bytes(d, QUALIFIER_LEN_MAX);
	c->value = (struct bytes){NULL, len};
	if (flags & CELL_HAS_VALUE)
		c->value = take_raw(d, len);
	return !d->bad;
}
