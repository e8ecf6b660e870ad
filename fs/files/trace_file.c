#include "fs/files/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* How often a read that waits looks whether it is to end. */
#define LOOK_MS 100

struct trace_file {
	struct open_file file; /* first: the one is cast to the other */
	bool watches;	       /* it is open to read */
	pthread_mutex_t lock;  /* guards all below; one reads at a time */
	uint64_t seq;	       /* of the last request that was taken */
	struct buf lines;      /* of it and those before */
	size_t given;	       /* of their bytes */
};

static const struct file_ops trace_file_ops;

int trace_file_open(struct fs *fs, struct fuse_file_info *fi)
{
	struct trace_file *tf = calloc(1, sizeof(*tf));
	int r = 0;

	if (!tf)
		return why(-ENOMEM, "out of memory for an open file");
	pthread_mutex_init(&tf->lock, NULL);
	tf->file.ops = &trace_file_ops;
	tf->file.refs = 1;
	fi->direct_io = 1;
	fi->nonseekable = 1;
	if ((fi->flags & O_ACCMODE) != O_WRONLY) {
		r = trace_watch(fs->trace, &tf->seq);
		tf->watches = r == 0;
	}
	if (r == 0)
		r = handles_open(fs->handles, &tf->file, fi);
	if (r < 0) {
		if (tf->watches)
			trace_unwatch(fs->trace);
		open_file_drop(&tf->file);
	}
	return r;
}

/* REQUIRES: lock. Waits until there are lines to give, or the mount ends. */
static int take_lines(struct fs *fs, struct trace_file *tf, fuse_req_t req,
		      size_t size)
{
	/* Who reads a byte at a time, as a shell does, gets a line by and by. */
	size_t room = size < TRACE_LINE_MAX ? TRACE_LINE_MAX : size;
	int r = 0;

	if (tf->given < tf->lines.len)
		return 0;
	tf->lines.len = tf->given = 0;
	while (r == 0 && !fuse_session_exited(fs->session))
		r = transport_interrupted(req)
			    ? -EINTR
			    : trace_lines(fs->trace, &tf->seq, room, LOOK_MS,
					  &tf->lines);
	return r;
}

static int trace_file_read(struct fs *fs, struct open_file *f, fuse_req_t req,
			   size_t size, off_t off)
{
	struct trace_file *tf = (struct trace_file *)f;
	struct buf out = {0};
	struct bytes part;
	int r;

	if (!tf->watches)
		return -EBADF;
	pthread_mutex_lock(&tf->lock);
	r = take_lines(fs, tf, req, size);
	if (r >= 0) {
		part = bytes_part(buf_bytes(&tf->lines), tf->given, size);
		r = buf_append(&out, part.data, part.len);
		if (r == 0)
			tf->given += part.len;
	}
	pthread_mutex_unlock(&tf->lock);
	if (r >= 0)
		fuse_reply_buf(req, (const char *)out.data, out.len);
	buf_free(&out);
	return r < 0 ? r : 0;
}

static int trace_file_write(struct fs *fs, struct open_file *f,
			    struct bytes data, off_t off, int flags)
{
	char text[32] = "", end;
	double ms;

	if (data.len < sizeof(text))
		memcpy(text, data.data, data.len);
	if (sscanf(text, "slow %lf %c", &ms, &end) != 1 || !(ms >= 0) ||
	    ms > 1e9)
		return why(-EINVAL, "write \"slow MS\" to see what takes so "
				    "many milliseconds, or \"slow 0\"");
	trace_set_slow(fs->trace, (uint64_t)(ms * 1e6));
	return 0;
}

static void trace_file_release(struct fs *fs, struct open_file *f)
{
	if (((struct trace_file *)f)->watches)
		trace_unwatch(fs->trace);
}

static void trace_file_free(struct open_file *f)
{
	struct trace_file *tf = (struct trace_file *)f;

	pthread_mutex_destroy(&tf->lock);
	buf_free(&tf->lines);
	free(tf);
}

static const struct file_ops trace_file_ops = {
	.read_waits = true,
	.read = trace_file_read,
	.write = trace_file_write,
	.release = trace_file_release,
	.free = trace_file_free,
};
