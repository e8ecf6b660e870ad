#include <errno.h>
#include <fcntl.h>

#include "fs/listing.h"
#include "fs/ops.h"
#include "fs/reader.h"
#include "fs/writer.h"

static bool can_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC;
}

static int do_open(struct fs *fs, fuse_req_t req, uint64_t ino,
		   struct fuse_file_info *fi)
{
	struct place p;
	int r = place_of(fs, ino, &p);

	if (r < 0)
		goto out;
	if (place_is_dir(&p))
		r = -EISDIR;
	else if (can_write(fi) && p.view)
		r = why(-EROFS, "a view is for reading only");
	else if (can_write(fi) && p.kind == NODE_CONTROL)
		r = why(-EACCES, ".cellfs/%s can only be read", p.name);
	else if (can_write(fi) || p.kind == NODE_SCRATCH ||
		 writer_wants(fs, ino))
		r = writer_open(fs, req, &p, fi);
	else
		r = reader_open_place(fs, &p, fi);
out:
	place_release(&p);
	return r;
}

static void release(struct fs *fs, uint64_t fh)
{
	if (handle_type(fh) == HANDLE_WRITER)
		writer_release(fs, fh);
	else
		reader_release(fs, fh);
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int r;

	fs_count(fs, FS_OPEN);
	r = do_open(fs, req, ino, fi);
	if (r < 0)
		fs_reply_err(req, "open", ino, NULL, r);
	else if (fuse_reply_open(req, fi) != 0)
		release(fs, fi->fh); /* the caller was interrupted */
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi)
{
	struct fs *fs = fs_of(req);
	int r;

	fs_count(fs, FS_READ);
	if (handle_type(fi->fh) == HANDLE_WRITER)
		r = writer_read(fs, req, fi->fh, size, off);
	else
		r = reader_read(fs, req, fi->fh, size, off);
	if (r < 0)
		fs_reply_err(req, "read", ino, NULL, r);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	release(fs_of(req), fi->fh);
	fuse_reply_err(req, 0);
}

static void close_listing(void *arg, void *object)
{
	listing_close(object);
}

static void close_reader(void *arg, void *object)
{
	reader_free(object);
}

void fs_close_handles(struct fs *fs)
{
	if (!fs->handles)
		return;
	handles_each(fs->handles, HANDLE_LISTING, close_listing, NULL);
	handles_each(fs->handles, HANDLE_READER, close_reader, NULL);
}
