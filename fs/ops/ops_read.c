#include <errno.h>
#include <fcntl.h>

#include "fs/files/counter.h"
#include "fs/files/reader.h"
#include "fs/files/served.h"
#include "fs/files/stream.h"
#include "fs/files/trace_file.h"
#include "fs/files/writer.h"
#include "fs/ops/entry.h"
#include "fs/ops/ops.h"
#include "fs/tree/control_file.h"
#include "store/os/clock.h"

static bool can_write(const struct fuse_file_info *fi)
{
	return (fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC;
}

/*
 * A file that another process makes is not read before it is published. That it
 * is not hidden is not enough: it may have been published and removed meanwhile.
 */
static bool opens_draft(struct fs *fs, fuse_req_t req, uint64_t ino)
{
	pid_t who = fuse_req_ctx(req)->pid;

	return writer_wants(fs, ino) && !writer_hides(fs, ino, who) &&
	       writer_makes(fs, ino, who);
}

static int open_writer(struct fs *fs, fuse_req_t req, struct place *p,
		       struct fuse_file_info *fi)
{
	/* The kernel hears of a version that others remove by a notice. */
	int r = can_write(fi) && p->kind == NODE_VERSION
			? entry_stays(fs, req, p)
			: 0;

	if (r < 0)
		return r;
	r = writer_open(fs, req, p, fi);
	if (r != -ESTALE)
		gone_forget(&fs->gone, fuse_req_ctx(req)->pid);
	return r;
}

static int open_reader(struct fs *fs, fuse_req_t req, struct place *p,
		       struct fuse_file_info *fi)
{
	pid_t who = fuse_req_ctx(req)->pid;
	int r = reader_open_place(fs, p, fi);

	if (r == -ESTALE)
		return gone_tell(&fs->gone, who, place_walked(p),
				 monotonic_ms());
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
	switch (p.control && p.control->open ? p.control->open
					     : kind_of(p.kind)->open) {
	case OPENS_SESSION:
		r = served_open(fs, fi);
		break;
	case OPENS_TRACE:
		r = trace_file_open(fs, fi);
		break;
	case OPENS_STREAM:
		r = stream_open(fs, req, &p, fi);
		break;
	case OPENS_COUNTER:
		r = counter_open(fs, &p, fi);
		break;
	case OPENS_WRITER:
		if (can_write(fi) || p.kind == NODE_SCRATCH ||
		    opens_draft(fs, req, ino))
			r = open_writer(fs, req, &p, fi);
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

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	int r = do_open(fs, req, ino, fi);

	if (r < 0)
		fs_reply_err(req, "open", ino, NULL, r);
	else if (fuse_reply_open(req, fi) != 0)
		/* The caller was interrupted. */
		handles_release(fs->handles, fs, fi->fh);
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	     struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);
	struct open_file *f = handles_get(fs->handles, fi->fh, NULL);
	int r = -EBADF;

	if (f && f->ops->read)
		r = off < 0 ? -EINVAL : f->ops->read(fs, f, req, size, off);
	if (r < 0)
		fs_reply_err(req, "read", ino, NULL, r);
	open_file_drop(f);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fs_begin(req);

	handles_release(fs->handles, fs, fi->fh);
	fuse_reply_err(req, 0);
}
