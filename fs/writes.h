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
struct moved;

#define SCHEMAS_ABSENT_MAX 16

struct write_state {
	struct scratch *scratch;
	struct moved *moved; /* fs/moved.h */
	struct draft_budget budget;
	pthread_mutex_t lock;
	struct sorted writers; /* lock: by node, then address */
	_Atomic size_t open;   /* writers.count, to read without the lock */
	/* Whose next look for .schema finds nothing: a ring. */
	struct schema_absent {
		uint64_t table;
		pid_t asker;
	} absent[SCHEMAS_ABSENT_MAX]; /* lock */
	unsigned absent_next;	      /* lock */
};

/*
 * A table has .schema from its start to its end, but cp -a makes a directory
 * and then each file in it with O_EXCL, as nothing can be there; and tar
 * removes a file that is there and makes it with O_EXCL, again and again. So
 * to the process that made the table or removed .schema, it is absent when it
 * looks for it next; its create finds it.
 */
void writes_schema_absent(struct fs *fs, uint64_t table, pid_t asker);
bool writes_is_schema_absent(struct fs *fs, uint64_t table, pid_t asker);

#endif
