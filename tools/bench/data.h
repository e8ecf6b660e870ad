/*
 * The cells that every engine is given, and what is checked of what it gives
 * back.
 *
 * A cell is known by its number. Number i of a shape of P columns a row and V
 * versions a column is version i % V of column i / V % P of row i / V / P; its
 * names, timestamp and value follow from that alone, so nothing has to be
 * remembered and any cell that was read can be checked:
 *
 *	row        user%012d
 *	qualifier  3 to 8 letters, ascending with the column's number
 *	value      100 bytes: a stamp of the number, noise, text that
 *	           compresses, a stamp of number and generation
 *
 * The generation counts overwrites of a cell; the first stamp does not depend
 * on it. A tally adds the stamps of what was read: an engine that loses,
 * doubles or mixes up cells has the wrong sum and no figure.
 */
#ifndef CELLFS_TOOLS_BENCH_DATA_H
#define CELLFS_TOOLS_BENCH_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	VALUE_LEN = 100,
	ROW_LEN = 16,
	NAME_MAX_LEN = 24, /* of a row or a qualifier, misses included */
};

struct shape {
	uint64_t cells;
	uint32_t columns;  /* a row */
	uint32_t versions; /* a column */
	uint32_t twice;	   /* one row of so many has two of each; 0: none */
};

struct item {
	uint64_t number;
	size_t row_len, qualifier_len;
	int64_t ts;
	char row[NAME_MAX_LEN];
	char qualifier[NAME_MAX_LEN];
	uint8_t value[VALUE_LEN];
};

struct tally {
	uint64_t cells;
	uint64_t heads, tails; /* sums of the stamps */
};

void data_init(void);
uint64_t shape_rows(const struct shape *s);
/* Row, qualifier and timestamp of cell @i. */
void item_name(const struct shape *s, uint64_t i, struct item *out);
/* item_name() and the value of that generation. */
void item_make(const struct shape *s, uint64_t i, uint64_t generation,
	       struct item *out);
/* How many versions the column of cell @i has, where shapes have one. */
uint32_t shape_copies(const struct shape *s, uint64_t i);
/* The second version of a cell: newer, of the same value. */
void item_again(const struct shape *s, struct item *it);
/* A row, or a column, that is not there though its neighbours are. */
void item_absent_row(struct item *it);
void item_absent_column(struct item *it);

/* Bytes of the names, timestamps and values of @cells cells. */
uint64_t data_user_bytes(const struct shape *s, uint64_t cells);

/* A permutation of 0..n-1 without a table of it. */
struct shuffle {
	uint64_t n, mask;
	unsigned half;
};
void shuffle_init(struct shuffle *sh, uint64_t n);
uint64_t shuffle_at(const struct shuffle *sh, uint64_t i);

struct dice {
	uint64_t state;
};
/* Evenly from 0..n-1. */
uint64_t dice_roll(struct dice *d, uint64_t n);

uint64_t stamp_head(uint64_t number);
/* What a tally of cells first..first+n-1 of @generation must be. */
void tally_expect(struct tally *t, uint64_t first, uint64_t n, uint64_t step,
		  uint64_t generation);
/* Of what a scan from cell @first on gives, up to @n cells. */
void tally_shape(struct tally *t, const struct shape *s, uint64_t first,
		 uint64_t n);

static inline void tally_add(struct tally *t, const void *value, size_t len)
{
	const uint8_t *v = value;
	uint64_t head, tail;

	if (len != VALUE_LEN)
		return;
	memcpy(&head, v, 8);
	memcpy(&tail, v + VALUE_LEN - 8, 8);
	t->cells++;
	t->heads += head;
	t->tails += tail;
}

static inline bool tally_eq(const struct tally *a, const struct tally *b)
{
	return a->cells == b->cells && a->heads == b->heads &&
	       a->tails == b->tails;
}

#endif
