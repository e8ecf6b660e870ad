/* Sorting a memtable's rows: see memtree.h. */
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/mem/memtree.h"

/* From this number of rows on a radix sort is faster. */
#define RADIX_MIN 256

void memtree_push(struct memtree *t, struct memrow *r)
{
	r->older = atomic_load_explicit(&t->newest, memory_order_relaxed);
	atomic_store_explicit(&t->newest, r, memory_order_release);
}

static int by_key(const void *a, const void *b)
{
	const struct sorted_row *x = a, *y = b;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return bytes_cmp(memrow_key(x->row), memrow_key(y->row));
}

/* One pass of the radix sort, by one byte; false if all rows agree in it. */
static bool pass(const struct sorted_row *from, struct sorted_row *to, size_t n,
		 unsigned shift)
{
	size_t at[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].head >> shift & 255]++;
	if (at[from[0].head >> shift & 255] == n)
		return false;
	for (unsigned b = 0; b < 256; b++) {
		size_t here = at[b];

		at[b] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].head >> shift & 255]++] = from[i];
	return true;
}

/* Sorts @s with the help of @spare; true: the result is in @spare. */
static bool sort_rows(struct sorted_row *s, struct sorted_row *spare, size_t n)
{
	struct sorted_row *first = s;
	size_t from = 0;

	if (n < RADIX_MIN) {
		qsort(s, n, sizeof(*s), by_key);
		return false;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct sorted_row *was = s;

		if (!pass(s, spare, n, shift))
			continue;
		s = spare;
		spare = was;
	}
	for (size_t i = 1; i <= n; i++) {
		if (i < n && s[i].head == s[from].head)
			continue;
		if (i - from > 1)
			qsort(s + from, i - from, sizeof(*s), by_key);
		from = i;
	}
	return s != first;
}

/*
 * The row inserted before @r. Rows are in memory in order of insertion, so a
 * row further back is prefetched at a multiple of the last distance.
 */
static struct memrow *step_back(const struct memrow *r)
{
	uintptr_t apart = (uintptr_t)r - (uintptr_t)r->older;

	__builtin_prefetch((const void *)((uintptr_t)r - 12 * apart));
	return r->older;
}

/* Counts the rows from @newest back to @end; *shared: their common prefix. */
static size_t count_rows(struct memrow *newest, const struct memrow *end,
			 uint32_t *shared)
{
	struct bytes first = memrow_key(newest);
	size_t n = 0;

	*shared = (uint32_t)first.len;
	for (struct memrow *r = newest; r != end; r = step_back(r)) {
		first.len = *shared;
		*shared = memindex_prefix(first, memrow_key(r));
		n++;
	}
	return n;
}

int memtree_sort(struct memrow *newest, const struct memrow *end,
		 struct sorted_row **out, size_t *count, struct arena *mem)
{
	struct arena other = {0};
	struct sorted_row *s, *spare;
	uint32_t shared;
	size_t n = count_rows(newest, end, &shared), i = n;
	bool ascends = true;

	s = arena_alloc(mem, n * sizeof(*s), 8);
	if (!s)
		return -ENOMEM;
	/* Rows that were inserted in order need no sorting. */
	for (struct memrow *r = newest; r != end; r = step_back(r)) {
		s[--i] = (struct sorted_row){
			memindex_head(memrow_key(r), shared), r};
		if (ascends && i + 1 < n)
			ascends = by_key(&s[i], &s[i + 1]) < 0;
	}
	spare = ascends ? NULL : arena_alloc(&other, n * sizeof(*s), 8);
	if (!ascends && !spare) {
		arena_release(mem);
		return -ENOMEM;
	}
	if (spare && sort_rows(s, spare, n)) {
		struct arena was = *mem;

		*mem = other;
		other = was;
		s = spare;
	}
	arena_release(&other);
	*out = s;
	*count = n;
	return 0;
}

static bool is_there(const struct memindex *ix, const struct memrow *r)
{
	struct bytes key = memrow_key(r);
	struct memindex_pos pos;

	return memindex_below(ix, &key, true, &pos) == r;
}

static int insert_sorted(struct memtable *mt, struct memtree *t,
			 const struct sorted_row *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bytes key = memrow_key(s[i].row);

		if (t->torn && is_there(&t->rows, s[i].row))
			continue;
		if (memindex_insert(&t->rows, &mt->nodes, &key, s[i].row) < 0) {
			t->torn = true;
			return -ENOMEM;
		}
	}
	t->torn = false;
	return 0;
}

static int build_sorted(struct memtable *mt, struct memtree *t,
			struct sorted_row *s, size_t n)
{
	void **items = (void **)s;

	for (size_t i = 0; i < n; i++)
		items[i] = s[i].row;
	return memindex_build(&t->rows, &mt->nodes, items, n);
}

static int order_rows(struct memtable *mt, struct memtree *t,
		      struct memrow *newest)
{
	struct memrow *end =
		atomic_load_explicit(&t->ordered, memory_order_relaxed);
	struct sorted_row *s;
	struct arena mem = {0};
	size_t n;
	int r = memtree_sort(newest, end, &s, &n, &mem);

	if (r < 0)
		return r;
	if (!end && !t->torn)
		r = build_sorted(mt, t, s, n);
	else
		r = insert_sorted(mt, t, s, n);
	arena_release(&mem);
	return r;
}

int memtree_order(struct memtable *mt, struct memtree *t)
{
	struct memrow *newest =
		atomic_load_explicit(&t->newest, memory_order_acquire);
	int r = 0;

	if (atomic_load_explicit(&t->ordered, memory_order_acquire) == newest)
		return 0;
	pthread_mutex_lock(&mt->lock);
	/* Read again: rows added meanwhile are sorted along. */
	newest = atomic_load_explicit(&t->newest, memory_order_acquire);
	if (atomic_load_explicit(&t->ordered, memory_order_relaxed) != newest) {
		r = order_rows(mt, t, newest);
		if (r == 0)
			atomic_store_explicit(&t->ordered, newest,
					      memory_order_release);
	}
	pthread_mutex_unlock(&mt->lock);
	return r;
}
