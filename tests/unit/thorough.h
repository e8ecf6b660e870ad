/*
 * How much a test does: a sample that a person waits for, or everything.
 * `tests/run long` sets CELLFS_THOROUGH.
 */
#ifndef CELLFS_TESTS_UNIT_THOROUGH_H
#define CELLFS_TESTS_UNIT_THOROUGH_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool thorough(void)
{
	const char *value = getenv("CELLFS_THOROUGH");

	return value && value[0];
}

#endif
