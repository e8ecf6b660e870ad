/*
 * A page being written: HTML that is XML as well, in one buffer. It needs nothing
 * from elsewhere and runs no script.
 *
 * Text of others (keys, names) goes in by page_key() alone, which escapes it: what
 * is markup, and what no text may have or a reader would not see (control
 * characters, bytes that are not UTF-8, marks that turn the direction) as \xHH.
 *
 * The first failure is kept in err, and nothing is written from then on.
 */
#ifndef CELLFS_TOOLS_SHAPE_PAGE_H
#define CELLFS_TOOLS_SHAPE_PAGE_H

#include "store/value/bytes.h"

struct page {
	struct buf out;
	int err;    /* 0 or -ENOMEM */
	bool plain; /* for a terminal: no markup to be escaped */
};

void page_put(struct page *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* At most @max characters of it, then three dots. */
void page_key(struct page *p, struct bytes key, size_t max);
/* 1.4 MiB */
void page_bytes(struct page *p, double bytes);
/* 2026-11-25 */
void page_day(struct page *p, int64_t day);

#endif
