/*
 * Backups of a store: a folder of copies, of which each is a store.
 *
 *	DIR/1/	 CATALOG-...  17.sst  18.sst	      BACKUP
 *	DIR/2/	 CATALOG-...  17.sst  18.sst  19.sst  BACKUP
 *	DIR/incomplete/	 what a backup that was cut has carried; BACKUP is empty
 *	DIR/3.gone/	 what is being dropped
 *
 * A backup has all files of one moment (store/hold.h) under their own names, so
 * that it can be checked, read and copied as any store. Table files do not
 * change: one that the backup before has, by name, size and sum, is a hard link
 * to that, and only others are carried. So each backup is whole by itself, to
 * drop one is to remove its directory, and a file goes with the last backup that
 * has it. In the log and the catalog nothing is shared.
 *
 * On the store's own filesystem a table file is cloned where that can share blocks,
 * else it is a hard link to the store's (OS_LINKED): no bytes are carried, and damage
 * of the disk is damage of both. Elsewhere, and of another user's store, it is copied.
 *
 * Each file is carried to a temporary name, synced, read back from the disk,
 * compared by its hash and renamed; then the engine checks each block of those
 * that were carried, since the source may be damaged. BACKUP (inventory.h) has the
 * hash of each. It is made in DIR/incomplete, and that is synced and renamed to
 * the next number: a backup that is cut does not exist, and the next one takes
 * what is there already.
 *
 * Restoring carries the files of one into a new directory in the same way, and
 * compares with BACKUP.
 *
 * A store that keeps its log (store_keep_log()) can be restored to any moment
 * between two backups: of the segments that are kept each backup has those that the
 * one before it lacks, so that the log from one to the next lies in the next. A
 * backup that is dropped takes them along, and the moments behind it.
 *
 * One process at a time changes DIR (flock). All functions return 0 or 1, or a
 * negative errno with a sentence; -ECANCELED: the watch said so.
 */
#ifndef CELLFS_TOOLS_BACKUP_BACKUP_H
#define CELLFS_TOOLS_BACKUP_BACKUP_H

#include "store/hold.h"
#include "tools/backup/folder.h"

/* What was done. */
struct backup_done {
	uint64_t number;
	uint64_t files, bytes;		 /* all of it */
	uint64_t carried_files, carried; /* of which so many were carried */
	int64_t moment_ms;		 /* of which it is the state */
	/*
	 * Of a restore to a moment that could not be had: the reason, else "", and 1
	 * if the store kept its log for it, else 0. Of a backup: what is damaged of
	 * the kept log, and of how many files.
	 */
	char log_why[WHY_MAX];
	uint64_t log_faults;
};

/*
 * Makes a backup of what is held, of files in the directory @store. A damaged file
 * of the kept log is told in @out and carried as it is, since moments before the
 * damage are in it; one that cannot be read is left out. -EUCLEAN: another file of
 * the store is damaged; -EINVAL: the folder has another store's.
 */
int backup_make(struct folder *f, const char *store, const struct hold *h,
		enum carry_share share, const struct carry_watch *w,
		struct backup_done *out);
/*
 * Makes the new store @dest, which may be an empty directory, of backup @number, and
 * brings it to @at_ms by the log that later ones have. Where that is not in them up
 * to there, or @at_ms is not later, it is as the backup. -EEXIST: there is
 * something.
 */
int backup_restore(struct folder *f, uint64_t number, int64_t at_ms,
		   const char *dest, const struct carry_watch *w,
		   struct backup_done *out);
/* What is damaged, as far as it decides what helps. */
enum backup_fault {
	FAULT_TABLE = 1 << 0, /* a table file, which others may have, too */
	FAULT_KEPT = 1 << 1,  /* a file of the kept log */
	FAULT_OWN = 1 << 2,   /* the catalog, or the log: this backup's own */
};
/*
 * Verifies one backup: that it has the files of its inventory, with their hashes,
 * and that they are a sound store. Files that are links to those of backup
 * *known (0: none) are passed over; it is this one from then on, unless its own
 * inventory is damaged, so that nobody knows of its files. The number of faults,
 * or negative; *kinds gets theirs besides.
 */
int backup_check(struct folder *f, uint64_t number, uint64_t *known,
		 unsigned *kinds, void (*say)(void *arg, const char *sentence),
		 void *arg, const struct carry_watch *w);

#endif
