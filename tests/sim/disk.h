/*
 * The state of a simulated disk, without handles: inodes and names.
 *
 * Contents are shared between copies of a disk until one is written to, so
 * that thousands of crash images of it are cheap. Running out of memory ends
 * the test.
 */
#ifndef CELLFS_TESTS_SIM_DISK_H
#define CELLFS_TESTS_SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_NAME_MAX 64

struct content;

struct disk_name {
	uint32_t dir, ino;
	char name[SIM_NAME_MAX];
};

struct disk {
	struct content **inodes; /* by number */
	size_t ninodes, inodes_cap;
	struct disk_name *names;
	size_t nnames, names_cap;
};

void *sim_alloc(void *old, size_t n);
/* Cuts what is too long. */
void sim_copy_name(char to[SIM_NAME_MAX], const char *name);
/* Not 0 while it does, for programs in which allocations fail. */
extern _Thread_local volatile unsigned sim_takes_memory;

void disk_copy(struct disk *to, const struct disk *from);
/* As disk_copy(), but inodes without a name are left out. */
void disk_copy_named(struct disk *to, const struct disk *from);
void disk_free(struct disk *d);
/* Of names and what they lead to, in any order. */
uint64_t disk_hash(const struct disk *d);

uint32_t disk_new_inode(struct disk *d);
/* Makes room for inode @ino, empty. */
void disk_need_inode(struct disk *d, uint32_t ino);
/* The name's index or -1. */
long disk_find(const struct disk *d, uint32_t dir, const char *name);
void disk_link(struct disk *d, uint32_t dir, const char *name, uint32_t ino);
/* Removes the name if it leads to @ino. */
void disk_unlink(struct disk *d, uint32_t dir, const char *name, uint32_t ino);
bool disk_has_name(const struct disk *d, uint32_t ino);

size_t disk_size(const struct disk *d, uint32_t ino);
const uint8_t *disk_data(const struct disk *d, uint32_t ino);
void disk_write(struct disk *d, uint32_t ino, size_t off, const void *src,
		size_t n);
/* Grows with zeros, or cuts. */
void disk_resize(struct disk *d, uint32_t ino, size_t size);

/* The bytes as they are now, unchanged until disk_drop(). */
const uint8_t *disk_hold(struct disk *d, uint32_t ino);
void disk_drop(const uint8_t *data);

#endif
