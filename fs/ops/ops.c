#include "fs/ops/ops.h"

#include <errno.h>
#include <sys/statvfs.h>

#include "fs/ops/timed.h"
#include "fs/report/log.h"

/* From this protocol on the kernel takes invalidate_all_names(). */
#define EPOCH_MINOR 44

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	/*
	 * Directories are read with attributes while somebody looks at
	 * them. Nobody wants a FUSE_CAP_WRITEBACK_CACHE: data that was
	 * written is never only in the kernel.
	 */
	conn->want |= conn->capable &
		      (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_READDIRPLUS |
		       FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS |
		       FUSE_CAP_ASYNC_READ | FUSE_CAP_HANDLE_KILLPRIV);
	atomic_store(&fs->forgets_names, conn->proto_minor >= EPOCH_MINOR);
	if (fs->options->io_uring && transport_offered(conn)) {
		conn->max_write = TRANSPORT_WRITE_MAX;
	} else if (fs->options->io_uring) {
		atomic_store(&fs->transport.way, TRANSPORT_DEVICE);
		log_tell(LOG_WARNING,
			 "requests come from /dev/fuse: the kernel does not "
			 "offer io_uring (" TRANSPORT_KERNEL ")");
	}
	conn->max_background = 64;
	conn->congestion_threshold = 48;
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct fs *fs = fs_begin(req);

	nodes_forget(fs->nodes, ino, nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct fs *fs = fs_begin(req);

	for (size_t i = 0; i < count; i++)
		nodes_forget(fs->nodes, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

/* Where the root is a table with a quota, that is the room that there is. */
static int quota_space(struct fs *fs, struct store_space *space)
{
	struct table *t = fs->root.table ? fstable_table(fs->root.table) : NULL;
	struct schema schema = {0};
	struct table_info info = {0};
	uint64_t left, most;
	int r = t ? table_schema(t, &schema) : 0;

	if (r == 0 && schema.quota)
		r = table_info(t, &info);
	if (r == 0 && schema.quota) {
		left = schema.quota > info.bytes ? schema.quota - info.bytes
						 : 0;
		if (space->free_bytes > left)
			space->free_bytes = left;
		if (space->avail_bytes > left)
			space->avail_bytes = left;
		/* What is used, their difference, is the table's. */
		most = info.bytes + space->free_bytes;
		space->total_bytes = most < schema.quota ? most : schema.quota;
	}
	schema_free(&schema);
	/* A table that was dropped has no quota any more. */
	return r == -ENOENT ? 0 : r;
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fs_begin(req);
	struct store_space space = {0};
	struct statvfs st = {
		.f_bsize = 4096,
		.f_frsize = 4096,
		.f_namemax = NAME_LEN_MAX,
	};
	int r;

	/* Zeros are "not known" to df(1). */
	r = store_can(fs->store, CAN_TELL_SPACE)
		    ? store_space(fs->store, &space)
		    : 0;
	if (r == 0)
		r = quota_space(fs, &space);
	if (r < 0) {
		fs_reply_err(req, "statfs", ino, NULL, r);
		return;
	}
	st.f_blocks = space.total_bytes / st.f_frsize;
	st.f_bfree = space.free_bytes / st.f_frsize;
	st.f_bavail = space.avail_bytes / st.f_frsize;
	fuse_reply_statfs(req, &st);
}

#define TIMED(...) TIMED_AS(__VA_ARGS__)
#define TIMED_AS(name, kind, node, in_node, params, args) \
	static void timed_##name params                   \
	{                                                 \
		struct fs *fs = fs_of(req);               \
		struct timed t;                           \
                                                          \
		timed_begin(&t, fs, kind, node, in_node); \
		op_##name args;                           \
		timed_end(&t, fs);                        \
	}
/* Parameters that several requests have, and behind them how they are passed on. */
#define OF_NAME                                                \
	(fuse_req_t req, fuse_ino_t parent, const char *name), \
		(req, parent, name)
#define OF_FILE                                                       \
	(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info * fi), \
		(req, ino, fi)
#define OF_PART                                                  \
	(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, \
	 struct fuse_file_info * fi),                            \
		(req, ino, size, off, fi)
#define OF_SYNC                                        \
	(fuse_req_t req, fuse_ino_t ino, int datasync, \
	 struct fuse_file_info *fi),                   \
		(req, ino, datasync, fi)

TIMED(lookup, FS_LOOKUP, parent, name, OF_NAME)
TIMED(getattr, FS_GETATTR, ino, NULL, OF_FILE)
TIMED(setattr, FS_SETATTR, ino, NULL,
      (fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
       struct fuse_file_info *fi),
      (req, ino, attr, set, fi))
TIMED(readdir, FS_READDIR, ino, NULL, OF_PART)
TIMED(readdirplus, FS_READDIR, ino, NULL, OF_PART)
TIMED(open, FS_OPEN, ino, NULL, OF_FILE)
TIMED(read, FS_READ, ino, NULL, OF_PART)
TIMED(create, FS_CREATE, parent, name,
      (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
       struct fuse_file_info *fi),
      (req, parent, name, mode, fi))
TIMED(write, FS_WRITE, ino, NULL,
      (fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
       struct fuse_file_info *fi),
      (req, ino, data, size, off, fi))
TIMED(flush, FS_FLUSH, ino, NULL, OF_FILE)
TIMED(fsync, FS_FSYNC, ino, NULL, OF_SYNC)
TIMED(fsyncdir, FS_FSYNC, ino, NULL, OF_SYNC)
TIMED(mkdir, FS_MKDIR, parent, name,
      (fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode),
      (req, parent, name, mode))
TIMED(rmdir, FS_RMDIR, parent, name, OF_NAME)
TIMED(unlink, FS_UNLINK, parent, name, OF_NAME)
TIMED(rename, FS_RENAME, parent, name,
      (fuse_req_t req, fuse_ino_t parent, const char *name,
       fuse_ino_t newparent, const char *newname, unsigned flags),
      (req, parent, name, newparent, newname, flags))
TIMED(forget, FS_FORGET, ino, NULL,
      (fuse_req_t req, fuse_ino_t ino, uint64_t nlookup), (req, ino, nlookup))
TIMED(forget_multi, FS_FORGET, 0, NULL,
      (fuse_req_t req, size_t count, struct fuse_forget_data *forgets),
      (req, count, forgets))

void ops_serve_apart(struct transport_request *r)
{
	if (r->data)
		timed_write(r->req, r->ino, r->data, r->size, r->off, &r->fi);
	else
		timed_read(r->req, r->ino, r->size, r->off, &r->fi);
}

/* Hands a request that may wait for others to a thread, where that matters. */
static bool goes_apart(fuse_req_t req, fuse_ino_t ino, const char *data,
		       size_t size, off_t off, struct fuse_file_info *fi)
{
	struct transport_request r = {req, ino, data, size, off, *fi};
	struct fs *fs = fs_of(req);
	struct open_file *f;
	bool waits;

	if (atomic_load(&fs->transport.way) != TRANSPORT_RING)
		return false;
	f = handles_get(fs->handles, fi->fh, NULL);
	waits = f && (data ? f->ops->write_waits : f->ops->read_waits);
	open_file_drop(f);
	return waits && transport_apart(&fs->transport, &r);
}

static void any_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	if (!goes_apart(req, ino, NULL, size, off, fi))
		timed_read(req, ino, size, off, fi);
}

static void any_write(fuse_req_t req, fuse_ino_t ino, const char *data,
		      size_t size, off_t off, struct fuse_file_info *fi)
{
	if (!goes_apart(req, ino, data, size, off, fi))
		timed_write(req, ino, data, size, off, fi);
}

/* Extended attributes are left out: libfuse answers ENOSYS, and the kernel asks once. */
static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = timed_lookup,
	.forget = timed_forget,
	.forget_multi = timed_forget_multi,
	.getattr = timed_getattr,
	.setattr = timed_setattr,
	.mknod = op_mknod,
	.mkdir = timed_mkdir,
	.unlink = timed_unlink,
	.rmdir = timed_rmdir,
	.symlink = op_symlink,
	.rename = timed_rename,
	.link = op_link,
	.open = timed_open,
	.read = any_read,
	.write = any_write,
	.flush = timed_flush,
	.release = op_release,
	.fsync = timed_fsync,
	.opendir = op_opendir,
	.readdir = timed_readdir,
	.readdirplus = timed_readdirplus,
	.releasedir = op_release,
	.fsyncdir = timed_fsyncdir,
	.statfs = op_statfs,
	.create = timed_create,
	.fallocate = op_fallocate,
	.ioctl = op_ioctl,
};

const struct fuse_lowlevel_ops *fs_ops(void)
{
	return &ops;
}
