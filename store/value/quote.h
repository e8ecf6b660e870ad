/*
 * A key as people read it in a sentence: 'row 7', 'a\x00b'. Bytes that are not
 * printable ASCII, the quote and the backslash are written \xHH, and of a long
 * key the beginning only, then three dots behind the quote.
 */
#ifndef CELLFS_STORE_VALUE_QUOTE_H
#define CELLFS_STORE_VALUE_QUOTE_H

#include "store/value/bytes.h"

struct quoted {
	char text[96];
};

/* Fills *q and returns its text. */
const char *quote(struct quoted *q, struct bytes key);

#endif
