/*
 * The directory of a store: what the names in it mean, whether a store is
 * there, and whose it is.
 *
 * It belongs to one process that writes, or to any number that only read, for
 * as long as it is open. Who finds it taken may wait: a daemon or a program
 * that is just ending lets it go soon.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_DIRECTORY_H
#define CELLFS_STORE_LSM_MANIFEST_DIRECTORY_H

#include "store/os/os.h"
#include "store/store.h"

enum directory_name {
	NAME_FOREIGN,
	NAME_LOCK,
	NAME_LOST_FOUND,
	NAME_CURRENT,
	NAME_CURRENT_TMP,
	NAME_MANIFEST, /* numbered, as the next two */
	NAME_SST,
	NAME_SEGMENT,
	NAME_RING,
	NAME_SPARE,
	NAME_RESERVE,
	NAME_MADE,
	NAME_NEW,
};

/* *number is set where the name has one. */
enum directory_name directory_name(const char *name, uint64_t *number);

struct directory_look {
	bool current;
	uint64_t manifest_max, sst_max; /* the greatest numbers, 0 = none */
	char ours[64];	  /* something that only a store leaves behind */
	char foreign[64]; /* something that is not a store's */
};

/* What is there. */
int directory_look(struct os_dir *dir, struct directory_look *out);

/*
 * Opens the directory at @path and takes it, as @o wants it: create, read_only
 * and wait_ms. Nothing is written before it is known to be a store, or a place
 * for one. -EBUSY, -ENOENT, -ENOTEMPTY: see store_open().
 */
int directory_open(struct os *os, const char *path,
		   const struct store_options *o, struct os_dir **out);

#endif
