#include "fs/files/served.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fs/change/changed.h"
#include "store/served.h"

struct served_file {
	struct open_file file; /* first: the one is cast to the other */
	struct fs *fs;
	struct served *served;
	bool read_only; /* it was not opened for writing */
};

static const struct file_ops served_ops;

static int before(void *arg, struct served_act *act)
{
	struct served_file *f = arg;
	struct fs *fs = f->fs;
	int r = 0;

	if (fs->options->read_only || store_is_read_only(fs->store))
		return why(-EROFS, "the store is mounted for reading only "
				   "(-o ro)");
	if (f->read_only)
		return why(-EROFS, "the session is for reading only");
	if (act->what == SERVED_ROWS)
		changed_rows_before(fs, act->table, act->rows, act->nrows);
	return r;
}

static void after(void *arg, struct served_act *act, int result)
{
	struct served_file *f = arg;
	struct fs *fs = f->fs;

	if (act->what == SERVED_ROWS)
		changed_rows(fs, act->table, act->rows, act->nrows);
	else
		changed_by_program(fs, act, result);
}

int served_open(struct fs *fs, struct fuse_file_info *fi)
{
	struct served_file *f = NULL;
	struct served_hooks hooks = {.before = before, .after = after};
	int r = 0;

	if (atomic_fetch_add(&fs->sessions, 1) >= SESSIONS_MAX)
		r = why(-EMFILE, "%d programs have the store open already",
			SESSIONS_MAX);
	if (r == 0 && !(f = calloc(1, sizeof(*f))))
		r = why(-ENOMEM, "out of memory for a session");
	if (r < 0) {
		atomic_fetch_sub(&fs->sessions, 1);
		return r;
	}
	f->file.ops = &served_ops;
	f->file.refs = 1;
	f->fs = fs;
	f->read_only = (fi->flags & O_ACCMODE) == O_RDONLY;
	hooks.arg = f;
	r = served_new(fs->store, &hooks, &f->served);
	if (r < 0)
		goto fail;
	fi->direct_io = 1;
	fi->nonseekable = 1;
	fi->noflush = 1;
	r = handles_open(fs->handles, &f->file, fi);
	if (r == 0)
		return 0;
fail:
	open_file_drop(&f->file);
	return r;
}

static void session_free(struct open_file *file)
{
	struct served_file *f = (struct served_file *)file;

	served_free(f->served);
	atomic_fetch_sub(&f->fs->sessions, 1);
	free(f);
}

/* A reply that does not arrive was for somebody who is gone. */
static int give(void *arg, struct bytes data)
{
	fuse_req_t *req = arg;
	int r = fuse_reply_buf(*req, (const char *)data.data, data.len);

	*req = NULL;
	return r;
}

static int session_read(struct fs *fs, struct open_file *file, fuse_req_t req,
			size_t size, off_t off)
{
	struct served_file *f = (struct served_file *)file;
	int r = served_take(f->served, size, give, &req);

	/* What @give was handed is answered, whatever came of it. */
	return req ? r : 0;
}

static int session_write(struct fs *fs, struct open_file *file,
			 struct bytes data, off_t off, bool sync)
{
	return served_feed(((struct served_file *)file)->served, data);
}

/* SERVED_FEED: the same, for a file that was opened for reading only. */
static int session_ioctl(struct fs *fs, struct open_file *file, unsigned cmd,
			 struct bytes data)
{
	const struct served_portion *p = (const void *)data.data;

	if (cmd != SERVED_FEED)
		return -ENOTTY;
	if (data.len != sizeof(*p) || p->len > sizeof(p->data))
		return -EINVAL;
	return session_write(fs, file, bytes_of(p->data, p->len), 0, false);
}

static const struct file_ops served_ops = {
	.read = session_read,
	.write = session_write,
	.ioctl = session_ioctl,
	.free = session_free,
};
