/*
 * Numbers and byte strings in the store's byte formats.
 *
 * An encoder appends to a buffer and a decoder reads a borrowed range, field
 * by field, little-endian, or big-endian where HBase says so. Both remember their first failure, so that a format
 * is a plain list of calls with one test at its end: an encoder's err is 0 or
 * -ENOMEM, a decoder is bad once it was asked for more than there is. A bad
 * decoder gives zeros and empty strings, which point nowhere.
 */
#ifndef CELLFS_STORE_VALUE_CODEC_H
#define CELLFS_STORE_VALUE_CODEC_H

#include "store/value/bytes.h"

struct encoder {
	struct buf *out;
	int err;
};

struct decoder {
	const uint8_t *at, *end;
	bool bad;
};

static inline void put_raw(struct encoder *e, const void *data, size_t len)
{
	if (e->err == 0)
		e->err = buf_append(e->out, data, len);
}

/* The low @size bytes of @v. */
static inline void put_le(struct encoder *e, uint64_t v, size_t size)
{
	uint8_t b[8];

	for (size_t i = 0; i < 8; i++)
		b[i] = (uint8_t)(v >> (8 * i));
	put_raw(e, b, size);
}

/* The low @size bytes of @v, the highest first. */
static inline void put_be(struct encoder *e, uint64_t v, size_t size)
{
	put_le(e, __builtin_bswap64(v) >> (64 - 8 * size), size);
}

static inline void put_u8(struct encoder *e, uint8_t v)
{
	put_le(e, v, 1);
}

static inline void put_u32(struct encoder *e, uint32_t v)
{
	put_le(e, v, 4);
}

static inline void put_u64(struct encoder *e, uint64_t v)
{
	put_le(e, v, 8);
}

/* A length of four bytes, then the bytes. */
static inline void put_bytes(struct encoder *e, struct bytes s)
{
	put_u32(e, (uint32_t)s.len);
	put_raw(e, s.data, s.len);
}

static inline struct decoder decoder_of(struct bytes s)
{
	static const uint8_t nothing;

	if (!s.len)
		return (struct decoder){&nothing, &nothing, false};
	return (struct decoder){s.data, s.data + s.len, false};
}

static inline size_t decoder_left(const struct decoder *d)
{
	return (size_t)(d->end - d->at);
}

static inline struct bytes take_raw(struct decoder *d, size_t len)
{
	struct bytes s = {d->at, len};

	if (d->bad || len > decoder_left(d)) {
		d->bad = true;
		return (struct bytes){0};
	}
	d->at += len;
	return s;
}

static inline uint64_t take_le(struct decoder *d, size_t size)
{
	struct bytes s = take_raw(d, size);
	uint64_t v = 0;

	for (size_t i = 0; i < s.len; i++)
		v |= (uint64_t)s.data[i] << (8 * i);
	return v;
}

static inline uint64_t take_be(struct decoder *d, size_t size)
{
	struct bytes s = take_raw(d, size);
	uint64_t v = 0;

	for (size_t i = 0; i < s.len; i++)
		v = v << 8 | s.data[i];
	return v;
}

static inline uint8_t take_u8(struct decoder *d)
{
	return (uint8_t)take_le(d, 1);
}

static inline uint32_t take_u32(struct decoder *d)
{
	return (uint32_t)take_le(d, 4);
}

static inline uint64_t take_u64(struct decoder *d)
{
	return take_le(d, 8);
}

/* Reads the bytes of put_bytes(); bad if they are longer than @max. */
static inline struct bytes take_bytes(struct decoder *d, size_t max)
{
	uint32_t len = take_u32(d);

	if (len > max)
		d->bad = true;
	return take_raw(d, len);
}

#endif
