/*
 * How much a test does: a sample that a person waits for, or everything.
 * `tests/run long` sets CELLFS_THOROUGH.
 */
#ifndef CELLFS_TESTS_UNIT_THOROUGH_H
#define CELLFS_TESTS_UNIT_THOROUGH_H

#include <stdbool.h>
#include <stdlib.h>

#include "store/value/sanitizer.h"

static inline bool thorough(void)
{
	const char *value = getenv("CELLFS_THOROUGH");

	return value && value[0];
}

/*
 * Of what is sampled a build with a sanitizer takes a part only: it needs five to
 * fifteen times as long, and the release build takes all of the sample.
 */
#if SANITIZED_ADDRESS
#define SAMPLE_THINNED 10
#elif SANITIZED_THREAD
#define SAMPLE_THINNED 3
#else
#define SAMPLE_THINNED 1
#endif

/* How many of @n that are drawn at random a build tries, of which one is enough. */
static inline unsigned sampled(unsigned n)
{
	return (n + SAMPLE_THINNED - 1) / SAMPLE_THINNED;
}

/* Which step a loop takes that takes each @step-th in a sample. */
static inline unsigned each(unsigned step)
{
	return thorough() ? 1 : step * SAMPLE_THINNED;
}

#endif
