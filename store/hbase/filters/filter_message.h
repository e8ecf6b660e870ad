/*
 * HBase's filters as messages.
 *
 * A filter_list collects filters that a cell must all pass, in order: HBase
 * shows a cell to the next one only if the ones before have taken it.
 */
#ifndef CELLFS_STORE_HBASE_FILTER_FILTER_MESSAGE_H
#define CELLFS_STORE_HBASE_FILTER_FILTER_MESSAGE_H

#include "store/value/codec.h"

struct filter_list {
	struct buf filters; /* one behind the other, as a list has them */
	struct buf last;    /* the only one, without a list */
	unsigned n;
	int err; /* 0 or -ENOMEM, of all calls */
};

/* Cells without their values, which are replaced by their lengths if asked. */
void filter_add_keys(struct filter_list *l, bool lengths);
/* The first cell of each row. */
void filter_add_first(struct filter_list *l);
/* Columns whose qualifiers lie between the two; NULL = without bound. */
void filter_add_range(struct filter_list *l, struct bytes min, bool min_in,
		      struct bytes max, bool max_in);
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
