#include "store/lsm/mem/memtree.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static int tree_key_cmp(const void *key, const void *item)
{
	uint32_t k = *(const uint32_t *)key;
	uint32_t id = ((const struct memtree *)item)->id;

	return (k > id) - (k < id);
}

static uint64_t tree_key_head(const void *key, uint32_t skip)
{
	return *(const uint32_t *)key;
}

static uint64_t tree_item_head(const void *item, uint32_t skip)
{
	return ((const struct memtree *)item)->id;
}

static uint32_t tree_shared(const void *low, const void *high)
{
	return 0;
}

static const struct memindex_ops tree_ops = {
	.key_cmp = tree_key_cmp,
	.key_head = tree_key_head,
	.item_head = tree_item_head,
	.shared = tree_shared,
};

struct memtree *memtable_tree(const struct memtable *mt, uint32_t id)
{
	struct memindex_pos pos;
	struct memtree *t = memindex_below(&mt->trees, &id, true, &pos);

	return t && t->id == id ? t : NULL;
}

static struct memtree *memtree_new(struct memtable *mt, uint32_t id)
{
	struct memtree *t = arena_alloc(&mt->arena, sizeof(*t), 8);

	if (!t)
		return NULL;
	t->id = id;
	atomic_init(&t->newest, NULL);
	atomic_init(&t->ordered, NULL);
	t->rows.ops = &memrow_ops;
	atomic_init(&t->rows.root, NULL);
	t->torn = false;
	atomic_init(&t->entries, 0);
	atomic_init(&t->nrows, 0);
	atomic_init(&t->markers, 0);
	atomic_init(&t->ts_min, INT64_MAX);
	atomic_init(&t->has_ttl, false);
	atomic_init(&t->ts_max, INT64_MIN);
	return t;
}

int64_t memtable_next_tree(struct memtable *mt, int64_t after)
{
	struct memindex_pos pos;
	struct memtree *t;
	uint32_t id;

	if (after >= UINT32_MAX)
		return -1;
	id = after < 0 ? 0 : (uint32_t)(after + 1);
	t = memindex_at_least(&mt->trees, &id, &pos);
	if (!t)
		t = pos.high;
	return t ? (int64_t)t->id : -1;
}

int memtable_tree_stat(struct memtable *mt, uint32_t tree,
		       struct memtree_stat *out)
{
	struct memtree *t = memtable_tree(mt, tree);

	if (!t)
		return 0;
	out->entries = atomic_load_explicit(&t->entries, memory_order_relaxed);
	out->rows = atomic_load_explicit(&t->nrows, memory_order_relaxed);
	out->markers = atomic_load_explicit(&t->markers, memory_order_relaxed);
	out->ts_min = atomic_load_explicit(&t->ts_min, memory_order_relaxed);
	out->ts_max = atomic_load_explicit(&t->ts_max, memory_order_relaxed);
	out->has_ttl = atomic_load_explicit(&t->has_ttl, memory_order_relaxed);
	return 1;
}

int memtable_new(size_t rows, struct memtable **out)
{
	struct memtable *mt =
		aligned_alloc(_Alignof(struct memtable), sizeof(*mt));

	if (!mt)
		return -ENOMEM;
	memset(mt, 0, sizeof(*mt));
	atomic_init(&mt->refs, 1);
	pthread_mutex_init(&mt->lock, NULL);
	mt->trees.ops = &tree_ops;
	mt->rows_hint = rows;
	*out = mt;
	return 0;
}

void memtable_ref(struct memtable *mt)
{
	uint32_t refs =
		atomic_fetch_add_explicit(&mt->refs, 1, memory_order_relaxed);

	assert(refs > 0);
}

void memtable_unref(struct memtable *mt)
{
	if (!mt || !refs_drop(&mt->refs))
		return;
	arena_release(&mt->arena);
	arena_release(&mt->nodes);
	pthread_mutex_destroy(&mt->lock);
	free(mt);
}

size_t memtable_bytes(const struct memtable *mt)
{
	return arena_used(&mt->arena) + arena_used(&mt->nodes);
}

bool memtable_empty(const struct memtable *mt)
{
	return !atomic_load_explicit(&mt->trees.root, memory_order_acquire);
}

size_t memtable_rows(const struct memtable *mt)
{
	return mt->map.n;
}

bool memtable_ends_with(const struct memtable *mt, struct bytes row)
{
	return mt->last_row && bytes_eq(memrow_key(mt->last_row), row);
}

bool memtable_at(const struct memtable *mt, uint32_t tree, struct bytes row)
{
	return memtable_ends_with(mt, row) && mt->last_row->tree == tree;
}

/* Allocates copies of @entries, in no row yet, as a list. */
static int copy_entries(struct arena *a, const struct entry *entries, size_t n,
			struct piece *piece, struct memcell **out)
{
	struct memcell *head = NULL, *c;

	while (n--) {
		const struct entry *e = &entries[n];

		if (e->qualifier.len > UINT16_MAX || e->value.len > UINT32_MAX)
			return -E2BIG;
		c = memcell_new(a, e, piece);
		if (!c)
			return -ENOMEM;
		atomic_store_explicit(&c->next, head, memory_order_relaxed);
		head = c;
	}
	*out = head;
	return 0;
}

static void count(struct memtree *t, uint64_t rows, uint64_t added,
		  const struct entry *entries, size_t n)
{
	uint64_t nrows = atomic_load_explicit(&t->nrows, memory_order_relaxed);
	uint64_t all = atomic_load_explicit(&t->entries, memory_order_relaxed);
	int64_t min = atomic_load_explicit(&t->ts_min, memory_order_relaxed);
	int64_t max = atomic_load_explicit(&t->ts_max, memory_order_relaxed);
	uint64_t markers = 0;
	bool ttl = false;

	assert(rows <= 1 && added <= n);
	for (size_t i = 0; i < n; i++) {
		markers += kind_is_marker(entries[i].kind);
		min = entries[i].ts < min ? entries[i].ts : min;
		max = entries[i].ts > max ? entries[i].ts : max;
		ttl |= entries[i].ttl_ms != 0;
	}
	if (rows)
		atomic_store_explicit(&t->nrows, nrows + rows,
				      memory_order_relaxed);
	atomic_store_explicit(&t->entries, all + added, memory_order_relaxed);
	atomic_store_explicit(&t->ts_min, min, memory_order_relaxed);
	atomic_store_explicit(&t->ts_max, max, memory_order_relaxed);
	if (markers)
		atomic_fetch_add_explicit(&t->markers, markers,
					  memory_order_relaxed);
	if (ttl)
		atomic_store_explicit(&t->has_ttl, true, memory_order_relaxed);
}

/* Links the list of copy_entries() into the row; how many cells were new. */
static uint64_t link_cells(struct arena *a, struct memrow *r,
			   struct memcell *list)
{
	struct memcell *next, *hint = NULL;
	uint64_t n = 0;

	for (; list; list = next) {
		next = atomic_load_explicit(&list->next, memory_order_relaxed);
		if (memrow_link(r, a, list, hint)) {
			hint = list;
			n++;
		}
	}
	return n;
}

/* Inserts a row that is new, in a tree that may be new as well. */
static int insert_row(struct memtable *mt, uint32_t tree, struct bytes row,
		      uint64_t hash, const struct entry *entries, size_t n,
		      struct piece *piece)
{
	struct arena *a = &mt->arena;
	struct memtree *t = mt->last && mt->last->id == tree
				    ? mt->last
				    : memtable_tree(mt, tree);
	bool new_tree = !t;
	struct memcell *list;
	size_t given = n;
	struct memrow *r;
	int e;

	if (rowmap_reserve(&mt->map, a, mt->rows_hint) < 0)
		return -ENOMEM;
	if (new_tree)
		t = memtree_new(mt, tree);
	r = memrow_new(a, tree, row);
	if (!t || !r)
		return -ENOMEM;
	e = copy_entries(a, entries, n, piece, &list);
	if (e < 0)
		return e;
	n = link_cells(a, r, list);
	/* No row is empty. */
	assert(n > 0 && n <= given);
	/*
	 * Readers cannot find a new tree's row before the tree is in the index.
	 */
	if (new_tree && memindex_reserve(&mt->trees, a) < 0)
		return -ENOMEM;
	/*
	 * Nothing fails from here on. A row in the map is always in the heap.
	 */
	memtree_push(t, r);
	if (new_tree)
		memindex_insert(&mt->trees, a, &tree, t);
	rowmap_add(&mt->map, r, hash);
	count(t, 1, n, entries, given);
	mt->last = t;
	mt->last_row = r;
	return 0;
}

int memtable_insert(struct memtable *mt, uint32_t tree, struct bytes row,
		    const struct entry *entries, size_t n)
{
	uint64_t hash = memtable_at(mt, tree, row) ? 0 : rowmap_hash(tree, row);

	return memtable_insert_near(mt, tree, row, hash, entries, n, NULL);
}

int memtable_insert_near(struct memtable *mt, uint32_t tree, struct bytes row,
			 uint64_t hash, const struct entry *entries, size_t n,
			 struct piece *piece)
{
	struct memcell *list;
	struct memtree *t;
	struct memrow *r;
	int e;

	if (n == 0)
		return 0;
	if (row.len > UINT16_MAX)
		return -E2BIG;
	if (memtable_at(mt, tree, row))
		r = mt->last_row;
	else
		r = rowmap_find(&mt->map, tree, row, hash);
	if (!r)
		return insert_row(mt, tree, row, hash, entries, n, piece);
	e = copy_entries(&mt->arena, entries, n, piece, &list);
	if (e < 0)
		return e;
	t = mt->last && mt->last->id == tree ? mt->last
					     : memtable_tree(mt, tree);
	/* A row that is found was made after its tree. */
	assert(t && r->tree == tree);
	count(t, 0, link_cells(&mt->arena, r, list), entries, n);
	mt->last = t;
	mt->last_row = r;
	return 0;
}

uint64_t memtable_token(uint32_t tree, struct bytes row)
{
	return rowmap_hash(tree, row);
}

void memtable_ahead_slot(const struct memtable *mt, uint64_t token)
{
	rowmap_ahead(&mt->map, token);
}

uint64_t memtable_ahead(const struct memtable *mt, uint32_t tree,
			struct bytes row)
{
	uint64_t token = memtable_token(tree, row);

	memtable_ahead_slot(mt, token);
	return token;
}

void memtable_ahead_row(const struct memtable *mt, uint64_t token)
{
	rowmap_ahead_row(&mt->map, token);
}

void memtable_ahead_cells(const struct memtable *mt, uint64_t token)
{
	rowmap_ahead_cells(&mt->map, token);
}

bool memtable_column_newest(struct memtable *mt, uint32_t tree,
			    struct bytes row, struct bytes qualifier,
			    int64_t *ts)
{
	struct memrow *r =
		rowmap_find(&mt->map, tree, row, rowmap_hash(tree, row));
	struct memcell *c;
	bool found = false;

	if (!r)
		return false;
	/* No row is empty: it is found after its first cells are linked. */
	c = memrow_first(r);
	assert(c);
	if (kind_is_family_marker(c->kind)) {
		*ts = c->ts;
		found = true;
	}
	c = memrow_seek(r, qualifier, INT64_MAX, UINT8_MAX, c);
	if (c && bytes_eq(memcell_qualifier(c), qualifier) &&
	    (!found || c->ts > *ts)) {
		*ts = c->ts;
		found = true;
	}
	return found;
}

bool memtable_row_newest(struct memtable *mt, uint32_t tree, struct bytes row,
			 int64_t *ts)
{
	struct memrow *r =
		rowmap_find(&mt->map, tree, row, rowmap_hash(tree, row));

	if (!r)
		return false;
	*ts = INT64_MIN;
	for (struct memcell *c = memrow_first(r); c; c = memcell_next(c))
		if (c->ts > *ts)
			*ts = c->ts;
	return true;
}
