#include "fs/ops.h"

#include <errno.h>
#include <sys/statvfs.h>

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	/*
	 * Directories are read with attributes while somebody looks at
	 * them, and data that was written is never only in the kernel.
	 */
	conn->want &=
		~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ);
	conn->want |= conn->capable &
		      (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS |
		       FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS |
		       FUSE_CAP_ASYNC_READ | FUSE_CAP_HANDLE_KILLPRIV);
	conn->max_background = 64;
	conn->congestion_threshold = 48;
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct fs *fs = fs_of(req);

	fs_count(fs, FS_FORGET);
	nodes_forget(fs->nodes, ino, nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_of(req);

	fs_count(fs, FS_FORGET);
	for (size_t i = 0; i < count; i++)
		nodes_forget(fs->nodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_of(req);
	struct store_space space;
	struct statvfs st = {
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_namemax = NAME_LEN_MAX,
	};
	int r;

	why_clear();
	r = store_space(fs->store, &space);
	if (r < 0) {
		fs_reply_err(req, "statfs", ino, NULL, r);
		return;
	}
	st.f_blocks = space.total_bytes / st.f_frsize;
	st.f_bfree = space.free_bytes / st.f_frsize;
	st.f_bavail = space.avail_bytes / st.f_frsize;
	fuse_reply_statfs(req, &st);
}

/* Attributes of files we have none: said once, the kernel asks no more. */
static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			const char *value, size_t size, int flags)
{
	fuse_reply_err(req, ENOSYS);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
			size_t size)
{
	fuse_reply_err(req, ENOSYS);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	fuse_reply_err(req, ENOSYS);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	fuse_reply_err(req, ENOSYS);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.removexattr = op_removexattr,
	.create = op_create,
	.fallocate = op_fallocate,
};

const struct fuse_lowlevel_ops *fs_ops(void)
{
	return &ops;
}
