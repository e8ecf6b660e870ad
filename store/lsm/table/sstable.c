/* Opens sstables, reads their blocks, and looks up their filters. */
#include "store/lsm/table/sst_file.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "store/lsm/block/bloom.h"
#include "store/value/why.h"

/* What the disk cannot give any more is damaged; the sentence stays. */
static int lost(int r)
{
	return r == -EIO ? -EUCLEAN : r;
}

/* Reads exactly @n bytes; a shorter file is damaged. */
static int read_all(const struct sstable *t, void *to, size_t n,
		    uint64_t offset)
{
	ssize_t r = os_pread(t->file, to, n, offset);

	if (r < 0)
		return lost((int)r);
	if ((size_t)r < n)
		return why(-EUCLEAN,
			   "%" PRIu64 ".sst ends at byte %" PRIu64
			   ", before what should be there",
			   t->info.number, offset + (uint64_t)r);
	return 0;
}

/* The whole file, mapped into memory, or NULL. */
static const uint8_t *mapped(struct sstable *t)
{
	const void *map = atomic_load_explicit(&t->map, memory_order_acquire);
	const void *other = NULL;

	if (map || atomic_load_explicit(&t->unmappable, memory_order_relaxed))
		return map;
	if (os_map_read(t->file, t->info.file_bytes, &map) < 0) {
		atomic_store(&t->unmappable, true);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&t->map, &other, map))
		return map;
	os_unmap(t->file, map, t->info.file_bytes);
	return other;
}

/*
 * As read_all(), for a few bytes: copies from the mapping, since a system call
 * would cost more. If that fails, reads, which gives the error.
 */
static int read_few(struct sstable *t, void *to, size_t n, uint64_t offset)
{
	const uint8_t *map = mapped(t);

	if (map && offset <= t->info.file_bytes &&
	    n <= t->info.file_bytes - offset &&
	    os_map_copy(t->file, to, map + offset, n))
		return 0;
	return read_all(t, to, n, offset);
}

/* Inflates into exactly @raw_len bytes. */
static int inflate_all(struct bytes stored, uint8_t *raw, size_t raw_len)
{
	z_stream z = {
		.next_in = (uint8_t *)stored.data,
		.avail_in = (uInt)stored.len,
		.next_out = raw,
		.avail_out = (uInt)raw_len,
	};
	int r;

	if (inflateInit(&z) != Z_OK)
		return why(-ENOMEM, "no memory to inflate");
	r = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (r == Z_MEM_ERROR)
		return why(-ENOMEM, "no memory to inflate");
	if (r != Z_STREAM_END || z.avail_out || z.avail_in)
		return why(-EUCLEAN, "what is compressed is damaged");
	return 0;
}

/* Checks @stored by its trailer, and puts the content into @raw. */
int sst_unpack(const struct sstable *t, const struct sst_place *p,
	       const uint8_t *stored, size_t raw_len, uint8_t *raw)
{
	uint8_t codec;
	uint32_t len;
	int r = sst_trailer_check(stored, p->len, t->info.number, p->offset,
				  p->hash, &codec, &len);

	if (r < 0)
		return r;
	if (len != raw_len)
		return why(-EUCLEAN, "the length differs from the index");
	if (codec == SST_ZLIB)
		return inflate_all(bytes_of(stored, p->len), raw, raw_len);
	if (codec != SST_PLAIN || p->len != raw_len)
		return why(-EUCLEAN, "its compression is unknown");
	if (stored != raw && raw_len)
		memcpy(raw, stored, raw_len);
	return 0;
}

/* Reads the content of block @i into @b. */
static int read_block(const struct sstable *t, uint32_t i,
		      const struct sst_window *w, struct block *b)
{
	const struct index_entry *e = &t->index.entries[i];
	const struct sst_place p = {e->offset, e->stored_len, e->hash};
	size_t len = p.len + SST_TRAILER_LEN;
	uint8_t *stored;
	int r;

	b->plain = p.len == b->raw_len;
	if (w && p.offset >= w->offset && w->len >= len &&
	    p.offset - w->offset <= w->len - len)
		return sst_unpack(t, &p, w->bytes + (p.offset - w->offset),
				  b->raw_len, b->raw);
	/*
	 * Uncompressed: read to its final place, with the trailer in the slack.
	 */
	if (b->plain) {
		r = read_all(t, b->raw, len, p.offset);
		if (r == 0)
			r = sst_unpack(t, &p, b->raw, b->raw_len, b->raw);
		memset(b->raw + b->raw_len, 0, BLOCK_SLACK);
		return r;
	}
	stored = malloc(len);
	if (!stored)
		return why(-ENOMEM, "no memory to read a block");
	r = read_all(t, stored, len, p.offset);
	if (r == 0)
		r = sst_unpack(t, &p, stored, b->raw_len, b->raw);
	free(stored);
	return r;
}

int sst_refill(struct sstable *t, const struct block *b, uint32_t i,
	       struct block **out)
{
	uint64_t offset = t->index.entries[i].offset;
	struct block *n;
	int r = block_refill(b, &n);

	if (r < 0)
		return r;
	r = read_few(t, n->raw, n->front_len, offset);
	if (r == 0)
		r = block_refilled(n);
	if (r == 0) {
		*out = n;
		return 0;
	}
	block_free(n);
	return r == -EUCLEAN ? sst_block_damaged(t, i) : r;
}

/* Are these pieces of the values as they were when the block was made bare? */
static int check_pieces(const struct block *b, uint64_t piece, struct bytes in)
{
	for (; in.len; piece++) {
		size_t n = in.len < BLOCK_PIECE ? in.len : BLOCK_PIECE;

		if (block_piece_sum(in.data, n) != b->sums[piece])
			return why(-EUCLEAN, "its values have changed");
		in = bytes_of(in.data + n, in.len - n);
	}
	return 0;
}

int sst_read_value(struct sstable *t, const struct block *b, uint32_t index,
		   uint32_t cell, struct buf *hold)
{
	uint64_t all = block_number(b, BLOCK_VALUE_END, b->ncell);
	uint64_t len, at = block_value_at(b, cell, &len);
	uint64_t from = at / BLOCK_PIECE * BLOCK_PIECE;
	uint64_t end = (at + len + BLOCK_PIECE - 1) / BLOCK_PIECE * BLOCK_PIECE;
	int r;

	hold->len = 0;
	if (!len)
		return 0;
	if (end > all)
		end = all;
	r = buf_reserve(hold, end - from);
	if (r < 0)
		return why(r, "no memory for a value of %" PRIu64 " bytes",
			   len);
	r = read_few(t, hold->data, end - from,
		     t->index.entries[index].offset + b->raw_len - all + from);
	if (r == 0)
		r = check_pieces(b, from / BLOCK_PIECE,
				 bytes_of(hold->data, end - from));
	if (r < 0)
		return r == -EUCLEAN ? sst_block_damaged(t, index) : r;
	memmove(hold->data, hold->data + (at - from), len);
	hold->len = len;
	return 0;
}

static int misplaced(const char *what)
{
	return why(-EUCLEAN, "%s", what);
}

/* Compares row @row of the block with the first row of block @i. */
static int compare_rows(const struct sst_index *x, uint32_t i,
			const struct block *b, uint32_t row)
{
	struct bytes suffix = block_suffix(b, row);
	size_t n = b->prefix.len;
	uint8_t whole[ROW_LEN_MAX]; /* block_decode() checked the length */

	if (n)
		memcpy(whole, b->prefix.data, n);
	if (suffix.len)
		memcpy(whole + n, suffix.data, suffix.len);
	return index_row_cmp(x, i, bytes_of(whole, n + suffix.len));
}

/*
 * Is the block as the index says, and does it end before the next block? When
 * all blocks passed this, the order across blocks is known to be right.
 */
static int check_place(const struct sst_index *x, uint32_t i,
		       const struct block *b)
{
	const struct index_entry *e = &x->entries[i];
	struct entry here, there;
	int c;

	if (b->continues != index_continues(x, i) || b->ts_min != e->ts_min ||
	    b->ts_max != e->ts_max)
		return misplaced("it is not what the index says");
	if (compare_rows(x, i, b, 0) != 0)
		return misplaced("its first row is not what the index says");
	if (b->continues) {
		block_entry(b, 0, &here);
		index_place(e, &there);
		if (entry_cmp(&here, &there))
			return misplaced("its first cell is not what the "
					 "index says");
	}
	if (i + 1 == x->nblocks)
		return 0;
	c = compare_rows(x, i + 1, b, b->nrow - 1);
	if (!index_continues(x, i + 1))
		return c > 0 ? 0 : misplaced("its rows overlap the next block");
	if (c != 0)
		return misplaced("its last row does not go on in the next "
				 "block");
	block_entry(b, b->ncell - 1, &here);
	index_place(e + 1, &there);
	if (entry_cmp(&here, &there) >= 0)
		return misplaced("its cells overlap the next block");
	return 0;
}

int sst_load_alone(const struct sstable *t, uint32_t i,
		   const struct sst_window *w, bool passing, struct block **out)
{
	const struct index_entry *e = &t->index.entries[i];
	struct block *b;
	int r = block_new(e->raw_len, e->nrow, passing, &b);

	if (r < 0)
		return r;
	r = read_block(t, i, w, b);
	if (r == 0)
		r = block_decode(b);
	if (r == 0)
		*out = b;
	else
		block_free(b);
	return r;
}

int sst_try_load(const struct sstable *t, uint32_t i,
		 const struct sst_window *w, bool passing, struct block **out)
{
	struct block *b = NULL;
	int r = sst_load_alone(t, i, w, passing, &b);

	if (r == 0)
		r = check_place(&t->index, i, b);
	if (r == 0)
		*out = b;
	else
		block_free(b);
	return r;
}

int sst_load(struct sstable *t, uint32_t i, const struct sst_window *w,
	     bool passing, struct block **out)
{
	int r = sst_why_lost(t);

	if (r < 0)
		return r;
	r = sst_try_load(t, i, w, passing, out);
	return r == -EUCLEAN ? sst_block_damaged(t, i) : r;
}

int sst_window_fill(const struct sstable *t, uint32_t i, size_t len,
		    struct sst_window *w)
{
	uint64_t end = t->info.file_bytes;
	ssize_t r;

	assert(i < t->index.nblocks);
	w->offset = t->index.entries[i].offset;
	w->len = 0;
	if (len > w->cap)
		len = w->cap;
	if (len > end - w->offset)
		len = end - w->offset;
	r = os_pread(t->file, w->bytes, len, w->offset);
	if (r < 0)
		return (int)r;
	w->len = (size_t)r;
	return 0;
}

int sst_read_section(struct sstable *t, const struct sst_footer *f,
		     enum sst_section which)
{
	const struct sst_place *p = &f->section[which];
	struct buf *to = &t->section[which];
	/*
	 * Keys of the index are copied in pieces that may exceed their length.
	 */
	size_t room = p->len + SST_TRAILER_LEN + BLOCK_SLACK;
	int r;

	/* Align the lines of filters with cache lines. */
	room += -room % BLOOM_LINE;
	to->data = aligned_alloc(BLOOM_LINE, room);
	if (!to->data)
		return why(-ENOMEM,
			   "no memory for a section of %" PRIu64 " bytes",
			   p->len);
	to->cap = room;
	r = read_all(t, to->data, p->len + SST_TRAILER_LEN, p->offset);
	if (r == 0)
		r = sst_unpack(t, p, to->data, p->len, to->data);
	if (r == 0)
		to->len = p->len;
	return r;
}

int sst_read_footer(struct sstable *t, struct sst_footer *f)
{
	uint8_t footer[SST_FOOTER_LEN];
	uint64_t number = t->info.number, size;
	int r = os_size(t->file, &size);

	if (r < 0)
		return lost(r);
	if (t->info.file_bytes && size != t->info.file_bytes)
		return why(-EUCLEAN,
			   "%" PRIu64 ".sst is damaged: it has %" PRIu64
			   " bytes and should have %" PRIu64,
			   number, size, t->info.file_bytes);
	if (size < SST_FOOTER_LEN)
		return why(-EUCLEAN, "%" PRIu64 ".sst is cut short", number);
	t->info.file_bytes = size;
	r = read_all(t, footer, sizeof(footer), size - SST_FOOTER_LEN);
	if (r == 0)
		r = sst_footer_decode(footer, number, size, f);
	return r;
}

static int take_filter(struct sstable *t)
{
	struct bytes in = buf_bytes(&t->section[SST_FILTER]), end;
	uint64_t kind, family, rows_len;

	t->bloom_kind = BLOOM_NONE;
	if (in.len == 0)
		return 0;
	if (in.len < SST_FILTER_END_LEN)
		return why(-EUCLEAN, "its filter is cut short");
	in.len -= SST_FILTER_END_LEN;
	end = bytes_of(in.data + in.len, SST_FILTER_END_LEN);
	sst_take(&end, 1, &kind);
	sst_take(&end, 1, &family);
	sst_take(&end, 4, &rows_len);
	if ((kind != BLOOM_ROW && kind != BLOOM_ROWCOL) || family > 1 ||
	    rows_len == 0 || rows_len > in.len || rows_len % BLOOM_LINE ||
	    in.len % BLOOM_LINE || (kind == BLOOM_ROW) != (rows_len == in.len))
		return why(-EUCLEAN, "its filter is damaged");
	t->bloom_kind = (uint8_t)kind;
	t->has_family = family;
	t->rows = bytes_of(in.data, rows_len);
	t->columns = bytes_of(in.data + rows_len, in.len - rows_len);
	return 0;
}

void sst_release(struct sstable *t)
{
	cache_slots_release(&t->slots);
	index_release(&t->index);
	if (atomic_load(&t->map))
		os_unmap(t->file, t->map, t->info.file_bytes);
	for (int i = 0; i < SST_NSECTIONS; i++)
		buf_free(&t->section[i]);
	os_close(t->file);
	sst_info_free(&t->info);
	free(t->lost);
	free(t);
}

int sst_open_file(struct sstable *t)
{
	char name[SST_NAME_LEN];
	int r;

	sst_name(t->info.number, name);
	r = os_open(t->dir, name, OS_READ | OS_RANDOM | OS_LINKED, &t->file);
	/* Not -ENOENT, which means an absent table or store. */
	return r == -ENOENT ? why(-EUCLEAN, "it is missing: restore it from a "
					    "copy")
			    : lost(r);
}

static int open_sections(struct sstable *t, const struct sst_footer *f)
{
	int r = sst_read_section(t, f, SST_INDEX);

	if (r == 0)
		r = index_decode(buf_bytes(&t->section[SST_INDEX]),
				 f->section[SST_INDEX].offset, &t->index);
	if (r == 0)
		r = sst_read_section(t, f, SST_FILTER);
	if (r == 0)
		r = take_filter(t);
	return r;
}

int sst_open(struct os_dir *dir, const struct sst_info *info,
	     const struct sst_options *o, struct block_cache *cache,
	     struct sstable **out)
{
	struct sst_footer f;
	struct sstable *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return why(-ENOMEM, "no memory to open an sstable");
	atomic_init(&t->refs, 1);
	t->dir = dir;
	r = sst_info_copy(&t->info, info);
	if (r == 0)
		r = sst_open_file(t);
	if (r == 0)
		r = sst_read_footer(t, &f);
	if (r == 0 && f.hash != info->checksum)
		r = why(-EUCLEAN, "it is not the file that was written under "
				  "this number");
	if (r == 0)
		r = open_sections(t, &f);
	if (r == 0)
		r = cache_slots_init(&t->slots, o->block_cache ? cache : NULL,
				     t->index.nblocks, o->in_memory);
	if (r == 0) {
		*out = t;
		return 0;
	}
	if (r == -EUCLEAN)
		why(r, "%" PRIu64 ".sst cannot be opened: %s", info->number,
		    store_why());
	sst_release(t);
	return r;
}

int sst_info_load(struct os_dir *dir, uint64_t number, struct sst_info *out)
{
	struct sst_footer f;
	struct sst_info i;
	struct sstable *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return why(-ENOMEM, "no memory to open an sstable");
	t->dir = dir;
	t->info.number = number;
	r = sst_open_file(t);
	if (r == 0)
		r = sst_read_footer(t, &f);
	if (r == 0)
		r = sst_read_section(t, &f, SST_PROPERTIES);
	if (r == 0)
		r = sst_properties_decode(
			buf_bytes(&t->section[SST_PROPERTIES]), &i);
	if (r == 0) {
		i.number = number;
		i.tree = f.tree;
		i.file_bytes = f.file_bytes;
		i.checksum = f.hash;
		*out = i;
	}
	sst_release(t);
	return r;
}

void sst_ref(struct sstable *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

void sst_obsolete(struct sstable *t)
{
	atomic_store(&t->obsolete, true);
}

void sst_unref(struct sstable *t)
{
	char name[SST_NAME_LEN];

	if (!t || !refs_drop(&t->refs))
		return;
	if (atomic_load(&t->obsolete)) {
		/*
		 * If this fails, the next open of the store removes the file.
		 */
		sst_name(t->info.number, name);
		os_discard(t->dir, name);
	}
	sst_release(t);
}

const struct sst_info *sst_info(const struct sstable *t)
{
	return &t->info;
}

size_t sst_memory(const struct sstable *t)
{
	size_t n = sizeof(*t) + cache_slots_memory(&t->slots);

	for (int i = 0; i < SST_NSECTIONS; i++)
		n += t->section[i].cap;
	return n + index_memory(&t->index);
}

bool sst_block(const struct sstable *t, uint32_t i, struct sst_block *out)
{
	const struct index_entry *e;

	if (i >= t->index.nblocks)
		return false;
	e = &t->index.entries[i];
	*out = (struct sst_block){e->stored_len, e->ts_min, e->ts_max};
	return true;
}

int sst_block_row(const struct sstable *t, uint32_t i, struct buf *to)
{
	return index_row(&t->index, i, to);
}

bool sst_spans(const struct sstable *t, struct bytes row)
{
	return bytes_cmp(row, buf_bytes(&t->info.row_min)) >= 0 &&
	       bytes_cmp(row, buf_bytes(&t->info.row_max)) <= 0;
}

bool sst_may_have_row(const struct sstable *t, struct bytes row)
{
	return sst_spans(t, row) && sst_filter_has(t, sst_hash_row(row));
}

bool sst_filter_has(const struct sstable *t, uint64_t row_hash)
{
	return t->bloom_kind == BLOOM_NONE || bloom_may_have(t->rows, row_hash);
}

void sst_filter_ahead(const struct sstable *t, uint64_t row_hash)
{
	if (t->bloom_kind != BLOOM_NONE)
		bloom_ahead(t->rows, row_hash);
}

static uint64_t row_hash(struct sst_column *c)
{
	if (!c->row_hash)
		c->row_hash = sst_hash_row(c->row);
	return c->row_hash;
}

static uint64_t column_hash(struct sst_column *c)
{
	if (!c->column_hash)
		c->column_hash = sst_hash_column(row_hash(c), c->qualifier);
	return c->column_hash;
}

/* The filter of rows is smaller and more likely in the processor's caches. */
static bool asks_rows(const struct sstable *t, const struct sst_column *c)
{
	return !c->row_exists || t->bloom_kind == BLOOM_ROW;
}

bool sst_may_have_column(const struct sstable *t, struct sst_column *c)
{
	if (t->bloom_kind == BLOOM_NONE)
		return sst_spans(t, c->row);
	if (asks_rows(t, c) && !bloom_may_have(t->rows, row_hash(c)))
		return false;
	if (t->bloom_kind == BLOOM_ROW)
		return true;
	return bloom_may_have(t->columns, column_hash(c)) ||
	       (t->has_family &&
		bloom_may_have(t->rows, sst_hash_family(c->row_hash)));
}

void sst_column_ahead(const struct sstable *t, struct sst_column *c)
{
	if (t->bloom_kind == BLOOM_NONE)
		return;
	if (asks_rows(t, c))
		bloom_ahead(t->rows, row_hash(c));
	if (t->bloom_kind == BLOOM_ROWCOL)
		bloom_ahead(t->columns, column_hash(c));
}
