#include <errno.h>
#include <fcntl.h>

#include "fs/files/counter.h"
#include "fs/files/reader.h"
#include "fs/files/served.h"
#include "fs/files/stream.h"
#include "fs/files/writer.h"
#include "fs/ops/ops.h"
#include "fs/tree/control_file.h"

static bool can_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC;
}

/* What another process makes is not read before it is published. */
static bool opens_draft(struct fs *fs, fuse_req_t req, uint64_t ino)
{
	return writer_wants(fs, ino) &&
	       !writer_hides(fs, ino, fuse_req_ctx(req)->pid);
}

static int open_reader(struct fs *fs, fuse_req_t req, struct place *p,
		       struct fuse_file_info *fi)
{
	pid_t who = fuse_req_ctx(req)->pid;
	int r = reader_open_place(fs, p, fi);

	if (r == -ESTALE)
		return gone_tell(&fs->gone, who, p->ino);
	gone_forget(&fs->gone, who);
	return r;
}

static int do_open(struct fs *fs, fuse_req_t req, uint64_t ino,
		   struct fuse_file_info *fi)
{
	struct place p;
	int r = place_of(fs, ino, &p);

	if (r == 0 && place_is_dir(&p))
		r = -EISDIR;
	if (r == 0 && can_write(fi))
		r = place_file_writable(&p);
	if (r < 0)
		goto out;
	switch (p.control && p.control->is_store ? HANDLE_SERVED
						 : kind_of(p.kind)->open) {
	case HANDLE_SERVED:
		r = served_open(fs, fi);
		break;
	case HANDLE_STREAM:
		r = stream_open(fs, &p, fi);
		break;
	case HANDLE_COUNTER:
		r = counter_open(fs, &p, fi);
		break;
	case HANDLE_WRITER:
		if (can_write(fi) || p.kind == NODE_SCRATCH ||
		    opens_draft(fs, req, ino))
			r = writer_open(fs, req, &p, fi);
		else
			r = open_reader(fs, req, &p, fi);
		break;
	default:
		r = open_reader(fs, req, &p, fi);
	}
out:
	place_release(&p);
	return r;
}

static void release(struct fs *fs, uint64_t fh)
{
	switch (handle_type(fh)) {
	case HANDLE_WRITER:
		writer_release(fs, fh);
		break;
	case HANDLE_STREAM:
		stream_release(fs, fh);
		break;
	case HANDLE_COUNTER:
		counter_release(fs, fh);
		break;
	case HANDLE_SERVED:
		served_release(fs, fh);
		break;
	default:
		reader_release(fs, fh);
		break;
	}
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
	switch (handle_type(fi->fh)) {
	case HANDLE_WRITER:
		r = writer_read(fs, req, fi->fh, size, off);
		break;
	case HANDLE_STREAM:
		r = stream_read(fs, req, fi->fh, size, off);
		break;
	case HANDLE_COUNTER:
		r = counter_read(fs, req, fi->fh, size, off);
		break;
	case HANDLE_SERVED:
		r = served_read(fs, req, fi->fh, size);
		break;
	default:
		r = reader_read(fs, req, fi->fh, size, off);
		break;
	}
	if (r < 0)
		fs_reply_err(req, "read", ino, NULL, r);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	release(fs_of(req), fi->fh);
	fuse_reply_err(req, 0);
}
