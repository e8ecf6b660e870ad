/*
 * The real door with its calls of the kernel in between: the linker puts the functions
 * of door.c between os_posix.c and the C library (--wrap). They note what is asked, and
 * fail as a test says.
 */
#ifndef CELLFS_TESTS_UNIT_DOOR_H
#define CELLFS_TESTS_UNIT_DOOR_H

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "store/os/os.h"

#define MIB ((uint64_t)1 << 20)

/* What is to happen, and what did. */
struct door {
	bool armed;
	unsigned n, fail_at; /* the n-th call fails, 0 = none */
	int err;
	const char *name; /* only calls of this name count; NULL = all */
	char failed[32];  /* which it was */
	bool pretend;	  /* a directory is made */
	char opened[32];  /* the first path */
	bool no_fallocate;
	bool no_direct;	   /* an open refuses it */
	bool no_direct_io; /* a transfer refuses it */
	bool no_transfer;  /* a transfer moves nothing, and says it moved all */
	bool put_nothing;  /* a write says it wrote 0 */
	struct stat *st;   /* what fstat() says instead */
	uid_t euid;
	unsigned given; /* calls of fchown(), */
	uid_t to;	/* the last of which names this user */
	struct timespec now, slept;
	int flags, prot, map_flags, advice, advised, sync_flags;
	mode_t mode;
	size_t map_len, unmap_len;
	ino_t synced; /* what fsync() was called for */
	uint64_t at[8], len[8];
	unsigned ntransfers;
};
extern struct door door;

/* A directory with the file "f" of four bytes. */
struct door_dir {
	char path[64];
	struct os_dir *dir;
	struct os_file *file;
};
extern struct door_dir the;

/* For EACH_TEST_IN(). */
int door_set_up(void **state);
int door_tear_down(void **state);

int __real_close(int fd);
/* The path of that name in the directory. */
void door_below(const char *name, char path[96]);
unsigned door_open_files(void);
/* Does a fault in a mapping come to somebody? */
bool door_handles_bus(void);
/*
 * 0, or what the op says when its @at-th call fails with @err. @name: only calls of
 * that name count; NULL: all.
 */
int door_with_failure(int (*run)(void), unsigned at, int err, const char *name);
/* Operations of the file: a MiB is allocated; more, where no call of the kernel does. */
int door_allocate(void);
int door_allocate_by_writing(void);
/* Has the reason of the last failure this in it? */
bool door_says(const char *part);

#endif
