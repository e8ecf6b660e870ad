/*
 * Byte strings: what keys, qualifiers and values are made of.
 *
 * A struct bytes borrows memory that somebody else owns; a struct buf owns
 * what it holds. A long value may lie in a piece of memory that several hold.
 * Keys are any bytes, NUL included, and compare as unsigned bytes with a proper
 * prefix first, which is the order of every listing.
 */
#ifndef CELLFS_STORE_VALUE_BYTES_H
#define CELLFS_STORE_VALUE_BYTES_H

#include <assert.h>
#include <endian.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *data;
	size_t len;
};

/* The bytes of a C string without its NUL; borrows @s. */
static inline struct bytes bytes_str(const char *s)
{
	return (struct bytes){(const uint8_t *)s, strlen(s)};
}

static inline struct bytes bytes_of(const void *data, size_t len)
{
	return (struct bytes){(const uint8_t *)data, len};
}

static inline uint64_t bytes_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t bytes_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Letters and digits are ASCII's, whatever locale the program has set. */
static inline int ascii_lower(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static inline bool ascii_is_letter(int c)
{
	return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
}

static inline bool ascii_is_alnum(int c)
{
	return ascii_is_letter(c) || (c >= '0' && c <= '9');
}

/* Of a hexadecimal digit, in small letters or capitals; -1: it is none. */
static inline int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Little-endian numbers, as byte formats have them. */
static inline uint32_t bytes_le32(const uint8_t *p)
{
	return le32toh(bytes_load32(p));
}

static inline uint64_t bytes_le64(const uint8_t *p)
{
	return le64toh(bytes_load64(p));
}

static inline void bytes_put_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void bytes_put_le64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/*
 * As memcmp(), inline: names are short, so that the call would cost more than
 * the comparison. Two loads, which may overlap, cover the lengths in between.
 */
static inline int bytes_order(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint64_t x = 0, y = 0;

	if (n > 16)
		return memcmp(a, b, n);
	if (n >= 8) {
		x = be64toh(bytes_load64(a));
		y = be64toh(bytes_load64(b));
		if (x == y) {
			x = be64toh(bytes_load64(a + n - 8));
			y = be64toh(bytes_load64(b + n - 8));
		}
	} else if (n >= 4) {
		x = (uint64_t)be32toh(bytes_load32(a)) << 32 |
		    be32toh(bytes_load32(a + n - 4));
		y = (uint64_t)be32toh(bytes_load32(b)) << 32 |
		    be32toh(bytes_load32(b + n - 4));
	} else {
		for (size_t i = 0; i < n; i++) {
			x = x << 8 | a[i];
			y = y << 8 | b[i];
		}
	}
	return (x > y) - (x < y);
}

/* Key order: <0, 0, >0 as memcmp, a proper prefix first. */
static inline int bytes_cmp(struct bytes a, struct bytes b)
{
	int c = bytes_order(a.data, b.data, a.len < b.len ? a.len : b.len);

	if (c)
		return c;
	return (a.len > b.len) - (a.len < b.len);
}

/* memcpy() for data that is mostly short; with @n 0 @from may be NULL. */
static inline void bytes_copy(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n > 16) {
		memcpy(to, from, n);
	} else if (n >= 8) {
		uint64_t head = bytes_load64(from);
		uint64_t tail = bytes_load64(from + n - 8);

		memcpy(to, &head, sizeof(head));
		memcpy(to + n - 8, &tail, sizeof(tail));
	} else if (n >= 4) {
		uint32_t head = bytes_load32(from);
		uint32_t tail = bytes_load32(from + n - 4);

		memcpy(to, &head, sizeof(head));
		memcpy(to + n - 4, &tail, sizeof(tail));
	} else {
		for (size_t i = 0; i < n; i++)
			to[i] = from[i];
	}
}

/* Names are short: calling memcmp() would cost more than the comparison. */
static inline bool bytes_same(const uint8_t *a, const uint8_t *b, size_t n)
{
	if (n > 16)
		return memcmp(a, b, n) == 0;
	/* Two loads, which may overlap, cover the lengths in between. */
	if (n >= 8)
		return bytes_load64(a) == bytes_load64(b) &&
		       bytes_load64(a + n - 8) == bytes_load64(b + n - 8);
	if (n >= 4)
		return bytes_load32(a) == bytes_load32(b) &&
		       bytes_load32(a + n - 4) == bytes_load32(b + n - 4);
	while (n-- > 0)
		if (a[n] != b[n])
			return false;
	return true;
}

static inline bool bytes_eq(struct bytes a, struct bytes b)
{
	return a.len == b.len && bytes_same(a.data, b.data, a.len);
}

/* What of @all lies within @n bytes from @off on. */
static inline struct bytes bytes_part(struct bytes all, uint64_t off, size_t n)
{
	if (off >= all.len)
		return bytes_of(NULL, 0);
	all.len -= (size_t)off;
	return bytes_of(all.data + off, n < all.len ? n : all.len);
}

static inline bool bytes_has_prefix(struct bytes s, struct bytes prefix)
{
	return s.len >= prefix.len &&
	       bytes_same(s.data, prefix.data, prefix.len);
}

/*
 * A growing buffer. Zero-initialised is empty; buf_free() leaves it empty. With
 * @cap 0 the memory is not the buffer's, and what changes it copies it first.
 */
struct buf {
	uint8_t *data;
	size_t len, cap;
};

/* Memory that several hold; nobody changes it, and who drops it last frees it. */
struct piece {
	_Atomic uint32_t refs;
	void (*free)(struct piece *p);
};

static inline void piece_hold(struct piece *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}
/* Drops one of @refs: is it the last one? */
static inline bool refs_drop(_Atomic uint32_t *refs)
{
	uint32_t were =
		atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel);

	assert(were > 0);
	return were == 1;
}
void piece_drop(struct piece *p);

/* Content that may lie in a piece, which its owner holds. */
struct shared_buf {
	struct buf buf;	     /* first: the one is cast to the other */
	struct piece *piece; /* NULL: the content is the buffer's own */
};

extern const uint8_t buf_open_mark;

/* Empties @s, whose &buf may be given to whoever asks buf_is_open() to fill it. */
static inline void shared_open(struct shared_buf *s)
{
	*s = (struct shared_buf){.buf = {.data = (uint8_t *)&buf_open_mark}};
}
/* May the content of this empty buffer be shared? */
static inline bool buf_is_open(const struct buf *b)
{
	return b->data == &buf_open_mark;
}
/* Fills @b, which is open, with @content, which lies in @p. */
static inline void buf_share(struct buf *b, struct bytes content,
			     struct piece *p)
{
	assert(buf_is_open(b));
	piece_hold(p);
	((struct shared_buf *)b)->piece = p;
	b->data = (uint8_t *)(uintptr_t)content.data;
	b->len = content.len;
}
/*
 * Makes a piece of the content, which is not empty, for others to hold: 0, -ENOMEM.
 */
int shared_offer(struct shared_buf *s);
/* Makes the content the buffer's own. 0, -ENOMEM. */
int shared_own(struct shared_buf *s);
void shared_free(struct shared_buf *s);

/* Room for @more bytes where there is not enough of it. */
int buf_grow(struct buf *b, size_t more);

/* Each returns 0 or -ENOMEM, and on failure leaves @b as it was. */
static inline int buf_reserve(struct buf *b, size_t more)
{
	return b->len <= b->cap && more <= b->cap - b->len ? 0
							   : buf_grow(b, more);
}

static inline int buf_append(struct buf *b, const void *data, size_t len)
{
	int r;

	/* An empty buffer has no address to add to. */
	if (!len)
		return 0;
	r = buf_reserve(b, len);
	if (r < 0)
		return r;
	assert(b->data);
	bytes_copy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

/* Appends as printf(3), without its NUL. 0 or -ENOMEM. */
int buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Replaces the content. @s may not point into @b. */
static inline int buf_set(struct buf *b, struct bytes s)
{
	size_t len = b->len;
	int r;

	b->len = 0;
	r = buf_append(b, s.data, s.len);
	if (r < 0)
		b->len = len;
	return r;
}

void buf_free(struct buf *b);

static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){b->data, b->len};
}

#endif
