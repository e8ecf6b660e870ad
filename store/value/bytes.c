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
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
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
	free(b->data);
	*b = (struct buf){0};
}
