/*
 * The inventory of a backup, in its file BACKUP: which files it has.
 *
 *	cellfs backup 1
 *	store HEX
 *	taken MS			when, in milliseconds since 1970
 *	file NAME BYTES SIZE SUM HASH	hash: XXH3-64 of the first BYTES
 *	...
 *	end HEX				XXH3-64 of all lines before
 *
 * Numbers are decimal, SUM, HASH and those behind store and end are 16 hex
 * digits. A text that is not just as it would be written is damaged.
 */
#ifndef CELLFS_TOOLS_BACKUP_INVENTORY_H
#define CELLFS_TOOLS_BACKUP_INVENTORY_H

#include "store/hold.h"

#define INVENTORY_NAME HOLD_BACKUP_NAME

struct inventory_file {
	struct hold_file is;
	uint64_t hash;
};

struct inventory {
	uint64_t store_id;
	int64_t taken_ms;
	size_t nfiles;
	struct inventory_file *files;
};

void inventory_free(struct inventory *r);
/* NULL: it has none of that name. */
const struct inventory_file *inventory_find(const struct inventory *r,
					    const char *name);
/* Appends the text. 0 or -ENOMEM. */
int inventory_format(const struct inventory *r, struct buf *out);
/* 0, -EUCLEAN or -ENOMEM; *out is the caller's to free only after 0. */
int inventory_parse(struct bytes text, struct inventory *out);
/* Writes and syncs it in the directory, or reads it there. -ENOENT: none. */
int inventory_write(int dir, const struct inventory *r);
int inventory_read(int dir, struct inventory *out);

#endif
