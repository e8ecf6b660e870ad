/*
 * CSV as RFC 4180 has it, with any separator.
 *
 * A field in quotes may hold all bytes, a quote twice. A field that is empty has
 * no value; with quotes ("") it has the empty value. A quote within a field that
 * does not begin with one is a byte like others. Lines end in LF or CRLF, the
 * last one also at the end of the file; empty lines are passed over, and so is a
 * byte order mark. The first line has the names. Written are LF, and quotes where
 * they are needed; bytes are as they are stored, whatever they are.
 */
#ifndef CELLFS_TOOLS_FEED_CSV_H
#define CELLFS_TOOLS_FEED_CSV_H

#include "tools/feed/format.h"

int csv_head(struct input *in);
int csv_next(struct input *in, struct record *out);
int csv_write_head(const struct format *f, const struct record *r,
		   struct buf *out);
int csv_write(const struct format *f, const struct record *r, struct buf *out);

#endif
