/*
 * Connecting, with a resolver that answers when the test lets it.
 */
#include <netdb.h>

#include "tests/unit/unit.h"
#include "store/hbase/transport/socket.h"
#include "store/os/clock.h"
#include "store/value/why.h"
#include "tests/unit/hbase_server.h"
#include "tests/unit/gone_caller.h"

#define HOST "master.example"

int __real_getaddrinfo(const char *host, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);
void __real_freeaddrinfo(struct addrinfo *list);
void __wrap_freeaddrinfo(struct addrinfo *list);

static struct {
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool is_silent;
	unsigned given, freed;
} resolver;

/* It waits for so long at most, so that who waits for it fails, and does not hang. */
#define PATIENCE (60 * SECOND)

/* REQUIRES: resolver.lock. */
static void wait_while(bool (*still)(void))
{
	uint64_t until = monotonic_ns() + PATIENCE;

	while (still() &&
	       clock_cond_wait(&resolver.changed, &resolver.lock, until))
		;
}

static bool is_silent(void)
{
	return resolver.is_silent;
}

static bool none_is_freed(void)
{
	return resolver.freed == 0;
}

static void silence(bool silent)
{
	pthread_mutex_lock(&resolver.lock);
	resolver.is_silent = silent;
	pthread_cond_broadcast(&resolver.changed);
	pthread_mutex_unlock(&resolver.lock);
}

int __wrap_getaddrinfo(const char *host, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out)
{
	int r;

	pthread_mutex_lock(&resolver.lock);
	wait_while(is_silent);
	r = __real_getaddrinfo(strcmp(host, HOST) ? host : "127.0.0.1", service,
			       hints, out);
	resolver.given += r == 0;
	pthread_mutex_unlock(&resolver.lock);
	return r;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	__real_freeaddrinfo(list);
	pthread_mutex_lock(&resolver.lock);
	resolver.freed++;
	pthread_cond_broadcast(&resolver.changed);
	pthread_mutex_unlock(&resolver.lock);
}

static int set_up(void **state)
{
	memset(&resolver, 0, sizeof(resolver));
	pthread_mutex_init(&resolver.lock, NULL);
	clock_cond_init(&resolver.changed);
	return 0;
}

EACH_TEST_IN(set_up, NULL);

TEST(an_answer_in_time_is_connected_to)
{
	uint64_t until = monotonic_ns() + PATIENCE;
	uint16_t port;
	int server = server_listen(&port), fd;

	fd = socket_connect(os_posix(), HOST, port, until);
	assert_true(fd >= 0);
	assert_int_equal(resolver.given, 1);
	assert_int_equal(resolver.freed, 1);
	socket_close(fd);
	close(server);
}

/* What it answers later is freed all the same. */
TEST(a_silent_resolver_is_left_at_the_deadline)
{
	uint64_t until = monotonic_ns() + SECOND / 20;
	uint16_t port;
	int server = server_listen(&port);

	silence(true);
	assert_int_equal(socket_connect(os_posix(), HOST, port, until),
			 -ETIMEDOUT);
	assert_non_null(strstr(store_why(), HOST));
	assert_non_null(strstr(store_why(), "resolv.conf"));
	assert_int_equal(resolver.given, 0);
	silence(false);
	pthread_mutex_lock(&resolver.lock);
	wait_while(none_is_freed);
	assert_int_equal(resolver.given, 1);
	assert_int_equal(resolver.freed, 1);
	pthread_mutex_unlock(&resolver.lock);
	close(server);
}

/* Nor does he wait for the resolver, or for a connection. */
TEST(a_silent_resolver_is_left_by_who_is_gone)
{
	uint64_t until = monotonic_ns() + PATIENCE;
	bool can_receive, can_send;
	uint16_t port;
	int server = server_listen(&port), wake = socket_wake_new();

	silence(true);
	patience_begin_request_of(1, is_gone);
	assert_int_equal(socket_connect(os_posix(), HOST, port, until), -EINTR);
	assert_int_equal(socket_poll(os_posix(), wake, wake, false, until,
				     &can_receive, &can_send),
			 -EINTR);
	patience_begin_request();
	silence(false);
	pthread_mutex_lock(&resolver.lock);
	wait_while(none_is_freed);
	pthread_mutex_unlock(&resolver.lock);
	socket_close(wake);
	close(server);
}
