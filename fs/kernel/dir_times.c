#include "fs/kernel/dir_times.h"

#include <time.h>

void dir_times_init(struct dir_times *dt)
{
	pthread_mutex_init(&dt->lock, NULL);
}

void dir_times_release(struct dir_times *dt)
{
	pthread_mutex_destroy(&dt->lock);
}

void dir_times_moved(struct dir_times *dt, uint64_t ino)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	pthread_mutex_lock(&dt->lock);
	dt->slots[ino % DIR_TIMES_SLOTS].ino = ino;
	dt->slots[ino % DIR_TIMES_SLOTS].at = now;
	pthread_mutex_unlock(&dt->lock);
}

void dir_times_show(struct dir_times *dt, struct stat *st)
{
	uint64_t slot = st->st_ino % DIR_TIMES_SLOTS;
	struct timespec at = {0};

	pthread_mutex_lock(&dt->lock);
	if (dt->slots[slot].ino == st->st_ino)
		at = dt->slots[slot].at;
	pthread_mutex_unlock(&dt->lock);
	if (at.tv_sec > st->st_mtim.tv_sec ||
	    (at.tv_sec == st->st_mtim.tv_sec &&
	     at.tv_nsec > st->st_mtim.tv_nsec))
		st->st_mtim = st->st_ctim = at;
}
