/*
 * The directory of a store: what the names in it mean, whether a store is
 * there, and whose it is.
 *
 * It belongs to one process that writes, or to any number that only read, for
 * as long as it is open. A process that finds it taken may wait, since a daemon
 * or a program that is about to end releases it soon.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_DIRECTORY_H
#define CELLFS_STORE_LSM_MANIFEST_DIRECTORY_H

#include "store/os/os.h"
#include "store/store.h"

enum directory_name {
	NAME_FOREIGN,
	NAME_LOCK,
	NAME_LOST_FOUND,
	NAME_CATALOG_NEW,
	NAME_CATALOG, /* numbered, as the next three */
	NAME_CATALOG_OLD,
	NAME_SST,
	NAME_SEGMENT,
	NAME_KEPT, /* segments after their time; numbered */
	NAME_RING,
	NAME_SPARE,
	NAME_RESERVE,
	NAME_MADE,
	NAME_NEW,
	/* Of format 4; the last one is numbered. */
	NAME_CURRENT,
	NAME_CURRENT_TMP,
	NAME_MANIFEST,
};

/* *number is set where the name has one. */
enum directory_name directory_name(const char *name, uint64_t *number);

struct directory_look {
	/* The greatest numbers, 0 = none. */
	uint64_t catalog, catalog_old, sst_max;
	bool current;	  /* a store of format 4 */
	bool backup;	  /* a copy that nothing may change (hold.h) */
	char ours[64];	  /* something that only a store leaves behind */
	char foreign[64]; /* something that is not a store's */
};

/* What is there. */
int directory_look(struct os_dir *dir, struct directory_look *out);

/*
 * Opens the directory at @path and takes it, as @o wants it: create, read_only
 * and wait_ms. Nothing is written before it is known to be a store, or a place
 * for one. -EBUSY, -ENOENT, -ENOTEMPTY, -EROFS: see store_open().
 */
int directory_open(struct os *os, const char *path,
		   const struct store_options *o, struct os_dir **out);

#endif
