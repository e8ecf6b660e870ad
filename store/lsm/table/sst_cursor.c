/* Cursors over an sstable. */
#include "store/lsm/table/sst_file.h"

#include <errno.h>
#include <stdlib.h>

#include "store/value/why.h"

/*
 * After so many reads a bare block is cached whole. If all blocks are read
 * equally and do not all fit, each such load evicts others, so it must be rare.
 */
#define BARE_READS 1024
/* After so many reads a hollow block is cached bare, which costs little. */
#define HOLLOW_READS 64
/*
 * After so many reads that need it whole, a partial block is cached whole: each
 * such read costs several times that of one value.
 */
#define WHOLE_READS 32

/* What is shorter is copied as so many bytes. */
#define ROW_SLACK 16
_Static_assert(ROW_SLACK <= BLOCK_SLACK, "a block is read so far behind");

static struct sst_cursor *self(struct cursor *base)
{
	return (struct sst_cursor *)base;
}

static void drop_block(struct sst_cursor *c)
{
	if (!c->block)
		return;
	if (c->pin)
		cache_unpin(c->pin);
	else
		block_free(c->block);
	c->block = NULL;
	c->pin = NULL;
}

/* The largest windows are mapped: malloc() would not return their memory. */
static struct sst_window *window_new(size_t cap)
{
	size_t size = sizeof(struct sst_window) + cap;
	struct sst_window *w =
		cap < SST_AHEAD_MAX ? malloc(size) : os_pages(size);

	if (w)
		w->cap = cap;
	return w;
}

static void window_free(struct sst_window *w)
{
	if (w && w->cap == SST_AHEAD_MAX)
		os_pages_free(w, sizeof(*w) + w->cap);
	else
		free(w);
}

/*
 * Reads ahead if block @i is not in the window and the cursor reads for a
 * compaction, or has just read the block before. Without memory there is no
 * reading ahead.
 */
static void read_ahead(struct sst_cursor *c, uint32_t i)
{
	const struct index_entry *e = &c->table->index.entries[i];
	bool goes_on = c->block && c->block_index + 1 == i;
	size_t want, len = e->stored_len + SST_TRAILER_LEN;
	struct sst_window *w = c->window;

	if (w && e->offset >= w->offset && len <= w->len &&
	    e->offset - w->offset <= w->len - len)
		return;
	if (!c->no_fill && !goes_on)
		return;
	want = c->no_fill ? c->ahead_max : SST_AHEAD_MIN;
	if (w && want < 2 * w->len)
		want = 2 * w->len;
	if (want > c->ahead_max)
		want = c->ahead_max;
	if (len > want)
		return;
	if (!w || w->cap < want) {
		window_free(w);
		c->window = w = window_new(want);
		if (!w)
			return;
	}
	/* The read of the block itself meets the same error and reports it. */
	if (sst_window_fill(c->table, i, want, w) < 0)
		w->len = 0;
}

/*
 * Prefetches a row's values before the arrays that say where they are have
 * arrived. If values have the same size, their place is proportional.
 */
static void fetch_values(const struct block *b, uint32_t row)
{
	uint64_t len = b->raw_len - b->front_len;
	uint64_t at = len * row / b->nrow;

	block_bytes_ahead(b->values + at, len * (row + 1) / b->nrow - at);
}

/* True at every @times-th read of the block. Lost counts do no harm. */
static bool is_read_often(struct block *b, uint32_t times)
{
	uint32_t n = atomic_load_explicit(&b->reads, memory_order_relaxed) + 1;

	atomic_store_explicit(&b->reads, n, memory_order_relaxed);
	return n % times == 0;
}

/*
 * True if block @i, which is not cached whole, has failed enough reads that
 * need it whole, so that it should be loaded.
 */
static bool fails_often(struct sst_cursor *c, uint32_t i)
{
	cache_pin *pin = NULL;
	struct block *b = cache_peek(&c->table->slots, i, &pin);
	bool often;

	if (!b)
		return false;
	often = is_read_often(b, WHOLE_READS);
	cache_unpin(pin);
	return often;
}

static int load_block(struct sst_cursor *c, uint32_t i, bool grow,
		      struct block **out, cache_pin **pin)
{
	struct sstable *t = c->table;
	struct block *b, *cached = NULL;
	int r;

	if (!t->lost)
		read_ahead(c, i);
	r = c->warms ? sst_try_load(t, i, c->window, c->no_fill, &b)
		     : sst_load(t, i, c->window, c->no_fill, &b);
	if (r < 0)
		return r;
	if (!c->no_fill)
		cached = cache_put(&t->slots, i, b, grow, pin);
	*out = cached ? cached : b;
	return 0;
}

/* Replaces hollow block *b, which is pinned, by a bare one. */
static int refill(struct sst_cursor *c, uint32_t i, struct block **b,
		  cache_pin **pin)
{
	struct sstable *t = c->table;
	bool stays = is_read_often(*b, HOLLOW_READS);
	struct block *n, *cached;
	int r = sst_refill(t, *b, i, &n);

	cache_unpin(*pin);
	*pin = NULL;
	if (r < 0)
		return r;
	cached = stays ? cache_put(&t->slots, i, n, true, pin) : NULL;
	*b = cached ? cached : n;
	return 0;
}

/* Makes block @i the cursor's present block. */
static int take_block(struct sst_cursor *c, uint32_t i)
{
	cache_pin *pin = NULL;
	struct block *b;
	bool grow = false;
	int r = 0;

	if (c->block && c->block_index == i)
		return 0;
	b = cache_get(&c->table->slots, i, c->bare, &pin);
	if (c->at_hand && (!b || block_form(b) == BLOCK_HOLLOW)) {
		if (b)
			cache_unpin(pin);
		c->missed = true;
		return -EAGAIN;
	}
	if (b && block_form(b) == BLOCK_BARE && is_read_often(b, BARE_READS)) {
		cache_unpin(pin);
		pin = NULL;
		b = NULL;
		grow = true;
	}
	if (!b && !c->bare && !c->no_fill)
		grow = fails_often(c, i);
	if (!b)
		r = load_block(c, i, grow, &b, &pin);
	else if (block_form(b) == BLOCK_HOLLOW)
		r = refill(c, i, &b, &pin);
	if (r < 0) {
		c->missing = i;
		return r;
	}
	drop_block(c);
	c->block = b;
	c->pin = pin;
	c->block_index = i;
	c->prefixed = false;
	return 0;
}

static inline int here(struct sst_cursor *c)
{
	struct entry *e = &c->base.at;

	if (c->block->sums) {
		block_entry_key(c->block, c->cell_index, e);
		e->value.data = NULL;
		e->value.len = block_value_len(c->block, c->cell_index);
		return 1;
	}
	block_entry(c->block, c->cell_index, e);
	return 1;
}

/* Puts the block's prefix into row_copy, with space for any of its rows. */
static int put_prefix(struct sst_cursor *c)
{
	const struct block *b = c->block;
	int r;

	c->row_copy = c->row_near;
	if (b->row_len_max > sizeof(c->row_near) - ROW_SLACK) {
		r = buf_reserve(&c->row_far, b->row_len_max + ROW_SLACK);
		if (r < 0)
			return why(r, "no memory for a row key");
		c->row_copy = c->row_far.data;
	}
	if (b->prefix.len)
		memcpy(c->row_copy, b->prefix.data, b->prefix.len);
	c->prefixed = true;
	return 0;
}

int sst_cursor_key(struct sst_cursor *c, uint32_t row)
{
	const struct block *b = c->block;
	struct bytes suffix = block_suffix(b, row);
	int r;

	if (!c->prefixed) {
		r = put_prefix(c);
		if (r < 0)
			return r;
	}
	if (suffix.len <= ROW_SLACK)
		memcpy(c->row_copy + b->prefix.len, suffix.data, ROW_SLACK);
	else
		memcpy(c->row_copy + b->prefix.len, suffix.data, suffix.len);
	c->base.row = bytes_of(c->row_copy, b->prefix.len + suffix.len);
	return 0;
}

/* Stands on the first entry of a row of the block. */
static int stand(struct sst_cursor *c, uint32_t row)
{
	const struct block *b = c->block;
	int r = sst_cursor_key(c, row);

	if (r < 0)
		return r;
	c->row_index = row;
	c->cell_index = block_row_cell(b, row);
	c->cell_end = block_row_cell(b, row + 1);
	return here(c);
}

static int go(struct sst_cursor *c, uint32_t block, uint32_t row)
{
	int r = take_block(c, block);

	return r < 0 ? r : stand(c, row);
}

/* Where the first row of block @i begins: there or in an earlier block. */
static void row_begin(const struct sst_index *x, uint32_t i, uint32_t *block,
		      uint32_t *row)
{
	*block = i;
	*row = 0;
	if (!index_continues(x, i))
		return;
	i = index_first_alike(x, i);
	*block = i;
	if (index_continues(x, i)) {
		/* The row is the last one of the block before. */
		*block = i - 1;
		*row = x->entries[i - 1].nrow - 1;
	}
}

/* Moves backwards to a row, to its beginning in an earlier block if need be. */
static int go_back(struct sst_cursor *c, uint32_t block, uint32_t row)
{
	if (row == 0)
		row_begin(&c->table->index, block, &block, &row);
	return go(c, block, row);
}

void sst_row_near(const struct sstable *t, struct bytes row,
		  struct index_spot *spot)
{
	index_near(&t->index, row, spot);
	cache_ahead(&t->slots, spot->near);
}

/* The first block whose first row is >= @row, and whether it is equal. */
static uint32_t find_block(const struct sstable *t, struct bytes row,
			   bool *equal)
{
	struct index_spot spot;

	sst_row_near(t, row, &spot);
	return index_find_equal(&t->index, &spot, equal);
}

/* The only block in which the row can begin. */
static uint32_t spot_block(const struct sstable *t,
			   const struct index_spot *spot)
{
	bool equal;
	uint32_t i = index_find_equal(&t->index, spot, &equal);

	/* If block @i continues the row, the row begins in an earlier block. */
	return i > 0 && (!equal || index_continues(&t->index, i)) ? i - 1 : i;
}

static int seek(struct sst_cursor *c, struct bytes row, bool exact)
{
	const struct sst_index *x = &c->table->index;
	bool equal;
	uint32_t i = find_block(c->table, row, &equal);
	uint32_t at;
	int r;

	if (c->table->lost &&
	    bytes_cmp(row, buf_bytes(&c->table->info.row_max)) > 0)
		return 0;
	if (equal && !index_continues(x, i))
		return go(c, i, 0);
	if (i > 0) {
		r = take_block(c, i - 1);
		if (r < 0)
			return r;
		at = block_find_equal(c->block, row, &equal);
		if (exact && !equal)
			return 0;
		if (at < c->block->nrow) {
			if (!c->block->sums)
				fetch_values(c->block, at);
			return stand(c, at);
		}
	}
	if (i == x->nblocks || exact)
		return 0;
	return go(c, i, 0);
}

static int sst_seek_row(struct cursor *base, struct bytes row)
{
	return seek(self(base), row, false);
}

/* The rows of the present block from @row on that end in the block. */
static int rows_from(const struct sst_cursor *c, uint32_t row,
		     struct block_rows *out)
{
	*out = (struct block_rows){c->block, row, c->block->nrow};
	if (index_continues(&c->table->index, c->block_index + 1))
		out->end--;
	return 1;
}

/* As rows_from(), for a row whose values will be read. */
static int rows_found(struct sst_cursor *c, uint32_t row,
		      struct block_rows *out)
{
	if (!c->block->sums)
		fetch_values(c->block, row);
	return rows_from(c, row, out);
}

int sst_cursor_find(struct sst_cursor *c, struct bytes row,
		    struct block_rows *out)
{
	const struct sst_index *x = &c->table->index;
	bool equal;
	uint32_t i = find_block(c->table, row, &equal), at = 0;
	int r;

	if (!equal || index_continues(x, i)) {
		if (i-- == 0)
			return 0;
		equal = false;
	}
	r = take_block(c, i);
	if (r < 0)
		return r;
	if (!equal) {
		at = block_find_equal(c->block, row, &equal);
		if (!equal)
			return 0;
	}
	return rows_found(c, at, out);
}

uint32_t sst_row_ahead(const struct sstable *t, const struct index_spot *spot)
{
	uint32_t i = spot_block(t, spot);

	cache_ahead_block(&t->slots, i);
	return i;
}

int sst_cursor_find_in(struct sst_cursor *c, uint32_t block, struct bytes row,
		       struct block_rows *out)
{
	uint32_t at;
	bool equal;
	int r = take_block(c, block);

	if (r < 0)
		return r;
	at = block_find_equal(c->block, row, &equal);
	return equal ? rows_found(c, at, out) : 0;
}

void sst_cursor_near(struct sst_cursor *c, struct bytes row)
{
	struct index_spot spot;

	sst_row_near(c->table, row, &spot);
	c->near_index = spot_block(c->table, &spot);
}

int sst_cursor_take(struct sst_cursor *c)
{
	return take_block(c, c->near_index);
}

int sst_cursor_ahead(struct sst_cursor *c, struct block_rows *out)
{
	uint32_t i = c->block_index + 1;
	int r;

	if (i == c->table->index.nblocks)
		return 0;
	r = take_block(c, i);
	return r < 0 ? r : rows_from(c, 0, out);
}

const void *sst_cursor_behind(const struct sst_cursor *c)
{
	return cache_place(&c->table->slots, c->block_index + 1);
}

int sst_cursor_from(struct sst_cursor *c, struct bytes row,
		    struct block_rows *out, bool *equal)
{
	uint32_t at = block_find_equal(c->block, row, equal);

	if (at == c->block->nrow)
		return sst_cursor_ahead(c, out);
	fetch_values(c->block, at);
	return rows_from(c, at, out);
}

int sst_cursor_value(struct sst_cursor *c, uint32_t cell, struct buf *hold)
{
	struct piece *p;
	struct entry e;

	if (c->block->sums)
		return sst_read_value(c->table, c->block, c->block_index, cell,
				      hold);
	block_entry(c->block, cell, &e);
	p = buf_is_open(hold) ? block_piece(c->block, e.value.len) : NULL;
	if (p)
		buf_share(hold, e.value, p);
	else if (buf_set(hold, e.value) < 0)
		return why(-ENOMEM, "out of memory for a value of %zu bytes",
			   e.value.len);
	return 0;
}

static int sst_seek_exact(struct cursor *base, struct bytes row)
{
	struct sst_cursor *c = self(base);

	if (!sst_may_have_row(c->table, row))
		return 0;
	return seek(c, row, true);
}

static int sst_seek_back(struct cursor *base, struct bytes row, bool inclusive)
{
	struct sst_cursor *c = self(base);
	const struct sst_index *x = &c->table->index;
	uint32_t i, at;
	int r;

	if (row.len == 0)
		return go_back(c, x->nblocks - 1,
			       x->entries[x->nblocks - 1].nrow - 1);
	i = index_find(x, row, inclusive);
	if (i == 0)
		return 0;
	r = take_block(c, i - 1);
	if (r < 0)
		return r;
	/* The block's first row is before @row, so the row exists. */
	at = block_find_row(c->block, row, inclusive);
	return at == 0 ? 0 : go_back(c, i - 1, at - 1);
}

static int sst_next_row(struct cursor *base)
{
	struct sst_cursor *c = self(base);
	const struct sst_index *x = &c->table->index;
	uint32_t i = c->block_index + 1;

	if (c->row_index + 1 < c->block->nrow)
		return stand(c, c->row_index + 1);
	if (i < x->nblocks && index_continues(x, i)) {
		/*
		 * Skip all blocks of this row; the last of them may hold more
		 * rows.
		 */
		i = index_find(x, c->base.row, true);
		if (x->entries[i - 1].nrow > 1)
			return go(c, i - 1, 1);
	}
	return i < x->nblocks ? go(c, i, 0) : 0;
}

static int sst_prev_row(struct cursor *base)
{
	struct sst_cursor *c = self(base);
	const struct sst_index *x = &c->table->index;
	uint32_t block = c->block_index, row = c->row_index;

	if (row == 0)
		row_begin(x, block, &block, &row);
	if (row > 0)
		return go_back(c, block, row - 1);
	if (block == 0)
		return 0;
	return go_back(c, block - 1, x->entries[block - 1].nrow - 1);
}

/* Does block @i continue the present row? */
static bool goes_on_in(const struct sst_cursor *c, uint32_t i)
{
	return index_continues(&c->table->index, i) &&
	       index_row_cmp(&c->table->index, i, c->base.row) == 0;
}

/* Moves to the part of the row in block @i; c->base.row is unchanged. */
static int go_on(struct sst_cursor *c, uint32_t i)
{
	int r = take_block(c, i);

	if (r < 0)
		return r;
	c->row_index = 0;
	c->cell_index = 0;
	c->cell_end = block_row_cell(c->block, 1);
	return 1;
}

static int next_block(struct sst_cursor *c)
{
	int r;

	c->cell_index = c->cell_end;
	if (c->row_index + 1 < c->block->nrow ||
	    !goes_on_in(c, c->block_index + 1))
		return 0;
	r = go_on(c, c->block_index + 1);
	return r < 0 ? r : here(c);
}

static int sst_next(struct cursor *base)
{
	struct sst_cursor *c = self(base);

	if (c->cell_index + 1 < c->cell_end) {
		c->cell_index++;
		return here(c);
	}
	return next_block(c);
}

/* Moves to the cell in the rest of this block's part of the row, if any. */
static bool find_cell(struct sst_cursor *c, struct bytes qualifier, int64_t ts,
		      uint8_t kind)
{
	c->cell_index = block_find_column(c->block, c->cell_index, c->cell_end,
					  qualifier, ts);
	if (kind == CELL_PUT)
		c->cell_index = block_pass_markers(c->block, c->cell_index,
						   c->cell_end, qualifier, ts);
	return c->cell_index < c->cell_end;
}

static int sst_seek_cell(struct cursor *base, struct bytes qualifier,
			 int64_t ts, uint8_t kind)
{
	struct sst_cursor *c = self(base);
	uint32_t i;
	int r;

	if (find_cell(c, qualifier, ts, kind))
		return here(c);
	if (c->row_index + 1 < c->block->nrow ||
	    !goes_on_in(c, c->block_index + 1))
		return 0;
	i = index_find_place(&c->table->index, c->block_index, c->base.row,
			     qualifier, ts, kind);
	if (i - 1 > c->block_index) {
		r = go_on(c, i - 1);
		if (r < 0)
			return r;
		if (find_cell(c, qualifier, ts, kind))
			return here(c);
	}
	if (!goes_on_in(c, i))
		return 0;
	r = go_on(c, i);
	return r < 0 ? r : here(c);
}

int sst_cursor_to_row(struct sst_cursor *c, uint32_t row)
{
	return stand(c, row);
}

void sst_cursor_rows(const struct sst_cursor *c, struct block_rows *out)
{
	rows_from(c, c->row_index, out);
}

void sst_cursor_pass(struct sst_cursor *c, uint32_t row)
{
	c->row_index = row;
	c->cell_index = c->cell_end = block_row_cell(c->block, row + 1);
}

int sst_cursor_keys(const struct sst_cursor *c, uint32_t row,
		    struct index_rows *out)
{
	*out = (struct index_rows){
		.index = &c->table->index,
		.info = &c->table->info,
		.at = c->block_index,
		.end = c->table->index.nblocks,
		.rest = c->block->nrow - row,
	};
	return out->rest <= 2;
}

int sst_cursor_missing(struct sst_cursor *c)
{
	int r = index_row(&c->table->index, c->missing, &c->row_far);

	c->prefixed = false;
	c->base.row = buf_bytes(&c->row_far);
	return r < 0 ? why(r, "no memory for a row key") : 0;
}

int sst_cursor_behind_missing(const struct sst_cursor *c, struct buf *to,
			      bool *exclusive)
{
	const struct sst_index *x = &c->table->index;
	uint32_t i = c->missing + 1;
	int r;

	*exclusive = i >= x->nblocks || index_continues(x, i);
	r = i < x->nblocks ? index_row(x, i, to)
			   : buf_set(to, buf_bytes(&c->table->info.row_max));
	return r < 0 ? why(r, "no memory for a row key") : 0;
}

int sst_cursor_past_missing(struct sst_cursor *c)
{
	int r;

	if (c->missing + 1 == c->table->index.nblocks)
		return 0;
	c->near_index = c->missing + 1;
	r = take_block(c, c->near_index);
	return r < 0 ? r : 1;
}

int sst_cursor_to_block(struct sst_cursor *c, uint32_t at)
{
	return go(c, at, 0);
}

static void sst_close(struct cursor *base)
{
	struct sst_cursor *c = self(base);

	drop_block(c);
	buf_free(&c->row_far);
	window_free(c->window);
	c->window = NULL;
}

static struct piece *sst_piece(struct cursor *base)
{
	return block_piece(self(base)->block, base->at.value.len);
}

static const struct cursor_ops ops = {
	.seek_row = sst_seek_row,
	.seek_exact = sst_seek_exact,
	.seek_back = sst_seek_back,
	.next_row = sst_next_row,
	.prev_row = sst_prev_row,
	.next = sst_next,
	.seek_cell = sst_seek_cell,
	.piece = sst_piece,
	.close = sst_close,
};

void sst_cursor(struct sstable *t, struct sst_cursor *c)
{
	/* No compound literal: clearing all of it costs as much as a search. */
	c->base.ops = &ops;
	c->base.row = (struct bytes){0};
	c->base.at.qualifier = c->base.at.value = (struct bytes){0};
	c->base.at.ts = 0;
	c->base.at.seq = c->base.at.ttl_ms = 0;
	c->base.at.kind = 0;
	c->table = t;
	c->no_fill = c->warms = c->bare = c->at_hand = c->missed = false;
	c->ahead_max = SST_AHEAD_MAX;
	c->block = NULL;
	c->pin = NULL;
	c->block_index = c->near_index = c->missing = 0;
	c->row_index = c->cell_index = c->cell_end = 0;
	c->prefixed = false;
	c->row_copy = NULL;
	c->row_far = (struct buf){0};
	c->window = NULL;
}
