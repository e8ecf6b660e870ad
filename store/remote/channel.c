/*
 * The channel to a mount's control file. Only this file calls the operating
 * system without os.h.
 */
#include "store/remote/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "store/remote/client.h"
#include "store/served.h"
#include "store/value/why.h"

struct fd_channel {
	struct channel base;
	int fd;
	bool by_ioctl;
};

static struct fd_channel *fd_channel(struct channel *ch)
{
	return (struct fd_channel *)ch;
}

static ssize_t feed(struct fd_channel *c, struct bytes data)
{
	struct served_portion p = {0};
	size_t n = data.len < sizeof(p.data) ? data.len : sizeof(p.data);

	p.len = (uint32_t)n;
	memcpy(p.data, data.data, n);
	return ioctl(c->fd, SERVED_FEED, &p) < 0 ? -1 : (ssize_t)n;
}

static int fd_send(struct channel *ch, struct bytes data)
{
	struct fd_channel *c = fd_channel(ch);

	while (data.len) {
		ssize_t n = c->by_ioctl ? feed(c, data)
					: write(c->fd, data.data, data.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data.data += n;
		data.len -= (size_t)n;
	}
	return 0;
}

/* After a read that a signal ended the mount says EAGAIN until it has the reply. */
static ssize_t fd_receive(struct channel *ch, void *to, size_t n)
{
	static const struct timespec pause = {.tv_nsec = 10000000};
	ssize_t r;

	while ((r = read(fd_channel(ch)->fd, to, n)) < 0)
		if (errno == EAGAIN)
			nanosleep(&pause, NULL);
		else if (errno != EINTR)
			return -errno;
	return r;
}

static void fd_close(struct channel *ch)
{
	close(fd_channel(ch)->fd);
	free(ch);
}

/*
 * Opens the control file of a mount. A read-only mount refuses to open a
 * file for writing: there requests are sent by ioctl(2) instead of write(2).
 */
static int fd_open(const char *path, struct channel **out)
{
	struct fd_channel *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return why(-ENOMEM, "out of memory for a channel");
	c->base = (struct channel){fd_send, fd_receive, fd_close};
	c->fd = open(path, O_RDWR | O_CLOEXEC);
	if (c->fd < 0 && errno == EROFS) {
		c->by_ioctl = true;
		c->fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (c->fd >= 0) {
		*out = &c->base;
		return 0;
	}
	r = -errno;
	free(c);
	switch (r) {
	case -EMFILE:
		return why(r,
			   "%s: as many programs work on the mounted store as "
			   "it serves at once: wait for one of them to end",
			   path);
	case -EACCES:
		return why(r, "%s: only who mounted the store may use it so",
			   path);
	default:
		return why(r, "%s: %s", path, strerror(-r));
	}
}

int store_open_served(const char *path, const struct store_options *o,
		      struct store **out)
{
	struct channel *ch = NULL;
	int r;

	why_clear();
	r = fd_open(path, &ch);
	return r < 0 ? r : remote_open(ch, o, out);
}
