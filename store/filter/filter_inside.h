/*
 * What the files of the filter share: the state of a scan, and each other.
 *
 * filter_parse.c makes the tree (filter_tree.h), filter_rows.c says which rows it may let
 * through, filter_run.c walks it, filter_kinds.c says what each kind does with
 * a cell, filter_compare.c compares values, filter_regex.c searches for
 * patterns, which filter_pattern.c has put into PCRE2's syntax.
 */
#ifndef CELLFS_STORE_FILTER_FILTER_INSIDE_H
#define CELLFS_STORE_FILTER_FILTER_INSIDE_H

#include "store/filter/filter_tree.h"

/* What one scan searches with, where it lies. Zeroed it is ready. */
struct regex_search {
	struct buf text; /* 32 bits a character */
	pcre2_match_data *data;
	pcre2_match_context *limits;
	size_t at;	     /* where the last step was */
	uint64_t steps_left; /* of this search */
};

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
	struct regex_search search;
};

static inline void answer_take(struct filter_answer *a)
{
	a->take = true;
	a->jump = JUMP_CELL;
}

/*
 * What a kind that is no list says of a cell, into the zeroed *a. 0, or as
 * comparator_holds().
 */
int filter_ask_one(const struct filter *f, struct filter_state *s,
		   const struct cell *c, struct filter_answer *a);

/* 0, -EINVAL, -ENOMEM. @text is "kind:value". */
int comparator_init(struct comparator *c, uint8_t op, struct bytes text);
void comparator_free(struct comparator *c);
/*
 * Does "@value op the comparator's" hold? 1 or 0; -ETIME with a sentence when
 * that takes too long, -ENOMEM.
 */
int comparator_holds(const struct comparator *c, struct regex_search *s,
		     struct bytes value);

/* Appends a pattern of Java's in PCRE2's syntax: 0, -EINVAL, -ENOMEM. */
int filter_pattern(struct bytes java, struct buf *out);
/* Compiles a pattern of Java's: 0, -EINVAL with a sentence, -ENOMEM. */
int regex_compile(struct bytes pattern, bool nocase, pcre2_code **out);
/* 1 if @text holds a match, 0 if not; -ETIME, -ENOMEM, with a sentence. */
int regex_find(const pcre2_code *code, struct regex_search *s,
	       struct bytes text);
void regex_search_free(struct regex_search *s);

#endif
