/*
 * The cells that every engine stores, and how its answers are checked.
 *
 * Each cell has a number. Number i of a shape of P columns a row and V versions
 * a column is version i % V of column i / V % P of row i / V / P; its names,
 * timestamp and value follow from the number alone, so nothing has to be
 * remembered and any cell that was read can be checked:
 *
 *	row        user%012d
 *	qualifier  3 to 8 letters, ascending with the column's number
 *	value      100 bytes: a stamp of the number, noise, text that
 *	           compresses, a stamp of number and generation
 *
 * The generation counts overwrites of a cell; the first stamp does not depend
 * on it. A tally adds the stamps of the cells read: an engine that loses,
 * doubles or mixes up cells has a wrong sum, and no figure is shown for it.
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
	uint32_t columns;  /* per row */
	uint32_t versions; /* per column */
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
/* Fills the row, qualifier and timestamp of cell @i. */
void item_name(const struct shape *s, uint64_t i, struct item *out);
/* item_name(), and the value of that generation. */
void item_make(const struct shape *s, uint64_t i, uint64_t generation,
	       struct item *out);
/* The number of versions of cell @i's column, where it varies by row. */
uint32_t shape_copies(const struct shape *s, uint64_t i);
/* Makes it the second version of the cell: newer, with the same value. */
void item_again(const struct shape *s, struct item *it);
/* An absent row, or an absent column, between existing ones. */
void item_absent_row(struct item *it);
void item_absent_column(struct item *it);

/* Bytes of names, timestamps and values of @cells cells. */
uint64_t data_user_bytes(uint64_t cells);

/* A permutation of 0..n-1, computed without a table. */
struct shuffle {
	uint64_t n, mask;
	unsigned half;
};
void shuffle_init(struct shuffle *sh, uint64_t n);
uint64_t shuffle_at(const struct shuffle *sh, uint64_t i);

struct rng {
	uint64_t state;
};
/* A random number, uniform in 0..n-1. */
uint64_t rng_below(struct rng *d, uint64_t n);

uint64_t stamp_head(uint64_t number);
/* The tally of @n cells of @generation, every @step-th from @first on. */
void tally_expect(struct tally *t, uint64_t first, uint64_t n, uint64_t step,
		  uint64_t generation);
/* The tally of up to @n cells that a scan from cell @first on returns. */
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
