/*
 * Rescue: a new store of what can be read of one that need not open.
 *
 *	catalog ─▶ tables, schemas, which files		 catalog_salvage.h
 *	N.sst	─▶ a cursor over what is whole of each	 sst_salvage.h
 *	log	─▶ a memtable				 wal_salvage.h
 *		      merged, family by family ─▶ files of level 1 in the new store
 *
 * All entries are copied as they are, sequences, hidden cells and markers
 * included, so that what is shown, also of the past and by snapshots, is what
 * the old store would show of them. The same entry in two places is one.
 *
 * Which files belong to a table is said by the newest catalog. A file that it
 * does not name is what a crash left, and stays out: its cells are in others, or
 * were deleted with the marker that deleted them. Without that catalog each file
 * that is there is taken, for the tree that it names; a tree of which no catalog
 * has the name becomes a table of its own.
 *
 * What is lost is told as it is met. Where something of a table is lost, older
 * versions and deleted cells of these rows may be seen again: what hid them may
 * be what is lost.
 */
#ifndef CELLFS_STORE_LSM_ADMIN_REPAIR_H
#define CELLFS_STORE_LSM_ADMIN_REPAIR_H

#include "store/lsm/mem/memtable.h"
#include "store/lsm/manifest/catalog_salvage.h"
#include "store/lsm/manifest/manifest.h"
#include "store/store.h"

/* A table file that no catalog names. */
struct repair_stray {
	uint64_t number;
	uint32_t tree; /* 0 = not known */
	bool taken;
};

struct repair {
	struct os_dir *from, *to;
	struct catalog_salvage known;
	struct memtable *log;
	struct repair_stray *strays;
	size_t nstrays, strays_cap;
	struct manifest *made; /* the new store's */
	uint64_t next_file;    /* of the new store */
	uint64_t last_seq;
	uint32_t next_tree; /* for files that name no tree */
	int losses;
	void (*tell)(void *arg, const struct store_rescue *news);
	void *arg;
	/* What is being salvaged, for what is told: */
	const char *table, *family;
};

void repair_note(struct repair *k, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void repair_lost(struct repair *k, const struct store_rescue *news);
/* Makes the tables of the catalog, then those of trees that it lacks. */
int repair_tables(struct repair *k);

#endif
