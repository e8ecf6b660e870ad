#include "tests/unit/alloc_fault.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/sim/disk.h"

static _Thread_local uint64_t before, failing, failed;

void alloc_arm(uint64_t nth, uint64_t more)
{
	before = nth - 1;
	failing = more + 1;
	failed = 0;
}

uint64_t alloc_disarm(void)
{
	failing = 0;
	return failed;
}

void alloc_arm_room(struct buf *b, size_t room)
{
	buf_free(b);
	*b = (struct buf){calloc(1, room + 1), 1, room + 1};
	if (!b->data)
		abort();
	alloc_arm(1, 0);
}

static bool fails(void)
{
	if (!failing || sim_takes_memory)
		return false;
	if (before) {
		before--;
		return false;
	}
	failing--;
	failed++;
	errno = ENOMEM;
	return true;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : __real_aligned_alloc(align, n);
}

int __real_posix_memalign(void **p, size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n);
int __wrap_posix_memalign(void **p, size_t align, size_t n)
{
	return fails() ? ENOMEM : __real_posix_memalign(p, align, n);
}

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}
