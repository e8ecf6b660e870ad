#include "fs/files/served.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>

#include "fs/change/changed.h"
#include "store/served.h"

struct served_file {
	struct open_file file; /* first: the one is cast to the other */
	struct fs *fs;
	struct served *served;
	bool read_only;	      /* it was not opened for writing */
	pthread_mutex_t lock; /* guards left, and the answer of each read */
	bool left; /* a read was answered by EINTR, and its request runs on */
};

static const struct file_ops served_ops;

static int before(void *arg, struct served_act *act)
{
	struct served_file *f = arg;
	struct fs *fs = f->fs;

	if (fs->options->read_only || store_is_read_only(fs->store))
		return why(-EROFS, "the store is mounted for reading only "
				   "(-o ro)");
	if (f->read_only)
		return why(-EROFS, "the session is for reading only");
	if (act->what == SERVED_ROWS)
		changed_rows_before(fs, act->table, act->rows, act->nrows);
	else
		changed_by_program_before(fs, act);
	return 0;
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
	pthread_mutex_init(&f->lock, NULL);
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
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/*
 * A read is answered once: by its reply, or by EINTR when a signal comes before that.
 * Else who is killed would stay until the reply.
 */
struct asked {
	struct served_file *file;
	struct transport_wait wait;
	pthread_t by;
	enum {
		WAITS,
		REPLIED,
		LEFT
	} answer;   /* file->lock */
	bool early; /* the signal was there before the read */
};

/* Gives the read that answer, unless it has one. */
static bool decide(struct asked *a, int answer)
{
	bool first;

	pthread_mutex_lock(&a->file->lock);
	first = a->answer == WAITS;
	if (first)
		a->answer = answer;
	if (first && answer == LEFT)
		a->file->left = true;
	pthread_mutex_unlock(&a->file->lock);
	return first;
}

/*
 * Another thread calls it while the request runs, and @arg may be gone once it has
 * decided. libfuse may call it in the midst of setting it, too, and needs @req then.
 */
static void on_interrupt(fuse_req_t req, void *arg)
{
	struct asked *a = arg;

	if (pthread_equal(a->by, pthread_self()))
		a->early = true;
	else if (decide(a, LEFT))
		fuse_reply_err(req, EINTR);
}

/* True: the caller replies, and on_interrupt() is not called any more. */
static bool claim(struct asked *a)
{
	if (!decide(a, REPLIED))
		return false;
	transport_wait_end(&a->file->fs->transport, &a->wait);
	return true;
}

/* A reply that does not arrive was for somebody who is gone. */
static int give(void *arg, struct bytes data)
{
	struct asked *a = arg;

	return claim(a) ? fuse_reply_buf(a->wait.req, (const char *)data.data,
					 data.len)
			: SERVED_KEEP;
}

/* The thread that a request was left to goes on with it; no other waits for it. */
static int session_read(struct fs *fs, struct open_file *file, fuse_req_t req,
			size_t size, off_t off)
{
	struct served_file *f = (struct served_file *)file;
	struct asked a = {.file = f,
			  .wait = {.req = req, .interrupted = on_interrupt},
			  .by = pthread_self()};
	bool left;
	int r;

	pthread_mutex_lock(&f->lock);
	left = f->left;
	pthread_mutex_unlock(&f->lock);
	if (left)
		return why(-EAGAIN,
			   "what was asked before is still being done");
	a.wait.arg = &a;
	transport_wait_begin(&fs->transport, &a.wait);
	if (a.early && decide(&a, LEFT))
		fuse_reply_err(req, EINTR);
	r = served_take(f->served, size, give, &a);
	/* Where @give was called it has decided. */
	if (claim(&a))
		return r;
	pthread_mutex_lock(&f->lock);
	if (a.answer == LEFT)
		f->left = false;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

static int session_write(struct fs *fs, struct open_file *file,
			 struct bytes data, off_t off, int flags)
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
	.read_waits = true,
	.read = session_read,
	.write = session_write,
	.ioctl = session_ioctl,
	.free = session_free,
};
