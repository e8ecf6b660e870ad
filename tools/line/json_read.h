/*
 * Reading JSON, piece by piece: who reads knows what he expects.
 *
 * Nothing is kept of an object but where the reader is in it. Strings are decoded
 * to UTF-8. A failure is -EINVAL with a reason, or -ENOMEM.
 */
#ifndef CELLFS_TOOLS_LINE_JSON_READ_H
#define CELLFS_TOOLS_LINE_JSON_READ_H

#include "store/value/bytes.h"

struct json_reader {
	const uint8_t *at, *end;
};

/* Goes over blanks, and over @c if it is next. */
bool json_take(struct json_reader *j, uint8_t c);
/* Decodes a string behind its first quote, and appends it to @out. */
int json_take_string(struct json_reader *j, struct buf *out);
/* A number, true, false or null as it is written; empty: there is none. */
struct bytes json_take_word(struct json_reader *j);
/* Is nothing left but blanks? 0 or -EINVAL. */
int json_end(struct json_reader *j);
/* Decodes base64 with padding, in place. */
int json_from_base64(struct buf *b);

#endif
