/*
 * What the write side of a mount holds: scratch files, open writers, budget.
 *
 * Writers are found by node, as a lookup must see a file that was created and
 * not published yet, and an unlink must keep it from being published.
 */
#ifndef CELLFS_FS_WRITES_H
#define CELLFS_FS_WRITES_H

#include <pthread.h>
#include <sys/types.h>

#include "fs/draft.h"
#include "fs/scratch.h"
#include "fs/sorted.h"

struct fs;

#define TABLES_MADE_MAX 16

struct write_state {
	struct scratch *scratch;
	struct draft_budget budget;
	pthread_mutex_t lock;
	struct sorted writers; /* lock: by node, then address */
	_Atomic size_t open;   /* writers.count, to read without the lock */
	/* Tables that were made last, and by whom: a ring. */
	struct table_made {
		uint64_t table;
		pid_t maker;
	} made[TABLES_MADE_MAX]; /* lock */
	unsigned made_next;	 /* lock */
};

/*
 * cp -a makes a directory and then each file in it with O_EXCL, as nothing can
 * be there; a new table has .schema from the start. So the first time that
 * the process that made a table looks for .schema, it is not there yet, and
 * its create finds it.
 */
void writes_table_made(struct fs *fs, uint64_t table, pid_t maker);
bool writes_hide_schema(struct fs *fs, uint64_t table, pid_t asker);

#endif
