/*
 * A folder of backups: which there are, by number, and dropping old ones.
 *
 * Numbers grow and are not used again while a later backup is there. Opening to
 * write takes the folder for this process, and removes what a drop that was cut
 * has left.
 */
#ifndef CELLFS_TOOLS_BACKUP_FOLDER_H
#define CELLFS_TOOLS_BACKUP_FOLDER_H

#include "tools/backup/carry.h"
#include "tools/backup/inventory.h"

#define FOLDER_INCOMPLETE "incomplete"

struct folder {
	char *path;
	int fd;
	size_t n;
	uint64_t *numbers; /* ascending */
};

enum folder_use {
	FOLDER_LOOK,  /* takes no lock: what is there may go */
	FOLDER_READ,  /* nothing goes while it is open */
	FOLDER_WRITE, /* alone */
	FOLDER_MAKE,  /* alone; made if it is absent */
};

/*
 * -EBUSY: another process has it; -ENOTEMPTY, -ENOENT: it is no folder of
 * backups.
 */
int folder_open(const char *path, enum folder_use use, struct folder *out);
void folder_close(struct folder *f);
/* Is it a folder of backups? */
bool folder_is(const char *path);
/* Makes it durable that the directory @fd, which is @path, has its name. */
int folder_sync_name(int fd, const char *path);
/*
 * DEST.part, the name of what becomes @dest once it is whole. To be freed; NULL, and the
 * reason, without memory.
 */
char *folder_part(const char *dest);
/* Renames @part, which is whole and open as @fd, to @dest, and makes that durable. */
int folder_rename(int fd, const char *part, const char *dest);
/* Opens the directory of a backup; a descriptor. */
int folder_enter(const struct folder *f, uint64_t number);
/* The inventory of a backup. */
int folder_inventory(const struct folder *f, uint64_t number,
		     struct inventory *out);
/*
 * Opens the one that is being made, which has an empty inventory until it has its
 * own, so that nothing opens it to write. A descriptor.
 */
int folder_begin(struct folder *f);
/* Makes it durable and the newest one, of the number *number. */
int folder_commit(struct folder *f, int fd, uint64_t *number);
/* Empties the directory but for the names that @keep wants; NULL: none. */
int folder_sweep(int dir, bool (*keep)(void *arg, const char *name), void *arg);
/* Drops all but the newest @n; how many were dropped, or negative. */
int folder_keep(struct folder *f, uint64_t n);

#endif
