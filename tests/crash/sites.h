/*
 * From where the engine syncs.
 *
 * A site is the chain of callers of a sync. All syncs of a run are noted in
 * order, so that the n-th can be left out in a second run of the same plan.
 */
#ifndef CELLFS_TESTS_CRASH_SITES_H
#define CELLFS_TESTS_CRASH_SITES_H

#include <stddef.h>
#include <stdint.h>

#include "store/os/os.h"

#define SITE_FRAMES 3

struct site_sync {
	uint64_t site;
	size_t at; /* length of the disk's log */
	bool dir;
	uintptr_t frames[SITE_FRAMES]; /* offsets in the program */
};

struct sites {
	struct site_sync *syncs;
	size_t n, cap;
};

/* Notes the syncs of @os, a simulated disk, until sites_end(). One at a time */
void sites_begin(struct os *os, struct sites *out);
void sites_end(struct os *os);
void sites_free(struct sites *s);

#endif
