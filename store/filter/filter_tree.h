/*
 * What a parsed filter is: a tree, which nobody changes.
 *
 * filter_parse.c makes it. Who says it in another language walks it
 * (store/hbase/filters); all others have filter.h.
 */
#ifndef CELLFS_STORE_FILTER_FILTER_TREE_H
#define CELLFS_STORE_FILTER_FILTER_TREE_H

#define PCRE2_CODE_UNIT_WIDTH 32
#include <pcre2.h>

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
	COMPARE_REGEX,	   /* @value is the pattern */
};

struct comparator {
	uint8_t kind, op;
	bool nocase; /* of COMPARE_REGEX */
	struct buf value;
	pcre2_code *regex; /* any number of threads search with it */
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

#endif
