/*
 * Dead rows: those that a marker of the whole family hides, passed over in a
 * merge without a look at what they hold.
 *
 *	markers	    | a . c d e . g |	a source whose rows begin with one
 *	lane 1	    | a . c . e . g |	rows of a block, by their numbers
 *	lane 2	    | . . . d . f . |	passed up to d: nothing covers f
 *
 * The source of the markers leads, row by row; all others are lanes beside it.
 * A lane in a block counts rows and moves its cursor when it leaves the block
 * or all is over; any other follows with its cursor.
 */
#include "store/lsm/merge/merge.h"

#include "store/lsm/table/block.h"

/* More sources than a tree has at rest are left to the merge itself. */
#define LANES_MAX 48

struct lane {
	struct merge_source *source;
	struct block_rows at; /* block NULL: where the cursor stands */
	bool behind;	      /* the cursor is, of at.row */
	bool equal;	      /* stands on the leader's row */
};

static void take_rows(struct lane *l)
{
	struct cursor *c = l->source->cursor;

	l->behind = false;
	if (!c->ops->rows || c->ops->rows(c, &l->at) <= 0 ||
	    l->at.end == l->at.row)
		l->at.block = NULL;
}

/* Brings the cursor to the lane's row. */
static int catch_up(struct merge *m, struct lane *l)
{
	struct cursor *c = l->source->cursor;

	if (!l->behind)
		return 1;
	l->behind = false;
	return merge_moved(m, l->source, c->ops->to_row(c, l->at.row));
}

static int next_row(struct merge *m, struct lane *l)
{
	int r;

	if (l->at.block && l->at.row + 1 < l->at.end) {
		l->at.row++;
		l->behind = true;
		return 1;
	}
	r = catch_up(m, l);
	if (r > 0)
		r = merge_moved(m, l->source,
				cursor_next_row(l->source->cursor));
	if (r > 0)
		take_rows(l);
	return r;
}

static inline int lane_cmp(const struct lane *l, struct bytes row)
{
	if (l->at.block)
		return block_row_cmp(l->at.block, l->at.row, row);
	return bytes_cmp(l->source->cursor->row, row);
}

static bool lane_covered(const struct lane *l, const struct cover *k)
{
	const struct block *b = l->at.block;
	const struct cursor *c = l->source->cursor;

	if (b)
		return block_covered(b, block_row_cell(b, l->at.row),
				     block_row_cell(b, l->at.row + 1), k);
	return c->ops->covered && c->ops->covered(c, k);
}

/* Is the row that the leader stands on dead? */
static bool is_dead(const struct merge *m, const struct dead_rows *d,
		    const struct cursor *leader, struct lane *lanes, uint32_t n)
{
	const struct entry *e = &leader->at;
	const struct cover k = {e->ts, d->by_sequence ? e->seq : UINT64_MAX};

	if (e->kind != CELL_DELETE_FAMILY || e->seq > m->seq_max ||
	    (d->stop.len && bytes_cmp(leader->row, d->stop) >= 0) ||
	    !leader->ops->covered(leader, &k))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct lane *l = &lanes[i];
		int c = l->source->at_row ? lane_cmp(l, leader->row) : 1;

		l->equal = c == 0;
		if (c < 0 || (c == 0 && !lane_covered(l, &k)))
			return false;
	}
	return true;
}

/* Passes over what the markers of the present source cover. How many rows. */
static int64_t follow(struct merge *m, const struct dead_rows *d)
{
	struct merge_source *s = &m->sources[m->current];
	struct lane lanes[LANES_MAX];
	uint32_t nlanes = 0;
	int64_t rows = 0;
	int r = 1;

	for (uint32_t i = 0; i < m->nsources; i++) {
		if (i == m->current || !m->sources[i].at_row)
			continue;
		lanes[nlanes] = (struct lane){.source = &m->sources[i]};
		take_rows(&lanes[nlanes++]);
	}
	while (r > 0 && is_dead(m, d, s->cursor, lanes, nlanes)) {
		for (uint32_t i = 0; r >= 0 && i < nlanes; i++)
			if (lanes[i].equal)
				r = next_row(m, &lanes[i]);
		if (r >= 0)
			r = cursor_next_row(s->cursor);
		rows++;
	}
	if (rows)
		merge_moved(m, s, r);
	for (uint32_t i = 0; r >= 0 && i < nlanes; i++)
		r = catch_up(m, &lanes[i]);
	return r < 0 ? r : rows;
}

int merge_pass_dead(struct merge *m, const struct dead_rows *d, uint64_t *rows)
{
	int r = 1;

	if (m->backwards || m->exact || m->nsources > LANES_MAX)
		return 1;
	while (r > 0 && m->base.at.kind == CELL_DELETE_FAMILY &&
	       m->sources[m->current].cursor->ops->covered) {
		int64_t n = follow(m, d);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		*rows += (uint64_t)n;
		r = merge_go_on(m);
	}
	return r;
}
