/*
 * Handles: what the kernel's file handle numbers stand for.
 *
 * An open file is one of several types, and each type supplies a table of
 * what can be done with it. What the requests of the kernel have in common is
 * done by fs/ops, once for all types.
 *
 * A number is a generation and an index into a table, never a pointer. A
 * request for one type does not get a file of another type, and an operation
 * that a type lacks is refused: a directory that opendir made is not read.
 *
 * An open file is counted. The table has one reference, from open to release.
 * Each request has one more: its reply can bring the release before the thread
 * that replied is done with the file.
 *
 * Each holds some memory of the budget while it is open, and more as its type
 * takes more: open_file.share.
 *
 * Threads: the table has a lock, innermost, under which no operation is called.
 */
#ifndef CELLFS_FS_KERNEL_HANDLE_H
#define CELLFS_FS_KERNEL_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/kernel/budget.h"
#include "fs/kernel/fuse.h"

#include "store/value/bytes.h"

struct fs;
struct handles;
struct file_ops;

/* The first part of each open object, which its maker fills in. */
struct open_file {
	const struct file_ops *ops;
	_Atomic uint32_t refs;	   /* 1 when the object is made */
	struct budget_share share; /* its maker's until it has a handle */
};

/*
 * Each returns 0 or a negative errno, with a sentence by why(). A request for
 * which the type has NULL fails with -EBADF, if nothing else is said here.
 * Offsets and sizes are not negative.
 */
struct file_ops {
	/* It may take long, or until another request is served. */
	bool read_waits, write_waits;
	/* If it returns 0, it has replied. */
	int (*read)(struct fs *fs, struct open_file *f, fuse_req_t req,
		    size_t size, off_t off);
	/*
	 * @flags: the descriptor's of now, which fcntl(2) may have changed
	 * since the open. With O_DSYNC (O_SYNC has it, too) what is written is
	 * on disk.
	 */
	int (*write)(struct fs *fs, struct open_file *f, struct bytes data,
		     off_t off, int flags);
	/* close(2) of a descriptor, perhaps of several. NULL: 0. */
	int (*flush)(struct fs *fs, struct open_file *f);
	/* Publishes what is owed; the caller syncs the store. NULL: 0. */
	int (*fsync)(struct fs *fs, struct open_file *f);
	/* NULL: the file is truncated by its path. */
	int (*truncate)(struct fs *fs, struct open_file *f, off_t size);
	/* Makes the file at least @size bytes long. */
	int (*extend)(struct fs *fs, struct open_file *f, off_t size);
	/* NULL: -ENOTTY. */
	int (*ioctl)(struct fs *fs, struct open_file *f, unsigned cmd,
		     struct bytes data);
	/* 1 and what was opened. NULL: the attributes are those of its path. */
	int (*stat)(struct open_file *f, struct stat *st);
	/* The last descriptor is closed, or the mount ends. NULL: nothing. */
	void (*release)(struct fs *fs, struct open_file *f);
	/* The last reference is given back. */
	void (*free)(struct open_file *f);
};

static inline void open_file_hold(struct open_file *f)
{
	atomic_fetch_add(&f->refs, 1);
}
void open_file_drop(struct open_file *f); /* NULL is nothing */

/* @budget outlives them. */
int handles_new(struct budget *budget, struct handles **out);
/* Releases all that is still open. No request runs any more. */
void handles_free(struct handles *hs, struct fs *fs); /* NULL is nothing */

/*
 * Takes over the caller's reference and sets fi->fh. -ENFILE, in words, when
 * memory is out or too many are open; most by who asks, if others can open.
 */
int handles_open(struct handles *hs, struct open_file *f,
		 struct fuse_file_info *fi);
/*
 * The open file of type @ops (NULL: of any) with a reference, or NULL if @fh
 * is no such file.
 */
struct open_file *handles_get(struct handles *hs, uint64_t fh,
			      const struct file_ops *ops);
/* Frees the number and gives the table's reference back. */
void handles_release(struct handles *hs, struct fs *fs, uint64_t fh);
uint64_t handles_count(struct handles *hs);
/*
 * Calls @fn for each open file of that type, with a reference: for one that is opened
 * or released meanwhile, perhaps.
 */
void handles_each(struct handles *hs, const struct file_ops *ops,
		  void (*fn)(void *arg, struct open_file *f), void *arg);

#endif
