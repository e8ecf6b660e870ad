/*
 * The one door to the operating system.
 *
 * All that the store asks of disk, clock and chance goes through here, so that
 * tests can log it, make the n-th call fail, or cut the power between any two
 * of them. No other file of store/ calls open, write, fsync, rename, time or
 * getrandom.
 *
 * Implementations: os_posix.c (the real one), and in tests/ one that keeps
 * files in memory and logs every call with its durability, and one that wraps
 * another and fails.
 *
 * Durability: a write is durable after os_fdatasync() of its file, or when
 * os_pwrite_sync() returns from it; a create, rename or unlink after
 * os_dir_sync() of its directory. Nothing else is.
 *
 * Returns: 0 or bytes, or a negative errno, and then store_why() names the
 * file, the call and the reason. Reads and writes loop over EINTR
 * and short transfers: os_pread() returns less than asked only at the end of
 * the file, os_pwrite() writes all or fails.
 */
#ifndef CELLFS_STORE_OS_OS_H
#define CELLFS_STORE_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/value/bytes.h"

struct os;
struct os_dir;
struct os_file;

enum {
	OS_READ = 1,
	OS_WRITE = 2,	/* implies reading */
	OS_CREATE = 4,	/* make it if absent, mode 0600 */
	OS_EXCL = 8,	/* with OS_CREATE: -EEXIST if there */
	OS_DIRECT = 16, /* a hint: bypass the page cache (writes are aligned
			   to OS_DIRECT_ALIGN in offset, length, memory).
			   Writes to the same file through another handle must
			   not happen at the same time. */
	OS_RANDOM = 32, /* a hint: reads are at random offsets */
	OS_LINKED = 64, /* it never changes: the owner may have a second name */
};

#define OS_DIRECT_ALIGN 4096

/* The file in a locked directory that holds the sole owner's pid, if any. */
#define OS_LOCK_NAME "LOCK"

struct os_ops {
	/* Opens (with @create: makes, mode 0700) a directory. */
	int (*dir_open)(struct os *os, const char *path, bool create,
			struct os_dir **out);
	/*
	 * Opens the directory @name in @d; a missing one is made (mode 0700),
	 * durably. The function is NULL if @os has no subdirectories.
	 */
	int (*dir_below)(struct os_dir *d, const char *name,
			 struct os_dir **out);
	void (*dir_close)(struct os_dir *d);
	/*
	 * Makes the directory this process's for the life of @d: alone, or
	 * @shared with others who share it. 1, or 0 if another has it, whose
	 * pid (0 = not known) is in *pid. -ESTALE: @path, by which it was
	 * opened, leads to another one by now.
	 */
	int (*dir_lock)(struct os_dir *d, const char *path, bool shared,
			int *pid);
	/*
	 * Who besides this user may put files into the directory, or the file
	 * there: a part of a sentence, or NULL. The functions are NULL if @os
	 * knows of no users.
	 */
	const char *(*dir_alien)(struct os_dir *d);
	const char *(*alien)(struct os_file *f);
	int (*dir_sync)(struct os_dir *d);
	/* Calls @each for every entry but . and ..; a negative return stops. */
	int (*dir_list)(struct os_dir *d,
			int (*each)(void *arg, const char *name), void *arg);
	int (*rename)(struct os_dir *d, const char *from, const char *to);
	int (*unlink)(struct os_dir *d, const char *name);
	int (*dir_space)(struct os_dir *d, uint64_t *total, uint64_t *free,
			 uint64_t *avail);
	int (*open)(struct os_dir *d, const char *name, unsigned flags,
		    struct os_file **out);
	int (*close)(struct os_file *f);
	ssize_t (*pread)(struct os_file *f, void *buf, size_t n, uint64_t off);
	ssize_t (*pwrite)(struct os_file *f, const void *buf, size_t n,
			  uint64_t off);
	/* As pwrite, and makes these bytes durable, but no earlier writes. */
	ssize_t (*pwrite_sync)(struct os_file *f, const void *buf, size_t n,
			       uint64_t off);
	int (*fdatasync)(struct os_file *f);
	/* NULL: no writing out ahead of fdatasync. */
	void (*write_out)(struct os_file *f, uint64_t off, uint64_t n);
	int (*truncate)(struct os_file *f, uint64_t size);
	/*
	 * Allocates @len bytes and sets the size. All content reads as zero
	 * afterwards, also where the file had data. -ENOSPC leaves it empty.
	 */
	int (*allocate)(struct os_file *f, uint64_t len);
	int (*size)(struct os_file *f, uint64_t *out);
	/*
	 * Maps the first @len bytes, allocated before, shared and writable;
	 * the mapping ends with os_close(). Stores go through os_map_store().
	 */
	int (*map)(struct os_file *f, size_t len, void **out);
	/* Maps @len bytes to read; lasts until os_unmap(). */
	int (*map_read)(struct os_file *f, size_t len, const void **out);
	/* NULL: mapped memory can always be read, without SIGBUS. */
	bool (*map_copy)(struct os_file *f, void *to, const void *from,
			 size_t n);
	void (*unmap)(struct os_file *f, const void *p, size_t len);
	/* Reports a store into a mapping. NULL in the real one: no need. */
	void (*map_stored)(struct os_file *f, size_t off, const void *src,
			   size_t n);
	int64_t (*now_ms)(struct os *os); /* wall clock, since 1970 */
	uint64_t (*monotonic_ns)(struct os *os);
	void (*sleep_ms)(struct os *os, unsigned ms);
	uint64_t (*random)(struct os *os);
};

struct os {
	const struct os_ops *ops;
};
struct os_dir {
	struct os *os;
	bool own; /* by os_dir_own() */
};
struct os_file {
	struct os *os;
	void *map;     /* the result of os_map() */
	char name[48]; /* for error texts; os_open() sets it, may cut it */
};

/*
 * In store/ the compiler warns about an ignored failure. Clean-up code, which
 * may ignore failures, calls os_close() and os_discard().
 */
#ifdef OS_RESULTS_ARE_CHECKED
#define OS_CHECKED __attribute__((warn_unused_result))
#else
#define OS_CHECKED
#endif

/*
 * What a failure of the system means; its other errnos mean that a file or the
 * disk is broken. A file that is open answers with no errno that has a meaning
 * of its own in store.h, such as -ENOENT or -ENODATA: that is -EIO.
 */
/* The disk is full, or a quota is used up. */
bool os_is_full(int err);
/* os_is_full(), or no memory or descriptor: a later try may succeed. */
bool os_is_want(int err);

/* The real operating system. */
struct os *os_posix(void);

int os_dir_open(struct os *os, const char *path, bool create,
		struct os_dir **out);
int os_dir_below(struct os_dir *d, const char *name, struct os_dir **out);
void os_dir_close(struct os_dir *d); /* @d may be NULL */
/*
 * Refuses a directory that is not this user's, or in which others may write:
 * -EPERM. From then on os_open() refuses a file there that somebody else owns,
 * or that has a second name, but for OS_LINKED and a file of the directory's owner.
 */
int os_dir_own(struct os_dir *d, const char *path);
int os_dir_lock(struct os_dir *d, const char *path, bool shared, int *pid);
int os_dir_sync(struct os_dir *d) OS_CHECKED;
int os_dir_list(struct os_dir *d, int (*each)(void *arg, const char *name),
		void *arg);
int os_dir_space(struct os_dir *d, uint64_t *total, uint64_t *free,
		 uint64_t *avail);
int os_rename(struct os_dir *d, const char *from, const char *to) OS_CHECKED;
int os_unlink(struct os_dir *d, const char *name) OS_CHECKED;
/* os_unlink(), but an absent file is a success. */
int os_remove(struct os_dir *d, const char *name) OS_CHECKED;
int os_open(struct os_dir *d, const char *name, unsigned flags,
	    struct os_file **out);
/* Closes a file after writing, where the caller must know of a failure. */
int os_finish(struct os_file *f) OS_CHECKED;
/*
 * Clean-up: failures are ignored, and store_why() keeps the sentence of the
 * earlier failure. The file to close may be NULL.
 */
void os_close(struct os_file *f);
void os_discard(struct os_dir *d, const char *name);
ssize_t os_pread(struct os_file *f, void *buf, size_t n, uint64_t off);
/*
 * Appends all of file @name. -EUCLEAN: it has more than @max bytes, or fewer than
 * it says.
 */
int os_read_file(struct os_dir *d, const char *name, uint64_t max,
		 struct buf *out) OS_CHECKED;
/*
 * The same for a file that may be damaged: what the disk cannot give is zeros,
 * and counts into *unread; so does what a file that became shorter lacks.
 */
int os_read_damaged(struct os_dir *d, const char *name, uint64_t max,
		    struct buf *out, uint64_t *unread) OS_CHECKED;
/*
 * Zeroed memory straight from the kernel, aligned to OS_PAGES_ALIGN, in huge
 * pages where the kernel has them; less than one such page is aligned to a small one,
 * since each would otherwise take the addresses of a large one. NULL when there is no
 * memory.
 */
#define OS_PAGES_ALIGN ((size_t)2 << 20)
void *os_pages(size_t size);
void os_pages_free(void *p, size_t size);

/* Writes all @n bytes: 0 or a negative errno. */
int os_pwrite(struct os_file *f, const void *buf, size_t n,
	      uint64_t off) OS_CHECKED;
/*
 * The same, and what was written is durable when it returns; what was written
 * before is not for that. After a failure any part of it may be on disk. It
 * works on every file; with OS_DIRECT it is one request to the disk.
 */
int os_pwrite_sync(struct os_file *f, const void *buf, size_t n,
		   uint64_t off) OS_CHECKED;
int os_fdatasync(struct os_file *f) OS_CHECKED;
/*
 * A hint: starts writing the bytes to the disk, so that the next os_fdatasync()
 * has less to do. It makes nothing durable and reports no failure.
 */
void os_write_out(struct os_file *f, uint64_t off, uint64_t n);
int os_truncate(struct os_file *f, uint64_t size) OS_CHECKED;
int os_allocate(struct os_file *f, uint64_t len) OS_CHECKED;
int os_size(struct os_file *f, uint64_t *out);
int os_map(struct os_file *f, size_t len, void **out);
void os_map_store(struct os_file *f, size_t off, const void *src, size_t n);
/* To be called after stores into the mapping without os_map_store(). */
void os_map_stored(struct os_file *f, size_t off, size_t n);
int os_map_read(struct os_file *f, size_t len, const void **out);
/*
 * Copies from the mapping of os_map_read(): a plain access may raise SIGBUS.
 * False if the file has become shorter or cannot be read; os_pread() tells why.
 */
bool os_map_copy(struct os_file *f, void *to, const void *from, size_t n);
void os_unmap(struct os_file *f, const void *p, size_t len);
int64_t os_now_ms(struct os *os);
uint64_t os_monotonic_ns(struct os *os);
void os_sleep_ms(struct os *os, unsigned ms);
uint64_t os_random(struct os *os);

#endif
