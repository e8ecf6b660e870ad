/*
 * When directories lost or got entries.
 *
 * A column's directory has the time of its newest version, others that of the
 * mount: neither changes when an entry is removed. So the time of the last
 * removal, rename or mkdir in a directory is kept here, by the inode number
 * that stat(2) shows. If directories share a slot, only the time of the last
 * one is kept: the others show their own time again, which programs take for a
 * change as well.
 *
 * Threads: any; one lock, innermost.
 */
#ifndef CELLFS_FS_KERNEL_DIR_TIMES_H
#define CELLFS_FS_KERNEL_DIR_TIMES_H

#include <sys/stat.h>

#include <pthread.h>
#include <stdint.h>

#define DIR_TIMES_SLOTS 4096

struct dir_times {
	pthread_mutex_t lock;
	struct {
		uint64_t ino;
		struct timespec at;
	} slots[DIR_TIMES_SLOTS]; /* lock */
};

void dir_times_init(struct dir_times *dt);
void dir_times_release(struct dir_times *dt);
/* Notes that an entry of the directory was made or removed now. */
void dir_times_moved(struct dir_times *dt, uint64_t ino);
/* Sets the times of a directory in @st to the noted one, if they are older. */
void dir_times_show(struct dir_times *dt, struct stat *st);

#endif
