#include "store/value/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int array_reserve(void **items, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? 2 * *cap : 4;
	void *grown;

	if (n <= *cap)
		return 0;
	if (want < n)
		want = n;
	grown = reallocarray(*items, want, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = want;
	return 0;
}

int array_one_more(void **items, size_t n, size_t size)
{
	size_t room = n;

	return n & (n - 1) ? 0 : array_reserve(items, &room, n + 1, size);
}

int array_by_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}
