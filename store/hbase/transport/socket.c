#include "store/hbase/transport/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/hbase/transport/errand.h"
#include "store/os/patience.h"
#include "store/value/why.h"

/* The rest of the time until @deadline_ns for poll(2), rounded up. */
static int rest_ms(struct os *os, uint64_t deadline_ns)
{
	uint64_t now = os_monotonic_ns(os), ms;

	if (now >= deadline_ns)
		return 0;
	ms = (deadline_ns - now + 999999) / 1000000;
	return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

/*
 * poll(2) until @deadline_ns, 0 = for ever: what is ready, 0 when the time has come,
 * or a negative errno; -EINTR, the caller is gone.
 */
static int await(struct os *os, struct pollfd *p, nfds_t n,
		 uint64_t deadline_ns)
{
	int ms, step, r;

	do {
		ms = deadline_ns ? rest_ms(os, deadline_ns) : -1;
		step = patience_step(ms);
		r = poll(p, n, step);
		if (r > 0 || (r < 0 && errno != EINTR))
			return r > 0 ? r : -errno;
		if (patience_is_over())
			return -EINTR;
	} while (r < 0 || step != ms);
	return 0;
}

/* 0 or a negative errno, when the connection that was begun is there or not. */
static int finish_connect(struct os *os, int fd, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int err = 0, r = await(os, &p, 1, deadline_ns);

	if (r <= 0)
		return r < 0 ? r : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return -err;
}

static int connect_to(struct os *os, const struct addrinfo *a,
		      uint64_t deadline_ns)
{
	int fd = socket(a->ai_family,
			a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
			a->ai_protocol);
	int on = 1, r;

	if (fd < 0)
		return -errno;
	/* Without these it works as well, only slower or unnoticed. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	r = connect(fd, a->ai_addr, a->ai_addrlen) < 0 ? -errno : 0;
	if (r == -EINPROGRESS || r == -EINTR)
		r = finish_connect(os, fd, deadline_ns);
	if (r == 0)
		return fd;
	socket_close(fd);
	return r;
}

struct lookup {
	char *host;
	char service[6];
	struct addrinfo *list; /* if the result is 0 */
	int result;	       /* of getaddrinfo(3) */
};

static void lookup_free(void *arg)
{
	struct lookup *l = arg;

	if (l->list)
		freeaddrinfo(l->list);
	free(l->host);
	free(l);
}

static void look_up(void *arg)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICSERV};
	struct lookup *l = arg;

	l->result = getaddrinfo(l->host, l->service, &hints, &l->list);
}

/* The addresses of the host, for lookup_free(); or NULL and *err. */
static struct lookup *resolve(const char *host, uint16_t port,
			      uint64_t deadline_ns, int *err)
{
	struct lookup *l = calloc(1, sizeof(*l));
	int r = -ENOMEM;

	if (l)
		l->host = strdup(host);
	if (l && l->host) {
		snprintf(l->service, sizeof(l->service), "%u", port);
		r = errand(look_up, lookup_free, l, deadline_ns);
	}
	if (r == -ETIMEDOUT || r == -EINTR) {
		*err = why(r,
			   "%s:%u: the look-up of the host's name did not end "
			   "in time: %s",
			   host, port,
			   r == -EINTR ? "who asked was killed"
				       : "do the name servers of "
					 "resolv.conf(5) answer?");
		return NULL;
	}
	if (r == 0 && l->result == 0)
		return l;
	*err = r < 0 ? why(r, "%s:%u: no look-up of the host's name: %s", host,
			   port, strerror(-r))
		     : why(-EHOSTUNREACH,
			   "%s:%u: %s: this machine must know the servers by "
			   "the names that HBase has for them, as by hosts(5)",
			   host, port, gai_strerror(l->result));
	if (l)
		lookup_free(l);
	return NULL;
}

/* What to look at where there is no connection. */
static const char *advice(int err)
{
	switch (err) {
	case -ECONNREFUSED:
		return ": nobody listens there: does the server run, and is "
		       "that its port?";
	case -EINTR:
		return ": who asked was killed";
	case -ETIMEDOUT:
		return ": does the host run, and does a firewall let this "
		       "machine through?";
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return ": is there a way from this machine to that address?";
	default:
		return "";
	}
}

int socket_connect(struct os *os, const char *host, uint16_t port,
		   uint64_t deadline_ns)
{
	int r = -EHOSTUNREACH;
	struct lookup *l = resolve(host, port, deadline_ns, &r);

	if (!l)
		return r;
	for (const struct addrinfo *a = l->list; a && r < 0; a = a->ai_next)
		r = connect_to(os, a, deadline_ns);
	lookup_free(l);
	return r < 0 ? why(r, "%s:%u: no connection: %s%s", host, port,
			   strerror(-r), advice(r))
		     : r;
}

int socket_poll(struct os *os, int fd, int wake, bool out, uint64_t deadline_ns,
		bool *can_receive, bool *can_send)
{
	struct pollfd p[] = {
		{.fd = fd, .events = (short)(out ? POLLIN | POLLOUT : POLLIN)},
		{.fd = wake, .events = POLLIN},
	};
	eventfd_t count;
	int r = await(os, p, 2, deadline_ns);

	if (r < 0)
		return why(r, "poll: %s", strerror(-r));
	if (r == 0)
		return why(
			-ETIMEDOUT,
			"the server did not answer in time: is it stopped or "
			"overloaded?");
	if (p[1].revents)
		eventfd_read(wake, &count);
	*can_send = p[0].revents & POLLOUT;
	/* An error is learnt by receiving, as the end is. */
	*can_receive = p[0].revents & ~POLLOUT;
	return 0;
}

static bool is_for_now(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK || err == EINTR;
}

ssize_t socket_send(int fd, struct bytes data)
{
	ssize_t n = send(fd, data.data, data.len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0)
		return n;
	return is_for_now(errno)
		       ? 0
		       : why(-errno, "sending failed: %s", strerror(errno));
}

ssize_t socket_receive(int fd, void *to, size_t n)
{
	ssize_t got = recv(fd, to, n, MSG_DONTWAIT);

	if (got > 0)
		return got;
	if (got == 0)
		return why(-ECONNRESET, "the server closed the connection");
	return is_for_now(errno)
		       ? 0
		       : why(-errno, "receiving failed: %s", strerror(errno));
}

void socket_shut(int fd)
{
	shutdown(fd, SHUT_RDWR);
}

void socket_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

int socket_wake_new(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	return fd < 0 ? why(-errno, "eventfd: %s", strerror(errno)) : fd;
}

void socket_wake(int wake)
{
	eventfd_write(wake, 1);
}
