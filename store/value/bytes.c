#include "store/value/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define PAGE ((size_t)4096)

/*
 * Has the kernel put huge pages beneath a large buffer, as far as it fills some:
 * one page fault instead of 512, and those cost more than the bytes do. All pages
 * of the buffer get the advice: realloc(3) moves no memory of which parts differ in
 * it, but copies it. A refusal does no harm.
 */
static void use_huge_pages(uint8_t *data, size_t len)
{
#ifdef MADV_HUGEPAGE
	size_t skip = (uintptr_t)data & (PAGE - 1);

	(void)madvise(data - skip, (skip + len + PAGE - 1) & ~(PAGE - 1),
		      MADV_HUGEPAGE);
#endif
}

const uint8_t buf_open_mark;

void piece_drop(struct piece *p)
{
	if (refs_drop(&p->refs))
		p->free(p);
}

struct offered {
	struct piece piece; /* first: the one is cast to the other */
	uint8_t *data;
};

static void free_offered(struct piece *p)
{
	struct offered *o = (struct offered *)p;

	free(o->data);
	free(o);
}

int shared_offer(struct shared_buf *s)
{
	struct offered *o;
	uint8_t *less;

	if (s->piece)
		return 0;
	assert(s->buf.len && s->buf.cap);
	o = malloc(sizeof(*o));
	if (!o)
		return -ENOMEM;
	less = realloc(s->buf.data, s->buf.len);
	if (less)
		s->buf.data = less;
	s->buf.cap = 0;
	*o = (struct offered){.piece = {.refs = 1, .free = free_offered},
			      .data = s->buf.data};
	s->piece = &o->piece;
	return 0;
}

int shared_own(struct shared_buf *s)
{
	int r = s->piece ? buf_reserve(&s->buf, 0) : 0;

	if (r == 0 && s->piece) {
		piece_drop(s->piece);
		s->piece = NULL;
	}
	return r;
}

void shared_free(struct shared_buf *s)
{
	buf_free(&s->buf);
	if (s->piece)
		piece_drop(s->piece);
	s->piece = NULL;
}

int buf_grow(struct buf *b, size_t more)
{
	size_t need, cap = b->cap ? b->cap : 64;
	uint8_t *data;

	if (__builtin_add_overflow(b->len, more, &need))
		return -ENOMEM;
	if (need <= b->cap)
		return 0;
	while (cap < need)
		if (__builtin_mul_overflow(cap, (size_t)2, &cap))
			return -ENOMEM;
	data = realloc(b->cap ? b->data : NULL, cap);
	if (!data)
		return -ENOMEM;
	if (!b->cap && b->len)
		memcpy(data, b->data, b->len);
	b->data = data;
	b->cap = cap;
	if (cap >= 2 * HUGE_PAGE)
		use_huge_pages(data, cap);
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	r = buf_reserve(b, (size_t)n + 1);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

void buf_free(struct buf *b)
{
	if (b->cap)
		free(b->data);
	*b = (struct buf){0};
}
