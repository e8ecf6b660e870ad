#include "fs/tree/fs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "fs/report/log.h"
#include "store/os/clock.h"

_Thread_local int fs_replied;

static const char *const op_names[FS_OP_COUNT] = {
	[FS_LOOKUP] = "lookup",	  [FS_GETATTR] = "getattr",
	[FS_SETATTR] = "setattr", [FS_READDIR] = "readdir",
	[FS_OPEN] = "open",	  [FS_READ] = "read",
	[FS_CREATE] = "create",	  [FS_WRITE] = "write",
	[FS_FLUSH] = "flush",	  [FS_FSYNC] = "fsync",
	[FS_MKDIR] = "mkdir",	  [FS_RMDIR] = "rmdir",
	[FS_UNLINK] = "unlink",	  [FS_RENAME] = "rename",
	[FS_FORGET] = "forget",
};

const char *fs_op_name(enum fs_op op)
{
	return op_names[op];
}

void fs_note_transport(struct fs *fs, fuse_req_t req)
{
	int unknown = TRANSPORT_UNKNOWN, way = (int)transport_of(req);

	/* libfuse cancels the thread of a queue in the midst of a request. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (!atomic_compare_exchange_strong(&fs->transport.way, &unknown, way))
		return;
	if (way == TRANSPORT_RING)
		log_notice("requests come over io_uring");
	else
		log_tell(LOG_WARNING, "io_uring cannot be set up: requests "
				      "come from /dev/fuse");
}

uint64_t fs_dir_node(struct fs *fs, uint64_t dir, bool put)
{
	uint64_t node = 0;

	if (!put)
		return dir;
	nodes_outside_put(fs->nodes, dir, &node);
	return node;
}

int fs_sync(struct fs *fs)
{
	return store_is_read_only(fs->store) ? 0 : store_sync(fs->store);
}

/*
 * Rows appear by a stream's lines too, which may be more than the kernel can
 * be told of one by one: absence is believed for a short time only, and nobody
 * is told when no row was missed within it.
 */
#define ROW_ABSENT_MS 1000

double fs_row_absent(struct fs *fs)
{
	atomic_store(&fs->row_absent_ms, monotonic_ms());
	return ROW_ABSENT_MS / 1000.0;
}

bool fs_hears_all(struct fs *fs, struct fstable *ft)
{
	return !store_is_shared(fs->store) && fstable_expires(ft) == 0;
}

bool fs_rows_believed_absent(struct fs *fs)
{
	int64_t last = atomic_load(&fs->row_absent_ms);

	/* Twice: the reply takes its time to be sent. */
	return last && monotonic_ms() - last <= (int64_t)2 * ROW_ABSENT_MS;
}

/* Does the request end a write, so that its failure is the loss of what was written? */
static bool loses(const char *op)
{
	return !strcmp(op, "close") || !strcmp(op, "fsync");
}

/* What programs run into all day is no failure. */
static bool worth_keeping(const char *op, int err)
{
	switch (err) {
	case -ENOENT: /* of a table that is gone, say */
	case -EEXIST: /* another writer was first */
	case -EINTR:  /* who asked was killed, or waits no longer */
		return loses(op);
	case -ENOSYS:
	case -EXDEV: /* mv copies then */
		return false;
	case -ESTALE: /* the kernel looks again, but who writes is told */
		return loses(op) || !strcmp(op, "write");
	}
	return true;
}

void fs_note_error(struct fs *fs, const char *op, uint64_t node,
		   const char *name, int err)
{
	struct buf path = {0};
	char reason[512];

	/* Making the path may put another sentence there. */
	snprintf(reason, sizeof(reason), "%s", store_why());
	place_path(fs, node, name, &path);
	if (buf_append(&path, "", 1) == 0)
		errors_add(fs->errors, op, (const char *)path.data, err,
			   reason);
	buf_free(&path);
}

void fs_reply_err(fuse_req_t req, const char *op, uint64_t node,
		  const char *name, int err)
{
	struct fs *fs = fs_of(req);

	if (err == -EUCLEAN)
		err = -EIO;
	if (worth_keeping(op, err))
		fs_note_error(fs, op, node, name, err);
	fs_replied = err;
	fuse_reply_err(req, -err);
}

void fs_reply(fuse_req_t req, const char *op, uint64_t node, const char *name,
	      int r)
{
	if (r < 0)
		fs_reply_err(req, op, node, name, r);
	else
		fuse_reply_err(req, 0);
}
