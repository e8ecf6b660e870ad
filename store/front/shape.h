/*
 * The shape of a store as bytes, which a served store hands on as they are:
 *
 *	shape = item*
 *	item  = kind:1 table:8 name:bytes row:bytes last:bytes n:8 * (of the kind)
 *	bytes = length:4 and so many bytes
 *
 * store_shape_next() reads them.
 */
#ifndef CELLFS_STORE_FRONT_SHAPE_H
#define CELLFS_STORE_FRONT_SHAPE_H

#include "store/store.h"

/* Of a row that is shown, and that many bytes at most in all. */
#define SHAPE_ROW_MAX 64
/* What is told one by one of files and of parts; of others their sum. */
#define SHAPE_FILES_MAX 10000
#define SHAPE_PARTS_MAX 10000
/* Of families with entries in memory; others are not told. */
#define SHAPE_MEMORIES_MAX 10000
#define SHAPE_TABLES_MAX 1000

/* Appends an item; rows are cut. 0 or -ENOMEM. */
int shape_put(struct buf *out, const struct shape_item *item);

#endif
