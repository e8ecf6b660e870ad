/*
 * What is alive of a column, found by walking over all of it.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/lsm/read/reader.h"
#include "store/lsm/state/damage.h"
#include "store/value/array.h"

struct learnt {
	int64_t *ts; /* descending */
	size_t n, cap;
};

static int learn_one(struct learnt *l, int64_t ts)
{
	if (ARRAY_RESERVE(l->ts, l->cap, l->n + 1) < 0)
		return -ENOMEM;
	l->ts[l->n++] = ts;
	return 0;
}

/*
 * Each version that is alive as of @seq, whatever its age. 1; 0 if there are
 * puts that end by themselves; or negative. *walked: how many entries.
 */
static int walk_column(const struct superversion *view, uint32_t family,
		       struct bytes row, struct bytes qualifier, uint64_t seq,
		       uint64_t max, struct learnt *l, uint64_t *walked)
{
	struct family_attrs attrs = view->st->schema.families[family].attrs;
	struct reader_columns column = {.names = &qualifier, .nnames = 1};
	struct reader_spec spec = {
		.row_min = row,
		.row_max = row,
		.columns = &column,
		.seq = seq,
		.visible = {.attrs = &attrs,
			    .ts_min = INT64_MIN,
			    .ts_max = INT64_MAX,
			    .walk_max = max},
	};
	struct reader reader;
	int r;

	attrs.ttl_ms = TTL_FOREVER;
	r = reader_open(&reader, view, family, &spec);
	if (r < 0)
		return r;
	r = cursor_seek_exact(reader_cursor(&reader), row);
	if (r > 0)
		r = reader_row(&reader);
	while (r > 0) {
		r = learn_one(l, reader_entry(&reader)->ts);
		if (r == 0 && l->n > max)
			r = -EAGAIN;
		if (r == 0)
			r = reader_next(&reader);
	}
	if (r == 0)
		r = !(reader.visible && visible_loans(reader.visible));
	*walked = l->n;
	if (reader.visible)
		*walked += visible_walked(reader.visible);
	reader_close(&reader);
	return r;
}

void reader_learn(struct lsm *db, struct reader *r,
		  const struct superversion *view, uint32_t family)
{
	struct alive_place p = {
		.tree = view->st->trees[family]->id,
		.schema = view->st->version,
	};
	uint64_t token, seq, max, walked = 0, in_vain;
	struct learnt l = {0};
	struct bytes qualifier;
	struct why_kept kept;
	int known = 0;

	if (!r->visible || !r->guide.alive)
		return;
	in_vain = visible_deep(r->visible, &p.row, &qualifier);
	if (!in_vain || !alive_learn(&db->alive, &p, qualifier, in_vain, &token,
				     &seq, &max))
		return;
	/* All up to @seq is in the view if it is still the present one. */
	if (view->generation == atomic_load(&db->generation)) {
		why_keep(&kept);
		known = walk_column(view, family, p.row, qualifier, seq, max,
				    &l, &walked);
		known = damage_found(db, view->st, family, view->levels[family],
				     known);
		why_restore(&kept);
	}
	alive_learnt(&db->alive, &p, qualifier, token,
		     view->st->schema.families[family].attrs.versions, l.ts,
		     l.n, known > 0, walked);
	free(l.ts);
}
