/* Reading a frozen memtable once, in order, for its flush. */
#include <errno.h>

#include "store/lsm/mem/memtree.h"
#include "store/lsm/block/block.h"
#include "store/value/why.h"

/*
 * Rows are in memory in the order of their writes, as are cells that were
 * written one by one, each of which is reached only through the cell before.
 * They are prefetched step by step, while the cursor is at an earlier row:
 *
 *	now ... 4th cell ... 3rd ... 2nd ... 1st ... the row
 */
#define STEP 3
#define ROW_AHEAD (STEP * (FLUSH_CURSOR_CELLS + 1))
/* The size of a cell with a short value. */
#define CELL_BYTES 144
_Static_assert(ROW_AHEAD <= FLUSH_CURSOR_AHEAD, "each row ahead has its place");

static struct flush_cursor *self(struct cursor *c)
{
	return (struct flush_cursor *)c;
}

static int stand_on_cell(struct flush_cursor *c, struct memcell *cell)
{
	c->cell = cell;
	if (!cell)
		return 0;
	c->base.at = memcell_entry(cell);
	return 1;
}

/* Prefetches the next cell of each row ahead that is due for it. */
static void approach(struct flush_cursor *c)
{
	size_t i = c->at + ROW_AHEAD;

	if (i < c->n)
		block_bytes_ahead((const uint8_t *)c->rows[i].row,
				  sizeof(struct memrow) + 1);
	for (unsigned k = 0; k < FLUSH_CURSOR_CELLS; k++) {
		void **cell;

		i -= STEP;
		cell = &c->ahead[i % FLUSH_CURSOR_AHEAD];
		if (i >= c->n)
			continue;
		if (k == 0)
			*cell = memrow_first(c->rows[i].row);
		else if (*cell)
			*cell = memcell_next(*cell);
		if (*cell)
			block_bytes_ahead(*cell, CELL_BYTES);
	}
}

static int stand(struct flush_cursor *c)
{
	struct memrow *r;

	if (c->at >= c->n)
		return 0;
	approach(c);
	r = c->rows[c->at].row;
	c->base.row = memrow_key(r);
	return stand_on_cell(c, memrow_first(r));
}

static int run_seek_row(struct cursor *base, struct bytes row)
{
	if (row.len)
		return why(-EINVAL, "a run begins at the first row");
	self(base)->at = 0;
	memset(self(base)->ahead, 0, sizeof(self(base)->ahead));
	return stand(self(base));
}

static int run_next_row(struct cursor *base)
{
	struct flush_cursor *c = self(base);

	if (c->at < c->n)
		c->at++;
	return stand(c);
}

static int run_next(struct cursor *base)
{
	struct memcell *cell = self(base)->cell;

	return cell ? stand_on_cell(self(base), memcell_next(cell)) : 0;
}

static int run_seek_cell(struct cursor *base, struct bytes qualifier,
			 int64_t ts, uint8_t kind)
{
	struct flush_cursor *c = self(base);

	if (!c->cell)
		return 0;
	return stand_on_cell(c, memrow_seek(c->rows[c->at].row, qualifier, ts,
					    kind, c->cell));
}

static void run_close(struct cursor *base)
{
	arena_release(&self(base)->mem);
}

static const struct cursor_ops run_ops = {
	.seek_row = run_seek_row,
	.next_row = run_next_row,
	.next = run_next,
	.seek_cell = run_seek_cell,
	.close = run_close,
};

int flush_cursor_open(struct memtable *mt, uint32_t tree,
		      struct flush_cursor *c)
{
	struct memtree *t = memtable_tree(mt, tree);
	int r = 0;

	*c = (struct flush_cursor){.base.ops = &run_ops};
	if (t)
		r = memtree_sort(
			atomic_load_explicit(&t->newest, memory_order_acquire),
			NULL, &c->rows, &c->n, &c->mem);
	return r < 0 ? why(r, "out of memory sorting rows") : 0;
}
