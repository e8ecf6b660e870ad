/*
 * The catalog of a store that need not open.
 *
 * In this order: the newest generation; the same with one bit of it put right,
 * where the checksum then says that it is whole; the generation before, which is
 * kept; the manifest of a store of format 4. Where there is none the catalog is
 * empty, and the table files and the log are all that is known.
 */
#ifndef CELLFS_STORE_LSM_MANIFEST_CATALOG_SALVAGE_H
#define CELLFS_STORE_LSM_MANIFEST_CATALOG_SALVAGE_H

#include "store/lsm/manifest/catalog.h"

enum catalog_age {
	CATALOG_NEWEST, /* files that it does not have are no part of the store */
	CATALOG_BEFORE, /* the last change of tables or files is not in it */
	CATALOG_NONE,
};

struct catalog_salvage {
	struct catalog catalog;
	enum catalog_age age;
	char note[512]; /* a sentence; empty when all is as it should be */
};

/*
 * -EPROTONOSUPPORT: of a newer format. -ENOMEM, or an error of the directory.
 * Free the catalog after 0.
 */
int catalog_salvage(struct os_dir *dir, struct catalog_salvage *out);

#endif
