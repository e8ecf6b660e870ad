/*
 * The last failures in words: what .cellfs/errors shows.
 *
 * A ring of fixed size, oldest first. An errno says too little for a refused
 * schema or a row over a limit; the sentence that why() recorded is kept here
 * with the path and the operation. Repeats of the newest entry are only
 * counted; a close that fails for the reason of the write before it is ignored.
 */
#ifndef CELLFS_FS_REPORT_ERRORS_H
#define CELLFS_FS_REPORT_ERRORS_H

#include "store/value/bytes.h"

#define ERRORS_KEPT 256

struct errors;

int errors_new(struct errors **out);
void errors_free(struct errors *es); /* @es may be NULL */
/* @err is a negative errno; all strings are copied and cut to fit. */
void errors_add(struct errors *es, const char *op, const char *path, int err,
		const char *reason);
uint64_t errors_total(struct errors *es);
/* Appends a line for each failure. 0 or -ENOMEM. */
int errors_format(struct errors *es, struct buf *out);

#endif
