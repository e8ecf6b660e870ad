/*
 * What a filter, and limits in the families, leave of a row: the definition,
 * over a whole row in memory.
 *
 * It takes the tree that filter_parse() made, and nothing else of store/: the
 * cells of a row lie in an array, each part of a filter says of a cell whether
 * it takes it and at which place of the array it goes on, as HBase's class of
 * its name does.
 */
#ifndef CELLFS_TESTS_MODEL_REF_FILTER_H
#define CELLFS_TESTS_MODEL_REF_FILTER_H

#include "store/store.h"
#include "tests/model/ref_store.h"

struct ref_filter;

/* Of one scan. @spec: what it points to must live as long. 0 or -ENOMEM. */
int ref_filter_new(const struct scan_spec *spec, struct ref_filter **out);
void ref_filter_free(struct ref_filter *f); /* NULL is nothing */
void ref_filter_plant(struct ref_filter *f, enum ref_plant plant);
/* No row that is to come passes. */
bool ref_filter_over(const struct ref_filter *f);
/*
 * @cells: all that the spec leaves of a row but for this. *n of them are left;
 * their values may be changed, to memory that lasts until the next row. 0 or
 * -ENOMEM.
 */
int ref_filter_row(struct ref_filter *f, struct cell *cells, size_t *n);

#endif
