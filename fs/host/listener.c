#include "fs/host/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "store/value/why.h"

#define WAITING_MAX 16

/* Either kind of address. */
struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un local;
	};
	socklen_t len;
};

static bool parse_port(const char *text, in_port_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || n < 1 || n > 65535)
		return false;
	*out = htons((in_port_t)n);
	return true;
}

static bool parse_v6(const char *host, in_port_t port, struct address *out)
{
	out->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					.sin6_port = port};
	out->len = sizeof(out->v6);
	return inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1;
}

static bool parse_v4(const char *host, in_port_t port, struct address *out)
{
	out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
	out->len = sizeof(out->v4);
	return inet_pton(AF_INET, host, &out->v4.sin_addr) == 1;
}

static bool parse_network(const char *where, struct address *out)
{
	const char *colon = strrchr(where, ':');
	char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	size_t len = colon ? (size_t)(colon - where) : 0;
	in_port_t port;

	if (len >= sizeof(host) ||
	    !parse_port(colon ? colon + 1 : where, &port))
		return false;
	if (colon) {
		memcpy(host, where, len);
		host[len] = '\0';
	}
	if (host[0] != '[')
		return parse_v4(host, port, out);
	if (host[len - 1] != ']')
		return false;
	host[len - 1] = '\0';
	return parse_v6(host + 1, port, out);
}

static bool parse_local(const char *path, struct address *out)
{
	size_t len = strlen(path);

	out->local = (struct sockaddr_un){.sun_family = AF_UNIX};
	out->len = sizeof(out->local);
	if (!len || len >= sizeof(out->local.sun_path))
		return false;
	memcpy(out->local.sun_path, path, len);
	return true;
}

/*
 * Locks the directory of the path against others who take a socket over there, for
 * one that is bound and does not listen yet looks like one that is left. The lock,
 * or -1: it goes without after a second, as anybody may hold one.
 */
static int lock_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	const struct timespec step = {.tv_nsec = 10000000};
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)] = ".";
	int fd;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1),
			 path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && i < 100; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		if (errno != EWOULDBLOCK)
			break;
		nanosleep(&step, NULL);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Removes a socket at which nobody listens; anything else stays. */
static void take_over(const struct address *at)
{
	struct stat st;
	int fd;

	if (lstat(at->local.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	/* Who listens may be too busy to be waited for. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, &at->any, at->len) < 0 && errno == ECONNREFUSED)
		unlink(at->local.sun_path);
	close(fd);
}

static int make(const struct address *at)
{
	int one = 1, lock = -1, fd, r;
	mode_t mask;

	fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (at->any.sa_family == AF_UNIX) {
		lock = lock_directory(at->local.sun_path);
		take_over(at);
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	}
	mask = umask(0117);
	r = bind(fd, &at->any, at->len);
	umask(mask);
	if (r == 0)
		r = listen(fd, WAITING_MAX);
	r = r < 0 ? -errno : fd;
	if (r < 0)
		close(fd);
	if (lock >= 0)
		close(lock);
	return r;
}

int listener_open(const char *option, const char *where, int *fd)
{
	static const char unix_prefix[] = "unix:";
	size_t skip = sizeof(unix_prefix) - 1;
	struct address at;
	bool known = strncmp(where, unix_prefix, skip) == 0
			     ? parse_local(where + skip, &at)
			     : parse_network(where, &at);
	int r;

	if (!known)
		return why(
			-EINVAL,
			"%s=%s: PORT, ADDRESS:PORT (in numbers, that of IPv6 "
			"in brackets) or unix:PATH is wanted",
			option, where);
	r = make(&at);
	if (r < 0)
		return why(r, "%s=%s: cannot listen there: %s", option, where,
			   strerror(-r));
	*fd = r;
	return 0;
}
