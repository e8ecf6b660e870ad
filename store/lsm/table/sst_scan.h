/*
 * Finds the blocks of a table file that has no index.
 *
 * Whatever is stored in the file ends with a trailer, whose checksum has the
 * offset in it. So each trailer that is right tells where what precedes it
 * begins: for bytes that are not compressed by their length, which it names; for
 * others that is where the last ones ended, or a place where deflated bytes may
 * begin. What is found is a block if it is decoded as one; the sections behind
 * the blocks are not.
 */
#ifndef CELLFS_STORE_LSM_TABLE_SST_SCAN_H
#define CELLFS_STORE_LSM_TABLE_SST_SCAN_H

#include "store/lsm/table/sst_file.h"

/* Bytes in which nothing whole was found, and the rows around them. */
struct sst_gap {
	uint64_t offset, bytes;
	struct buf from, to; /* owned; empty: no bound */
};

struct sst_scan {
	uint32_t tree; /* 0: the footer cannot be read */
	size_t ngaps, gaps_cap;
	struct sst_gap *gaps;
};

/*
 * Fills the entries of the index of @t, whose file is open: place, checksum and
 * number of rows of each block, no keys. There are no gaps if the blocks hold as
 * many entries as the file should have, by @known (which may be NULL) or its own
 * properties. 0 or -ENOMEM, -EFBIG; -EIO: the disk does not give the file.
 */
int sst_scan(struct sstable *t, const struct sst_info *known,
	     struct sst_scan *out);
void sst_scan_free(struct sst_scan *s);
/* Copies the key of a row of the block. 0 or -ENOMEM. */
int sst_copy_row(const struct block *b, uint32_t row, struct buf *to);

#endif
