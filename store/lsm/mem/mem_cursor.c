/*
 * Reading a memtable. A cursor reads rows leaf by leaf of the index, seeing
 * each leaf as it was when the cursor reached it, and cells along the list of
 * their row.
 */
#include "store/lsm/mem/memtree.h"
#include "store/value/why.h"

/* Cells of a row that are asked what they are. */
#define ASKED_MAX 64

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

/*
 * The rows in order, with all that were inserted before the call. Sorted when
 * first needed: a cursor that seeks exact rows never needs them. 1, 0 or
 * -ENOMEM.
 */
static int rows(struct mem_cursor *c, struct memindex **out)
{
	struct memtree *t;
	int r;

	if (!c->tree)
		c->tree = memtable_tree(c->mt, c->id);
	t = c->tree;
	if (!t)
		return 0;
	r = memtree_order(c->mt, t);
	*out = &t->rows;
	return r < 0 ? why(r, "out of memory sorting rows") : 1;
}

static struct memrow *at_least(struct memindex *ix, struct bytes row,
			       struct memindex_pos *pos)
{
	struct memrow *r = memindex_at_least(ix, &row, pos);

	if (r || !pos->high)
		return r;
	row = memrow_key(pos->high);
	return memindex_at_least(ix, &row, pos);
}

static int mem_seek_row(struct cursor *base, struct bytes row)
{
	struct mem_cursor *c = mem(base);
	struct memindex *ix;
	int r = rows(c, &ix);

	if (r <= 0)
		return r < 0 ? r : stand_on(c, NULL);
	return stand_on(c, row.len ? at_least(ix, row, &c->pos)
				   : memindex_edge(ix, false, &c->pos));
}

int memtable_cursor_find(struct mem_cursor *c, struct bytes row, uint64_t token)
{
	c->pos.leaf = NULL;
	return stand_on(c, rowmap_find(&c->mt->map, c->id, row, token));
}

static int mem_seek_exact(struct cursor *base, struct bytes row)
{
	struct mem_cursor *c = mem(base);

	return memtable_cursor_find(c, row, memtable_token(c->id, row));
}

static int mem_seek_back(struct cursor *base, struct bytes row, bool inclusive)
{
	struct mem_cursor *c = mem(base);
	struct memindex *ix;
	int r = rows(c, &ix);

	if (r <= 0)
		return r < 0 ? r : stand_on(c, NULL);
	if (row.len)
		return stand_on(c,
				memindex_below(ix, &row, inclusive, &c->pos));
	return stand_on(c, memindex_edge(ix, true, &c->pos));
}

/* Finds the index position of a row that seek_exact() found; 0 if there is none. */
static int find_place(struct mem_cursor *c)
{
	struct memindex *ix;
	struct bytes row;
	int r;

	if (!c->row || c->pos.leaf)
		return c->row != NULL;
	row = memrow_key(c->row);
	r = rows(c, &ix);
	if (r > 0)
		memindex_below(ix, &row, true, &c->pos);
	return r;
}

static struct memindex *index_of(const struct mem_cursor *c)
{
	return &((struct memtree *)c->tree)->rows;
}

static int mem_next_row(struct cursor *base)
{
	struct mem_cursor *c = mem(base);
	int found = find_place(c);
	struct memrow *r;

	if (found <= 0)
		return found;
	r = memindex_next(&c->pos);
	if (!r && c->pos.high) {
		struct bytes row = memrow_key(c->pos.high);

		r = memindex_at_least(index_of(c), &row, &c->pos);
		memindex_ahead(&c->pos, true);
	}
	return stand_on(c, r);
}

static int mem_prev_row(struct cursor *base)
{
	struct mem_cursor *c = mem(base);
	int found = find_place(c);
	struct bytes row;
	struct memrow *r;

	if (found <= 0)
		return found;
	r = memindex_prev(&c->pos);
	if (!r) {
		row = memrow_key(c->row);
		r = memindex_below(index_of(c), &row, false, &c->pos);
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

static int mem_seek_cell(struct cursor *base, struct bytes qualifier,
			 int64_t ts, uint8_t kind)
{
	struct mem_cursor *c = mem(base);

	if (!c->cell)
		return 0;
	return stand_on_cell(c,
			     memrow_seek(c->row, qualifier, ts, kind, c->cell));
}

bool memtable_cursor_covered(const struct mem_cursor *c, const struct cover *k)
{
	const struct memcell *cell = c->cell;

	for (unsigned i = 0; cell && i < ASKED_MAX; i++) {
		if (!cover_hides(k, cell->kind, cell->ts, cell->seq))
			return false;
		cell = memcell_next(cell);
	}
	return !cell;
}

void memtable_cursor_known(const struct mem_cursor *c, struct known *out)
{
	const struct memtree *t =
		c->tree ? c->tree : memtable_tree(c->mt, c->id);
	const memory_order any = memory_order_relaxed;

	*out = (struct known){
		.puts = !atomic_load_explicit(&t->markers, any) &&
			!atomic_load_explicit(&t->has_ttl, any),
		.copies = UINT32_MAX,
		.seq_max = UINT64_MAX,
		.ts_min = atomic_load_explicit(&t->ts_min, any),
		.ts_max = atomic_load_explicit(&t->ts_max, any),
	};
}

void memtable_cursor_row_known(const struct mem_cursor *c, uint64_t seq_max,
			       struct known *out)
{
	const struct memcell *cell = c->cell;

	*out = (struct known){.puts = true,
			      .copies = UINT32_MAX,
			      .seq_max = UINT64_MAX,
			      .ts_min = INT64_MAX,
			      .ts_max = INT64_MIN};
	for (unsigned i = 0; cell && i < ASKED_MAX; i++) {
		if (cell->seq <= seq_max) {
			out->puts &= cell->kind == CELL_PUT && !cell->has_ttl;
			if (cell->ts < out->ts_min)
				out->ts_min = cell->ts;
			if (cell->ts > out->ts_max)
				out->ts_max = cell->ts;
		}
		cell = memcell_next(cell);
	}
	out->puts &= !cell;
}

static struct piece *mem_piece(struct cursor *base)
{
	static_assert(CURSOR_PIECE_MIN >= ARENA_LARGE, "has memory of its own");
	struct memcell *c = mem(base)->cell;

	return c->is_apart ? memcell_apart(c).piece : arena_piece(c);
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
	.seek_cell = mem_seek_cell,
	.piece = mem_piece,
	.close = mem_close,
};

void memtable_cursor(struct memtable *mt, uint32_t tree, struct mem_cursor *c)
{
	/* Not as a literal: to clear all of it costs as much as a search. */
	c->base.ops = &mem_ops;
	c->base.row = (struct bytes){0};
	c->base.at.kind = 0;
	c->mt = mt;
	c->id = tree;
	c->tree = c->row = c->cell = NULL;
	c->pos.leaf = NULL;
}
