/* Reads all of an sstable and reports what is wrong with it. */
#include "store/lsm/table/sst_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "store/value/why.h"

struct checker {
	struct sstable *t;
	void (*say)(void *arg, const char *sentence);
	void *arg;
	int faults;
	struct sst_info seen; /* counted, without rows */
	bool whole;	      /* every block could be counted */
	struct buf row;
};

static void __attribute__((format(printf, 2, 3)))
fault(struct checker *k, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	k->faults++;
	k->say(k->arg, text);
}

/* The filter must admit all rows and columns of the block. */
static int check_filter(struct checker *k, const struct block *b, uint32_t row)
{
	struct bytes suffix = block_suffix(b, row);
	uint32_t to = block_row_cell(b, row + 1);
	struct sst_column c = {0};
	int r = buf_set(&k->row, b->prefix);

	if (r == 0)
		r = buf_append(&k->row, suffix.data, suffix.len);
	if (r < 0)
		return why(r, "no memory to check an sstable");
	if (!sst_may_have_row(k->t, buf_bytes(&k->row))) {
		fault(k,
		      "%" PRIu64 ".sst: the filter denies a row that is "
		      "there",
		      k->t->info.number);
		return 0;
	}
	for (uint32_t i = block_row_cell(b, row); i < to; i++) {
		struct entry e;

		block_entry(b, i, &e);
		c.row = buf_bytes(&k->row);
		c.qualifier = e.qualifier;
		c.column_hash = 0;
		if (!kind_is_family_marker(e.kind) &&
		    !sst_may_have_column(k->t, &c)) {
			fault(k,
			      "%" PRIu64 ".sst: the filter denies a column "
			      "that is there",
			      k->t->info.number);
			return 0;
		}
	}
	return 0;
}

static void count(struct checker *k, const struct block *b)
{
	struct sst_info *s = &k->seen;

	s->rows += b->nrow - b->continues;
	s->raw_bytes += b->raw_len;
	for (uint32_t i = 0; i < b->ncell; i++) {
		struct entry e;
		int64_t low;

		block_entry(b, i, &e);
		low = e.kind == CELL_DELETE_COLUMN ||
				      e.kind == CELL_DELETE_FAMILY
			      ? 0
			      : e.ts;
		if (s->entries++ == 0) {
			s->seq_min = e.seq;
			s->ts_min = low;
		}
		s->seq_min = e.seq < s->seq_min ? e.seq : s->seq_min;
		s->seq_max = e.seq > s->seq_max ? e.seq : s->seq_max;
		s->ts_min = low < s->ts_min ? low : s->ts_min;
		s->ts_max = e.ts > s->ts_max ? e.ts : s->ts_max;
		s->markers += kind_is_marker(e.kind);
		s->has_ttl |= e.ttl_ms != 0;
	}
}

static int check_block(struct checker *k, uint32_t i)
{
	struct block *b;
	/* Read from the disk, not from the cache. */
	int r = sst_load(k->t, i, NULL, true, &b);

	if (r == -EUCLEAN) {
		fault(k, "%s", store_why());
		k->whole = false;
		return 0;
	}
	if (r < 0)
		return r;
	count(k, b);
	for (uint32_t row = 0; r == 0 && row < b->nrow; row++)
		r = check_filter(k, b, row);
	block_free(b);
	return r;
}

static void check_counts(struct checker *k, const struct sst_info *i,
			 const char *whose)
{
	const struct sst_info *s = &k->seen;

	if (s->entries == i->entries && s->rows == i->rows &&
	    s->markers == i->markers && s->raw_bytes == i->raw_bytes &&
	    s->seq_min == i->seq_min && s->seq_max == i->seq_max &&
	    s->ts_min == i->ts_min && s->ts_max == i->ts_max &&
	    s->has_ttl == i->has_ttl)
		return;
	fault(k,
	      "%" PRIu64 ".sst holds %" PRIu64 " cells in %" PRIu64
	      " rows, %s says %" PRIu64 " in %" PRIu64
	      " (or other counts differ)",
	      k->t->info.number, s->entries, s->rows, whose, i->entries,
	      i->rows);
}

static int check_info(struct checker *k)
{
	struct sst_info own;
	int r = sst_info_load(k->t->dir, k->t->info.number, &own);

	if (r == -EUCLEAN) {
		fault(k, "%s", store_why());
		return 0;
	}
	if (r < 0)
		return r;
	if (k->whole) {
		check_counts(k, &own, "the file");
		check_counts(k, &k->t->info, "the catalog");
	}
	if (!bytes_eq(buf_bytes(&own.row_min),
		      buf_bytes(&k->t->info.row_min)) ||
	    !bytes_eq(buf_bytes(&own.row_max), buf_bytes(&k->t->info.row_max)))
		fault(k,
		      "%" PRIu64 ".sst: file and catalog name different "
		      "ranges of rows",
		      own.number);
	sst_info_free(&own);
	return 0;
}

int sst_check(struct sstable *t, bool (*went)(void *arg, uint64_t bytes),
	      void (*say)(void *arg, const char *sentence), void *arg)
{
	struct checker k = {.t = t, .say = say, .arg = arg, .whole = true};
	uint64_t left = t->info.file_bytes;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < t->index.nblocks; i++) {
		uint64_t bytes = t->index.entries[i].stored_len;

		r = check_block(&k, i);
		left -= bytes < left ? bytes : left;
		if (r == 0 && went && !went(arg, bytes))
			r = why(-ECANCELED, "stopped");
	}
	/* What is no block was read when the file was opened. */
	if (r == 0 && went && !went(arg, left))
		r = why(-ECANCELED, "stopped");
	if (r == 0)
		r = check_info(&k);
	buf_free(&k.row);
	return r < 0 ? r : k.faults;
}

/* What is in memory of the file since it was opened is on the disk as well. */
static int check_opening(struct checker *k)
{
	const struct sst_options o = {0};
	struct sstable *again;
	int r = sst_open(k->t->dir, &k->t->info, &o, NULL, &again);

	if (r == 0) {
		sst_unref(again);
		return 1;
	}
	if (r != -EUCLEAN)
		return r;
	fault(k, "%s", store_why());
	return 0;
}

int sst_check_part(struct sstable *t, uint64_t *block, uint64_t bytes,
		   uint64_t *read, void (*say)(void *arg, const char *sentence),
		   void *arg)
{
	struct checker k = {.t = t, .say = say, .arg = arg};
	int r = *block ? 1 : check_opening(&k);

	*read = 0;
	while (r > 0 && *block < t->index.nblocks && *read < bytes) {
		const struct index_entry *e = &t->index.entries[*block];
		struct block *b;

		*read += e->stored_len + SST_TRAILER_LEN;
		r = sst_load(t, (uint32_t)(*block)++, NULL, true, &b);
		if (r == 0)
			block_free(b);
		else if (r == -EUCLEAN)
			fault(&k, "%s", store_why());
		else
			return r;
		r = 1;
	}
	return r <= 0 ? r : *block < t->index.nblocks;
}
