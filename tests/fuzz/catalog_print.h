/*
 * All of a catalog in its bytes, for targets and tests.
 */
#ifndef CELLFS_TESTS_FUZZ_CATALOG_PRINT_H
#define CELLFS_TESTS_FUZZ_CATALOG_PRINT_H

#include <stdlib.h>

#include "store/lsm/manifest/catalog_format.h"

/* The file of generation 1 of store 0; the caller frees it. */
static inline struct buf catalog_print(const struct catalog *c)
{
	const struct edit nothing = {0};
	struct catalog same;
	struct buf b = {0};

	if (catalog_make(c, &nothing, 1, 0, &b, &same) < 0)
		abort();
	catalog_free(&same);
	return b;
}

/* Aborts if the catalog's bytes do not make the same catalog. */
static inline void catalog_comes_back(const struct catalog *c)
{
	const struct edit nothing = {0};
	struct buf first = {0}, second;
	struct catalog back;

	if (catalog_make(c, &nothing, 1, 0, &first, &back) < 0)
		abort();
	second = catalog_print(&back);
	if (!bytes_eq(buf_bytes(&first), buf_bytes(&second)))
		abort();
	catalog_free(&back);
	buf_free(&first);
	buf_free(&second);
}

#endif
