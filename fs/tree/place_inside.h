/*
 * What place.c has for place_child.c.
 */
#ifndef CELLFS_FS_TREE_PLACE_INSIDE_H
#define CELLFS_FS_TREE_PLACE_INSIDE_H

#include "fs/tree/place.h"

/*
 * Goes one component down: @p becomes its child @name, which is of @kind.
 * Kinds of pieces and wholes are told apart by the name. @known: a node bears
 * the name, so that its spelling need not be judged again, which costs the
 * length of the whole key for each of its pieces.
 */
int place_descend(struct place *p, struct bytes name, uint8_t kind, bool known);
/* "@-2": two versions before the newest; "@TIME": the newest of then. */
bool place_parse_past(struct bytes name, int64_t *ts, uint64_t *back);
/* -ENAMETOOLONG in words. */
int place_too_long(const char *what, size_t len, size_t max);

#endif
