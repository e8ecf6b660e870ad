/*
 * The embedded engine: a backend of store.h over files in one directory.
 *
 *	write: mutate ─▶ commit.c ─▶ wal ─▶ memtable
 *	flush: frozen memtable ─▶ sstable of level 0 ─▶ catalog
 *	read:  view (memtables + levels) ─▶ merge ─▶ visibility ─▶ scan
 *
 * A tree per table and family, one log and one sequence of changes for all, so
 * that a row over several families is one record. The directory is flat:
 *
 *	LOCK  CATALOG-N  wal-N.log  wal.ring  kept-ID-N.log  N.sst
 */
#ifndef CELLFS_STORE_LSM_ADMIN_ENGINE_H
#define CELLFS_STORE_LSM_ADMIN_ENGINE_H

#include "store/store.h"

/* See store_open() and store_check_copy(); @wanted and @went may be NULL. */
int lsm_open(const char *path, const struct store_options *o,
	     struct store **out);
int lsm_check(const char *path, struct os *os,
	      bool (*wanted)(void *arg, const char *name),
	      bool (*went)(void *arg, uint64_t bytes),
	      void (*say)(void *arg, const char *sentence), void *arg);
/*
 * Is a store in the directory, or a copy of one? Not in one that is another user's (to
 * root: anybody's) or where others may write, whatever they have put there.
 */
bool lsm_is_at(const char *path);
/* Is nothing there, or an empty directory, in which lsm_open() would make a store? */
bool lsm_would_be_new(const char *path);
/* See store_check_kept(). */
int lsm_check_kept(const char *path, const char *name);
/* See store_roll_forward(). */
int lsm_roll_forward(const char *path, const char *log, const char *lacks,
		     int64_t at_ms);
/* See store_repair(). */
int lsm_repair(const char *path, const char *dest, struct os *os,
	       void (*tell)(void *arg, const struct store_rescue *news),
	       void *arg);
/*
 * Ends like a process that dies: frees the memory and closes the files without
 * flushing or syncing anything. For tests of recovery.
 */
void lsm_abandon(struct store *s);

#endif
