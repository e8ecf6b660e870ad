/*
 * The cells of a range of rows of a table, in HBase's order.
 *
 * A scanner of a region gives them in batches; at its region's end the next one
 * is opened in the region behind, or before if the scan is reversed. A scanner
 * that is lost, because its region has moved or was split, is opened again at
 * the last row, and what was given of it already is left out: each cell comes
 * once. What a row looks like may change in between; that is so of HBase's
 * own client too.
 */
#ifndef CELLFS_STORE_HBASE_CALLS_TABLE_SCAN_H
#define CELLFS_STORE_HBASE_CALLS_TABLE_SCAN_H

#include "store/hbase/calls/region_call.h"
#include "store/value/cell.h"

struct table_scan;

struct table_scan_options {
	struct cluster *cluster;
	struct bytes table;
	/*
	 * What is read, by proto_init() and what differs from it. What it
	 * points to must last as long as the scan, but for the bounds.
	 */
	struct pb_scan scan;
	uint32_t rows_first; /* of the first batch; 0 = as many as fit */
	uint32_t rows_max;   /* of the scan; 0 = all */
};

/* 0 or -ENOMEM; asks nothing yet. */
int table_scan_new(const struct table_scan_options *o, struct table_scan **out);
/* 1 and *out, which lasts until the next call; 0 at the end; or an error. */
int table_scan_next(struct table_scan *s, struct cell *out);
void table_scan_free(struct table_scan *s); /* NULL is none */

#endif
