/*
 * Arrays that grow: a pointer, how many items there is room for, and how many
 * there are. Zeroed is empty; free() the pointer.
 */
#ifndef CELLFS_STORE_VALUE_ARRAY_H
#define CELLFS_STORE_VALUE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for @n items in all: 0, or -ENOMEM with the array as it was. The
 * room at least doubles, so that adding one by one costs a constant each.
 */
#define ARRAY_RESERVE(items, cap, n) \
	array_reserve((void **)&(items), &(cap), n, sizeof(*(items)))

int array_reserve(void **items, size_t *cap, size_t n, size_t size);

/*
 * The same for one more than @n items, of an array that grows by this alone: its room
 * is the least power of two that is enough, which no field tells.
 */
#define ARRAY_ONE_MORE(items, n) \
	array_one_more((void **)&(items), n, sizeof(*(items)))

int array_one_more(void **items, size_t n, size_t size);

/* For qsort(3): orders uint64_t. */
int array_by_u64(const void *a, const void *b);

#endif
