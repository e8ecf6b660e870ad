#include "store/lsm/mem/memindex.h"

#include <errno.h>

#define SLOTS 15
/* Nodes are at least half full, so no memory holds a deeper tree. */
#define DEPTH_MAX 32

/*
 * Slot s < n of `heads`, `items` and `kids` was written before `order` said
 * n > s, and only kids[] changes afterwards.
 */
struct memindex_node {
	_Atomic(uint64_t) order; /* n | slot of the first << 4 | ... */
	uint32_t skip;
	uint32_t level; /* 0 = leaf */
	uint64_t heads[SLOTS];
	/*
	 * A leaf's items, or separators; an inner node's first slot has none.
	 */
	void *items[SLOTS];
	_Atomic(struct memindex_node *) kids[]; /* [SLOTS], none in a leaf */
};

struct step {
	struct memindex_node *node;
	uint32_t at;
	const void *low, *high; /* the bounds of the keys in node */
};

/* The result of a split, for the parent node. */
struct split {
	struct memindex_node *left, *right;
	void *sep;
};

static inline unsigned order_len(uint64_t order)
{
	return order & 15;
}

static inline unsigned order_slot(uint64_t order, unsigned at)
{
	return order >> (4 * (at + 1)) & 15;
}

/* Returns @order with one more slot, the next unused one, at @at. */
static uint64_t order_insert(uint64_t order, unsigned at)
{
	unsigned n = order_len(order), shift = 4 * (at + 1);
	uint64_t below = order & (((uint64_t)1 << shift) - 1);
	uint64_t above = order >> shift;

	if (at + 1 < SLOTS)
		above = above << (shift + 4);
	else
		above = 0;
	return (below | above | (uint64_t)n << shift) + 1;
}

static inline uint64_t node_order(const struct memindex_node *n)
{
	return atomic_load_explicit(&n->order, memory_order_acquire);
}

/* The number of entries that sort before @key, or are equal if @inclusive. */
static unsigned node_rank(const struct memindex *ix,
			  const struct memindex_node *node, uint64_t order,
			  const void *key, bool inclusive)
{
	uint64_t h = ix->ops->key_head(key, node->skip);
	unsigned n = order_len(order), less = 0, same = 0, end;

	for (unsigned s = 0; s < n; s++) {
		less += node->heads[s] < h;
		same += node->heads[s] == h;
	}
	end = less + same;
	/*
	 * With appends many heads are equal: the last node has no upper fence.
	 */
	if (same > 1 && order_len(order) == end) {
		const void *last = node->items[order_slot(order, end - 1)];

		if (ix->ops->key_cmp(key, last) > 0)
			return end;
	}
	while (less < end) {
		unsigned mid = (less + end) / 2;
		const void *item = node->items[order_slot(order, mid)];
		int c = item ? ix->ops->key_cmp(key, item) : 1;

		if (c > 0 || (c == 0 && inclusive))
			less = mid + 1;
		else
			end = mid;
	}
	return less;
}

/* Prefetches all lines of a node at once. */
static inline void node_prefetch(const struct memindex_node *node, bool leaf)
{
	const char *p = (const char *)node;

	for (unsigned i = 0; i < (leaf ? 4 : 6); i++)
		__builtin_prefetch(p + (size_t)i * 64);
}

/*
 * The kid for @key: the last whose separator is <= @key (< if not @inclusive).
 */
static struct memindex_node *node_kid(const struct memindex *ix,
				      struct memindex_node *node,
				      const void *key, bool inclusive,
				      uint64_t *order, unsigned *at)
{
	struct memindex_node *kid;

	for (;;) {
		*order = node_order(node);
		/*
		 * The first entry has no separator and sorts before every key.
		 */
		*at = node_rank(ix, node, *order, key, inclusive) - 1;
		kid = atomic_load_explicit(&node->kids[order_slot(*order, *at)],
					   memory_order_acquire);
		node_prefetch(kid, node->level == 1);
		if (node_order(node) == *order)
			return kid;
	}
}

/* Prefetches items, to overlap their loads with reading earlier ones. */
static void items_prefetch(const struct memindex_pos *pos, int first, int last)
{
	int n = (int)order_len(pos->order);

	for (int at = first < 0 ? 0 : first; at <= last && at < n; at++) {
		const char *item =
			pos->leaf->items[order_slot(pos->order, (unsigned)at)];

		for (unsigned i = 0; i < 4; i++)
			__builtin_prefetch(item + (size_t)i * 64);
	}
}

static void *pos_item(const struct memindex_pos *pos)
{
	return pos->leaf->items[order_slot(pos->order, pos->at)];
}

/* Finds the leaf where @key belongs, and the fence after it. */
static bool descend(const struct memindex *ix, const void *key, bool inclusive,
		    struct memindex_pos *pos)
{
	struct memindex_node *node =
		atomic_load_explicit(&ix->root, memory_order_acquire);
	uint64_t order;
	unsigned at;

	pos->leaf = NULL;
	pos->high = NULL;
	if (!node)
		return false;
	while (node->level) {
		struct memindex_node *kid =
			node_kid(ix, node, key, inclusive, &order, &at);

		if (at + 1 < order_len(order))
			pos->high = node->items[order_slot(order, at + 1)];
		node = kid;
	}
	pos->leaf = node;
	pos->order = node_order(node);
	return true;
}

void *memindex_at_least(const struct memindex *ix, const void *key,
			struct memindex_pos *pos)
{
	if (!descend(ix, key, true, pos))
		return NULL;
	pos->at = node_rank(ix, pos->leaf, pos->order, key, false);
	if (pos->at < order_len(pos->order))
		return pos_item(pos);
	return NULL;
}

void *memindex_below(const struct memindex *ix, const void *key, bool inclusive,
		     struct memindex_pos *pos)
{
	unsigned rank;

	if (!descend(ix, key, inclusive, pos))
		return NULL;
	rank = node_rank(ix, pos->leaf, pos->order, key, inclusive);
	pos->at = rank - 1;
	return rank ? pos_item(pos) : NULL;
}

void *memindex_edge(const struct memindex *ix, bool last,
		    struct memindex_pos *pos)
{
	struct memindex_node *kid,
		*node = atomic_load_explicit(&ix->root, memory_order_acquire);
	uint64_t order;
	unsigned at;

	pos->leaf = NULL;
	pos->high = NULL;
	if (!node)
		return NULL;
	while (node->level) {
		order = node_order(node);
		at = last ? order_len(order) - 1 : 0;
		kid = atomic_load_explicit(&node->kids[order_slot(order, at)],
					   memory_order_acquire);
		if (node_order(node) != order)
			continue;
		if (at + 1 < order_len(order))
			pos->high = node->items[order_slot(order, at + 1)];
		node = kid;
	}
	pos->leaf = node;
	pos->order = node_order(node);
	pos->at = last ? order_len(pos->order) - 1 : 0;
	return pos_item(pos);
}

void memindex_ahead(const struct memindex_pos *pos, bool forward)
{
	int at = (int)pos->at;

	if (!pos->leaf)
		return;
	if (forward)
		items_prefetch(pos, at, at + 4);
	else
		items_prefetch(pos, at - 4, at);
	if (forward && pos->high)
		__builtin_prefetch((const char *)pos->high + 56);
}

void *memindex_next(struct memindex_pos *pos)
{
	if (pos->at + 1 >= order_len(pos->order))
		return NULL;
	items_prefetch(pos, (int)pos->at + 5, (int)pos->at + 5);
	pos->at++;
	return pos_item(pos);
}

void *memindex_prev(struct memindex_pos *pos)
{
	if (pos->at == 0)
		return NULL;
	items_prefetch(pos, (int)pos->at - 5, (int)pos->at - 5);
	pos->at--;
	return pos_item(pos);
}

static size_t node_size(uint32_t level)
{
	return sizeof(struct memindex_node) +
	       (level ? SLOTS * sizeof(struct memindex_node *) : 0);
}

int memindex_reserve(const struct memindex *ix, struct arena *a)
{
	struct memindex_node *root =
		atomic_load_explicit(&ix->root, memory_order_relaxed);
	/* Two nodes for each level and a root, each on its own cache lines. */
	size_t nodes = root ? 2 * ((size_t)root->level + 1) + 1 : 1;

	return arena_reserve(a, nodes * (node_size(1) + 63) + 64);
}

static uint32_t fence_skip(const struct memindex *ix, const void *low,
			   const void *high)
{
	return low && high ? ix->ops->shared(low, high) : 0;
}

/* Never fails, since memindex_insert() has reserved the memory. */
static struct memindex_node *node_new(const struct memindex *ix,
				      struct arena *a, uint32_t level,
				      const void *low, const void *high)
{
	struct memindex_node *n = arena_alloc(a, node_size(level), 64);

	atomic_init(&n->order, 0);
	n->level = level;
	n->skip = fence_skip(ix, low, high);
	return n;
}

/* Writes an entry into a free slot and publishes it. */
static void node_put(struct memindex_node *n, unsigned at, void *item,
		     uint64_t head, struct memindex_node *kid)
{
	uint64_t order = atomic_load_explicit(&n->order, memory_order_relaxed);
	unsigned slot = order_len(order);

	n->items[slot] = item;
	n->heads[slot] = head;
	if (n->level)
		atomic_store_explicit(&n->kids[slot], kid,
				      memory_order_release);
	atomic_store_explicit(&n->order, order_insert(order, at),
			      memory_order_release);
}

static void node_add(const struct memindex *ix, struct memindex_node *n,
		     unsigned at, void *item, struct memindex_node *kid)
{
	node_put(n, at, item, item ? ix->ops->item_head(item, n->skip) : 0,
		 kid);
}

/* The entries of a node to split, and the one that did not fit. */
struct entries {
	void *items[SLOTS + 1];
	struct memindex_node *kids[SLOTS + 1];
	uint64_t heads[SLOTS + 1]; /* taken after skip bytes */
	uint32_t skip;
};

static void entries_of(const struct memindex *ix, struct memindex_node *n,
		       unsigned at, void *item, struct memindex_node *kid,
		       struct entries *e)
{
	uint64_t order = atomic_load_explicit(&n->order, memory_order_relaxed);

	e->skip = n->skip;
	for (unsigned i = 0, j = 0; i <= SLOTS; i++) {
		if (i == at) {
			e->items[i] = item;
			e->kids[i] = kid;
			e->heads[i] = ix->ops->item_head(item, n->skip);
			continue;
		}
		unsigned slot = order_slot(order, j++);

		e->items[i] = n->items[slot];
		e->heads[i] = n->heads[slot];
		e->kids[i] = NULL;
		if (n->level)
			e->kids[i] = atomic_load_explicit(&n->kids[slot],
							  memory_order_relaxed);
	}
}

/* Fills a new node with entries @from to @end - 1. */
static void node_fill(const struct memindex *ix, struct memindex_node *n,
		      const struct entries *e, unsigned from, unsigned end)
{
	bool same = n->skip == e->skip;

	/* The keys are scattered in memory: load them together. */
	for (unsigned i = from; !same && i < end; i++)
		if (e->items[i])
			__builtin_prefetch((const char *)e->items[i] + 48);
	for (unsigned i = from; i < end; i++) {
		/* The first kid of an inner node has no separator. */
		void *item = n->level && i == from ? NULL : e->items[i];

		if (same && item)
			node_put(n, i - from, item, e->heads[i], e->kids[i]);
		else
			node_add(ix, n, i - from, item, e->kids[i]);
	}
}

/*
 * Splits a full node together with the entry that did not fit. In an inner node
 * @left replaces the kid before the new one.
 */
static void node_split(const struct memindex *ix, struct arena *a,
		       const struct step *st, unsigned at, void *item,
		       struct memindex_node *kid, struct memindex_node *left,
		       struct split *out)
{
	struct memindex_node *n = st->node;
	unsigned half = (SLOTS + 1) / 2;
	bool keep = true;
	struct entries e;

	entries_of(ix, n, at, item, kid, &e);
	if (n->level) {
		keep = e.kids[at - 1] == left;
		e.kids[at - 1] = left;
	}
	/* An append leaves a full node on its left side. */
	if (at == SLOTS)
		half = SLOTS;
	if (at == SLOTS && keep && fence_skip(ix, st->low, item) == n->skip) {
		out->left = n;
	} else {
		out->left = node_new(ix, a, n->level, st->low, e.items[half]);
		node_fill(ix, out->left, &e, 0, half);
	}
	out->sep = e.items[half];
	out->right = node_new(ix, a, n->level, e.items[half], st->high);
	node_fill(ix, out->right, &e, half, SLOTS + 1);
}

static unsigned find_path(const struct memindex *ix, const void *key,
			  struct memindex_node *node, struct step *path)
{
	const void *low = NULL, *high = NULL;
	unsigned depth = 0, at;

	for (;; depth++) {
		struct memindex_node *kid;
		uint64_t order;

		path[depth].node = node;
		path[depth].low = low;
		path[depth].high = high;
		if (!node->level)
			break;
		kid = node_kid(ix, node, key, true, &order, &at);
		path[depth].at = at;
		if (at)
			low = node->items[order_slot(order, at)];
		if (at + 1 < order_len(order))
			high = node->items[order_slot(order, at + 1)];
		node = kid;
	}
	path[depth].at = node_rank(ix, node, node_order(node), key, true);
	return depth;
}

int memindex_insert(struct memindex *ix, struct arena *a, const void *key,
		    void *item)
{
	struct memindex_node *root =
		atomic_load_explicit(&ix->root, memory_order_relaxed);
	struct step path[DEPTH_MAX], *st;
	struct split s;

	if (!root) {
		if (memindex_reserve(ix, a) < 0)
			return -ENOMEM;
		root = node_new(ix, a, 0, NULL, NULL);
		node_add(ix, root, 0, item, NULL);
		atomic_store_explicit(&ix->root, root, memory_order_release);
		return 0;
	}
	st = &path[find_path(ix, key, root, path)];
	if (order_len(node_order(st->node)) < SLOTS) {
		node_add(ix, st->node, st->at, item, NULL);
		return 0;
	}
	if (memindex_reserve(ix, a) < 0)
		return -ENOMEM;
	node_split(ix, a, st, st->at, item, NULL, NULL, &s);
	while (st-- != path) {
		struct memindex_node *n = st->node;
		uint64_t order = node_order(n);

		if (order_len(order) < SLOTS) {
			node_add(ix, n, st->at + 1, s.sep, s.right);
			atomic_store_explicit(
				&n->kids[order_slot(order, st->at)], s.left,
				memory_order_release);
			return 0;
		}
		node_split(ix, a, st, st->at + 1, s.sep, s.right, s.left, &s);
	}
	root = node_new(ix, a, s.left->level + 1, NULL, NULL);
	node_add(ix, root, 0, NULL, s.left);
	node_add(ix, root, 1, s.sep, s.right);
	atomic_store_explicit(&ix->root, root, memory_order_release);
	return 0;
}

/* Entries per node, below SLOTS, so that later insertions find space. */
#define FILL 12

/*
 * Makes the nodes of one level over @n entries: kids[i] holds the keys from
 * items[i] on. Overwrites both arrays with the new nodes and their separators,
 * for the level above. Returns the number of nodes, or 0 without memory.
 */
static size_t build_level(const struct memindex *ix, struct arena *a,
			  uint32_t level, void **items, void **kids, size_t n)
{
	size_t made = 0;

	for (size_t from = 0, end; from < n; from = end) {
		struct memindex_node *node;

		end = n - from > FILL ? from + FILL : n;
		if (arena_reserve(a, node_size(level) + 64) < 0)
			return 0;
		node = node_new(ix, a, level, from ? items[from] : NULL,
				end < n ? items[end] : NULL);
		for (size_t i = from; i < end; i++)
			node_add(ix, node, (unsigned)(i - from),
				 level && i == from ? NULL : items[i],
				 level ? kids[i] : NULL);
		items[made] = items[from];
		kids[made++] = node;
	}
	return made;
}

int memindex_build(struct memindex *ix, struct arena *a, void **items, size_t n)
{
	void **kids = items + n;
	uint32_t level = 0;

	do {
		n = build_level(ix, a, level++, items, kids, n);
		if (n == 0)
			return -ENOMEM;
	} while (n > 1);
	atomic_store_explicit(&ix->root, (struct memindex_node *)kids[0],
			      memory_order_release);
	return 0;
}
