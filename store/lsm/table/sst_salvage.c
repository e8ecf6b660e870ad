#include "store/lsm/table/sst_salvage.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/table/sst_file.h"
#include "store/lsm/table/sst_scan.h"
#include "store/value/why.h"

struct sst_salvage {
	struct cursor base;
	struct sstable *t; /* its index has entries, maybe nothing else */
	bool indexed;	   /* read of the file, so that each has its row */
	uint32_t tree;
	void (*lost)(void *arg, const struct sst_loss *loss);
	void *arg;
	struct block *block; /* NULL: at the end, or before the start */
	uint32_t next_block;
	uint32_t row, cell, cell_end; /* in the block */
	bool ahead; /* at the row behind the one that the cursor shows */
	struct buf key, first, behind;
};

static bool is_damage(int r)
{
	return r == -EUCLEAN || r == -EIO;
}

static void tell(struct sst_salvage *s, struct sst_loss *loss)
{
	loss->number = s->t->info.number;
	s->lost(s->arg, loss);
	why_clear();
}

/* Block @i cannot be read, for the reason in store_why(). */
static int lose_block(struct sst_salvage *s, uint32_t i)
{
	const struct sst_index *x = &s->t->index;
	struct why_kept reason;
	struct sst_loss loss = {
		.offset = x->entries[i].offset,
		.bytes = x->entries[i].stored_len + SST_TRAILER_LEN,
		.from = buf_bytes(&s->key),
		.to = buf_bytes(&s->t->info.row_max),
		.reason = reason.text,
	};
	int r = 0;

	why_keep(&reason);
	if (s->indexed) {
		r = index_row(x, i, &s->first);
		loss.from = buf_bytes(&s->first);
	}
	if (r == 0 && s->indexed && i + 1 < x->nblocks) {
		r = index_row(x, i + 1, &s->behind);
		loss.to = buf_bytes(&s->behind);
	}
	if (r < 0)
		return why(r, "out of memory");
	tell(s, &loss);
	return 0;
}

/* Do the cells of the block @b come behind those of the present one? */
static bool comes_behind(const struct sst_salvage *s, const struct block *b)
{
	struct entry last, first;
	int c;

	if (!s->block)
		return true;
	c = block_row_cmp(b, 0, buf_bytes(&s->key));
	if (c)
		return c > 0;
	block_entry(s->block, s->block->ncell - 1, &last);
	block_entry(b, 0, &first);
	return entry_cmp(&last, &first) < 0;
}

/*
 * To the first row of the next block that can be read: 1, or 0 behind the last
 * one.
 */
static int next_block(struct sst_salvage *s)
{
	struct sstable *t = s->t;
	int r;

	while (s->next_block < t->index.nblocks) {
		uint32_t i = s->next_block++;
		struct block *b = NULL;

		r = sst_load_alone(t, i, NULL, true, &b);
		if (r == 0 && !comes_behind(s, b))
			r = why(-EUCLEAN, "its rows do not follow those of the "
					  "block before");
		if (r == 0) {
			block_free(s->block);
			s->block = b;
			s->row = 0;
			return 1;
		}
		block_free(b);
		if (is_damage(r))
			r = lose_block(s, i);
		if (r < 0)
			return r;
	}
	block_free(s->block);
	s->block = NULL;
	return 0;
}

static int here(struct sst_salvage *s)
{
	block_entry(s->block, s->cell, &s->base.at);
	return 1;
}

/* Shows the row on which it stands. */
static int show_row(struct sst_salvage *s)
{
	if (sst_copy_row(s->block, s->row, &s->key) < 0)
		return why(-ENOMEM, "out of memory");
	s->ahead = false;
	s->base.row = buf_bytes(&s->key);
	s->cell = block_row_cell(s->block, s->row);
	s->cell_end = block_row_cell(s->block, s->row + 1);
	return here(s);
}

/* Goes on in the row's next part: 1, or 0 with the next row ahead. */
static int next_part(struct sst_salvage *s)
{
	int r;

	if (s->row + 1 < s->block->nrow) {
		s->row++;
		s->ahead = true;
		return 0;
	}
	r = next_block(s);
	if (r <= 0)
		return r;
	if (block_row_cmp(s->block, 0, buf_bytes(&s->key)) == 0)
		return show_row(s);
	s->ahead = true;
	return 0;
}

static int salvage_next(struct cursor *c)
{
	struct sst_salvage *s = (struct sst_salvage *)c;

	if (!s->block || s->ahead)
		return 0;
	if (s->cell + 1 < s->cell_end) {
		s->cell++;
		return here(s);
	}
	return next_part(s);
}

static int salvage_next_row(struct cursor *c)
{
	struct sst_salvage *s = (struct sst_salvage *)c;
	int r = 1;

	while (s->block && !s->ahead && r > 0)
		r = next_part(s);
	if (r < 0)
		return r;
	return s->block ? show_row(s) : 0;
}

static int salvage_seek_row(struct cursor *c, struct bytes row)
{
	struct sst_salvage *s = (struct sst_salvage *)c;
	int r;

	if (row.len)
		return why(-EINVAL, "a file is salvaged from its first row on");
	block_free(s->block);
	s->block = NULL;
	s->next_block = 0;
	s->key.len = 0;
	r = next_block(s);
	return r > 0 ? show_row(s) : r;
}

static void salvage_close(struct cursor *c)
{
}

static const struct cursor_ops salvage_ops = {
	.seek_row = salvage_seek_row,
	.next_row = salvage_next_row,
	.next = salvage_next,
	.close = salvage_close,
};

/* By footer and index. -EUCLEAN where they cannot be read. */
static int open_indexed(struct sst_salvage *s)
{
	struct sstable *t = s->t;
	struct sst_footer f;
	int r = sst_read_footer(t, &f);

	if (r == 0)
		r = sst_read_section(t, &f, SST_INDEX);
	if (r == 0)
		r = index_decode(buf_bytes(&t->section[SST_INDEX]),
				 f.section[SST_INDEX].offset, &t->index);
	if (r < 0)
		return r;
	s->tree = f.tree;
	s->indexed = true;
	return 0;
}

/* The file cannot be had: all of it is lost. */
static int lose_file(struct sst_salvage *s)
{
	struct why_kept reason;
	struct sst_loss loss = {
		.bytes = s->t->info.file_bytes,
		.from = buf_bytes(&s->t->info.row_min),
		.to = buf_bytes(&s->t->info.row_max),
		.reason = reason.text,
	};

	why_keep(&reason);
	tell(s, &loss);
	return 0;
}

/* By the blocks themselves. */
static int open_scanned(struct sst_salvage *s, const struct sst_info *known)
{
	struct why_kept reason;
	struct sst_scan found = {0};
	int r;

	why_keep(&reason);
	r = sst_scan(s->t, known, &found);
	if (is_damage(r) || r == -EFBIG)
		return lose_file(s);
	if (r < 0)
		return r;
	s->tree = found.tree;
	for (size_t i = 0; i < found.ngaps; i++) {
		struct sst_loss loss = {
			.offset = found.gaps[i].offset,
			.bytes = found.gaps[i].bytes,
			.from = buf_bytes(&found.gaps[i].from),
			.to = buf_bytes(&found.gaps[i].to),
			.reason = reason.text,
		};

		tell(s, &loss);
	}
	sst_scan_free(&found);
	return 0;
}

static int open_any(struct sst_salvage *s, const struct sst_info *known)
{
	int r = sst_open_file(s->t);

	if (is_damage(r))
		return lose_file(s);
	if (r == 0)
		r = open_indexed(s);
	if (!is_damage(r))
		return r;
	index_release(&s->t->index);
	return open_scanned(s, known);
}

int sst_salvage_open(struct os_dir *dir, uint64_t number,
		     const struct sst_info *known,
		     void (*lost)(void *arg, const struct sst_loss *loss),
		     void *arg, struct sst_salvage **out)
{
	struct sst_salvage *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	if (s)
		s->t = calloc(1, sizeof(*s->t));
	if (s && s->t) {
		s->base.ops = &salvage_ops;
		s->lost = lost;
		s->arg = arg;
		s->t->dir = dir;
		r = known ? sst_info_copy(&s->t->info, known) : 0;
		s->t->info.number = number;
	}
	if (r == 0)
		r = open_any(s, known);
	if (r < 0) {
		sst_salvage_close(s);
		return r == -ENOMEM ? why(r, "out of memory") : r;
	}
	*out = s;
	return 0;
}

void sst_salvage_close(struct sst_salvage *s)
{
	if (!s)
		return;
	block_free(s->block);
	buf_free(&s->key);
	buf_free(&s->first);
	buf_free(&s->behind);
	if (s->t)
		sst_release(s->t);
	free(s);
}

struct cursor *sst_salvage_cursor(struct sst_salvage *s)
{
	return &s->base;
}

uint32_t sst_salvage_tree(const struct sst_salvage *s)
{
	return s->tree;
}
