/*
 * Reading one column, and what a writer must know of it.
 */
#include "store/lsm/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/block.h"

/* All but the value's bytes. */
static void copy_names(const struct entry *e, struct bytes row,
		       struct bytes family, struct bytes qualifier,
		       struct cell *cell)
{
	*cell = (struct cell){
		.row = row,
		.family = family,
		.qualifier = qualifier,
		.ts = e->ts,
		.seq = e->seq,
		.ttl_ms = e->ttl_ms,
		.kind = e->kind,
		.value = {NULL, e->value.len},
	};
}

static int copy_out(const struct entry *e, struct bytes row,
		    struct bytes family, struct bytes qualifier,
		    struct cell *cell, struct buf *hold)
{
	copy_names(e, row, family, qualifier, cell);
	if (!hold)
		return 1;
	if (buf_set(hold, e->value) < 0)
		return why(-ENOMEM, "out of memory for a value of %zu bytes",
			   e->value.len);
	cell->value = buf_bytes(hold);
	return 1;
}

/* -- a row that one file holds -------------------------------------------- */

/*
 * The one file that may hold the column, if no other and no memtable may: 1;
 * 0 if nothing has it; -1 if there are several.
 */
static int only_file(const struct view *view, uint32_t family, struct bytes row,
		     struct bytes qualifier, struct sstable **out)
{
	const struct levels *l = view->levels[family];
	uint32_t tree = view->st->trees[family]->id;

	*out = NULL;
	for (uint32_t i = 0; i < view->nmem; i++)
		if (!memtable_empty(view->mem[i]) &&
		    memtable_has_row(view->mem[i], tree, row))
			return -1;
	for (int i = 0; i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];
		uint32_t at = i && lv->nfiles ? levels_find(lv, row) : 0;
		uint32_t end = i && at < lv->nfiles ? at + 1 : lv->nfiles;

		for (; at < end; at++) {
			struct sstable *t = lv->files[at];

			if (!sst_may_have_column(t, row, qualifier))
				continue;
			if (*out)
				return -1;
			*out = t;
		}
	}
	return *out != NULL;
}

/*
 * The newest version of the column with a timestamp of the spec's range, where
 * one block tells: 1, *e but for its value, and *cell, 0 = it is not there, -1
 * = more must be asked. A version that is not the newest may be one too many.
 */
static int get_from_block(const struct visible_spec *s,
			  const struct block_rows *at, struct bytes qualifier,
			  struct entry *e, uint32_t *cell)
{
	const struct block *b = at->block;
	uint32_t from = block_row_cell(b, at->row);
	uint32_t to = block_row_cell(b, at->row + 1);

	from = block_find_column(b, from, to, qualifier, INT64_MAX);
	if (from == to)
		return at->end > at->row ? 0 : -1;
	*cell = from;
	block_entry_key(b, from, e);
	if (!bytes_eq(e->qualifier, qualifier))
		return 0;
	if (e->ts >= s->ts_min && e->ts < s->ts_max)
		return 1;
	if (e->ts < s->ts_min || b->single)
		return at->end > at->row ? 0 : -1;
	return -1;
}

/* As get_from_block(), or negative. */
static int get_from_file(struct sst_cursor *c, const struct reader_spec *s,
			 struct bytes row, struct bytes qualifier,
			 struct entry *e, uint32_t *cell)
{
	struct block_rows at;
	int r = sst_cursor_seek(c, row);

	if (r <= 0)
		return r;
	if (c->base.ops->rows(&c->base, &at) <= 0 || !at.block->simple ||
	    at.block->seq_max > s->seq)
		return -1;
	return get_from_block(&s->visible, &at, qualifier, e, cell);
}

/* As get_from_file(), and the value is copied. Needs no time. */
static int get_simply(const struct view *view, uint32_t f,
		      const struct reader_spec *s, struct bytes family,
		      struct bytes qualifier, struct cell *cell,
		      struct buf *hold)
{
	struct bytes row = s->row_min;
	struct sst_cursor c;
	struct sstable *t;
	struct entry e;
	uint32_t at;
	int r;

	if (s->visible.attrs->ttl_ms != TTL_FOREVER)
		return -1;
	r = only_file(view, f, row, qualifier, &t);
	if (r <= 0)
		return r;
	sst_cursor(t, &c);
	c.bare = true;
	r = get_from_file(&c, s, row, qualifier, &e, &at);
	if (r > 0) {
		block_value_at(c.block, at, &e.value.len);
		copy_names(&e, row, family, qualifier, cell);
		if (hold)
			r = sst_cursor_value(&c, at, hold);
		if (hold && r == 0) {
			cell->value = buf_bytes(hold);
			r = 1;
		}
	}
	cursor_close(&c.base);
	return r;
}

/* -- any row -------------------------------------------------------------- */

static int get_merged(const struct view *view, uint32_t at,
		      const struct reader_spec *s, struct bytes family,
		      struct bytes qualifier, struct cell *cell,
		      struct buf *hold)
{
	_Alignas(max_align_t) uint8_t memory[READER_MEMORY];
	struct bytes row = s->row_min;
	struct reader_spec spec = *s;
	struct reader reader;
	int r;

	spec.memory = memory;
	spec.memory_bytes = sizeof(memory);
	r = reader_open(&reader, view, at, &spec);
	if (r < 0)
		return r;
	r = cursor_seek_exact(reader_cursor(&reader), row);
	if (r > 0)
		r = reader_row(&reader);
	for (uint32_t i = 0; r > 0 && i + 1 < s->visible.versions; i++)
		r = reader_next(&reader);
	if (r > 0)
		r = copy_out(reader_entry(&reader), row, family, qualifier,
			     cell, hold);
	reader_close(&reader);
	return r;
}

int column_read(struct table *base, struct bytes row, struct bytes family,
		struct bytes qualifier, const struct column_look *look,
		struct cell *cell, struct buf *hold)
{
	struct lsm *db = lsm_of(base->store);
	struct reader_columns column = {.names = &qualifier, .nnames = 1};
	struct reader_spec spec = {
		.row_min = row,
		.row_max = row,
		.columns = &column,
		.os = db->os,
	};
	struct view *view = NULL;
	int at, r;

	r = view_take(db, (struct lsm_table *)base, &view, &spec.seq);
	if (r < 0)
		return r;
	at = schema_find(&view->st->schema, family);
	if (at < 0)
		goto out;
	if (look->snap)
		spec.seq = ((const struct lsm_snapshot *)look->snap)->seq;
	spec.visible = (struct visible_spec){
		.attrs = &view->st->schema.families[at].attrs,
		.ts_min = look->ts_min,
		.ts_max = look->ts_max,
		.versions = look->older + 1,
	};
	r = -1;
	if (!look->older)
		r = get_simply(view, (uint32_t)at, &spec, family, qualifier,
			       cell, hold);
	if (r == -1)
		r = get_merged(view, (uint32_t)at, &spec, family, qualifier,
			       cell, hold);
out:
	view_give(db, view);
	return r;
}

int lsm_get(struct table *base, struct bytes row, struct bytes family,
	    struct bytes qualifier, int64_t ts, bool exact,
	    const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	struct column_look look = {
		.ts_min = exact ? ts : 0,
		.ts_max = ts > TS_MAX ? INT64_MAX : ts + 1,
		.snap = snap,
	};

	return column_read(base, row, family, qualifier, &look, cell, hold);
}

/* -- the newest timestamp ------------------------------------------------- */

/* The greatest timestamp that one source holds of the column. */
static int newest_in(struct cursor *c, struct bytes row, struct bytes qualifier,
		     bool family_wide, int64_t *ts)
{
	int r = cursor_seek_exact(c, row);

	while (r > 0 && (family_wide || kind_is_family_marker(c->at.kind))) {
		if (c->at.ts > *ts)
			*ts = c->at.ts;
		r = cursor_next(c);
	}
	if (r > 0 && !family_wide)
		r = cursor_seek_column(c, qualifier, INT64_MAX);
	if (r > 0 && bytes_eq(c->at.qualifier, qualifier) && c->at.ts > *ts)
		*ts = c->at.ts;
	cursor_close(c);
	return r < 0 ? r : 0;
}

static int newest_in_files(const struct levels *l, struct bytes row,
			   struct bytes qualifier, bool family_wide,
			   int64_t *ts)
{
	struct sst_cursor c;
	int r = 0;

	for (int i = 0; r == 0 && i < LEVELS_MAX; i++) {
		const struct level *lv = &l->level[i];
		uint32_t at = i ? levels_find(lv, row) : 0;
		uint32_t end = i ? at + 1 : lv->nfiles;

		for (; r == 0 && at < end && at < lv->nfiles; at++) {
			if (sst_info(lv->files[at])->ts_max <= *ts)
				continue;
			sst_cursor(lv->files[at], &c);
			r = newest_in(&c.base, row, qualifier, family_wide, ts);
		}
	}
	return r;
}

int column_newest(struct lsm_table *t, struct bytes row, struct bytes family,
		  struct bytes qualifier, bool family_wide, int64_t *ts)
{
	struct lsm *db = lsm_of(t->base.store);
	struct view *view = NULL;
	int64_t newest = -1, at;
	uint64_t seq;
	uint32_t tree;
	int f, r;

	r = view_take(db, t, &view, &seq);
	if (r < 0)
		return r;
	f = table_state_family(view->st, family);
	if (f < 0) {
		r = f;
		goto out;
	}
	tree = view->st->trees[f]->id;
	for (uint32_t i = 0; i < view->nmem; i++) {
		struct memtable *mt = view->mem[i];
		bool any = family_wide ? memtable_row_newest(mt, tree, row, &at)
				       : memtable_column_newest(mt, tree, row,
								qualifier, &at);

		if (any && at > newest)
			newest = at;
	}
	r = newest_in_files(view->levels[f], row, qualifier, family_wide,
			    &newest);
	if (r < 0)
		goto out;
	r = newest >= 0;
	*ts = newest;
out:
	view_give(db, view);
	return r;
}
