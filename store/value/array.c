#include "store/value/array.h"

#include <errno.h>
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
