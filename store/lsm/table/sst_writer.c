/*
 * Writes sstables: each block when it is full, the other sections at the end.
 *
 * Its memory is a block, a chunk, the index, and eight bytes for each key of
 * the filters.
 */
#include "store/lsm/table/sstable.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "store/lsm/block/bloom.h"
#include "store/lsm/table/sst_index.h"
#include "store/value/why.h"

/* The file is written in pieces of this size. */
#define CHUNK (256u << 10)
/*
 * With the space beyond CHUNK: a block that begins in the chunk is built in
 * place.
 */
#define CHUNK_ROOM (CHUNK + (64u << 10))
/*
 * The value of a block that it ends, if it is so long, is written from where it
 * is: to copy it into the block takes longer than to write it.
 */
#define APART_MIN (256u << 10)
/* Larger buffers are freed after their block. */
#define KEEP (8u << 20)

struct sst_writer {
	struct os_dir *dir;
	struct os_file *file;
	struct sst_options options;
	struct sst_info info;
	bool finished, failed;
	bool has_family; /* the filter of rows includes family markers */
	struct block_builder *block;
	struct index_builder index;
	struct buf raw;	   /* of the present block */
	struct buf packed; /* the same, deflated */
	struct bloom_keys row_keys, column_keys;
	struct arena keys; /* memory of both sets of keys */
	z_stream zlib;
	bool has_zlib;
	/* The last entry: its row is info.row_max. */
	struct entry last;
	struct buf last_qualifier;
	uint64_t row_hash;
	bool family_hashed; /* for this row */
	/* The first cell of the present block. */
	struct entry first;
	struct buf first_qualifier, first_row;
	bool first_continues;
	int64_t ts_min, ts_max; /* of the present block */
	/* Output: [0, written) is in the file, then the chunk. */
	uint64_t written;
	size_t chunk_len;
	uint8_t *chunk;
};

int sst_writer_new(struct os_dir *dir, uint64_t number,
		   const struct sst_options *o, struct sst_writer **out)
{
	char name[SST_NAME_LEN];
	struct sst_writer *w = calloc(1, sizeof(*w));
	int r = why(-ENOMEM, "no memory to write an sstable");

	if (!w)
		return r;
	w->dir = dir;
	w->options = *o;
	w->info.number = number;
	w->info.tree = o->tree;
	w->chunk = os_pages(CHUNK_ROOM);
	if (!w->chunk || block_builder_new(&w->block) < 0)
		goto fail;
	sst_name(number, name);
	r = os_open(dir, name, OS_WRITE | OS_CREATE | OS_EXCL, &w->file);
	if (r < 0)
		goto fail;
	*out = w;
	return 0;
fail:
	sst_writer_free(w);
	return r;
}

void sst_writer_free(struct sst_writer *w)
{
	char name[SST_NAME_LEN];

	if (!w)
		return;
	if (w->file) {
		os_close(w->file);
		sst_name(w->info.number, name);
		if (!w->finished)
			os_discard(w->dir, name);
	}
	if (w->has_zlib)
		deflateEnd(&w->zlib);
	block_builder_free(w->block);
	index_builder_release(&w->index);
	sst_info_free(&w->info);
	buf_free(&w->raw);
	buf_free(&w->packed);
	arena_release(&w->keys);
	buf_free(&w->last_qualifier);
	buf_free(&w->first_qualifier);
	buf_free(&w->first_row);
	if (w->chunk)
		os_pages_free(w->chunk, CHUNK_ROOM);
	free(w);
}

uint64_t sst_writer_bytes(const struct sst_writer *w)
{
	return w->written + w->chunk_len +
	       (w->block ? block_builder_bytes(w->block) : 0);
}

static uint64_t position(const struct sst_writer *w)
{
	return w->written + w->chunk_len;
}

/* Writes @n bytes of the chunk and moves the rest to its start. */
static int write_chunk(struct sst_writer *w, size_t n)
{
	int r = os_pwrite(w->file, w->chunk, n, w->written);

	assert(n <= w->chunk_len && w->chunk_len <= CHUNK_ROOM);
	if (r < 0)
		return r;
	w->written += n;
	w->chunk_len -= n;
	memmove(w->chunk, w->chunk + n, w->chunk_len);
	return 0;
}

static int output(struct sst_writer *w, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len) {
		size_t n = CHUNK - w->chunk_len;
		int r = 0;

		assert(w->chunk_len < CHUNK);
		if (w->chunk_len == 0 && len >= CHUNK) {
			/*
			 * Write whole chunks of a large block without a copy.
			 */
			n = len / CHUNK * CHUNK;
			r = os_pwrite(w->file, p, n, w->written);
			if (r == 0)
				w->written += n;
		} else {
			if (n > len)
				n = len;
			memcpy(w->chunk + w->chunk_len, p, n);
			w->chunk_len += n;
			if (w->chunk_len == CHUNK)
				r = write_chunk(w, CHUNK);
		}
		if (r < 0)
			return r;
		p += n;
		len -= n;
	}
	return 0;
}

/* Deflates raw and @tail into packed: 1 if that saves an eighth, else 0. */
static int deflate_raw(struct sst_writer *w, struct bytes tail)
{
	size_t len = w->raw.len + tail.len;
	size_t room = len - len / 8;
	int r;

	if (!w->has_zlib) {
		if (deflateInit(&w->zlib, 1) != Z_OK)
			return why(-ENOMEM, "no memory to compress");
		w->has_zlib = true;
	}
	deflateReset(&w->zlib);
	w->packed.len = 0;
	r = buf_reserve(&w->packed, room);
	if (r < 0)
		return r;
	w->zlib.next_in = w->raw.data;
	w->zlib.avail_in = (uInt)w->raw.len;
	w->zlib.next_out = w->packed.data;
	w->zlib.avail_out = (uInt)room;
	if (tail.len) {
		if (deflate(&w->zlib, Z_NO_FLUSH) != Z_OK || w->zlib.avail_in)
			return 0;
		w->zlib.next_in = (uint8_t *)tail.data;
		w->zlib.avail_in = (uInt)tail.len;
	}
	if (deflate(&w->zlib, Z_FINISH) != Z_STREAM_END)
		return 0;
	w->packed.len = room - w->zlib.avail_out;
	return 1;
}

/*
 * Appends @stored, which may already be at the chunk's end, @tail, and the trailer
 * of both.
 */
static int output_stored(struct sst_writer *w, struct bytes stored,
			 struct bytes tail, uint8_t codec, size_t raw_len,
			 struct sst_place *place)
{
	uint8_t trailer[SST_TRAILER_LEN];
	int r = 0;

	place->offset = position(w);
	place->len = stored.len + tail.len;
	sst_trailer(trailer, stored, tail, codec, (uint32_t)raw_len,
		    w->info.number, place->offset, &place->hash);
	if (stored.data == w->chunk + w->chunk_len) {
		w->chunk_len += stored.len;
		assert(w->chunk_len <= CHUNK_ROOM);
		if (w->chunk_len >= CHUNK)
			r = write_chunk(w, CHUNK);
	} else {
		r = output(w, stored.data, stored.len);
	}
	if (r == 0)
		r = output(w, tail.data, tail.len);
	return r < 0 ? r : output(w, trailer, sizeof(trailer));
}

/* Appends raw and @tail, deflated if that is smaller, and their trailer. */
static int output_raw(struct sst_writer *w, struct bytes tail,
		      struct sst_place *place)
{
	size_t raw_len = w->raw.len + tail.len;
	int r = 0;

	if (w->options.compression == COMPRESSION_ZLIB)
		r = deflate_raw(w, tail);
	if (r < 0)
		return r;
	if (r == 1)
		return output_stored(w, buf_bytes(&w->packed),
				     (struct bytes){0}, SST_ZLIB, raw_len,
				     place);
	return output_stored(w, buf_bytes(&w->raw), tail, SST_PLAIN, raw_len,
			     place);
}

/* Appends a section of the file, which is in raw. */
static int output_section(struct sst_writer *w, struct sst_place *place)
{
	return output_raw(w, (struct bytes){0}, place);
}

/* Builds the present block, in the chunk if it is not compressed. */
static int output_block(struct sst_writer *w, size_t *raw_len,
			struct sst_place *place)
{
	bool plain = w->options.compression == COMPRESSION_NONE;
	struct bytes made, tail = block_builder_tail(w->block);
	int r = block_builder_finish(w->block, w->chunk + w->chunk_len,
				     plain ? CHUNK_ROOM - w->chunk_len : 0,
				     &w->raw, &made);

	if (r < 0)
		return r;
	*raw_len = made.len + tail.len;
	if (plain)
		return output_stored(w, made, tail, SST_PLAIN, *raw_len, place);
	return output_raw(w, tail, place);
}

static int cut_block(struct sst_writer *w)
{
	struct sst_place place;
	size_t raw_len;
	struct index_entry e = {
		.nrow = block_builder_rows(w->block),
		.flags = w->first_continues ? INDEX_CONTINUES : 0,
		.ts_min = w->ts_min,
		.ts_max = w->ts_max,
	};
	int r = output_block(w, &raw_len, &place);

	if (r < 0)
		return r;
	e.hash = place.hash;
	e.stored_len = (uint32_t)place.len;
	e.raw_len = (uint32_t)raw_len;
	w->info.raw_bytes += raw_len;
	w->first.qualifier = buf_bytes(&w->first_qualifier);
	r = index_builder_add(&w->index, &e, buf_bytes(&w->first_row),
			      &w->first);
	block_builder_reset(w->block);
	/* A huge value must not hold memory for the rest of the file. */
	if (w->raw.cap > KEEP)
		buf_free(&w->raw);
	if (w->packed.cap > KEEP)
		buf_free(&w->packed);
	return r;
}

static int hash_row(struct sst_writer *w, struct bytes row)
{
	w->family_hashed = false;
	if (w->options.bloom == BLOOM_NONE)
		return 0;
	w->row_hash = sst_hash_row(row);
	return bloom_keys_add(&w->row_keys, &w->keys, w->row_hash);
}

static int hash_entry(struct sst_writer *w, const struct entry *e,
		      bool new_column)
{
	if (w->options.bloom != BLOOM_ROWCOL)
		return 0;
	if (kind_is_family_marker(e->kind)) {
		if (w->family_hashed)
			return 0;
		w->family_hashed = w->has_family = true;
		return bloom_keys_add(&w->row_keys, &w->keys,
				      sst_hash_family(w->row_hash));
	}
	return new_column ? bloom_keys_add(
				    &w->column_keys, &w->keys,
				    sst_hash_column(w->row_hash, e->qualifier))
			  : 0;
}

/*
 * Should the block end before this entry? Rows stay whole if they can; a large
 * value gets a block of its own, so that reading the row's other columns does
 * not read the value.
 */
static bool is_time(const struct sst_writer *w, const struct entry *e,
		    bool new_row)
{
	size_t have = block_builder_bytes(w->block);
	size_t target = w->options.block_size;

	if (block_builder_cells(w->block) == 0)
		return false;
	if (e->value.len >= target)
		return true;
	if (new_row)
		return have >= target;
	return have + e->value.len >= 2 * target;
}

static void count(struct sst_writer *w, const struct entry *e, bool new_row)
{
	struct sst_info *i = &w->info;
	/* Such a marker concerns all timestamps up to its own. */
	int64_t low =
		e->kind == CELL_DELETE_COLUMN || e->kind == CELL_DELETE_FAMILY
			? 0
			: e->ts;

	if (i->entries++ == 0) {
		i->seq_min = i->seq_max = e->seq;
		i->ts_min = low;
		i->ts_max = e->ts;
	}
	if (e->seq < i->seq_min)
		i->seq_min = e->seq;
	if (e->seq > i->seq_max)
		i->seq_max = e->seq;
	if (low < i->ts_min)
		i->ts_min = low;
	if (e->ts > i->ts_max)
		i->ts_max = e->ts;
	i->rows += new_row;
	i->markers += kind_is_marker(e->kind);
	if (e->ttl_ms)
		i->has_ttl = true;
	if (e->ts < w->ts_min)
		w->ts_min = e->ts;
	if (e->ts > w->ts_max)
		w->ts_max = e->ts;
}

/* 1: a new row, 0: the same row, or negative with why for a bad entry. */
static int check_entry(const struct sst_writer *w, struct bytes row,
		       const struct entry *e)
{
	int c = 1;

	if (row.len == 0 || row.len > ROW_LEN_MAX ||
	    e->qualifier.len > QUALIFIER_LEN_MAX ||
	    e->value.len > VALUE_LEN_MAX || e->ts < 0 || e->ts > TS_MAX ||
	    (kind_is_family_marker(e->kind) && e->qualifier.len))
		return why(-EINVAL,
			   "a cell that %" PRIu64
			   ".sst cannot hold: lengths or time",
			   w->info.number);
	if (w->info.entries)
		c = bytes_cmp(row, buf_bytes(&w->info.row_max));
	if (c < 0 || (c == 0 && entry_cmp(&w->last, e) >= 0))
		return why(-EUCLEAN,
			   "cells for %" PRIu64 ".sst come out of order",
			   w->info.number);
	return c > 0;
}

/* Begins a block with this entry. */
static int begin_block(struct sst_writer *w, struct bytes row,
		       const struct entry *e, bool continues)
{
	int r = block_builder_row(w->block, row, continues);

	if (r == 0)
		r = buf_set(&w->first_row, row);
	if (r == 0)
		r = buf_set(&w->first_qualifier, e->qualifier);
	w->first = *e;
	w->first_continues = continues;
	w->ts_min = INT64_MAX;
	w->ts_max = INT64_MIN;
	return r;
}

/*
 * Is the value that long that no other entry comes behind it in its block, and
 * that a copy of it costs?
 */
static bool ends_block(const struct sst_writer *w, const struct entry *e)
{
	return e->value.len >= APART_MIN &&
	       e->value.len >= 2 * (size_t)w->options.block_size;
}

static int writer_add(struct sst_writer *w, struct bytes row,
		      const struct entry *e, bool new_row)
{
	bool new_column = new_row || kind_is_family_marker(w->last.kind) ||
			  !bytes_eq(w->last.qualifier, e->qualifier);
	int r = 0;

	if (new_row)
		r = hash_row(w, row);
	if (r == 0)
		r = hash_entry(w, e, new_column);
	if (r == 0 && is_time(w, e, new_row))
		r = cut_block(w);
	if (r < 0)
		return r;
	if (block_builder_cells(w->block) == 0)
		r = begin_block(w, row, e, !new_row);
	else if (new_row)
		r = block_builder_row(w->block, row, false);
	if (r == 0)
		r = ends_block(w, e) ? block_builder_end(w->block, e)
				     : block_builder_add(w->block, e);
	if (r == 0 && new_row)
		r = buf_set(&w->info.row_max, row);
	if (r == 0 && w->info.entries == 0)
		r = buf_set(&w->info.row_min, row);
	if (r == 0 && new_column)
		r = buf_set(&w->last_qualifier, e->qualifier);
	if (r < 0)
		return r;
	count(w, e, new_row);
	w->last = *e;
	w->last.qualifier = buf_bytes(&w->last_qualifier);
	return block_builder_tail(w->block).len ? cut_block(w) : 0;
}

int sst_writer_add(struct sst_writer *w, struct bytes row,
		   const struct entry *e)
{
	int r;

	if (w->failed)
		return why(-EIO, "writing %" PRIu64 ".sst failed before",
			   w->info.number);
	r = check_entry(w, row, e);
	if (r >= 0)
		r = writer_add(w, row, e, r > 0);
	if (r < 0)
		w->failed = true;
	return r;
}

static int output_filter(struct sst_writer *w, struct sst_place *place)
{
	struct buf *raw = &w->raw;
	size_t rows_len;
	int r;

	raw->len = 0;
	if (w->options.bloom == BLOOM_NONE)
		return output_section(w, place);
	r = bloom_build(&w->row_keys, raw);
	rows_len = raw->len;
	if (r == 0 && w->options.bloom == BLOOM_ROWCOL)
		r = bloom_build(&w->column_keys, raw);
	if (r == 0)
		r = sst_put(raw, w->options.bloom, 1);
	if (r == 0)
		r = sst_put(raw, w->has_family, 1);
	if (r == 0)
		r = sst_put(raw, rows_len, 4);
	return r < 0 ? r : output_section(w, place);
}

static int output_sections(struct sst_writer *w, struct sst_footer *f)
{
	int r;

	/*
	 * Uncompressed: they are read at every open, and filters do not shrink.
	 */
	w->options.compression = COMPRESSION_NONE;
	w->raw.len = 0;
	r = index_builder_finish(&w->index, &w->raw);
	if (r == 0)
		r = output_section(w, &f->section[SST_INDEX]);
	if (r == 0)
		r = output_filter(w, &f->section[SST_FILTER]);
	w->raw.len = 0;
	if (r == 0)
		r = sst_properties_encode(&w->info, &w->raw);
	if (r == 0)
		r = output_section(w, &f->section[SST_PROPERTIES]);
	return r;
}

int sst_writer_finish(struct sst_writer *w, struct sst_info *info)
{
	struct sst_footer f = {.number = w->info.number, .tree = w->info.tree};
	uint8_t footer[SST_FOOTER_LEN];
	int r;

	if (w->failed || w->info.entries == 0)
		return why(-EINVAL, "%" PRIu64 ".sst cannot be finished: %s",
			   w->info.number,
			   w->failed ? "writing it failed" : "it is empty");
	w->failed = true;
	r = block_builder_cells(w->block) ? cut_block(w) : 0;
	if (r == 0)
		r = output_sections(w, &f);
	if (r < 0)
		return r;
	f.file_bytes = position(w) + SST_FOOTER_LEN;
	sst_footer_encode(&f, footer);
	r = output(w, footer, sizeof(footer));
	if (r == 0 && w->chunk_len)
		r = write_chunk(w, w->chunk_len);
	if (r == 0)
		r = os_fdatasync(w->file);
	if (r < 0)
		return r;
	w->info.file_bytes = f.file_bytes;
	w->info.checksum = f.hash;
	r = sst_info_copy(info, &w->info);
	if (r == 0)
		w->finished = true;
	return r;
}
