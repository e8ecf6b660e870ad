/*
 * What a scan asks of HBase: a spec of store.h as a Scan.
 *
 * What HBase cannot say is asked for in whole and left to the caller: columns of a
 * raw scan (scan_request_wants()), and .picks.
 */
#ifndef CELLFS_STORE_HBASE_BACKEND_SCAN_REQUEST_H
#define CELLFS_STORE_HBASE_BACKEND_SCAN_REQUEST_H

#include "store/front/backend.h"
#include "store/hbase/calls/range_scan.h"
#include "store/hbase/filters/filter_part.h"

struct scan_request {
	bool picks;   /* the results of a row are to be picked (pick.h) */
	bool lengths; /* values are lengths of values */

	/* What the Scan points to. */
	struct buf names;
	struct filter_list filters;
	struct pb_column *columns;
	struct pb_column *families; /* those of the columns, as a whole */
	size_t ncolumns;
	struct bytes *qualifiers;
	struct pb_family_range *ranges;
	bool by_filter; /* columns are picked by a filter of the server */
};

/* Sets the bounds of its rows, which are the spec's. */
void scan_ask_rows(struct pb_scan *scan, const struct scan_spec *spec);
/*
 * The attributes that have a Scan or Get show what is deleted too, and delete markers:
 * in HBase that is of whole families.
 */
struct proto_list scan_raw(void);
/*
 * Is there no row, or no time, between the bounds? HBase would take equal rows
 * for a get. A family may have a range of its own instead of the scan's.
 */
bool scan_request_is_empty(const struct scan_spec *spec);
/*
 * Sets what @o says of the scan, which lasts as long as @q. 1, or 0: there is
 * nothing to read. @q begins zeroed; scan_request_free() is due in any case.
 */
int scan_request_init(struct scan_request *q, struct table *t,
		      const struct scan_spec *spec,
		      struct range_scan_options *o);
/* Is the cell of a raw scan of a column that was asked for? */
bool scan_request_wants(const struct scan_request *q, const struct cell *c);
void scan_request_free(struct scan_request *q);
/* -ENOMEM, as a sentence. */
int scan_no_memory(void);

#endif
