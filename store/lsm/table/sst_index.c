#include "store/lsm/table/sst_index.h"

#include <errno.h>
#include <stdlib.h>

#include "store/lsm/base/bisect.h"
#include "store/lsm/base/heads.h"
#include "store/value/why.h"

/* stored_len raw_len nrow flags hash ts_min ts_max */
#define ENTRY_FIXED (4 + 4 + 4 + 1 + 8 + 8 + 8)
#define PLACE_FIXED (8 + 8 + 2)
/* zlib cannot compress better: a greater ratio is damage. */
#define DEFLATE_RATIO_MAX 1032

static struct bytes suffix_of(const struct sst_index *x, uint32_t i)
{
	return bytes_of(x->entries[i].suffix, x->entries[i].suffix_len);
}

void index_place(const struct index_entry *e, struct entry *out)
{
	struct bytes in = bytes_of(e->place, PLACE_FIXED);
	uint64_t ts, seq, len;

	sst_take(&in, 8, &ts);
	sst_take(&in, 8, &seq);
	sst_take(&in, 2, &len);
	*out = (struct entry){
		.kind = e->place_kind,
		.ts = (int64_t)ts,
		.seq = seq,
		.qualifier = bytes_of(e->place + PLACE_FIXED, len),
	};
}

static int damaged(const char *what)
{
	return why(-EUCLEAN, "the index is damaged: %s", what);
}

static bool take_place(struct bytes *in, struct index_entry *e)
{
	struct bytes fixed, qualifier, tail;
	uint64_t kind, len;

	if (!sst_take(in, 1, &kind) || !sst_take_bytes(in, PLACE_FIXED, &fixed))
		return false;
	tail = bytes_of(fixed.data + 16, 2);
	sst_take(&tail, 2, &len);
	if (len > QUALIFIER_LEN_MAX || !sst_take_bytes(in, len, &qualifier))
		return false;
	e->place_kind = (uint8_t)kind;
	e->place = fixed.data;
	return true;
}

static bool take_entry(struct bytes *in, struct index_entry *e)
{
	uint64_t stored, raw, nrow, flags, ts_min, ts_max, len;
	struct bytes suffix;

	if (!sst_take(in, 4, &stored) || !sst_take(in, 4, &raw) ||
	    !sst_take(in, 4, &nrow) || !sst_take(in, 1, &flags) ||
	    !sst_take(in, 8, &e->hash) || !sst_take(in, 8, &ts_min) ||
	    !sst_take(in, 8, &ts_max) || !sst_take(in, 2, &len) ||
	    !sst_take_bytes(in, len, &suffix))
		return false;
	e->stored_len = (uint32_t)stored;
	e->raw_len = (uint32_t)raw;
	e->nrow = (uint32_t)nrow;
	e->flags = (uint8_t)flags;
	e->ts_min = (int64_t)ts_min;
	e->ts_max = (int64_t)ts_max;
	e->suffix = suffix.data;
	e->suffix_len = (uint16_t)suffix.len;
	return !(e->flags & INDEX_CONTINUES) || take_place(in, e);
}

/* Keys ascend; a row is repeated only where it continues. */
static int check_order(const struct sst_index *x, uint32_t i)
{
	const struct index_entry *e = &x->entries[i];
	struct entry a, b;
	int c;

	if (e->flags & ~INDEX_CONTINUES)
		return damaged("unknown flags");
	if (x->prefix.len + e->suffix_len > ROW_LEN_MAX ||
	    x->prefix.len + e->suffix_len == 0)
		return damaged("the length of a row is out of range");
	if (i == 0)
		return e->flags & INDEX_CONTINUES
			       ? damaged("the first block continues nothing")
			       : 0;
	c = bytes_cmp(suffix_of(x, i - 1), suffix_of(x, i));
	if (c > 0 || (c == 0 && !(e->flags & INDEX_CONTINUES)))
		return damaged("blocks out of order");
	if (c == 0 && (e[-1].flags & INDEX_CONTINUES)) {
		index_place(e - 1, &a);
		index_place(e, &b);
		if (entry_cmp(&a, &b) >= 0)
			return damaged("parts of a row out of order");
	}
	return 0;
}

static uint8_t brief_of(const struct index_entry *e)
{
	uint32_t rows = e->nrow < INDEX_MANY ? e->nrow : INDEX_MANY;
	uint32_t len = e->suffix_len <= HEAD_LEN ? e->suffix_len : HEAD_LEN + 1;

	return (uint8_t)(rows | len << 2);
}

static int decode_entries(struct bytes in, uint64_t blocks_end,
			  struct sst_index *x)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < x->nblocks; i++) {
		struct index_entry *e = &x->entries[i];
		int r;

		if (!take_entry(&in, e))
			return damaged("it is cut short");
		r = check_order(x, i);
		if (r < 0)
			return r;
		/*
		 * The writer stores a block uncompressed if compression saves
		 * nothing.
		 */
		if (e->stored_len > e->raw_len || e->raw_len > BLOCK_LEN_MAX ||
		    e->raw_len / DEFLATE_RATIO_MAX > e->stored_len)
			return damaged("the length of a block is out of "
				       "range");
		if (e->stored_len + SST_TRAILER_LEN > blocks_end - offset)
			return damaged("a block lies outside the file");
		e->offset = offset;
		offset += e->stored_len + SST_TRAILER_LEN;
		x->heads[i] = head_of(suffix_of(x, i));
		x->briefs[i] = brief_of(e);
		if (e->flags & INDEX_CONTINUES)
			x->continues[i / 64] |= UINT64_C(1) << i % 64;
		if ((e->flags & INDEX_CONTINUES) && e->nrow == 1)
			x->inner[i / 64] |= UINT64_C(1) << i % 64;
	}
	if (in.len)
		return damaged("it is longer than its entries");
	if (offset != blocks_end)
		return damaged("its blocks do not fill the file");
	return 0;
}

static uint32_t nlines_of(const struct sst_index *x)
{
	return (x->nblocks + HEADS_LINE - 1) / HEADS_LINE;
}

static bool new_heads(struct sst_index *x)
{
	uint32_t nlines = nlines_of(x);
	size_t size = nlines * HEADS_LINE * sizeof(*x->heads);

	x->heads = aligned_alloc(HEADS_LINE * sizeof(*x->heads), size);
	x->lines = malloc(nlines * sizeof(*x->lines));
	if (!x->heads || !x->lines)
		return false;
	memset(x->heads, 0xff, size);
	return true;
}

int index_decode(struct bytes section, uint64_t blocks_end,
		 struct sst_index *out)
{
	struct sst_index x = {0};
	struct bytes in = section;
	uint64_t n, prefix_len;
	int r;

	if (!sst_take(&in, 4, &n) || !sst_take(&in, 2, &prefix_len) ||
	    !sst_take_bytes(&in, prefix_len, &x.prefix))
		return damaged("it is cut short");
	if (n == 0 || n > in.len / ENTRY_FIXED)
		return damaged("the number of blocks is out of range");
	x.nblocks = (uint32_t)n;
	x.continues = calloc(n / 64 + 1, sizeof(*x.continues));
	x.inner = calloc(n / 64 + 1, sizeof(*x.inner));
	x.briefs = malloc(n);
	x.entries = calloc(n, sizeof(*x.entries));
	if (!new_heads(&x) || !x.continues || !x.inner || !x.briefs ||
	    !x.entries)
		r = why(-ENOMEM, "no memory for the index of an sstable");
	else
		r = decode_entries(in, blocks_end, &x);
	if (r < 0) {
		index_release(&x);
		return r;
	}
	for (uint32_t i = 0; i < nlines_of(&x); i++)
		x.lines[i] = x.heads[i * HEADS_LINE];
	*out = x;
	return 0;
}

void index_release(struct sst_index *x)
{
	free(x->heads);
	free(x->lines);
	free(x->continues);
	free(x->inner);
	free(x->briefs);
	free(x->entries);
	*x = (struct sst_index){0};
}

size_t index_memory(const struct sst_index *x)
{
	size_t nlines = nlines_of(x);

	return nlines * (HEADS_LINE * sizeof(*x->heads) + sizeof(*x->lines)) +
	       (x->nblocks / 64 + 1) *
		       (sizeof(*x->continues) + sizeof(*x->inner)) +
	       x->nblocks * (sizeof(*x->briefs) + sizeof(*x->entries));
}

int index_row(const struct sst_index *x, uint32_t i, struct buf *to)
{
	struct bytes suffix = suffix_of(x, i);
	int r = buf_set(to, x->prefix);

	return r < 0 ? r : buf_append(to, suffix.data, suffix.len);
}

int index_row_cmp(const struct sst_index *x, uint32_t i, struct bytes row)
{
	size_t n = x->prefix.len < row.len ? x->prefix.len : row.len;
	int c = n ? memcmp(x->prefix.data, row.data, n) : 0;

	if (c || row.len < x->prefix.len)
		return c ? c : 1;
	return bytes_cmp(suffix_of(x, i), bytes_of(row.data + n, row.len - n));
}

/*
 * The start of the line that holds the first head >= @head, or ends before it.
 */
static inline uint32_t line_of(const struct sst_index *x, uint64_t head)
{
	uint32_t n = heads_find(x->lines, nlines_of(x), head);

	return n ? (n - 1) * HEADS_LINE : 0;
}

/*
 * The first block whose suffix is >= @s (> @s if @after). @head is that of @s.
 */
static uint32_t find_suffix(const struct sst_index *x, struct bytes s,
			    uint64_t head, uint32_t line, bool after)
{
	uint32_t lo = line + heads_below(x->heads + line, head);
	uint32_t hi = lo;

	if (lo == x->nblocks || x->heads[lo] != head)
		return lo;
	/* Usually it is the first block with this head. */
	if (!after && head_tie(suffix_of(x, lo), s) >= 0)
		return lo;
	/*
	 * Several blocks have this head: of one wide row, or of similar rows.
	 */
	if (head != UINT64_MAX)
		hi += heads_find(x->heads + lo, x->nblocks - lo, head + 1);
	else
		hi = x->nblocks;
	BISECT(lo, hi, mid, head_tie(suffix_of(x, mid), s) < (after ? 1 : 0));
	return lo;
}

void index_near(const struct sst_index *x, struct bytes row,
		struct index_spot *out)
{
	size_t n = x->prefix.len < row.len ? x->prefix.len : row.len;
	int c = n ? memcmp(x->prefix.data, row.data, n) : 0;

	out->known = c || row.len < x->prefix.len;
	if (out->known) {
		out->near = c < 0 ? x->nblocks : 0;
		return;
	}
	out->suffix = bytes_of(row.data + n, row.len - n);
	out->head = head_of(out->suffix);
	out->near = line_of(x, out->head);
	__builtin_prefetch(x->heads + out->near);
}

uint32_t index_find(const struct sst_index *x, struct bytes row, bool after)
{
	struct index_spot s;

	index_near(x, row, &s);
	return s.known ? s.near
		       : find_suffix(x, s.suffix, s.head, s.near, after);
}

uint32_t index_find_equal(const struct sst_index *x, const struct index_spot *s,
			  bool *equal)
{
	uint32_t i;

	*equal = false;
	if (s->known)
		return s->near;
	i = find_suffix(x, s->suffix, s->head, s->near, false);
	/* Reading the entry is another cache miss. */
	*equal = i < x->nblocks && x->heads[i] == s->head &&
		 head_tie(suffix_of(x, i), s->suffix) == 0;
	return i;
}

uint32_t index_first_alike(const struct sst_index *x, uint32_t i)
{
	struct bytes s = suffix_of(x, i);
	uint64_t head = x->heads[i];

	return find_suffix(x, s, head, line_of(x, head), false);
}

/* Does block @i continue @row, with a first cell before the place sought? */
static bool lies_before(const struct sst_index *x, uint32_t i, struct bytes row,
			struct bytes qualifier, int64_t ts, uint8_t kind)
{
	struct entry e;
	int c;

	if (!index_continues(x, i) || index_row_cmp(x, i, row) != 0)
		return false;
	index_place(&x->entries[i], &e);
	if (kind_is_family_marker(e.kind))
		return true;
	c = bytes_cmp(e.qualifier, qualifier);
	return c < 0 ||
	       (c == 0 && (e.ts > ts || (e.ts == ts && e.kind > kind)));
}

uint32_t index_find_place(const struct sst_index *x, uint32_t from,
			  struct bytes row, struct bytes qualifier, int64_t ts,
			  uint8_t kind)
{
	uint32_t lo = from + 1, hi = lo, step = 1;

	while (hi < x->nblocks &&
	       lies_before(x, hi, row, qualifier, ts, kind)) {
		lo = hi + 1;
		hi = x->nblocks - lo < step ? x->nblocks : lo + step;
		step *= 2;
	}
	BISECT(lo, hi, mid, lies_before(x, mid, row, qualifier, ts, kind));
	return lo;
}

static int put_place(struct buf *out, const struct entry *e)
{
	int r = sst_put(out, e->kind, 1);

	if (r == 0)
		r = sst_put(out, (uint64_t)e->ts, 8);
	if (r == 0)
		r = sst_put(out, e->seq, 8);
	if (r == 0)
		r = sst_put(out, e->qualifier.len, 2);
	if (r == 0)
		r = buf_append(out, e->qualifier.data, e->qualifier.len);
	return r;
}

/*
 * An entry is ENTRY_FIXED bytes before the row. The place after it is kept with
 * its length: the row itself is added at the end, when the common prefix is
 * known.
 */
int index_builder_add(struct index_builder *b, const struct index_entry *e,
		      struct bytes row, const struct entry *first)
{
	struct buf *out = &b->entries;
	const uint64_t numbers[] = {
		e->stored_len,	    e->raw_len, e->nrow,
		e->flags,	    e->hash,	(uint64_t)e->ts_min,
		(uint64_t)e->ts_max};
	const unsigned widths[] = {4, 4, 4, 1, 8, 8, 8};
	size_t common = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 7; i++)
		r = sst_put(out, numbers[i], widths[i]);
	if (r == 0)
		r = sst_put(&b->rows, row.len, 2);
	if (r == 0)
		r = buf_append(&b->rows, row.data, row.len);
	if (r == 0 && (e->flags & INDEX_CONTINUES))
		r = put_place(out, first);
	if (r < 0)
		return r;
	if (b->nblocks++ == 0) {
		b->prefix_len = (uint32_t)row.len;
		return 0;
	}
	/* rows begins with the length and the bytes of the first row. */
	while (common < b->prefix_len && common < row.len &&
	       b->rows.data[2 + common] == row.data[common])
		common++;
	b->prefix_len = (uint32_t)common;
	return 0;
}

int index_builder_finish(struct index_builder *b, struct buf *out)
{
	struct bytes entries = buf_bytes(&b->entries);
	struct bytes rows = buf_bytes(&b->rows);
	struct bytes fixed, row, place;
	uint64_t len, qualifier_len;
	int r = sst_put(out, b->nblocks, 4);

	if (r == 0)
		r = sst_put(out, b->prefix_len, 2);
	if (r == 0 && b->nblocks)
		r = buf_append(out, rows.data + 2, b->prefix_len);
	for (uint32_t i = 0; r == 0 && i < b->nblocks; i++) {
		sst_take_bytes(&entries, ENTRY_FIXED, &fixed);
		sst_take(&rows, 2, &len);
		sst_take_bytes(&rows, len, &row);
		place = bytes_of(NULL, 0);
		if (fixed.data[12] & INDEX_CONTINUES) {
			struct bytes at = bytes_of(entries.data + 17, 2);

			sst_take(&at, 2, &qualifier_len);
			sst_take_bytes(&entries,
				       1 + PLACE_FIXED + qualifier_len, &place);
		}
		r = buf_append(out, fixed.data, fixed.len);
		if (r == 0)
			r = sst_put(out, len - b->prefix_len, 2);
		if (r == 0)
			r = buf_append(out, row.data + b->prefix_len,
				       row.len - b->prefix_len);
		if (r == 0)
			r = buf_append(out, place.data, place.len);
	}
	return r;
}

void index_builder_release(struct index_builder *b)
{
	buf_free(&b->entries);
	buf_free(&b->rows);
	*b = (struct index_builder){0};
}
