/*
 * Reading one column, and what a writer must know of it.
 */
#include "store/lsm/read/reader.h"

#include <errno.h>

#include "store/lsm/read/read.h"
#include "store/lsm/state/damage.h"
#include "store/lsm/state/pins.h"
#include "store/lsm/block/block.h"
#include "store/lsm/table/sst_index.h"

struct question {
	struct bytes row, family, qualifier;
	const struct column_look *look;
	const struct superversion *view;
	uint32_t at; /* the family's place in the schema */
	const struct family_attrs *attrs;
	uint64_t seq;
	bool expected; /* to be there */
	/* The one file that may have the row, if that was found out before. */
	struct sstable *sole;
	uint64_t row_hash; /* 0: its filter was not asked */
};

static const struct family_attrs *question_now(const struct question *q)
{
	return &q->view->st->schema.families[q->at].attrs;
}

/* All of a cell but the value's bytes. */
static void copy_names(const struct question *q, const struct entry *e,
		       struct cell *cell)
{
	*cell = (struct cell){
		.row = q->row,
		.family = q->family,
		.qualifier = q->qualifier,
		.ts = e->ts,
		.seq = e->seq,
		.ttl_ms = e->ttl_ms,
		.kind = e->kind,
		.value = {NULL, e->value.len},
	};
}

/* @piece: which the value lies in, or NULL. */
static int value_out(const struct question *q, const struct entry *e,
		     struct piece *piece, struct cell *cell, struct buf *hold)
{
	copy_names(q, e, cell);
	if (!hold)
		return 1;
	if (piece && buf_is_open(hold))
		buf_share(hold, e->value, piece);
	else if (buf_set(hold, e->value) < 0)
		return why(-ENOMEM, "out of memory for a value of %zu bytes",
			   e->value.len);
	cell->value = buf_bytes(hold);
	return 1;
}

/* As many blocks are brought near at a time; more are as good as none. */
#define NEAR_MAX 4
/* So many files of level 0 are asked at once. */
#define ASKED_MAX 64

/*
 * The newest version of a column of all that was looked at. Its value lies in
 * memory, or in the cell of the block that the cursor `held` stands in.
 */
struct newest {
	const struct question *question;
	struct sst_column column;
	uint64_t token;		 /* of the row in memtables */
	uint32_t at[LEVELS_MAX]; /* the file of a level that may have it */
	struct entry e;
	struct piece *piece; /* which its value lies in, in memory; or NULL */
	bool found;
	/* Where much is found, the file that will have it; or NULL. */
	struct sstable *likely;
	uint64_t no; /* a bit each: files of level 0 that do not have it */
	/* Where the row begins in files that may have it. */
	struct {
		const struct sstable *file;
		struct index_spot spot;
		uint32_t block;
	} near[NEAR_MAX];
	uint32_t nnear;
	bool only; /* no other version is stored, as far as is known */
	struct sst_cursor cursors[2]; /* one holds, one looks */
	struct sst_cursor *held;
	uint32_t cell;
};

static bool is_newer(const struct newest *n, const struct entry *e)
{
	return !n->found || e->ts > n->e.ts ||
	       (e->ts == n->e.ts && e->seq > n->e.seq);
}

static uint32_t question_tree(const struct question *q)
{
	return q->view->st->trees[q->at]->id;
}

/*
 * What tells whether a file has the column is a miss of the processor's cache a
 * file. All are begun with, so that they are waited for once. Where there are
 * many files, most rows are in some.
 */
static void look_ahead_in_files(struct newest *n, const struct levels *l)
{
	const struct level *top = &l->level[0];
	uint32_t asked = top->nfiles;
	int first = l->begin ? l->begin : 1;

	for (int i = first; i < l->end; i++) {
		const struct level *lv = &l->level[i];

		n->at[i] = lv->nfiles > 1 ? levels_find(lv, n->column.row) : 0;
		if (n->at[i] == lv->nfiles)
			continue;
		asked++;
		n->likely = lv->files[n->at[i]];
	}
	if (!n->question->expected)
		n->likely = NULL;
	n->column.row_exists = asked > 2;
	/* The first answer, of a filter of rows, is near. */
	if (!n->column.row_exists)
		return;
	for (uint32_t i = 0; i < top->nfiles; i++)
		sst_column_ahead(top->files[i], &n->column);
	for (int i = first; i < l->end; i++)
		if (n->at[i] < l->level[i].nfiles)
			sst_column_ahead(l->level[i].files[n->at[i]],
					 &n->column);
}

static void approach(struct newest *n, const struct sstable *t)
{
	if (n->nnear == NEAR_MAX)
		return;
	n->near[n->nnear].file = t;
	sst_row_near(t, n->column.row, &n->near[n->nnear++].spot);
}

/*
 * Most of a tree is deep down: there it is found, or a version is that this one
 * must be newer than. While its index comes, level 0 tells what else must come;
 * then blocks come side by side.
 */
static void approach_files(struct newest *n, const struct level *top)
{
	if (n->likely)
		approach(n, n->likely);
	for (uint32_t i = 0; n->column.row_exists && i < top->nfiles; i++) {
		if (i == ASKED_MAX)
			break;
		if (sst_may_have_column(top->files[i], &n->column))
			approach(n, top->files[i]);
		else
			n->no |= (uint64_t)1 << i;
	}
	for (uint32_t i = 0; i < n->nnear; i++)
		n->near[i].block =
			sst_row_ahead(n->near[i].file, &n->near[i].spot);
}

static void look_ahead(struct newest *n)
{
	const struct question *q = n->question;
	const struct superversion *view = q->view;
	bool any = false;

	n->token = 0;
	n->likely = q->expected ? q->sole : NULL;
	n->no = 0;
	n->nnear = 0;
	if (q->sole)
		return;
	for (uint32_t i = 0; i < view->nmem; i++) {
		if (memtable_empty(view->mem[i]))
			continue;
		if (!any)
			n->token = memtable_token(question_tree(q), q->row);
		any = true;
		memtable_ahead_slot(view->mem[i], n->token);
	}
	look_ahead_in_files(n, view->levels[q->at]);
	approach_files(n, &view->levels[q->at]->level[0]);
	for (uint32_t i = 0; any && i < view->nmem; i++)
		memtable_ahead_row(view->mem[i], n->token);
}

/* 0, or -1: something may be hidden, so that more must be asked. */
static int look_in_memory(struct newest *n, struct memtable *mt)
{
	struct mem_cursor c;
	int r;

	if (memtable_empty(mt))
		return 0;
	memtable_cursor(mt, question_tree(n->question), &c);
	r = memtable_cursor_find(&c, n->question->row, n->token);
	if (r > 0)
		n->column.row_exists = true;
	if (r > 0 && kind_is_family_marker(c.base.at.kind))
		r = -1;
	if (r > 0)
		r = cursor_seek_column(&c.base, n->question->qualifier,
				       INT64_MAX);
	while (r > 0 && bytes_eq(c.base.at.qualifier, n->question->qualifier)) {
		if (c.base.at.kind != CELL_PUT || c.base.at.ttl_ms) {
			r = -1;
			break;
		}
		if (c.base.at.seq <= n->question->seq) {
			if (is_newer(n, &c.base.at)) {
				n->e = c.base.at;
				n->piece = cursor_piece(&c.base);
			}
			n->found = true;
			n->only = false;
			break;
		}
		r = cursor_next(&c.base);
	}
	cursor_close(&c.base);
	return r < 0 ? -1 : 0;
}

/*
 * In the block where the row begins: 1, *cell and *e but for its value, 0 = it
 * is not there, -1 = the row goes on in another block.
 */
static int newest_in_block(const struct block_rows *at, struct bytes qualifier,
			   struct entry *e, uint32_t *cell)
{
	const struct block *b = at->block;
	uint32_t from = block_row_cell(b, at->row);
	uint32_t to = block_row_cell(b, at->row + 1);

	if (!block_find_newest(b, from, to, qualifier, cell))
		return *cell < to || at->end > at->row ? 0 : -1;
	if (!b->sums) {
		uint64_t len, value = block_value_at(b, *cell, &len);

		block_bytes_ahead(b->values + value, len);
	}
	block_entry_key(b, *cell, e);
	return 1;
}

/* Are there surely no older versions of the cell's column in the file? */
static bool is_alone(const struct block_rows *at, uint32_t cell)
{
	const struct block *b = at->block;

	/* A row that goes on in the next block may begin there with them. */
	return b->copies == 1 &&
	       (at->end > at->row || cell + 1 < block_row_cell(b, at->row + 1));
}

static int find_row(const struct newest *n, struct sst_cursor *c,
		    struct block_rows *at)
{
	struct bytes row = n->question->row;

	for (uint32_t i = 0; i < n->nnear; i++)
		if (c->table == n->near[i].file)
			return sst_cursor_find_in(c, n->near[i].block, row, at);
	return sst_cursor_find(c, row, at);
}

/* As look_in_memory(), or negative. @expected: the filter was not asked. */
static int look_in_blocks(struct newest *n, struct sstable *t, bool expected)
{
	struct sst_cursor *c =
		n->held == n->cursors ? n->cursors + 1 : n->cursors;
	struct block_rows at;
	struct entry e;
	uint32_t cell;
	int r;

	sst_cursor(t, c);
	c->bare = true;
	c->at_hand = expected;
	r = find_row(n, c, &at);
	if (c->missed) {
		c->at_hand = false;
		r = sst_may_have_column(t, &n->column);
		if (r)
			r = find_row(n, c, &at);
	}
	if (r > 0 && (!at.block->puts || at.block->seq_max > n->question->seq))
		r = -1;
	if (r > 0)
		r = newest_in_block(&at, n->question->qualifier, &e, &cell);
	if (r > 0 && is_newer(n, &e)) {
		if (n->held)
			cursor_close(&n->held->base);
		n->held = c;
		n->e = e;
		n->cell = cell;
	}
	if (r > 0) {
		n->only = !n->found && is_alone(&at, cell);
		n->found = true;
	}
	if (n->held != c)
		cursor_close(&c->base);
	return r < 0 ? r : 0;
}

/*
 * As look_in_blocks(). What a filter says costs as much as to look into a block
 * that is in memory: where a yes is expected it is not asked first.
 */
static int look_in_file(struct newest *n, struct sstable *t)
{
	if (t != n->likely && !sst_may_have_column(t, &n->column))
		return 0;
	return look_in_blocks(n, t, t == n->likely);
}

/*
 * Is all in the file older than @e, and without a say in it? A marker of the
 * same timestamp may hide what was written after it.
 */
static bool is_past(const struct sst_info *i, const struct entry *e)
{
	return i->ts_max < e->ts ||
	       (i->ts_max == e->ts && i->seq_max < e->seq && !i->markers);
}

/* As look_in_file(). Where files do not overlap, one of them has the row. */
static int look_in_level(struct newest *n, const struct level *lv, int level)
{
	uint32_t at = level ? n->at[level] : 0;
	uint32_t end = level && at < lv->nfiles ? at + 1 : lv->nfiles;
	int r = 0;

	for (; r == 0 && at < end; at++) {
		struct sstable *t = lv->files[at];

		if (!level && at < ASKED_MAX && n->no >> at & 1)
			continue;
		if (n->found && is_past(sst_info(t), &n->e))
			n->only = false;
		else
			r = look_in_file(n, t);
	}
	return r;
}

static int look_in_files(struct newest *n, const struct levels *l)
{
	int r = 0;

	if (n->question->sole)
		return look_in_file(n, n->question->sole);
	for (int i = l->begin; r == 0 && i < l->end; i++)
		r = look_in_level(n, &l->level[i], i);
	return r;
}

static int newest_out(const struct newest *n, struct cell *cell,
		      struct buf *hold)
{
	int r;

	if (!n->held)
		return value_out(n->question, &n->e, n->piece, cell, hold);
	copy_names(n->question, &n->e, cell);
	cell->value.len = block_value_len(n->held->block, n->cell);
	if (!hold)
		return 1;
	r = sst_cursor_value(n->held, n->cell, hold);
	if (r < 0)
		return r;
	cell->value = buf_bytes(hold);
	return 1;
}

/*
 * The version that is asked for, if it is the newest and neither a marker nor a
 * ttl can hide it: 1, 0 = there is none, -1 = more must be asked, or another
 * error. One that is not the newest may be one too many.
 */
static int get_newest(const struct question *q, struct cell *cell,
		      struct buf *hold)
{
	const struct superversion *view = q->view;
	struct newest n;
	int r = 0;

	if (q->attrs->ttl_ms != TTL_FOREVER)
		return -1;
	n.question = q;
	/* Where the filter of rows was asked it did not say no. */
	n.column = (struct sst_column){.row = q->row,
				       .qualifier = q->qualifier,
				       .row_exists = q->row_hash != 0,
				       .row_hash = q->row_hash};
	n.found = false;
	n.held = NULL;
	look_ahead(&n);
	for (uint32_t i = 0; r == 0 && !q->sole && i < view->nmem; i++)
		r = look_in_memory(&n, view->mem[i]);
	if (r == 0)
		r = look_in_files(&n, view->levels[q->at]);
	if (r == 0 && n.found) {
		if (n.e.ts >= q->look->ts_min && n.e.ts < q->look->ts_max)
			r = newest_out(&n, cell, hold);
		else if (n.e.ts >= q->look->ts_max && !n.only)
			r = -1;
	}
	if (n.held)
		cursor_close(&n.held->base);
	return r;
}

static int get_merged(const struct question *q, struct lsm *db,
		      struct cell *cell, struct buf *hold)
{
	_Alignas(max_align_t) uint8_t memory[READER_MEMORY];
	struct reader_columns column = {.names = &q->qualifier, .nnames = 1};
	struct reader_spec spec = {
		.row_min = q->row,
		.row_max = q->row,
		.columns = &column,
		.os = db->os,
		.alive = q->attrs == question_now(q) ? &db->alive : NULL,
		.seq = q->seq,
		.visible = {.attrs = q->attrs,
			    .ts_min = q->look->ts_min,
			    .ts_max = q->look->ts_max,
			    .whole = q->look->whole,
			    .versions = q->look->older + 1},
		.memory = memory,
		.memory_bytes = sizeof(memory),
	};
	struct reader reader;
	int r = reader_open(&reader, q->view, q->at, &spec);

	if (r < 0)
		return r;
	r = cursor_seek_exact(reader_cursor(&reader), q->row);
	if (r > 0)
		r = reader_row(&reader);
	for (uint32_t i = 0; r > 0 && i < q->look->older; i++)
		r = reader_next(&reader);
	if (r > 0)
		r = value_out(q, reader_entry(&reader),
			      cursor_piece(reader_cursor(&reader)), cell, hold);
	reader_learn(db, &reader, q->view, q->at);
	reader_close(&reader);
	return r;
}

/*
 * The one file that alone may have the row, or NULL: there are several, or
 * something is in memory. What gets there now is later than what is asked.
 */
static inline struct sstable *sole_file(const struct superversion *view,
					const struct levels *l,
					struct bytes row)
{
	const struct level *lv = &l->level[l->begin];
	uint32_t at;

	if (l->end != l->begin + 1)
		return NULL;
	for (uint32_t i = 0; i < view->nmem; i++)
		if (!memtable_empty(view->mem[i]))
			return NULL;
	if (lv->nfiles == 1)
		return lv->files[0];
	if (l->begin == 0)
		return NULL;
	at = levels_find(lv, row);
	return at < lv->nfiles ? lv->files[at] : NULL;
}

/*
 * Is one version asked for of a column of which readers may have met many, and by what
 * the family says now? What is alive is known in that case only.
 */
static bool is_deep(const struct question *q, const struct lsm *db)
{
	return alive_watches(&db->alive) &&
	       q->look->ts_min == q->look->ts_max - 1 &&
	       q->attrs->new_version_behavior && q->attrs == question_now(q) &&
	       alive_may_know(&db->alive, question_tree(q), q->row);
}

static int get_any(const struct question *q, struct lsm *db, struct cell *cell,
		   struct buf *hold)
{
	int r = -1;

	if (!q->look->older && !is_deep(q, db))
		r = get_newest(q, cell, hold);
	return r == -1 ? get_merged(q, db, cell, hold) : r;
}

/*
 * That a row is nowhere is found out before all else: such a get does nothing but
 * wait for a line of a filter, and the fewer instructions it has, the more of the
 * next one the processor does meanwhile.
 */
int column_read(struct table *base, struct bytes row, struct bytes family,
		struct bytes qualifier, const struct column_look *look,
		struct cell *cell, struct buf *hold)
{
	struct lsm *db = lsm_of(base->store);
	struct reader_slot *slot = reader_slot(db);
	struct superversion *view = NULL;
	const struct levels *l;
	struct question q;
	int at, r;

	r = superversion_take(db, slot, (struct lsm_table *)base, &view,
			      &q.seq);
	if (r < 0)
		return r;
	at = schema_find(&view->st->schema, family);
	if (at < 0)
		goto out;
	l = view->levels[at];
	q.row = row;
	q.family = family;
	q.qualifier = qualifier;
	q.expected = reader_expects(slot);
	q.sole = sole_file(view, l, row);
	q.row_hash = 0;
	if (q.sole && !q.expected) {
		q.row_hash = sst_hash_row(row);
		if (!sst_filter_has(q.sole, q.row_hash))
			goto out;
	}
	if (look->snap)
		q.seq = ((const struct lsm_snapshot *)look->snap)->seq;
	q.look = look;
	q.view = view;
	q.at = (uint32_t)at;
	q.attrs = pin_attrs(look->snap, view->table_id,
			    &view->st->schema.families[at]);
	r = get_any(&q, db, cell, hold);
	r = damage_found(db, view->st, q.at, l, r);
	reader_found(slot, r > 0);
out:
	superversion_give(db, slot, view);
	return r;
}

int lsm_get(struct table *base, struct bytes row, struct bytes family,
	    struct bytes qualifier, int64_t ts, bool exact,
	    const struct snapshot *snap, struct cell *cell, struct buf *hold)
{
	const struct column_look look = {
		.ts_min = exact ? ts : 0,
		.ts_max = ts > TS_MAX ? INT64_MAX : ts + 1,
		.whole = exact,
		.snap = snap,
	};

	return column_read(base, row, family, qualifier, &look, cell, hold);
}

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
	struct superversion *view = NULL;
	int64_t newest = -1, at;
	uint64_t seq;
	uint32_t tree;
	int f, r;

	r = superversion_take(db, reader_slot(db), t, &view, &seq);
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
	r = damage_found(db, view->st, (uint32_t)f, view->levels[f], r);
	if (r < 0)
		goto out;
	r = newest >= 0;
	*ts = newest;
out:
	superversion_give(db, reader_slot(db), view);
	return r;
}
