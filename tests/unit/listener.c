/* What address is listened at, and two daemons that take over one socket at once. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/host/listener.h"

static char dir[] = "/tmp/cellfs-listener-XXXXXX";
static char where[64];

/* The second one, in a thread of its own. */
static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool begun;
	bool waits, over, first_is_over; /* under lock */
	int r, fd;
} other = {.lock = PTHREAD_MUTEX_INITIALIZER,
	   .changed = PTHREAD_COND_INITIALIZER};

static void tell(bool *what)
{
	pthread_mutex_lock(&other.lock);
	*what = true;
	pthread_cond_broadcast(&other.changed);
	pthread_mutex_unlock(&other.lock);
}

static void wait_for(const bool *a, const bool *b)
{
	pthread_mutex_lock(&other.lock);
	while (!*a && !*b)
		pthread_cond_wait(&other.changed, &other.lock);
	pthread_mutex_unlock(&other.lock);
}

static void *open_other(void *arg)
{
	other.r = listener_open("metrics", where, &other.fd);
	tell(&other.over);
	return arg;
}

int __wrap_nanosleep(const struct timespec *step, struct timespec *left);
/* However long that takes: until the first one is done. */
int __wrap_nanosleep(const struct timespec *step, struct timespec *left)
{
	tell(&other.waits);
	wait_for(&other.first_is_over, &other.first_is_over);
	return 0;
}

int __real_connect(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len);
/* Behind the first one's look the other goes as far as it can. */
int __wrap_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	int r = __real_connect(fd, to, len), err = errno;

	if (!other.begun) {
		other.begun = true;
		assert_int_equal(
			pthread_create(&other.thread, NULL, open_other, NULL),
			0);
		wait_for(&other.waits, &other.over);
	}
	errno = err;
	return r;
}

static struct sockaddr_in6 bound; /* the last of IPv6 */

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
/* A machine need not have IPv6. */
int __wrap_socket(int family, int type, int protocol)
{
	return __real_socket(family == AF_INET6 ? AF_INET : family, type,
			     protocol);
}

int __real_bind(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *to, socklen_t len);
int __wrap_bind(int fd, const struct sockaddr *to, socklen_t len)
{
	if (to->sa_family != AF_INET6)
		return __real_bind(fd, to, len);
	assert_int_equal(len, sizeof(bound));
	memcpy(&bound, to, len);
	errno = EADDRNOTAVAIL;
	return -1;
}

TEST(an_address_of_ipv6_stands_in_brackets)
{
	static const char *const wrong[] = {"[::1:80", "[::1]x:80", "[::g]:80",
					    "[1.2.3.4]:80", "[]:80"};
	char text[INET6_ADDRSTRLEN];
	int fd;

	assert_int_equal(listener_open("metrics", "[2001:db8::7]:9100", &fd),
			 -EADDRNOTAVAIL);
	assert_string_equal(
		inet_ntop(AF_INET6, &bound.sin6_addr, text, sizeof(text)),
		"2001:db8::7");
	assert_int_equal(ntohs(bound.sin6_port), 9100);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(listener_open("metrics", wrong[i], &fd),
				 -EINVAL);
}

TEST(of_two_who_take_a_socket_over_one_has_it)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	assert_non_null(mkdtemp(dir));
	snprintf(where, sizeof(where), "unix:%s/s", dir);
	/* One that is left. */
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
	r = listener_open("metrics", where, &fd);
	tell(&other.first_is_over);
	assert_true(other.begun);
	assert_int_equal(pthread_join(other.thread, NULL), 0);
	unlink(at.sun_path);
	rmdir(dir);
	assert_int_equal(r, 0);
	assert_int_equal(other.r, -EADDRINUSE);
	close(fd);
}
