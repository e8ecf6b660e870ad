/*
 * Whether the crash test would see a sync that the store left out.
 *
 * For each place that syncs, some sync of it is left out, and a bad disk must
 * be found.
 */
#ifndef CELLFS_TESTS_CRASH_LEAVE_OUT_H
#define CELLFS_TESTS_CRASH_LEAVE_OUT_H

#include "tests/crash/run.h"

/* 1 if the sync of some place can be left out, and nothing tells. */
int leave_out_all(const struct options *o);

#endif
