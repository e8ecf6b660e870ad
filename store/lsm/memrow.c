#include "store/lsm/memrow.h"

/* A list of so many cells is walked faster than an index is searched. */
#define SHORT_ROW 16
/* Cells that a seek walks before it asks the index. */
#define SEEK_STEPS 4
/* Heads are of timestamps: the cells share their column. */
#define SKIP_COLUMN UINT32_MAX

int memcell_cmp(const struct entry *key, const struct memcell *c)
{
	bool fk = kind_is_family_marker(key->kind);
	bool fc = kind_is_family_marker(c->kind);

	if (fk != fc)
		return fk ? -1 : 1;
	if (!fk) {
		int r = bytes_cmp(key->qualifier, memcell_qualifier(c));

		if (r)
			return r;
	}
	if (key->ts != c->ts)
		return key->ts > c->ts ? -1 : 1;
	if (key->kind != c->kind)
		return key->kind > c->kind ? -1 : 1;
	if (key->seq != c->seq)
		return key->seq > c->seq ? -1 : 1;
	return 0;
}

/* -- indexes --------------------------------------------------------------- */

static int row_key_cmp(const void *key, const void *item)
{
	return bytes_cmp(*(const struct bytes *)key, memrow_key(item));
}

static uint64_t row_key_head(const void *key, uint32_t skip)
{
	return memindex_head(*(const struct bytes *)key, skip);
}

static uint64_t row_item_head(const void *item, uint32_t skip)
{
	return memindex_head(memrow_key(item), skip);
}

static uint32_t row_shared(const void *low, const void *high)
{
	return memindex_prefix(memrow_key(low), memrow_key(high));
}

const struct memindex_ops memrow_ops = {
	.key_cmp = row_key_cmp,
	.key_head = row_key_head,
	.item_head = row_item_head,
	.shared = row_shared,
};

static uint64_t cell_head(struct bytes qualifier, int64_t ts, uint8_t kind,
			  uint32_t skip)
{
	/* Newest first, whatever the sign. */
	if (skip == SKIP_COLUMN)
		return ~((uint64_t)ts ^ (uint64_t)1 << 63);
	if (kind_is_family_marker(kind))
		return 0;
	return memindex_head(qualifier, skip);
}

static int cell_key_cmp(const void *key, const void *item)
{
	return memcell_cmp(key, item);
}

static uint64_t cell_key_head(const void *key, uint32_t skip)
{
	const struct entry *e = key;

	return cell_head(e->qualifier, e->ts, e->kind, skip);
}

static uint64_t cell_item_head(const void *item, uint32_t skip)
{
	const struct memcell *c = item;

	return cell_head(memcell_qualifier(c), c->ts, c->kind, skip);
}

static uint32_t cell_shared(const void *low, const void *high)
{
	const struct memcell *a = low, *b = high;
	bool fa = kind_is_family_marker(a->kind);
	bool fb = kind_is_family_marker(b->kind);

	if (fa && fb)
		return SKIP_COLUMN;
	if (fa || fb)
		return 0;
	if (bytes_eq(memcell_qualifier(a), memcell_qualifier(b)))
		return SKIP_COLUMN;
	return memindex_prefix(memcell_qualifier(a), memcell_qualifier(b));
}

static const struct memindex_ops memcell_ops = {
	.key_cmp = cell_key_cmp,
	.key_head = cell_key_head,
	.item_head = cell_item_head,
	.shared = cell_shared,
};

/* -- making ---------------------------------------------------------------- */

struct memrow *memrow_new(struct arena *a, uint32_t tree, struct bytes key,
			  uint64_t hash)
{
	struct memrow *r = arena_alloc(a, sizeof(*r) + key.len, 8);

	if (!r)
		return NULL;
	atomic_init(&r->first, NULL);
	atomic_init(&r->index, NULL);
	r->last = NULL;
	r->ts_max = INT64_MIN;
	r->hash = hash;
	r->tree = tree;
	r->ncells = 0;
	r->len = (uint16_t)key.len;
	if (key.len)
		memcpy(r->key, key.data, key.len);
	return r;
}

struct memcell *memcell_new(struct arena *a, const struct entry *e)
{
	struct memcell *c;

	c = arena_alloc(a, sizeof(*c) + e->qualifier.len + e->value.len, 8);
	if (!c)
		return NULL;
	atomic_init(&c->next, NULL);
	c->ts = e->ts;
	c->seq = e->seq;
	c->ttl_ms = e->ttl_ms;
	c->value_len = (uint32_t)e->value.len;
	c->qualifier_len = (uint16_t)e->qualifier.len;
	c->kind = e->kind;
	if (e->qualifier.len)
		memcpy(c->data, e->qualifier.data, e->qualifier.len);
	if (e->value.len)
		memcpy(c->data + e->qualifier.len, e->value.data, e->value.len);
	return c;
}

/* -- linking --------------------------------------------------------------- */

/* Gives a row that has grown an index of what it holds. */
static void memrow_index(struct memrow *r, struct arena *a)
{
	struct memindex *ix = arena_alloc(a, sizeof(*ix), 8);

	if (!ix)
		return;
	ix->ops = &memcell_ops;
	atomic_init(&ix->root, NULL);
	for (struct memcell *c = memrow_first(r); c; c = memcell_next(c)) {
		struct entry key = memcell_entry(c);

		if (memindex_insert(ix, a, &key, c) < 0)
			break;
	}
	atomic_store_explicit(&r->index, ix, memory_order_release);
}

/*
 * The last cell < @key, NULL for none. Sets *equal if the one behind it is
 * equal.
 */
static struct memcell *memrow_before(const struct memrow *r,
				     const struct entry *key,
				     struct memcell *hint, bool *equal)
{
	struct memindex *ix =
		atomic_load_explicit(&r->index, memory_order_relaxed);
	struct memcell *before = NULL, *c;
	struct memindex_pos pos;
	unsigned steps = 0;
	int d = 1;

	if (hint && memcell_cmp(key, hint) > 0)
		before = hint;
	c = before ? memcell_next(before) : memrow_first(r);
	while (c && (d = memcell_cmp(key, c)) > 0) {
		before = c;
		if (ix && ++steps > SEEK_STEPS) {
			struct entry at = memcell_entry(before);

			c = memindex_below(ix, key, false, &pos);
			/* An index that lacks cells may point behind us. */
			if (c && memcell_cmp(&at, c) < 0)
				before = c;
			ix = NULL;
		}
		c = memcell_next(before);
	}
	*equal = c && d == 0;
	return before;
}

bool memrow_link(struct memrow *r, struct arena *a, struct memcell *c,
		 struct memcell *hint)
{
	struct memindex *ix =
		atomic_load_explicit(&r->index, memory_order_relaxed);
	struct entry key = memcell_entry(c);
	struct memcell *before = NULL, *next = NULL;
	bool equal;

	if (r->last && memcell_cmp(&key, r->last) > 0) {
		before = r->last;
	} else if (r->last) {
		before = memrow_before(r, &key, hint, &equal);
		if (equal)
			return false;
	}
	next = before ? memcell_next(before) : memrow_first(r);
	atomic_store_explicit(&c->next, next, memory_order_relaxed);
	atomic_store_explicit(before ? &before->next : &r->first, c,
			      memory_order_release);
	if (!next)
		r->last = c;
	if (c->ts > r->ts_max)
		r->ts_max = c->ts;
	/* Without memory the cell stays out of the index. */
	if (ix)
		memindex_insert(ix, a, &key, c);
	else if (++r->ncells > SHORT_ROW)
		memrow_index(r, a);
	return true;
}

struct memcell *memrow_seek(const struct memrow *r, const struct entry *key,
			    struct memcell *from)
{
	struct memcell *c = from ? from : memrow_first(r), *found;
	struct memindex *ix;
	struct memindex_pos pos;

	for (unsigned i = 0; i < SEEK_STEPS; i++) {
		if (!c || memcell_cmp(key, c) <= 0)
			return c;
		c = memcell_next(c);
	}
	ix = atomic_load_explicit(&r->index, memory_order_acquire);
	if (ix && c && memcell_cmp(key, c) > 0) {
		struct entry at = memcell_entry(c);

		found = memindex_below(ix, key, false, &pos);
		/* Never backwards: the index may lag. */
		if (found && memcell_cmp(&at, found) < 0)
			c = found;
	}
	while (c && memcell_cmp(key, c) > 0)
		c = memcell_next(c);
	return c;
}
