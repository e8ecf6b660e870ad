/*
 * A record: what is between two line ends of a CSV, or in one object of JSON.
 *
 * Fields have a name, and a value unless they are absent: an empty value is a
 * value. Names and values lie one behind the other in one buffer, and point
 * there from record_end() on. A record is used again for the next one.
 */
#ifndef CELLFS_TOOLS_FEED_RECORD_H
#define CELLFS_TOOLS_FEED_RECORD_H

#include "store/store.h"

/* The most bytes of a record that is read: what a quote that never ends costs. */
#define FEED_RECORD_MAX (64u << 20)
/* The most columns of a CSV that is written without --columns. */
#define FEED_COLUMNS_MAX 4096

struct field {
	struct bytes name, value;
	bool absent;
	bool bare; /* a number or a truth value, for formats that have them */
};

struct record {
	struct buf bytes;
	struct field *fields;
	size_t n, cap;
	uint64_t line; /* where it begins */
};

enum {
	FIELD_ABSENT = 1,
	FIELD_BARE = 2,
};

void record_begin(struct record *r, uint64_t line);
/* Adds a field; its value may grow. 0, -EFBIG, -ENOMEM. */
int record_add(struct record *r, struct bytes name, struct bytes value,
	       unsigned flags);
/* Appends to the value of the last field. 0; -EFBIG; -ENOMEM. */
int record_grow(struct record *r, const void *data, size_t len);
void record_end(struct record *r);
void record_free(struct record *r);

#endif
