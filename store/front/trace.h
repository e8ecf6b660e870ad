/*
 * One line on stderr for each call of store.h, when CELLFS_TRACE=1.
 *
 *	store: mutate articles 'article1' 2 changes = 1
 *	store: get 'article1' 'basic':'header' = -117 block 3 of ...
 *
 * Keys are quoted with every byte outside printable ASCII as %HH and cut
 * after 64 bytes. A line is one write, so that threads do not mix theirs.
 */
#ifndef CELLFS_STORE_FRONT_TRACE_H
#define CELLFS_STORE_FRONT_TRACE_H

#include "store/value/bytes.h"

#define TRACE_KEY_MAX 224

/* Writes the quoted key into @out and returns it. */
const char *trace_key(char out[TRACE_KEY_MAX], struct bytes key);
/* @r and, when it is an error, the sentence behind it end the line. */
void trace_line(int r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
