/*
 * The index of an sstable: the key and place of each block.
 *
 * Held in memory as an array of heads (first 8 bytes of a key after the common
 * prefix, as one number), lines of HEADS_LINE of them, the first head of each
 * line once more in an array that stays in the processor's caches, and one
 * record a block beside them. A search without branches finds the line, the
 * only one not in the processor's caches, then the place in it. Grammar in
 * sst_format.h.
 *
 * A block's key is its first row; a row wider than a block continues in the
 * next blocks, which have the same row as key, the flag INDEX_CONTINUES, and
 * the place of their first cell, so that the index alone tells the block of a
 * column of a wide row.
 */
#ifndef CELLFS_STORE_LSM_TABLE_SST_INDEX_H
#define CELLFS_STORE_LSM_TABLE_SST_INDEX_H

#include "store/lsm/table/sst_format.h"

#define INDEX_CONTINUES 1

struct index_entry {
	uint64_t offset, hash;
	int64_t ts_min, ts_max;
	uint32_t stored_len, raw_len, nrow;
	uint8_t flags;
	uint8_t place_kind;    /* of the first cell, if the row continues */
	uint16_t suffix_len;   /* of the row */
	const uint8_t *suffix; /* in the section */
	const uint8_t *place;  /* ts:8 seq:8 qualifier_len:2 qualifier */
};

struct sst_index {
	uint32_t nblocks;
	struct bytes prefix; /* of all keys; in the section */
	uint64_t *heads;     /* whole lines; padded with UINT64_MAX */
	uint64_t *lines;     /* the first head of each */
	uint64_t *continues; /* a bit per block: its flag INDEX_CONTINUES */
	uint64_t *inner;     /* a bit per block: it is part of one row */
	uint8_t *briefs;     /* a byte per block: see index_rows_few() */
	struct index_entry *entries;
};

/*
 * Reads the section, which must outlive the index; blocks fill [0, @blocks_end)
 * exactly. 0, -ENOMEM, or -EUCLEAN and why.
 */
int index_decode(struct bytes section, uint64_t blocks_end,
		 struct sst_index *out);
void index_release(struct sst_index *x); /* @x may be zeroed */

static inline bool index_continues(const struct sst_index *x, uint32_t i)
{
	return i < x->nblocks && (x->continues[i / 64] >> i % 64 & 1);
}

/* The first block from @i on that is not just a part of one row. */
static inline uint32_t index_behind_inner(const struct sst_index *x, uint32_t i)
{
	uint64_t others = ~x->inner[i / 64] >> i % 64;

	if (others)
		return i + (uint32_t)__builtin_ctzll(others);
	/* The bits after the last block are clear, so the loop ends. */
	for (i = i / 64 + 1; !~x->inner[i];)
		i++;
	return i * 64 + (uint32_t)__builtin_ctzll(~x->inner[i]);
}

/* The number of rows of block @i; INDEX_MANY means that many or more. */
#define INDEX_MANY 3u
static inline uint32_t index_rows_few(const struct sst_index *x, uint32_t i)
{
	return x->briefs[i] & INDEX_MANY;
}

/* The length of its suffix if the head is all of it, else a greater number. */
static inline size_t index_suffix_brief(const struct sst_index *x, uint32_t i)
{
	return x->briefs[i] >> 2;
}

/* Copies the first row of block @i. 0 or -ENOMEM. */
int index_row(const struct sst_index *x, uint32_t i, struct buf *to);
/* Compares the first row of block @i with @row. */
int index_row_cmp(const struct sst_index *x, uint32_t i, struct bytes row);
/* The first block whose first row is >= @row (> @row if @after), or nblocks. */
uint32_t index_find(const struct sst_index *x, struct bytes row, bool after);
/*
 * Finds a block in two steps, so that other memory can be prefetched while the
 * index's line is loaded: the block is @near or one of the HEADS_LINE after it.
 */
struct index_spot {
	uint32_t near;
	bool known; /* the block is @near */
	uint64_t head;
	struct bytes suffix;
};
void index_near(const struct sst_index *x, struct bytes row,
		struct index_spot *out);
/*
 * The first block whose first row is >= the row of @spot, and whether it is
 * equal. The heads usually decide.
 */
uint32_t index_find_equal(const struct sst_index *x,
			  const struct index_spot *spot, bool *equal);
/* Bytes of memory besides the section. */
size_t index_memory(const struct sst_index *x);
/* The first block with the same first row as block @i. */
uint32_t index_first_alike(const struct sst_index *x, uint32_t i);
/*
 * The first block after @from that does not continue @row, or whose first cell
 * is at or after (@qualifier, @ts), in the order of seek_cell, with a kind of
 * at most @kind if it is exactly there.
 */
uint32_t index_find_place(const struct sst_index *x, uint32_t from,
			  struct bytes row, struct bytes qualifier, int64_t ts,
			  uint8_t kind);
/* The first cell of a block that continues a row, without its value. */
void index_place(const struct index_entry *e, struct entry *out);

struct index_builder {
	struct buf entries; /* encoded, without row and row length */
	struct buf rows;    /* of each block: len:2 row */
	uint32_t nblocks;
	uint32_t prefix_len;
};

/* @first is the first cell; it is kept if @e->flags has INDEX_CONTINUES. */
int index_builder_add(struct index_builder *b, const struct index_entry *e,
		      struct bytes row, const struct entry *first);
int index_builder_finish(struct index_builder *b, struct buf *out);
void index_builder_release(struct index_builder *b);

#endif
