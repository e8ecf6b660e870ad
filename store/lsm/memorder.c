/* The order of a memtable's rows: see memtree.h. */
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/memtree.h"

/* From here on counting bytes beats comparing. */
#define RADIX_MIN 256

/* A row and the first bytes of its key that not all share. */
struct sorted {
	uint64_t head;
	struct memrow *row;
};

void memtree_push(struct memtree *t, struct memrow *r)
{
	r->older = atomic_load_explicit(&t->newest, memory_order_relaxed);
	atomic_store_explicit(&t->newest, r, memory_order_release);
}

/* -- sorting --------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return bytes_cmp(memrow_key(x->row), memrow_key(y->row));
}

/* One byte of the heads, least significant first; false: all have the same. */
static bool pass(const struct sorted *from, struct sorted *to, size_t n,
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

/* Sorts @s by way of @spare; returns which of them holds the result. */
static struct sorted *sort_rows(struct sorted *s, struct sorted *spare,
				size_t n)
{
	size_t from = 0;

	if (n < RADIX_MIN) {
		qsort(s, n, sizeof(*s), by_key);
		return s;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct sorted *was = s;

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
	return s;
}

/* -- into the index -------------------------------------------------------- */

static bool is_there(const struct memindex *ix, const struct memrow *r)
{
	struct bytes key = memrow_key(r);
	struct memindex_pos pos;

	return memindex_below(ix, &key, true, &pos) == r;
}

static int insert_sorted(struct memtable *mt, struct memtree *t,
			 const struct sorted *s, size_t n)
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
			struct sorted *s, size_t n)
{
	void **items = (void **)s;

	for (size_t i = 0; i < n; i++)
		items[i] = s[i].row;
	return memindex_build(&t->rows, &mt->nodes, items, n);
}

/* The rows from @newest back to @end (not included), and what all share. */
static size_t count_rows(const struct memrow *newest, const struct memrow *end,
			 uint32_t *shared)
{
	struct bytes first = memrow_key(newest);
	size_t n = 0;

	*shared = (uint32_t)first.len;
	for (const struct memrow *r = newest; r != end; r = r->older) {
		struct bytes key = memrow_key(r);

		if (key.len < *shared)
			*shared = (uint32_t)key.len;
		*shared = memindex_prefix(bytes_of(first.data, *shared), key);
		n++;
	}
	return n;
}

static int order_rows(struct memtable *mt, struct memtree *t,
		      struct memrow *newest)
{
	struct memrow *end =
		atomic_load_explicit(&t->ordered, memory_order_relaxed);
	struct sorted some[16], *s = some, *all = NULL;
	uint32_t shared;
	size_t n = count_rows(newest, end, &shared), i = 0;
	int r;

	if (n > sizeof(some) / sizeof(some[0])) {
		s = all = malloc(2 * n * sizeof(*all));
		if (!s)
			return -ENOMEM;
	}
	for (struct memrow *row = newest; row != end; row = row->older)
		s[i++] = (struct sorted){memindex_head(memrow_key(row), shared),
					 row};
	s = sort_rows(s, s + n, n);
	if (all && !end && !t->torn)
		r = build_sorted(mt, t, s, n);
	else
		r = insert_sorted(mt, t, s, n);
	free(all);
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
	/* Now, so that the next who comes finds less to do. */
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
