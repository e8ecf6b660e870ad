/*
 * What the bytes of a value mean, as HBase's shell names it behind a column:
 *
 *	d:age:toInt	4 bytes, big-endian, are a number
 *
 * Also toShort, toLong, toFloat, toDouble, toBoolean; toString, the bytes as they
 * are; toStringBinary, with \xHH for what is no printable ASCII. A row of the
 * table has both directions.
 */
#ifndef CELLFS_TOOLS_SHELL_TYPED_H
#define CELLFS_TOOLS_SHELL_TYPED_H

#include "store/value/bytes.h"

struct typed {
	const char *name;
	size_t size; /* of the value; 0 = any */
	bool bare;   /* a number or a truth value */
	int (*show)(const struct typed *t, struct bytes value, struct buf *out);
	int (*read)(const struct typed *t, const char *text, struct buf *out);
};

/*
 * The type at the end of a column FAMILY:QUALIFIER:TYPE, and in *len the length
 * of what is before it. NULL: there is none, and *len stays.
 */
const struct typed *typed_of(struct bytes column, size_t *len);
/* Appends the value as text: 0; -EINVAL if it is none of the type; -ENOMEM. */
int typed_show(const struct typed *t, struct bytes value, struct buf *out);
/* The inverse. */
int typed_read(const struct typed *t, struct bytes text, struct buf *out);

#endif
