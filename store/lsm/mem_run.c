/* Passing over a frozen memtable, for its flush. */
#include <errno.h>

#include "store/lsm/memtree.h"
#include "store/why.h"

/* Rows between the one in hand and the one that is fetched. */
#define AHEAD 12
/* Of a row and its first cells. */
#define AHEAD_BYTES 256

static struct mem_run *run(struct cursor *c)
{
	return (struct mem_run *)c;
}

static int stand_on_cell(struct mem_run *c, struct memcell *cell)
{
	c->cell = cell;
	if (!cell)
		return 0;
	c->base.at = memcell_entry(cell);
	return 1;
}

static int stand(struct mem_run *c)
{
	struct memrow *r;

	if (c->at >= c->n)
		return 0;
	if (c->at + AHEAD < c->n) {
		const char *ahead = (const char *)c->rows[c->at + AHEAD].row;

		for (unsigned i = 0; i < AHEAD_BYTES; i += 64)
			__builtin_prefetch(ahead + i);
	}
	r = c->rows[c->at].row;
	c->base.row = memrow_key(r);
	return stand_on_cell(c, memrow_first(r));
}

static int run_seek_row(struct cursor *base, struct bytes row)
{
	if (row.len)
		return why(-EINVAL, "a run begins at the first row");
	run(base)->at = 0;
	return stand(run(base));
}

static int run_next_row(struct cursor *base)
{
	struct mem_run *c = run(base);

	if (c->at < c->n)
		c->at++;
	return stand(c);
}

static int run_next(struct cursor *base)
{
	struct memcell *cell = run(base)->cell;

	return cell ? stand_on_cell(run(base), memcell_next(cell)) : 0;
}

static int run_seek_column(struct cursor *base, struct bytes qualifier,
			   int64_t ts)
{
	struct mem_run *c = run(base);
	struct entry key = {
		.qualifier = qualifier,
		.ts = ts,
		.seq = UINT64_MAX,
		.kind = UINT8_MAX,
	};

	if (!c->cell)
		return 0;
	return stand_on_cell(c, memrow_seek(c->rows[c->at].row, &key, c->cell));
}

static void run_close(struct cursor *base)
{
	arena_release(&run(base)->mem);
}

static const struct cursor_ops run_ops = {
	.seek_row = run_seek_row,
	.next_row = run_next_row,
	.next = run_next,
	.seek_column = run_seek_column,
	.close = run_close,
};

int memtable_run(struct memtable *mt, uint32_t tree, struct mem_run *c)
{
	struct memtree *t = memtable_tree(mt, tree);
	int r = 0;

	*c = (struct mem_run){.base.ops = &run_ops};
	if (t)
		r = memtree_sort(
			atomic_load_explicit(&t->newest, memory_order_acquire),
			NULL, &c->rows, &c->n, &c->mem);
	return r < 0 ? why(r, "out of memory sorting rows") : 0;
}
