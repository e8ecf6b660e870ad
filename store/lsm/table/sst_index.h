/*
 * The index of an sstable: for each block its key and where it lies.
 *
 * Held in memory as an array of heads (first 8 bytes of a key after what all
 * have in common, as one number), lines of HEADS_LINE of them, the first head
 * of each line once more in an array that stays in the processor's caches, and
 * one record a block beside them. A search without branches finds the line,
 * which is the one that comes from memory, then the place in it. Grammar in
 * sst_format.h.
 *
 * A block's key is its first row; a row wider than a block goes on in following
 * blocks that have the same row as key, INDEX_CONTINUES, and the place of their
 * first cell, so that a column of a wide row is found by the index alone.
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
	uint8_t place_kind;    /* of the first cell, if it continues */
	uint16_t suffix_len;   /* of the row */
	const uint8_t *suffix; /* into the section */
	const uint8_t *place;  /* ts:8 seq:8 qualifier_len:2 qualifier */
};

struct sst_index {
	uint32_t nblocks;
	struct bytes prefix; /* of all keys; into the section */
	uint64_t *heads;     /* whole lines; behind the last UINT64_MAX */
	uint64_t *lines;     /* the first head of each */
	uint64_t *continues; /* a bit each: the flag, asked most */
	uint64_t *inner;     /* a bit each: it holds part of one row alone */
	uint8_t *briefs;     /* a byte each: see index_rows_few() */
	struct index_entry *entries;
};

/*
 * Reads the section, which must outlive the index; blocks fill [0, @blocks_end)
 * exactly. 0, -ENOMEM, or -EUCLEAN and why.
 */
int index_decode(struct bytes section, uint64_t blocks_end,
		 struct sst_index *out);
void index_release(struct sst_index *x); /* safe on a zeroed one */

static inline bool index_continues(const struct sst_index *x, uint32_t i)
{
	return i < x->nblocks && (x->continues[i / 64] >> i % 64 & 1);
}

/* First block from @i on that is not part of one row alone. */
static inline uint32_t index_behind_inner(const struct sst_index *x, uint32_t i)
{
	uint64_t others = ~x->inner[i / 64] >> i % 64;

	if (others)
		return i + (uint32_t)__builtin_ctzll(others);
	/* What is behind the last one is not. */
	for (i = i / 64 + 1; !~x->inner[i];)
		i++;
	return i * 64 + (uint32_t)__builtin_ctzll(~x->inner[i]);
}

/* The number of rows of block @i, INDEX_MANY if that or more. */
#define INDEX_MANY 3u
static inline uint32_t index_rows_few(const struct sst_index *x, uint32_t i)
{
	return x->briefs[i] & INDEX_MANY;
}

/* The length of its suffix if the head is all of it, else more than that. */
static inline size_t index_suffix_brief(const struct sst_index *x, uint32_t i)
{
	return x->briefs[i] >> 2;
}

/* Compares the first row of block @i with @row. */
int index_row_cmp(const struct sst_index *x, uint32_t i, struct bytes row);
/* First block whose first row is >= @row (> @row if @after), or nblocks. */
uint32_t index_find(const struct sst_index *x, struct bytes row, bool after);
/*
 * In two steps, so that what lies beside the index is fetched while its line
 * is: the block sought is @near or one of the HEADS_LINE behind it.
 */
struct index_spot {
	uint32_t near;
	bool known; /* it is @near */
	uint64_t head;
	struct bytes suffix;
};
void index_near(const struct sst_index *x, struct bytes row,
		struct index_spot *out);
/* First block with a first row >= that; is it equal? Mostly heads tell. */
uint32_t index_find_equal(const struct sst_index *x,
			  const struct index_spot *spot, bool *equal);
/* Memory that it holds besides the section. */
size_t index_memory(const struct sst_index *x);
/* First block with the same first row as block @i. */
uint32_t index_first_alike(const struct sst_index *x, uint32_t i);
/*
 * Of the blocks behind @from: the first that does not continue @row, or whose
 * first cell is at or after (@qualifier, @ts) as seek_column has it, and of no
 * greater kind than @kind there.
 */
uint32_t index_find_place(const struct sst_index *x, uint32_t from,
			  struct bytes row, struct bytes qualifier, int64_t ts,
			  uint8_t kind);
/* The first cell of a block that continues a row (no value). */
void index_place(const struct index_entry *e, struct entry *out);

struct index_builder {
	struct buf entries; /* encoded, but for the row and its length */
	struct buf rows;    /* of each: len:2 row */
	uint32_t nblocks;
	uint32_t prefix_len;
};

/* @first: the first cell; its place is kept if @e->flags says continues. */
int index_builder_add(struct index_builder *b, const struct index_entry *e,
		      struct bytes row, const struct entry *first);
int index_builder_finish(struct index_builder *b, struct buf *out);
void index_builder_release(struct index_builder *b);

#endif
