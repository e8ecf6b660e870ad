/*
 * HBase's filters as messages.
 *
 * A filter_list collects filters that a cell must all pass, in order: HBase
 * shows a cell to the next one only if the ones before have taken it.
 */
#ifndef CELLFS_STORE_HBASE_FILTER_FILTER_MESSAGE_H
#define CELLFS_STORE_HBASE_FILTER_FILTER_MESSAGE_H

#include "store/hbase/wire/messages.h"
#include "store/value/codec.h"

enum filter_subject {
	SUBJECT_ROW,
	SUBJECT_FAMILY,
	SUBJECT_QUALIFIER,
	SUBJECT_VALUE,
};

enum filter_with {
	WITH_BYTES,
	WITH_PREFIX,	/* as much of the subject as the value has */
	WITH_SUBSTRING, /* is the value, in ASCII, in it, in whatever case? */
};

/* "Subject op value". */
struct filter_compare {
	uint8_t op;   /* COMPARE_LESS and its like */
	uint8_t with; /* enum filter_with */
	struct bytes value;
};

/* Each appends the message of one filter to @out: 0 or -ENOMEM. */
int filter_put_compare(struct buf *out, enum filter_subject subject,
		       const struct filter_compare *c);
/* The cells of a column whose value fits. */
int filter_put_column(struct buf *out, struct bytes family,
		      struct bytes qualifier, const struct filter_compare *c);
/*
 * The rows in which the newest value of a column fits, or with !@newest_only
 * any; where there is none of it, unless @if_missing, too.
 */
int filter_put_rows(struct buf *out, struct bytes family,
		    struct bytes qualifier, const struct filter_compare *c,
		    bool if_missing, bool newest_only);
int filter_put_ts(struct buf *out, const int64_t *ts, size_t n);
int filter_put_first(struct buf *out);
/* All of some filters must pass, or any of them: those put by filter_put_item(). */
int filter_put_list(struct buf *out, bool any, const struct buf *items);
/* If @r is 0 appends the filter in @one to @items; frees @one. Returns @r, or -ENOMEM. */
int filter_put_item(struct buf *items, int r, struct buf *one);

struct filter_list {
	struct buf filters; /* one behind the other, as a list has them */
	struct buf last;    /* the newest one: the only one, without a list */
	unsigned n;
	int err; /* 0 or -ENOMEM, of all calls */
};

/* Adds the filter in @one, or notes that making it failed with @r; frees @one. */
void filter_add(struct filter_list *l, int r, struct buf *one);
/* Cells without their values, which are replaced by their lengths if asked. */
void filter_add_keys(struct filter_list *l, bool lengths);
/* The first cell of each row. */
void filter_add_first(struct filter_list *l);
/* Columns whose qualifiers lie between the two; NULL = without bound. */
void filter_add_range(struct filter_list *l, struct bytes min, bool min_in,
		      struct bytes max, bool max_in);
/* The columns that a Get or Scan would name: those of @n families. */
void filter_add_columns(struct filter_list *l, const struct pb_column *columns,
			size_t n);
/* From @min on, which all cells of a row are asked for. */
void filter_add_from(struct filter_list *l, struct bytes min, bool min_in);
void filter_add_family(struct filter_list *l, struct bytes family);
void filter_add_qualifier(struct filter_list *l, struct bytes qualifier);
void filter_add_ts(struct filter_list *l, int64_t ts);
/*
 * The message of class Filter, empty for none: for pb_scan.filter and the like.
 * It lasts until the list is freed. 0 or -ENOMEM.
 */
int filter_message(struct filter_list *l, struct bytes *out);
void filter_list_free(struct filter_list *l);

#endif
