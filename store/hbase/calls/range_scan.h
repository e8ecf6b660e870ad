/*
 * The cells of a range of rows of a table, in HBase's order, by one scanner
 * after the other.
 *
 * A scanner of a region gives them in batches; at its region's end the next one
 * is opened in the region behind, or before if the scan is reversed. A scanner
 * that is lost, because its region has moved or was split, is opened again at
 * the last row, and what was given of it already is left out: each cell comes
 * once. What a row looks like may change in between; that is so of HBase's
 * own client too.
 *
 * A range that is read later can be started before (range_scan_start()): a
 * scanner is opened and two batches are fetched, while its caller reads
 * another range. Whatever befalls them, it is read as if it had not been
 * started.
 */
#ifndef CELLFS_STORE_HBASE_CALLS_RANGE_SCAN_H
#define CELLFS_STORE_HBASE_CALLS_RANGE_SCAN_H

#include "store/hbase/calls/region_call.h"
#include "store/value/cell.h"

struct range_scan;

struct range_scan_options {
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
int range_scan_new(const struct range_scan_options *o, struct range_scan **out);
/*
 * Opens a scanner and asks for its first batch; nobody waits for it. REQUIRES:
 * nothing was read. 0, or what the search for the region failed with.
 */
int range_scan_start(struct range_scan *s, struct retry *retry);
/* If the first batch of a range that was started has come: asks for the next. */
void range_scan_urge(struct range_scan *s);
/*
 * Where the region ends in which the scan is: 1 and *border, which lasts until
 * the next call, if the range has rows behind it (before it, when reversed);
 * 0 if not, or where no region is known yet.
 */
int range_scan_border(const struct range_scan *s, struct bytes *border);
/* Ends the range at that border: 0 or -ENOMEM. */
int range_scan_cut(struct range_scan *s);
/* How many batches it has read. */
unsigned range_scan_batches(const struct range_scan *s);
/* 1 and *out, which lasts until the next call; 0 at the end; or an error. */
int range_scan_next(struct range_scan *s, struct cell *out);
/* Closes the scanner at its server. NULL is none. */
void range_scan_free(struct range_scan *s);

#endif
