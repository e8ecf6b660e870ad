/*
 * The state of a mount's writes: scratch files and open writers.
 *
 * Writers are found by node, as a lookup must see a file that was created and
 * not published yet, and an unlink must keep it from being published.
 */
#ifndef CELLFS_FS_MEMORY_WRITE_STATE_H
#define CELLFS_FS_MEMORY_WRITE_STATE_H

#include <pthread.h>
#include <sys/types.h>

#include "fs/kernel/budget.h"
#include "fs/memory/scratch.h"
#include "fs/text/sorted.h"

struct writers;

struct write_state {
	struct scratch *scratch;
	pthread_mutex_t lock;
	struct sorted writers; /* lock: by node, then address */
	_Atomic size_t open;   /* writers.count, read without the lock */
	struct writers *held;  /* lock: files about to go or be renamed */
	uint64_t settled;      /* lock: files published or abandoned so far */
	pthread_cond_t settled_cond; /* or held no longer */
	unsigned waiting;	     /* lock: threads that wait for that */
};

int write_state_new(uint64_t scratch_max, struct budget *budget,
		    struct write_state **out);
void write_state_free(struct write_state *ws); /* NULL is nothing */
/* Is that file open for writing? */
bool write_state_open(struct write_state *ws, uint64_t node);
/* Is a file open for writing, or is there a scratch file? */
bool write_state_any(struct write_state *ws);

#endif
