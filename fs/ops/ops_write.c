/*
 * Create, write, flush, fsync: what an open file asks.
 */
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "fs/files/writer.h"
#include "fs/look/lookup.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"

/*
 * The kernel checks the mode of a file that it has just made, and asks for
 * attributes that it may not believe at all. So it may believe these for its
 * shortest time, a tick or two: the file is empty, and a write makes them old.
 */
static void just_made(struct fuse_entry_param *e)
{
	clock_gettime(CLOCK_REALTIME, &e->attr.st_mtim);
	e->attr.st_atim = e->attr.st_ctim = e->attr.st_mtim;
	e->attr_timeout = 1e-6;
}

/* Creates a cell file that other processes do not see until it is published. */
static int create_cell(struct fs *fs, fuse_req_t req, struct place *child,
		       struct fuse_file_info *fi, struct fuse_entry_param *e)
{
	int r = entry_add_cell(fs, child, e);

	if (r)
		return r;
	/* For other processes the file does not exist. */
	e->entry_timeout = 0;
	just_made(e);
	r = writer_create(fs, req, child, fi);
	if (r)
		nodes_forget(fs->nodes, child->node, 1);
	return r;
}

static int create_scratch(struct fs *fs, fuse_req_t req,
			  const struct place *dir, struct place *child,
			  mode_t mode, struct fuse_file_info *fi,
			  struct fuse_entry_param *e)
{
	int r = entry_add_scratch(fs, req, dir, child, S_IFREG | (mode & 07777),
				  e);

	if (r)
		return r;
	just_made(e);
	r = writer_open(fs, req, child, fi);
	if (r) {
		entry_remove_scratch(fs, child);
		nodes_forget(fs->nodes, child->node, 1);
	}
	return r;
}

/* Opens a file that was made after the kernel's lookup found none. */
static int create_existing(struct fs *fs, fuse_req_t req, struct place *child,
			   const struct stat *st, struct fuse_file_info *fi,
			   struct fuse_entry_param *e)
{
	bool made = child->kind == NODE_SCHEMA &&
		    schema_absent_may_make(&fs->schema_absent, child->table,
					   fuse_req_ctx(req)->pid);
	int r;

	if (fi->flags & O_EXCL && !made)
		return -EEXIST;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	r = fs_entry(fs, child->parent, child, st, e);
	if (r)
		return r;
	/* It is about to be written; and a notice may be faster than this. */
	if (place_is(child, KIND_CELL))
		e->attr_timeout = e->entry_timeout = 0;
	r = writer_open(fs, req, child, fi);
	if (r)
		nodes_forget(fs->nodes, child->node, 1);
	return r;
}

static int do_create(struct fs *fs, fuse_req_t req, uint64_t parent,
		     const char *name, mode_t mode, struct fuse_file_info *fi,
		     struct fuse_entry_param *e)
{
	struct place dir = {0}, child = {0};
	struct stat st = {0};
	int r = entry_find(fs, parent, name, &dir, &child, &st);

	if (r > 0)
		r = create_existing(fs, req, &child, &st, fi, e);
	else if (r == 0)
		r = place_is(&child, KIND_CELL)
			    ? create_cell(fs, req, &child, fi, e)
			    : create_scratch(fs, req, &dir, &child, mode, fi,
					     e);
	place_release(&child);
	place_release(&dir);
	return r;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct fuse_entry_param e = {0};
	int r = do_create(fs, req, parent, name, mode, fi, &e);

	if (r != -ESTALE)
		gone_forget(&fs->gone, fuse_req_ctx(req)->pid);
	if (r) {
		fs_reply_err(req, "create", parent, name, r);
		return;
	}
	/* The kernel gives the directory a new time by itself. */
	nodes_believe(fs->nodes, parent, false);
	if (fuse_reply_create(req, &e, fi)) {
		/* The caller was interrupted: undo the open and the lookup. */
		handles_release(fs->handles, fs, fi->fh);
		nodes_forget(fs->nodes, e.ino, 1);
	}
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size,
	      off_t off, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct open_file *f = handles_get(fs->handles, fi->fh, NULL);
	int r = -EBADF;

	if (f && f->ops->write)
		r = off < 0 ? -EINVAL
			    : f->ops->write(fs, f, bytes_of(data, size), off,
					    fi->flags);
	open_file_drop(f);
	if (r) {
		fs_reply_err(req, "write", ino, NULL, r);
		return;
	}
	atomic_fetch_add_explicit(&fs->bytes_written, size,
				  memory_order_relaxed);
	fuse_reply_write(req, size);
}

void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
	      struct fuse_file_info *fi, unsigned flags, const void *in,
	      size_t in_size, size_t out_size)
{
	struct fs *fs = fs_begin(req);
	struct open_file *f = handles_get(fs->handles, fi->fh, NULL);
	int r = -ENOTTY;

	if (f && f->ops->ioctl)
		r = f->ops->ioctl(fs, f, cmd, bytes_of(in, in_size));
	open_file_drop(f);
	/* Programs try ioctls on any file: ENOTTY is not logged. */
	if (r == -ENOTTY)
		fuse_reply_err(req, ENOTTY);
	else if (r < 0)
		fs_reply_err(req, "ioctl", ino, NULL, r);
	else
		fuse_reply_ioctl(req, 0, NULL, 0);
}

void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct open_file *f = handles_get(fs->handles, fi->fh, NULL);
	int r = 0;

	if (f && f->ops->flush)
		r = f->ops->flush(fs, f);
	open_file_drop(f);
	fs_reply(req, "close", ino, NULL, r);
}

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	      struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct open_file *f = handles_get(fs->handles, fi->fh, NULL);
	int r = 0;

	if (f && f->ops->fsync)
		r = f->ops->fsync(fs, f);
	open_file_drop(f);
	/* Other descriptors may have written the file: sync all writes. */
	if (!r)
		r = fs_sync(fs);
	fs_reply(req, "fsync", ino, NULL, r);
}

static int extend(struct fs *fs, uint64_t fh, off_t size)
{
	struct open_file *f = handles_get(fs->handles, fh, NULL);
	int r = f ? -EOPNOTSUPP : -EBADF;

	if (f && f->ops->extend)
		r = f->ops->extend(fs, f, size);
	open_file_drop(f);
	return r;
}

void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
		  off_t len, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	off_t end;
	int r;

	/* The kernel refuses what is negative. */
	if (mode)
		r = -EOPNOTSUPP;
	else if (__builtin_add_overflow(off, len, &end))
		r = -EFBIG;
	else
		r = extend(fs, fi->fh, end);
	fs_reply(req, "fallocate", ino, NULL, r);
}
