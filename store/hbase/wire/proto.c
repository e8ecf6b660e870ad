#include "store/hbase/wire/proto.h"

#include <errno.h>

#include "store/value/why.h"

enum wire_type {
	WIRE_VARINT,
	WIRE_EIGHT,
	WIRE_SIZED,
	WIRE_FOUR = 5
};

void put_varint(struct encoder *e, uint64_t v)
{
	uint8_t b[VARINT_MAX];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		b[n++] = (uint8_t)(v | 0x80);
	b[n++] = (uint8_t)v;
	assert(n <= VARINT_MAX);
	put_raw(e, b, n);
}

uint64_t take_varint(struct decoder *d)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = take_u8(d);

		/* The tenth byte has room for one bit. */
		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	d->bad = true;
	return 0;
}

struct bytes take_sized(struct decoder *d)
{
	uint64_t len = take_varint(d);

	if (len > decoder_left(d))
		d->bad = true;
	return take_raw(d, d->bad ? 0 : (size_t)len);
}

static void put_tag(struct encoder *e, uint8_t number, enum wire_type wire)
{
	put_varint(e, (uint64_t)number << 3 | wire);
}

void put_field(struct encoder *e, uint8_t number, struct bytes s)
{
	put_tag(e, number, WIRE_SIZED);
	put_varint(e, s.len);
	put_raw(e, s.data, s.len);
}

static uint64_t number_at(uint8_t type, const void *at)
{
	switch (type) {
	case PROTO_BOOL:
		return *(const bool *)at;
	case PROTO_U32:
		return *(const uint32_t *)at;
	case PROTO_U64:
		return *(const uint64_t *)at;
	default:
		return (uint64_t)(*(const int64_t *)at);
	}
}

static void put_item(struct encoder *e, const struct proto_field *f,
		     uint8_t type, const void *from)
{
	switch (type) {
	case PROTO_BYTES:
		put_field(e, f->number, *(const struct bytes *)from);
		break;
	case PROTO_INSIDE:
		put_message(e, f->number, f->of, from);
		break;
	default:
		put_tag(e, f->number, WIRE_VARINT);
		put_varint(e, number_at(type, from));
	}
}

static bool is_absent(const struct proto_field *f, const void *from)
{
	switch (f->type) {
	case PROTO_BYTES:
		return !((const struct bytes *)from)->data;
	case PROTO_INSIDE:
		return !*(const bool *)from;
	default:
		return number_at(f->type, from) == (uint64_t)f->absent;
	}
}

static size_t size_of(uint8_t type, const struct proto_message *of)
{
	static const size_t sizes[] = {
		[PROTO_BOOL] = sizeof(bool),
		[PROTO_U32] = sizeof(uint32_t),
		[PROTO_U64] = sizeof(uint64_t),
		[PROTO_I64] = sizeof(int64_t),
		[PROTO_BYTES] = sizeof(struct bytes),
	};

	return type == PROTO_INSIDE ? of->size : sizes[type];
}

static void put_list(struct encoder *e, const struct proto_field *f,
		     const struct proto_list *l)
{
	const uint8_t *item = l->items;

	for (size_t i = 0; i < l->n; i++) {
		put_item(e, f, f->item, item);
		item += size_of(f->item, f->of);
	}
}

void proto_put(struct encoder *e, const struct proto_message *m,
	       const void *from)
{
	for (size_t i = 0; i < m->nfields; i++) {
		const struct proto_field *f = &m->fields[i];
		const void *at = (const uint8_t *)from + f->at;

		if (f->type == PROTO_LIST)
			put_list(e, f, at);
		else if (f->required || !is_absent(f, at))
			put_item(e, f, f->type, at);
	}
}

void put_sized(struct encoder *e, const struct proto_message *m,
	       const void *from)
{
	uint8_t length[VARINT_MAX], *body;
	size_t at = e->out->len, len, n;

	proto_put(e, m, from);
	len = e->out->len - at;
	put_varint(e, len);
	if (e->err)
		return;
	/* The length was appended, to have room for it; it goes in front. */
	n = e->out->len - at - len;
	body = e->out->data + at;
	memcpy(length, body + len, n);
	memmove(body + n, body, len);
	memcpy(body, length, n);
}

void put_message(struct encoder *e, uint8_t number,
		 const struct proto_message *m, const void *from)
{
	put_tag(e, number, WIRE_SIZED);
	put_sized(e, m, from);
}

static void set_number(uint8_t type, void *at, uint64_t v)
{
	switch (type) {
	case PROTO_BOOL:
		*(bool *)at = v;
		break;
	case PROTO_U32:
		*(uint32_t *)at = (uint32_t)v;
		break;
	case PROTO_U64:
		*(uint64_t *)at = v;
		break;
	default:
		*(int64_t *)at = (int64_t)v;
	}
}

void proto_init(const struct proto_message *m, void *out)
{
	memset(out, 0, m->size);
	for (size_t i = 0; i < m->nfields; i++) {
		const struct proto_field *f = &m->fields[i];
		void *at = (uint8_t *)out + f->at;

		if (f->type == PROTO_INSIDE)
			proto_init(f->of, at);
		else if (f->type < PROTO_BYTES)
			set_number(f->type, at, (uint64_t)f->absent);
	}
}

static int fault(const struct proto_message *m, uint64_t number,
		 const char *what)
{
	return why(-EPROTO, "field %llu of a message %s %s",
		   (unsigned long long)number, m->name, what);
}

/* A field as it stands in a message. */
struct raw_field {
	uint64_t number;
	uint8_t wire;
	uint64_t v;	/* WIRE_VARINT */
	struct bytes s; /* the others */
};

/* 1, 0 at the end, -EPROTO. */
static int take_field(struct decoder *d, const struct proto_message *m,
		      struct raw_field *out)
{
	uint64_t tag;

	if (!decoder_left(d))
		return 0;
	tag = take_varint(d);
	*out = (struct raw_field){.number = tag >> 3, .wire = tag & 7};
	switch (out->wire) {
	case WIRE_VARINT:
		out->v = take_varint(d);
		break;
	case WIRE_EIGHT:
		out->s = take_raw(d, 8);
		break;
	case WIRE_SIZED:
		out->s = take_sized(d);
		break;
	case WIRE_FOUR:
		out->s = take_raw(d, 4);
		break;
	default:
		return fault(m, out->number, "has an unknown wire type");
	}
	if (d->bad)
		return fault(m, out->number, "is cut off");
	return out->number ? 1 : fault(m, 0, "has no number");
}

static int set_item(const struct proto_message *m, const struct proto_field *f,
		    uint8_t type, const struct raw_field *raw, void *at)
{
	bool sized = type == PROTO_BYTES || type == PROTO_INSIDE;

	if (raw->wire != (sized ? WIRE_SIZED : WIRE_VARINT))
		return fault(m, raw->number, "has another type than expected");
	if (type == PROTO_INSIDE)
		return proto_take(raw->s, f->of, at);
	if (type == PROTO_BYTES) {
		*(struct bytes *)at = raw->s;
		return 0;
	}
	if (type == PROTO_U32 && raw->v > UINT32_MAX)
		return fault(m, raw->number, "exceeds 32 bits");
	set_number(type, at, raw->v);
	return 0;
}

/* Bit i of *seen stands for row i. 1, 0 at the end, -EPROTO. */
static int take_into(struct decoder *d, const struct proto_message *m,
		     void *out, uint64_t *seen)
{
	const struct proto_field *f = m->fields;
	struct raw_field raw;
	int r = take_field(d, m, &raw);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < m->nfields; i++, f++) {
		if (f->number != raw.number)
			continue;
		*seen |= 1ull << i;
		if (f->type != PROTO_LIST)
			r = set_item(m, f, f->type, &raw,
				     (uint8_t *)out + f->at);
		return r < 0 ? r : 1;
	}
	return 1;
}

static struct proto_list list_of(struct bytes in, const struct proto_message *m,
				 const struct proto_field *f)
{
	return (struct proto_list){
		.in = m,
		.field = f,
		.rest = decoder_of(in),
		.packed = decoder_of((struct bytes){0}),
	};
}

int proto_take(struct bytes in, const struct proto_message *m, void *out)
{
	struct decoder d = decoder_of(in);
	uint64_t seen = 0;
	int r;

	assert(m->nfields <= 64);
	proto_init(m, out);
	while ((r = take_into(&d, m, out, &seen)) > 0)
		;
	for (size_t i = 0; r == 0 && i < m->nfields; i++) {
		const struct proto_field *f = &m->fields[i];
		void *at = (uint8_t *)out + f->at;

		if (f->required && !(seen >> i & 1))
			r = fault(m, f->number, "is missing");
		if (f->type == PROTO_LIST)
			*(struct proto_list *)at = list_of(in, m, f);
	}
	if (r < 0)
		proto_init(m, out);
	else
		*(bool *)out = true;
	return r;
}

int proto_next(struct proto_list *l, void *out)
{
	const struct proto_field *f = l->field;
	struct raw_field raw;
	int r;

	if (!f) /* of a message that was not sent */
		return 0;
	while (!decoder_left(&l->packed)) {
		r = take_field(&l->rest, l->in, &raw);
		if (r <= 0)
			return r;
		if (raw.number != f->number)
			continue;
		if (raw.wire != WIRE_SIZED || f->item >= PROTO_BYTES) {
			r = set_item(l->in, f, f->item, &raw, out);
			return r < 0 ? r : 1;
		}
		l->packed = decoder_of(raw.s);
	}
	raw = (struct raw_field){.number = f->number, .wire = WIRE_VARINT};
	raw.v = take_varint(&l->packed);
	if (l->packed.bad)
		return fault(l->in, f->number, "is cut off");
	r = set_item(l->in, f, f->item, &raw, out);
	return r < 0 ? r : 1;
}
