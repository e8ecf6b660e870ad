/*
 * An operating system whose n-th call fails.
 *
 * Wraps another one. Calls of the armed kinds are counted from fault_arm() on;
 * the n-th fails with the given errno, alone or with all later ones, without
 * having been made, or, with @partial, a write after half of it was.
 */
#ifndef CELLFS_TESTS_SIM_OS_FAULT_H
#define CELLFS_TESTS_SIM_OS_FAULT_H

#include "store/os/os.h"

enum {
	FAULT_DIR_OPEN = 1 << 0,
	FAULT_DIR_SYNC = 1 << 1,
	FAULT_DIR_LIST = 1 << 2,
	FAULT_RENAME = 1 << 3,
	FAULT_UNLINK = 1 << 4,
	FAULT_OPEN = 1 << 5,
	FAULT_CLOSE = 1 << 6, /* the file is closed all the same */
	FAULT_PREAD = 1 << 7,
	FAULT_PWRITE = 1 << 8,
	FAULT_FDATASYNC = 1 << 9,
	FAULT_TRUNCATE = 1 << 10,
	FAULT_ALLOCATE = 1 << 11,
	FAULT_SIZE = 1 << 12,
	FAULT_MAP = 1 << 13, /* and map_read */
	FAULT_LOCK = 1 << 14,
	FAULT_SPACE = 1 << 15,
	FAULT_ALL = (1 << 16) - 1,
};

struct fault_plan {
	unsigned kinds;
	uint64_t nth; /* 1 = the next call */
	int err;      /* positive errno, as EIO */
	bool forever; /* all from then on fail */
	/*
	 * A failing fdatasync loses what it should have synced, in part, and
	 * the next one says that all is well. For a wrapped sim only.
	 */
	bool lose;
	bool partial;
};

/* @inner stays the caller's. */
struct os *fault_new(struct os *inner);
void fault_free(struct os *os); /* NULL is nothing */
void fault_arm(struct os *os, const struct fault_plan *plan);
void fault_disarm(struct os *os);
/* Calls of the armed kinds since fault_arm(). */
uint64_t fault_calls(const struct os *os);
/* How many of them failed: 0 means that the run has proven nothing. */
uint64_t fault_fired(const struct os *os);

#endif
