/*
 * Rows as JSON: an object a line.
 *
 *	{"row":"r1","d:name":"Anna","d:photo":{"base64":"/9j/4A=="}}
 *
 * A string is its text as UTF-8; a number, true and false are as they are
 * written; null is no value. Bytes that are not UTF-8 are an object with the one
 * member base64, which no text can be mistaken for. Other objects, and arrays,
 * are refused. Members may be in any order, each once.
 */
#ifndef CELLFS_TOOLS_FEED_JSONL_H
#define CELLFS_TOOLS_FEED_JSONL_H

#include "tools/feed/format.h"

int jsonl_next(struct input *in, struct record *out);
int jsonl_write(const struct format *f, const struct record *r,
		struct buf *out);

#endif
