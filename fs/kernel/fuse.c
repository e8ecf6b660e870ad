#include "fs/kernel/fuse.h"

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>
#include <unistd.h>

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)

/* The first reply is FUSE_INIT's, before any other thread is there. */
static bool said;

static void say(const struct iovec *iov, int count)
{
	struct fuse_init_out *init = count == 2 ? iov[1].iov_base : NULL;

	if (init &&
	    iov[1].iov_len >= offsetof(struct fuse_init_out, max_background))
		init->flags |= FUSE_PARALLEL_DIROPS;
	said = true;
}

static ssize_t reply(int fd, struct iovec *iov, int count, void *data)
{
	if (!said)
		say(iov, count);
	return writev(fd, iov, count);
}

static ssize_t request(int fd, void *buf, size_t size, void *data)
{
	return read(fd, buf, size);
}

int fuse_parallel_dirops(struct fuse_session *se)
{
	static const struct fuse_custom_io io = {.writev = reply,
						 .read = request};

	said = false;
	return fuse_session_custom_io(se, &io, fuse_session_fd(se));
}

#else

int fuse_parallel_dirops(struct fuse_session *se)
{
	return 0;
}

#endif
