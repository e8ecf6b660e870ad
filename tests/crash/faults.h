/*
 * The same workloads with a call to the operating system that fails.
 *
 * A plan is run again for each n, with the n-th call failing: once or for
 * ever, disk error, no space, read-only or no descriptor, a write after its
 * half, a sync that loses what it should have synced. The run ends with the
 * first step that tells of it; what is on the disk then is opened without
 * faults, after the death of the process and after a loss of power, and judged
 * as after any crash.
 */
#ifndef CELLFS_TESTS_CRASH_FAULTS_H
#define CELLFS_TESTS_CRASH_FAULTS_H

#include "store/value/bytes.h"

struct faults_report {
	bool plant; /* in: mutations are promised without a sync */
	uint64_t runs, fired, failed_runs;
	struct buf reason; /* of the first bad one */
};

/* At most about @runs of them, spread over the calls. 1 if one is bad. */
int faults(uint64_t seed, size_t steps, uint64_t runs,
	   struct faults_report *out);
/* Makes only the fault @kind (of this file's list) of call @nth. */
int faults_one(uint64_t seed, size_t steps, unsigned kind, uint64_t nth,
	       struct faults_report *out);

#endif
