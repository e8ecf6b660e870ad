/*
 * What a parsed filter is made of, for the files of the filter.
 *
 * filter_parse.c makes the tree, filter_rows.c says which rows it may let
 * through, filter_run.c walks it, filter_kinds.c says what each kind does with
 * a cell, filter_compare.c compares values, filter_regex.c puts Java's patterns
 * into POSIX's.
 */
#ifndef CELLFS_STORE_FILTER_FILTER_INSIDE_H
#define CELLFS_STORE_FILTER_FILTER_INSIDE_H

#include <regex.h>

#include "store/filter/filter.h"

enum filter_kind {
	FILTER_AND,
	FILTER_OR,
	FILTER_SKIP,
	FILTER_WHILE,
	FILTER_KEY_ONLY,
	FILTER_FIRST_KEY_ONLY,
	FILTER_PREFIX,
	FILTER_COLUMN_PREFIX,
	FILTER_MULTIPLE_COLUMN_PREFIX,
	FILTER_COLUMN_COUNT,
	FILTER_PAGE,
	FILTER_PAGINATION,
	FILTER_INCLUSIVE_STOP,
	FILTER_TIMESTAMPS,
	FILTER_ROW,
	FILTER_FAMILY,
	FILTER_QUALIFIER,
	FILTER_VALUE,
	FILTER_COLUMN_RANGE,
	FILTER_SINGLE_VALUE,
	FILTER_SINGLE_VALUE_EXCLUDE,
	FILTER_DEPENDENT,
	FILTER_COLUMN_VALUE,
};

enum compare_op {
	OP_LESS,
	OP_LESS_OR_EQUAL,
	OP_EQUAL,
	OP_NOT_EQUAL,
	OP_GREATER_OR_EQUAL,
	OP_GREATER,
};

enum comparator_kind {
	COMPARE_NONE,
	COMPARE_BINARY,
	COMPARE_PREFIX,
	COMPARE_SUBSTRING, /* @value is in lower case */
	COMPARE_REGEX,
};

struct comparator {
	uint8_t kind, op;
	struct buf value;
	regex_t regex;
};

struct filter {
	uint8_t kind;
	uint32_t id; /* of its state: 0 .. the root's `nodes` - 1 */
	uint32_t nodes;
	struct buf text;      /* the root's: all of it */
	struct filter **subs; /* AND, OR, SKIP, WHILE */
	size_t nsubs;
	struct comparator compare;
	/* Arguments by their place: prefixes, rows; family and qualifier. */
	struct buf *texts;
	size_t ntexts;
	int64_t *numbers; /* TIMESTAMPS: ascending */
	size_t nnumbers;
	bool flags[2];
};

static inline struct bytes text_of(const struct filter *f, size_t i)
{
	return buf_bytes(&f->texts[i]);
}

/* Is the cell in the column that the first two texts name? */
static inline bool is_column(const struct filter *f, const struct cell *c)
{
	return bytes_eq(c->family, text_of(f, 0)) &&
	       bytes_eq(c->qualifier, text_of(f, 1));
}

/* The state of one node of a filter during one scan. */
struct filter_state {
	bool dropped; /* the row is rejected */
	bool found, matched;
	bool over; /* no further cell can pass */
	bool took; /* the last cell was taken */
	uint64_t count;
	int64_t *stamps;
	size_t nstamps, stamps_cap;
	/* In an OR: what it said of the last cell that it was shown. */
	bool has_last;
	uint8_t last_jump;
	struct buf last_family, last_qualifier;
};

static inline void answer_take(struct filter_answer *a, uint8_t jump)
{
	a->take = true;
	a->jump = jump;
}

/*
 * What a kind that is no list says of a cell, into the zeroed *a. 0 or -ENOMEM.
 */
int filter_ask_one(const struct filter *f, struct filter_state *s,
		   const struct cell *c, struct filter_answer *a);

/* 0, -EINVAL, -ENOMEM. @text is "kind:value". */
int comparator_init(struct comparator *c, uint8_t op, struct bytes text);
void comparator_free(struct comparator *c);
/* Does "@value op the comparator's" hold? */
bool comparator_holds(const struct comparator *c, struct bytes value);

/* Compiles a pattern of Java's syntax: 0, -EINVAL with a sentence, -ENOMEM. */
int filter_regex(struct bytes pattern, bool nocase, regex_t *out);

#endif
