/*
 * The cells of a range of rows of a table, in HBase's order, with several
 * regions read at once.
 *
 *	parts:	[0] read by the caller	[1] .. [3] started, read later
 *		--- region --->|<--- region --->|<--- region --->|  next
 *
 * It begins as one range (range_scan.h). Once a second batch has been read
 * the range is cut at the border of its region, and of the regions behind it as
 * many are started as there is room for: so a scan that ends early has asked
 * for no more, and a long one has PARTS_MAX servers, or threads of one, at work.
 * A part is a range of rows, whatever regions it has by the time it is read. Each
 * holds two batches at most, which bounds the memory. A scan of so many rows
 * is one range all the time.
 */
#ifndef CELLFS_STORE_HBASE_CALLS_TABLE_SCAN_H
#define CELLFS_STORE_HBASE_CALLS_TABLE_SCAN_H

#include "store/hbase/calls/range_scan.h"

struct table_scan;

/* As range_scan_new(). */
int table_scan_new(const struct range_scan_options *o, struct table_scan **out);
/* 1 and *out, which lasts until the next call; 0 at the end; or an error. */
int table_scan_next(struct table_scan *s, struct cell *out);
void table_scan_free(struct table_scan *s); /* NULL is none */

#endif
