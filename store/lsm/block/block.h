/*
 * Blocks: the unit in which sstables are read, checked and cached.
 *
 * A block holds the cells of consecutive rows in columns: what belongs to a row
 * is stored once per row, and each property of the cells is an array of
 * fixed-width numbers. So every cell is found by its index, reading backwards
 * costs as much as forwards, and a search touches only the numbers that it
 * compares.
 *
 *	block	= header array[9] prefix suffix* qualifier* value*
 *	header	= nrow:4 ncell:4 nqual:4 prefix_len:2 flags:1 kind:1
 *		  width:1[9] zero:1[7] ts:8 seq:8 ttl:8
 *	array	= number:width*
 *
 * All numbers are little-endian. An entry of an array is the stored number plus
 * the base in the header (ts, seq, ttl, kind; else 0). Width 0 stores nothing:
 * a block of puts has no array of kinds, one whose sequences are all equal no
 * array of sequences.
 *
 *	ROW_END	  nrow + 1   where suffix i begins and i - 1 ends
 *	ROW_CELL  nrow + 1   first cell of row i
 *	QUAL_END  nqual + 1  where qualifier i begins
 *	ID	  ncell	     qualifier; the dictionary is sorted, so that ids
 *			     compare as names do
 *	TS SEQ TTL KIND	     ncell each
 *	VALUE_END ncell + 1  where value i begins
 *
 * A row is prefix + suffix. FLAG_CONTINUES: the first row began in the block
 * before. The heads of the suffixes (first 8 bytes as one big-endian number)
 * are computed at load; they decide nearly every comparison of rows.
 *
 * block_decode() checks once all that the functions below rely on: sections
 * inside the block, offsets ascending, entries strictly ascending.
 *
 * A bare block is a block without its values, a tenth of its size unless values
 * are tiny: it says where in the file each value is, and has a checksum of each
 * BLOCK_PIECE bytes of values, so that values are checked when they are read
 * later. A hollow block is a bare one without its bytes, of some hundred bytes:
 * the front, all that precedes the values, is read from the file as well and
 * must have the checksum that it had when it was decoded.
 */
#ifndef CELLFS_STORE_LSM_BLOCK_BLOCK_H
#define CELLFS_STORE_LSM_BLOCK_BLOCK_H

#include <endian.h>
#include <stdatomic.h>

#include "store/lsm/base/cursor.h"

#define BLOCK_HEADER_LEN 56
/* A value of VALUE_LEN_MAX in its own block, or two targets of 16 MiB. */
#define BLOCK_LEN_MAX (VALUE_LEN_MAX + (64u << 20))
/*
 * Numbers are read eight bytes at a time, and a trailer may be read after the
 * block, so this much memory follows it.
 */
#define BLOCK_SLACK 16
/* XXH3 takes several times as long per byte for longer pieces. */
#define BLOCK_PIECE 240u
/* The cache lines that most searches in a block look at. */
#define BLOCK_AHEAD 24

enum block_column {
	BLOCK_ROW_END,
	BLOCK_ROW_CELL,
	BLOCK_QUAL_END,
	BLOCK_ID,
	BLOCK_TS,
	BLOCK_SEQ,
	BLOCK_TTL,
	BLOCK_KIND,
	BLOCK_VALUE_END,
	BLOCK_NCOLUMNS
};

/* An array of numbers of @width bytes, at offset @at of the block. */
struct column {
	uint32_t at, width;
};

extern const uint64_t block_mask[9]; /* mask of the low @width bytes */

/*
 * The fields that a read looks at are in the first three cache lines. All of a
 * block is one piece of memory: this struct, heads or sums, raw[]. Behind this
 * struct a long one that is whole has its struct piece, which others may hold.
 */
struct block {
	uint32_t nrow, ncell, nqual;
	uint32_t row_len_max; /* the longest row in it */
	bool continues;	      /* FLAG_CONTINUES */
	bool has_family;      /* holds family markers */
	/*
	 * Facts that let readers skip checks. puts: all cells are puts without
	 * a ttl; simple: puts, and no two have the same coordinates; copies:
	 * the most versions of one column in one row.
	 */
	bool puts, simple;
	uint32_t copies;
	bool plain;	  /* stored in the file uncompressed */
	bool passing;	  /* allocated by malloc(), not the slab */
	atomic_bool used; /* used since the cache's clock hand passed */
	uint32_t raw_len;
	uint32_t front_len; /* length of what precedes the values */
	uint64_t seq_max;
	uint64_t *heads; /* [nrow]; NULL unless the block is whole */
	uint32_t *sums;	 /* of the pieces of values; NULL: it is whole */
	struct bytes prefix;
	const uint8_t *suffixes, *qualifiers;
	const uint8_t *values; /* NULL unless the block is whole */
	struct column column[BLOCK_NCOLUMNS];
	uint64_t zero;	  /* what columns of width 0 point to */
	uint64_t base[4]; /* of TS, SEQ, TTL, KIND */
	/* [raw_len + BLOCK_SLACK], only the front if bare, NULL if hollow */
	uint8_t *raw;
	size_t memory; /* bytes of all this */
	int64_t ts_min, ts_max;
	uint64_t front_sum;	/* checksum of the front, unless whole */
	_Atomic uint32_t reads; /* roughly counted, unless whole */
	/* Owned by the cache: the block's slot and ring. */
	uint32_t index;
	void *slots;
	struct block *next, *prev;
};

static inline struct known block_known(const struct block *b)
{
	return (struct known){.puts = b->puts,
			      .simple = b->simple,
			      .copies = b->copies,
			      .seq_max = b->seq_max,
			      .ts_min = b->ts_min,
			      .ts_max = b->ts_max};
}

static inline uint64_t block_number(const struct block *b, enum block_column c,
				    size_t i)
{
	const struct column *k = &b->column[c];
	uint64_t v;

	memcpy(&v, (const uint8_t *)b + k->at + i * k->width, sizeof(v));
	v = le64toh(v) & block_mask[k->width];
	if (c >= BLOCK_TS && c <= BLOCK_KIND)
		v += b->base[c - BLOCK_TS];
	return v;
}

/*
 * Memory for a block of @raw_len bytes that holds @nrow rows. Both numbers come
 * from a file and are checked here. A @passing block, as in a merge, takes no
 * piece of the slab's chunks. -EUCLEAN, -ENOMEM.
 */
int block_new(size_t raw_len, uint32_t nrow, bool passing, struct block **out);
void block_free(struct block *b); /* @b may be NULL */

/*
 * Prefetches the head and the arrays of a block at once, since a block that was
 * cached long ago is not in the processor's caches. Neighbouring lines take
 * less than half the time of scattered ones. @b may have been freed.
 */
static inline void block_ahead(const struct block *b)
{
	const char *at = (const char *)b;

	for (size_t n = 0; n < offsetof(struct block, base) + 16; n += 64)
		__builtin_prefetch(at + n);
	for (size_t n = sizeof(*b) & ~(size_t)63; n < BLOCK_AHEAD * 64; n += 64)
		__builtin_prefetch(at + n);
}

static inline void block_bytes_ahead(const uint8_t *at, size_t len)
{
	const uint8_t *end = at + (len < 8 * 64 ? len : 8 * 64);

	/* From the start of a line, so that no line is left out. */
	at = (const uint8_t *)((uintptr_t)at & ~(uintptr_t)63);
	for (; at < end; at += 64)
		__builtin_prefetch(at);
}

/* How much of a block is in memory. */
enum block_form {
	BLOCK_HOLLOW,
	BLOCK_BARE,
	BLOCK_WHOLE
};

static inline enum block_form block_form(const struct block *b)
{
	if (!b->sums)
		return BLOCK_WHOLE;
	return b->raw ? BLOCK_BARE : BLOCK_HOLLOW;
}

/*
 * Makes a bare block of a decoded one, or a hollow block of a bare one: 1, 0 if
 * that would not save half of the memory, -ENOMEM.
 */
int block_bare(const struct block *b, struct block **out);
int block_hollow(const struct block *b, struct block **out);
/*
 * Makes a bare block of hollow @b. The caller reads the front from the file
 * into its raw[], and block_refilled() checks it. -ENOMEM; -EUCLEAN.
 */
int block_refill(const struct block *b, struct block **out);
int block_refilled(struct block *b);
uint32_t block_piece_sum(const uint8_t *piece, size_t len);
/* Checks raw[] and fills the rest of @b from it. 0, or -EUCLEAN and why. */
int block_decode(struct block *b);
/* The first part of block_decode(): where each array is in raw[]. */
int block_lay_out(struct block *b);
/* Copies the block into memory of its own. -ENOMEM. */
int block_copy(const struct block *b, struct block **out);
/* Makes pointers into raw[] of @from point into that of @to, which is equal. */
void block_move(struct block *to, const struct block *from);

/* The first row >= @row (> @row if @after); nrow if there is none. */
uint32_t block_find_row(const struct block *b, struct bytes row, bool after);
/* The first row >= @row, and whether it is equal. */
uint32_t block_find_equal(const struct block *b, struct bytes row, bool *equal);
/* Compares row @i with @row. */
int block_row_cmp(const struct block *b, uint32_t i, struct bytes row);

static inline struct bytes block_suffix(const struct block *b, uint32_t i)
{
	uint64_t from = block_number(b, BLOCK_ROW_END, i);

	return bytes_of(b->suffixes + from,
			block_number(b, BLOCK_ROW_END, i + 1) - from);
}

static inline uint32_t block_row_cell(const struct block *b, uint32_t row)
{
	return block_number(b, BLOCK_ROW_CELL, row);
}

static inline uint8_t block_kind(const struct block *b, uint32_t cell)
{
	return block_number(b, BLOCK_KIND, cell);
}

static inline struct bytes block_qualifier(const struct block *b, uint32_t id)
{
	uint64_t from = block_number(b, BLOCK_QUAL_END, id);

	return bytes_of(b->qualifiers + from,
			block_number(b, BLOCK_QUAL_END, id + 1) - from);
}

/* The offset of a cell's value among the values. */
static inline uint64_t block_value_at(const struct block *b, uint32_t cell,
				      uint64_t *len)
{
	uint64_t from = block_number(b, BLOCK_VALUE_END, cell);

	*len = block_number(b, BLOCK_VALUE_END, cell + 1) - from;
	return from;
}

static inline size_t block_value_len(const struct block *b, uint32_t cell)
{
	uint64_t len;

	block_value_at(b, cell, &len);
	return len;
}

/* Fills all of the entry but its value. */
static inline void block_entry_key(const struct block *b, uint32_t cell,
				   struct entry *e)
{
	e->qualifier = block_qualifier(b, block_number(b, BLOCK_ID, cell));
	e->ts = (int64_t)block_number(b, BLOCK_TS, cell);
	e->seq = block_number(b, BLOCK_SEQ, cell);
	e->ttl_ms = 0;
	e->kind = CELL_PUT;
	if (b->puts)
		return;
	e->ttl_ms = block_number(b, BLOCK_TTL, cell);
	e->kind = (uint8_t)block_number(b, BLOCK_KIND, cell);
}

/* The block, if it is whole and the value is long and most of it; else NULL. */
static inline struct piece *block_piece(struct block *b, size_t value_len)
{
	return value_len >= CURSOR_PIECE_MIN && value_len >= b->memory / 2 &&
			       !b->sums
		       ? (struct piece *)(b + 1)
		       : NULL;
}

/* Fills the entry. The block must be whole. */
static inline void block_entry(const struct block *b, uint32_t cell,
			       struct entry *e)
{
	uint64_t len, at = block_value_at(b, cell, &len);

	block_entry_key(b, cell, e);
	e->value = bytes_of(b->values + at, len);
}

/*
 * The first cell in [@from, @to), part of one row, that is no family marker and
 * is at or after (@qualifier, @ts) in the order of cursor_ops.seek_cell; @to
 * if there is none.
 */
uint32_t block_find_column(const struct block *b, uint32_t from, uint32_t to,
			   struct bytes qualifier, int64_t ts);
/*
 * The first cell in [@cell, @to) that is not a marker of (@qualifier, @ts). No
 * cell there precedes (@qualifier, @ts).
 */
uint32_t block_pass_markers(const struct block *b, uint32_t cell, uint32_t to,
			    struct bytes qualifier, int64_t ts);
/* Finds the newest cell of a column; false if the column has none here. */
bool block_find_newest(const struct block *b, uint32_t from, uint32_t to,
		       struct bytes qualifier, uint32_t *cell);

/* What is known of the row's cells here after a look at each. */
void block_row_known(const struct block *b, uint32_t row, struct known *out);
/* Does the marker hide all cells in [@from, @to)? */
bool block_covered(const struct block *b, uint32_t from, uint32_t to,
		   const struct cover *k);

struct block_builder;
int block_builder_new(struct block_builder **out);
void block_builder_free(struct block_builder *b); /* @b may be NULL */
/* Forgets what was added and keeps its memory, unless that is large. */
void block_builder_reset(struct block_builder *b);
/* Begins a row; @continues: its first part is in the block before. */
int block_builder_row(struct block_builder *b, struct bytes row,
		      bool continues);
/* Adds an entry to the last row. The caller keeps the order. */
int block_builder_add(struct block_builder *b, const struct entry *e);
/*
 * The same for the last entry of a block. Its value is not copied: it stays where
 * it is, and is the caller's to write behind what block_builder_finish() makes.
 */
int block_builder_end(struct block_builder *b, const struct entry *e);
/* That value; empty without one. */
struct bytes block_builder_tail(const struct block_builder *b);
uint32_t block_builder_rows(const struct block_builder *b);
uint32_t block_builder_cells(const struct block_builder *b);
/* An estimate of the block's present size. */
size_t block_builder_bytes(const struct block_builder *b);
/*
 * Writes the block into the @size bytes at @room if it surely fits there with
 * BLOCK_SLACK, which is overwritten, else into @raw; *out is the block, but for
 * block_builder_tail().
 */
int block_builder_finish(struct block_builder *b, uint8_t *room, size_t size,
			 struct buf *raw, struct bytes *out);

#endif
