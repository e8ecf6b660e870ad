/*
 * The cells of one row, copied: for who must see a row as a whole.
 */
#ifndef CELLFS_STORE_HBASE_BACKEND_SCAN_ROW_H
#define CELLFS_STORE_HBASE_BACKEND_SCAN_ROW_H

#include "store/value/bytes.h"
#include "store/value/cell.h"

struct scan_row {
	struct buf bytes; /* of all its cells */
	struct cell *cells;
	size_t n, cap;
};

/* Forgets the row before. */
void scan_row_begin(struct scan_row *r);
/* A copy, behind the others: 0 or -ENOMEM. */
int scan_row_add(struct scan_row *r, const struct cell *c);
/* The name of the row that has begun, empty before its first cell. */
struct bytes scan_row_name(const struct scan_row *r);
/*
 * From now on its cells may be read, until the next row. Of a @raw scan the markers
 * of a family go before its cells, where HBase has them among the versions of the
 * empty qualifier.
 */
void scan_row_end(struct scan_row *r, bool raw);
void scan_row_free(struct scan_row *r);

#endif
