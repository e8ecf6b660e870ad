/*
 * Reading a memtable. Rows are walked leaf by leaf of the index, as each leaf
 * was when the cursor came to it; cells along the list of their row.
 */
#include "store/lsm/memtree.h"

static struct mem_cursor *mem(struct cursor *c)
{
	return (struct mem_cursor *)c;
}

static int stand_on_cell(struct mem_cursor *c, struct memcell *cell)
{
	c->cell = cell;
	if (!cell)
		return 0;
	c->base.at = memcell_entry(cell);
	return 1;
}

static int stand_on(struct mem_cursor *c, struct memrow *r)
{
	c->row = r;
	if (!r) {
		c->cell = NULL;
		return 0;
	}
	c->base.row = memrow_key(r);
	return stand_on_cell(c, memrow_first(r));
}

/* The tree may have come since the cursor was made. */
static struct memindex *rows(struct mem_cursor *c)
{
	if (!c->tree)
		c->tree = memtable_tree(c->mt, c->id);
	return c->tree ? &((struct memtree *)c->tree)->rows : NULL;
}

static int mem_seek_row(struct cursor *base, struct bytes row)
{
	struct mem_cursor *c = mem(base);
	struct memindex *ix = rows(c);
	struct memrow *r = NULL;

	if (!ix)
		return stand_on(c, NULL);
	if (row.len)
		r = memindex_at_least(ix, &row, &c->pos);
	else
		r = memindex_first(ix, &c->pos);
	if (!r && c->pos.high) {
		row = memrow_key(c->pos.high);
		r = memindex_at_least(ix, &row, &c->pos);
	}
	return stand_on(c, r);
}

static int mem_seek_exact(struct cursor *base, struct bytes row)
{
	struct mem_cursor *c = mem(base);

	c->pos.leaf = NULL;
	return stand_on(c, rowmap_find(&c->mt->map, c->id, row,
				       rowmap_hash(c->id, row)));
}

static int mem_seek_back(struct cursor *base, struct bytes row, bool inclusive)
{
	struct mem_cursor *c = mem(base);
	struct memindex *ix = rows(c);

	if (!ix)
		return stand_on(c, NULL);
	if (row.len)
		return stand_on(c,
				memindex_below(ix, &row, inclusive, &c->pos));
	return stand_on(c, memindex_last(ix, &c->pos));
}

/* Comes back to a row of a seek_exact() by way of the index. */
static void find_place(struct mem_cursor *c)
{
	struct bytes row = memrow_key(c->row);

	memindex_below(rows(c), &row, true, &c->pos);
}

static int mem_next_row(struct cursor *base)
{
	struct mem_cursor *c = mem(base);
	struct memrow *r;

	if (!c->row)
		return 0;
	if (!c->pos.leaf)
		find_place(c);
	r = memindex_next(&c->pos);
	if (!r && c->pos.high) {
		struct bytes row = memrow_key(c->pos.high);

		r = memindex_at_least(rows(c), &row, &c->pos);
		memindex_ahead(&c->pos, true);
	}
	return stand_on(c, r);
}

static int mem_prev_row(struct cursor *base)
{
	struct mem_cursor *c = mem(base);
	struct bytes row;
	struct memrow *r;

	if (!c->row)
		return 0;
	if (!c->pos.leaf)
		find_place(c);
	r = memindex_prev(&c->pos);
	if (!r) {
		row = memrow_key(c->row);
		r = memindex_below(rows(c), &row, false, &c->pos);
		memindex_ahead(&c->pos, false);
	}
	return stand_on(c, r);
}

static int mem_next(struct cursor *base)
{
	struct mem_cursor *c = mem(base);
	struct memcell *cell = c->cell;

	return cell ? stand_on_cell(c, memcell_next(cell)) : 0;
}

static int mem_seek_column(struct cursor *base, struct bytes qualifier,
			   int64_t ts)
{
	struct mem_cursor *c = mem(base);
	struct entry key = {
		.qualifier = qualifier,
		.ts = ts,
		.seq = UINT64_MAX,
		.kind = UINT8_MAX,
	};

	if (!c->cell)
		return 0;
	return stand_on_cell(c, memrow_seek(c->row, &key, c->cell));
}

static void mem_close(struct cursor *base)
{
}

static const struct cursor_ops mem_ops = {
	.seek_row = mem_seek_row,
	.seek_exact = mem_seek_exact,
	.seek_back = mem_seek_back,
	.next_row = mem_next_row,
	.prev_row = mem_prev_row,
	.next = mem_next,
	.seek_column = mem_seek_column,
	.close = mem_close,
};

void memtable_cursor(struct memtable *mt, uint32_t tree, struct mem_cursor *c)
{
	*c = (struct mem_cursor){
		.base.ops = &mem_ops,
		.mt = mt,
		.id = tree,
		.tree = memtable_tree(mt, tree),
	};
}
