/*
 * Blocks: the unit in which sstables are read, checked and cached.
 *
 * A block holds the cells of consecutive rows in columns: what belongs to a row
 * is there once a row, and each property of a cell is an array of fixed-width
 * numbers, so that every cell is reached by its index, forwards and backwards
 * cost the same and a search touches only what it compares.
 *
 *	block	= header array[9] prefix suffix* qualifier* value*
 *	header	= nrow:4 ncell:4 nqual:4 prefix_len:2 flags:1 kind:1
 *		  width:1[9] zero:1[7] ts:8 seq:8 ttl:8
 *	array	= number:width*
 *
 * All numbers are little-endian. An entry of an array is what is stored plus
 * the base in the header (ts, seq, ttl, kind; else 0); width 0 stores nothing,
 * so a block of puts has no kinds, one without sequences no sequences.
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
 * block_decode() proves once all that the readers below then trust: sections
 * inside the block, offsets ascending, entries strictly ascending.
 *
 * A bare block is what is left of one without its values, a tenth where values
 * are not tiny: it says where in the file a value lies, and has a sum of each
 * piece of BLOCK_PIECE bytes of them, so that what is read later is checked as
 * all else. A hollow block is what is left of a bare one without its bytes,
 * some hundred: the front, all that comes before the values, is read from the
 * file as well and must have the sum that it had when it was proven.
 */
#ifndef CELLFS_STORE_LSM_TABLE_BLOCK_H
#define CELLFS_STORE_LSM_TABLE_BLOCK_H

#include <endian.h>
#include <stdatomic.h>

#include "store/lsm/base/cursor.h"

#define BLOCK_HEADER_LEN 56
/* A value of VALUE_LEN_MAX in a block of its own, or two targets of 16 MiB. */
#define BLOCK_LEN_MAX (VALUE_LEN_MAX + (64u << 20))
/*
 * Numbers are read eight bytes at a time, and a trailer may be read behind the
 * block: this much memory follows it.
 */
#define BLOCK_SLACK 16
/* No more: XXH3 takes several times as long a byte for what is longer. */
#define BLOCK_PIECE 240u
/* Lines of the processor's cache with all that a search looks at, mostly. */
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

/* An array of numbers of @width bytes, which begins @at of the block. */
struct column {
	uint32_t at, width;
};

extern const uint64_t block_mask[9]; /* of eight bytes, by width */

/*
 * What a read looks at lies in the first three lines of the processor's cache.
 * All of it is one piece of memory: this, heads or sums, raw[].
 */
struct block {
	uint32_t nrow, ncell, nqual;
	uint32_t row_len_max; /* the longest row in it */
	bool continues;	      /* FLAG_CONTINUES */
	bool has_family;      /* holds family markers */
	/*
	 * What spares readers questions: nothing but puts without a ttl;
	 * besides no two with the same coordinates; and how many versions a
	 * column of a row has here at most.
	 */
	bool puts, simple;
	uint32_t copies;
	bool plain;	  /* lies in the file as it is */
	bool passing;	  /* its memory is malloc()'s */
	atomic_bool used; /* the cache's: since its hand came by */
	uint32_t raw_len;
	uint32_t front_len; /* what is before the values */
	uint64_t seq_max;
	uint64_t *heads; /* [nrow]; NULL if it is not whole */
	uint32_t *sums;	 /* of the pieces; NULL if it is whole */
	struct bytes prefix;
	const uint8_t *suffixes, *qualifiers;
	const uint8_t *values; /* NULL if it is not whole */
	struct column column[BLOCK_NCOLUMNS];
	uint64_t zero;	  /* the numbers of a column of width 0 */
	uint64_t base[4]; /* of TS, SEQ; and of TTL, KIND, in another line */
	/* [raw_len + BLOCK_SLACK], the front if bare, NULL if hollow */
	uint8_t *raw;
	size_t memory; /* of all this */
	int64_t ts_min, ts_max;
	uint64_t front_sum;	/* unless it is whole */
	_Atomic uint32_t reads; /* of one that is not whole; about */
	/* The cache's own: where the block belongs, its ring. */
	uint32_t index;
	void *slots;
	struct block *next, *prev;
};

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
 * Memory for a block of @raw_len bytes that holds @nrow rows: both from outside
 * and checked here. One that is only @passing, as in a merge, does not take a
 * chunk of the slab for itself. -EUCLEAN, -ENOMEM.
 */
int block_new(size_t raw_len, uint32_t nrow, bool passing, struct block **out);
void block_free(struct block *b); /* NULL is nothing */

/*
 * A block that was cached long ago has left the processor's caches: its head
 * and the arrays behind are fetched at once, not one after the other. Lines
 * that lie together come for less than half of what those cost that do not.
 * @b need not be there any more.
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

	/* Where lines begin, so that none is left out. */
	at = (const uint8_t *)((uintptr_t)at & ~(uintptr_t)63);
	for (; at < end; at += 64)
		__builtin_prefetch(at);
}

/* How much of it is in memory. */
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
 * A bare one of a decoded block, a hollow one of a bare one: 1, 0 where that
 * would not save half of the memory, -ENOMEM.
 */
int block_bare(const struct block *b, struct block **out);
int block_hollow(const struct block *b, struct block **out);
/*
 * A bare one of hollow @b: the caller puts the front that is in the file into
 * its raw[], and block_refilled() checks it. -ENOMEM; -EUCLEAN.
 */
int block_refill(const struct block *b, struct block **out);
int block_refilled(struct block *b);
uint32_t block_piece_sum(const uint8_t *piece, size_t len);
/* Checks raw[] and makes the rest of @b from it. 0, or -EUCLEAN and why. */
int block_decode(struct block *b);
/* Of that the first part: where in raw[] what lies. */
int block_lay_out(struct block *b);
/* The same in memory of its own. -ENOMEM. */
int block_copy(const struct block *b, struct block **out);
/* What points into raw[] of @from points into that of @to, which is alike. */
void block_move(struct block *to, const struct block *from);

/* First row >= @row (> @row if @after); nrow if there is none. */
uint32_t block_find_row(const struct block *b, struct bytes row, bool after);
/* The same for >=; and is it equal? */
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

/* Where the value of a cell lies among the values. */
static inline uint64_t block_value_at(const struct block *b, uint32_t cell,
				      uint64_t *len)
{
	uint64_t from = block_number(b, BLOCK_VALUE_END, cell);

	*len = block_number(b, BLOCK_VALUE_END, cell + 1) - from;
	return from;
}

/* All of the entry but its value. */
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

/* Of a block that is not bare. */
static inline void block_entry(const struct block *b, uint32_t cell,
			       struct entry *e)
{
	uint64_t len, at = block_value_at(b, cell, &len);

	block_entry_key(b, cell, e);
	e->value = bytes_of(b->values + at, len);
}

/*
 * First cell in [@from, @to), part of one row, that is no family marker and at
 * or after (@qualifier, @ts) as cursor_ops.seek_column has it; @to if none.
 */
uint32_t block_find_column(const struct block *b, uint32_t from, uint32_t to,
			   struct bytes qualifier, int64_t ts);
/*
 * Of the cells from @cell on, before @to: the first that is no marker of
 * (@qualifier, @ts). None of them is before that.
 */
uint32_t block_pass_markers(const struct block *b, uint32_t cell, uint32_t to,
			    struct bytes qualifier, int64_t ts);
/* The same for the newest version; is what was found one of the column? */
bool block_find_newest(const struct block *b, uint32_t from, uint32_t to,
		       struct bytes qualifier, uint32_t *cell);

/* Does the marker hide all cells in [@from, @to)? */
bool block_covered(const struct block *b, uint32_t from, uint32_t to,
		   const struct cover *k);

struct block_builder;
int block_builder_new(struct block_builder **out);
void block_builder_free(struct block_builder *b); /* NULL is nothing */
/* Forgets what was added, keeps its memory unless it is much. */
void block_builder_reset(struct block_builder *b);
/* Begins a row; @continues: part of it is in the block before. */
int block_builder_row(struct block_builder *b, struct bytes row,
		      bool continues);
/* Adds an entry to the last row. The caller sees to the order. */
int block_builder_add(struct block_builder *b, const struct entry *e);
uint32_t block_builder_rows(const struct block_builder *b);
uint32_t block_builder_cells(const struct block_builder *b);
/* About what the block would take now. */
size_t block_builder_bytes(const struct block_builder *b);
/* Replaces @raw by the block. */
int block_builder_finish(struct block_builder *b, struct buf *raw);
/*
 * The same into @size bytes at @room if that is certain to be enough for it and
 * what is spoiled behind it, else into @raw; *out says where.
 */
int block_builder_finish_at(struct block_builder *b, uint8_t *room, size_t size,
			    struct buf *raw, struct bytes *out);

#endif
