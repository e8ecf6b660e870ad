#include "store/lsm/mem/memrow.h"

#include <assert.h>

/* Below this number of cells, walking a list is faster than an index. */
#define SHORT_ROW 16
/* Cells that a seek walks before it uses the index. */
#define SEEK_STEPS 4
/* Heads are taken from timestamps, since the cells share their column. */
#define SKIP_COLUMN UINT32_MAX
/* A flag in memrow.more. */
#define WIDE ((uintptr_t)1)

static struct memwide *wide_of(uintptr_t more)
{
	return more & WIDE ? (struct memwide *)(more & ~WIDE) : NULL;
}

static struct memwide *memrow_wide(const struct memrow *r)
{
	return wide_of(atomic_load_explicit(&r->more, memory_order_acquire));
}

/* The last cell, for the writer; NULL if the row is empty. */
static struct memcell *memrow_last(const struct memrow *r)
{
	uintptr_t more = atomic_load_explicit(&r->more, memory_order_relaxed);

	return more & WIDE ? ((struct memwide *)(more & ~WIDE))->last
			   : (struct memcell *)more;
}

/* As entry_cmp(). */
static int cmp_cell(const struct entry *key, const struct memcell *c)
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
	/* Newest first; the flipped sign bit orders negative timestamps. */
	if (skip == SKIP_COLUMN)
		return ~((uint64_t)ts ^ (uint64_t)1 << 63);
	if (kind_is_family_marker(kind))
		return 0;
	return memindex_head(qualifier, skip);
}

static int cell_key_cmp(const void *key, const void *item)
{
	return cmp_cell(key, item);
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

struct memrow *memrow_new(struct arena *a, uint32_t tree, struct bytes key)
{
	size_t size = offsetof(struct memrow, key) + key.len;
	struct memrow *r = arena_alloc(a, size, 8);

	if (!r)
		return NULL;
	atomic_init(&r->first, NULL);
	atomic_init(&r->more, 0);
	r->older = NULL;
	r->tree = tree;
	r->ncells = 0;
	r->len = (uint16_t)key.len;
	bytes_copy(r->key, key.data, key.len);
	return r;
}

struct memcell *memcell_new(struct arena *a, const struct entry *e,
			    struct piece *piece)
{
	bool is_apart = piece && e->value.len >= CURSOR_PIECE_MIN;
	struct memcell_apart apart = {e->value.data, piece};
	struct bytes value =
		is_apart ? bytes_of(&apart, sizeof(apart)) : e->value;
	size_t ttl = e->ttl_ms ? sizeof(e->ttl_ms) : 0;
	struct memcell *c;
	uint8_t *at;

	if (is_apart && arena_hold(a, piece, e->value.len) < 0)
		return NULL;
	c = arena_alloc(a,
			offsetof(struct memcell, data) + e->qualifier.len +
				value.len + ttl,
			8);
	if (!c)
		return NULL;
	atomic_init(&c->next, NULL);
	c->ts = e->ts;
	c->seq = e->seq;
	c->value_len = (uint32_t)e->value.len;
	c->qualifier_len = (uint16_t)e->qualifier.len;
	c->kind = e->kind & 63;
	c->is_apart = is_apart;
	c->has_ttl = ttl != 0;
	at = c->data;
	bytes_copy(at, e->qualifier.data, e->qualifier.len);
	at += e->qualifier.len;
	bytes_copy(at, value.data, value.len);
	if (ttl)
		memcpy(at + value.len, &e->ttl_ms, ttl);
	return c;
}

/* Gives a row with many cells an index of them. */
static void make_wide(struct memrow *r, struct arena *a)
{
	struct memwide *w = arena_alloc(a, sizeof(*w), 8);

	if (!w)
		return;
	w->index.ops = &memcell_ops;
	atomic_init(&w->index.root, NULL);
	w->last = memrow_last(r);
	for (struct memcell *c = memrow_first(r); c; c = memcell_next(c)) {
		struct entry key = memcell_entry(c);

		if (memindex_insert(&w->index, a, &key, c) < 0)
			break;
	}
	atomic_store_explicit(&r->more, (uintptr_t)w | WIDE,
			      memory_order_release);
}

static void set_last(struct memrow *r, struct memcell *c)
{
	struct memwide *w = memrow_wide(r);

	if (w)
		w->last = c;
	else
		atomic_store_explicit(&r->more, (uintptr_t)c,
				      memory_order_relaxed);
}

/* The last cell < @key, or NULL. Sets *equal if the next cell is equal. */
static struct memcell *memrow_before(const struct memrow *r,
				     const struct entry *key,
				     struct memcell *hint, bool *equal)
{
	struct memwide *w = memrow_wide(r);
	struct memcell *before = NULL, *c;
	struct memindex_pos pos;
	unsigned steps = 0;
	int d = 1;

	if (hint && cmp_cell(key, hint) > 0)
		before = hint;
	c = before ? memcell_next(before) : memrow_first(r);
	while (c && (d = cmp_cell(key, c)) > 0) {
		before = c;
		if (w && ++steps > SEEK_STEPS) {
			struct entry at = memcell_entry(before);

			c = memindex_below(&w->index, key, false, &pos);
			/*
			 * An index that lacks cells may return an earlier cell.
			 */
			if (c && cmp_cell(&at, c) < 0)
				before = c;
			w = NULL;
		}
		c = memcell_next(before);
	}
	*equal = c && d == 0;
	return before;
}

bool memrow_link(struct memrow *r, struct arena *a, struct memcell *c,
		 struct memcell *hint)
{
	struct memcell *last = memrow_last(r), *before = NULL, *next;
	struct memwide *w = memrow_wide(r);
	struct entry key = memcell_entry(c);
	bool equal;

	if (last && cmp_cell(&key, last) > 0) {
		before = last;
	} else if (last) {
		before = memrow_before(r, &key, hint, &equal);
		if (equal)
			return false;
	}
	next = before ? memcell_next(before) : memrow_first(r);
	assert(next != c && before != c);
	atomic_store_explicit(&c->next, next, memory_order_relaxed);
	atomic_store_explicit(before ? &before->next : &r->first, c,
			      memory_order_release);
	if (!next)
		set_last(r, c);
	/* Without memory the cell is only in the list. */
	if (w)
		memindex_insert(&w->index, a, &key, c);
	else if (r->ncells >= SHORT_ROW)
		make_wide(r, a);
	else
		r->ncells++;
	return true;
}

void memrow_ahead(const struct memrow *r)
{
	__builtin_prefetch(memrow_first(r));
	__builtin_prefetch(memrow_last(r));
}

struct memcell *memrow_seek(const struct memrow *r, struct bytes qualifier,
			    int64_t ts, uint8_t kind, struct memcell *from)
{
	const struct entry key = {
		.qualifier = qualifier,
		.ts = ts,
		.seq = UINT64_MAX,
		.kind = kind,
	};
	struct memcell *c = from ? from : memrow_first(r), *found;
	struct memwide *w;
	struct memindex_pos pos;

	for (unsigned i = 0; i < SEEK_STEPS; i++) {
		if (!c || cmp_cell(&key, c) <= 0)
			return c;
		c = memcell_next(c);
	}
	w = memrow_wide(r);
	if (w && c && cmp_cell(&key, c) > 0) {
		struct entry at = memcell_entry(c);

		found = memindex_below(&w->index, &key, false, &pos);
		/* Never move backwards: the index may lack cells. */
		if (found && cmp_cell(&at, found) < 0)
			c = found;
	}
	while (c && cmp_cell(&key, c) > 0)
		c = memcell_next(c);
	return c;
}
