/*
 * Files of which something cannot be read.
 *
 * A block that is damaged costs the rows that it may hold: from the first one,
 * which the index names, to the first one of the next block. A file that cannot
 * be opened has one such block in place of an index, with all rows of the file,
 * and no filter. So what looks for a row within its range meets the error, and
 * what looks beside it does not.
 */
#include "store/lsm/table/sst_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/value/quote.h"
#include "store/value/why.h"

/* An index may be read so far behind the last key. */
#define INDEX_SLACK 64

/* The first row of block @i, or as much of it as a sentence has room for. */
static const char *first_row(const struct sst_index *x, uint32_t i,
			     struct quoted *q)
{
	const struct index_entry *e = &x->entries[i];
	uint8_t row[2 * sizeof(q->text)];
	size_t n = x->prefix.len < sizeof(row) ? x->prefix.len : sizeof(row);
	size_t m = e->suffix_len;

	if (m > sizeof(row) - n)
		m = sizeof(row) - n;
	if (n)
		memcpy(row, x->prefix.data, n);
	if (m)
		memcpy(row + n, e->suffix, m);
	return quote(q, bytes_of(row, n + m));
}

int sst_block_damaged(struct sstable *t, uint32_t i)
{
	const struct sst_index *x = &t->index;
	struct quoted from, to;
	struct why_kept reason;

	atomic_store(&t->damaged, true);
	why_keep(&reason);
	first_row(x, i, &from);
	if (i + 1 < x->nblocks)
		first_row(x, i + 1, &to);
	else
		quote(&to, buf_bytes(&t->info.row_max));
	return why(-EUCLEAN,
		   "%" PRIu64 ".sst is damaged in the block at byte %" PRIu64
		   ", rows %s to %s: %s",
		   t->info.number, x->entries[i].offset, from.text, to.text,
		   reason.text);
}

/* The index of one block with all rows of the file. */
static int make_index(struct sstable *t)
{
	const struct index_entry e = {.nrow = INDEX_MANY,
				      .ts_min = t->info.ts_min,
				      .ts_max = t->info.ts_max};
	struct buf *to = &t->section[SST_INDEX];
	struct index_builder b = {0};
	int r = index_builder_add(&b, &e, buf_bytes(&t->info.row_min), NULL);

	if (r == 0)
		r = index_builder_finish(&b, to);
	if (r == 0)
		r = buf_reserve(to, to->len + INDEX_SLACK);
	index_builder_release(&b);
	if (r < 0)
		return why(r, "out of memory");
	return index_decode(buf_bytes(to), SST_TRAILER_LEN, &t->index);
}

static int keep_reason(struct sstable *t)
{
	struct quoted from, to;
	struct why_kept reason;

	why_keep(&reason);
	quote(&from, buf_bytes(&t->info.row_min));
	quote(&to, buf_bytes(&t->info.row_max));
	t->lost = malloc(WHY_MAX);
	if (!t->lost)
		return why(-ENOMEM, "out of memory");
	snprintf(t->lost, WHY_MAX,
		 "the whole file is damaged, rows %s to %s: %.*s", from.text,
		 to.text, WHY_MAX / 2, reason.text);
	return 0;
}

int sst_open_lost(struct os_dir *dir, const struct sst_info *info,
		  struct sstable **out)
{
	struct sstable *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return why(-ENOMEM, "no memory to open an sstable");
	atomic_init(&t->refs, 1);
	atomic_init(&t->damaged, true);
	t->dir = dir;
	t->bloom_kind = BLOOM_NONE;
	r = sst_info_copy(&t->info, info);
	if (r == 0)
		r = keep_reason(t);
	if (r == 0)
		r = make_index(t);
	if (r == 0)
		r = cache_slots_init(&t->slots, NULL, 1, false);
	if (r < 0) {
		sst_release(t);
		return r;
	}
	*out = t;
	return 0;
}

int sst_why_lost(const struct sstable *t)
{
	return t->lost ? why(-EUCLEAN, "%" PRIu64 ".sst: %s", t->info.number,
			     t->lost)
		       : 0;
}

bool sst_is_damaged(const struct sstable *t)
{
	return atomic_load_explicit(&t->damaged, memory_order_relaxed);
}

bool sst_tells_damage(struct sstable *t)
{
	return sst_is_damaged(t) && !atomic_exchange(&t->told, true);
}
