#include "fs/host/supervisor.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "store/os/clock.h"
#include "store/os/thread.h"

/* f_type of every FUSE filesystem. */
#define FUSE_MAGIC 0x65735546

static struct {
	int fd;		      /* -1: no supervisor */
	uint64_t interval_us; /* of pings; 0: none are wanted */
	const char *mountpoint;
	pthread_mutex_t lock;
	pthread_cond_t ends; /* of the monotonic clock */
	bool ending;	     /* under the lock */
	bool pings;	     /* the thread was started */
	pthread_t thread;
} supervisor = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

static int connect_to(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd;

	if ((name[0] != '/' && name[0] != '@') || len >= sizeof(at.sun_path))
		return -1;
	memcpy(at.sun_path, name, len);
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&at,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) <
	    0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Half of $WATCHDOG_USEC, if that is meant for this process. */
static uint64_t ping_interval(void)
{
	const char *usec = getenv("WATCHDOG_USEC"),
		   *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid()))
		return 0;
	return strtoull(usec, NULL, 10) / 2;
}

void supervisor_open(void)
{
	const char *name = getenv("NOTIFY_SOCKET");

	if (!name)
		return;
	supervisor.fd = connect_to(name);
	supervisor.interval_us = ping_interval();
	supervisor.ending = false;
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

/* A supervisor that does not listen is no failure of the mount. */
static void say(const char *state)
{
	ssize_t sent;

	if (supervisor.fd < 0)
		return;
	do
		sent = send(supervisor.fd, state, strlen(state), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
}

/* Waits for one interval; false when the mount ends. */
static bool wait_interval(void)
{
	uint64_t until = monotonic_ns() + supervisor.interval_us * 1000;
	bool in_time = true, ending;

	pthread_mutex_lock(&supervisor.lock);
	while (!supervisor.ending && in_time)
		in_time = clock_cond_wait(&supervisor.ends, &supervisor.lock,
					  until);
	ending = supervisor.ending;
	pthread_mutex_unlock(&supervisor.lock);
	return !ending;
}

static void *ping(void *arg)
{
	struct statfs st;

	do {
		/* Another filesystem is there when this one was unmounted. */
		if (statfs(supervisor.mountpoint, &st) == 0 &&
		    (unsigned long)st.f_type == FUSE_MAGIC)
			say("WATCHDOG=1");
	} while (wait_interval());
	return NULL;
}

void supervisor_ready(const char *mountpoint)
{
	say("READY=1");
	if (supervisor.fd < 0 || supervisor.interval_us == 0)
		return;
	supervisor.mountpoint = mountpoint;
	clock_cond_init(&supervisor.ends);
	supervisor.pings = thread_start(&supervisor.thread, ping, NULL) == 0;
}

void supervisor_stopping(void)
{
	say("STOPPING=1");
	pthread_mutex_lock(&supervisor.lock);
	supervisor.ending = true;
	if (supervisor.pings)
		pthread_cond_signal(&supervisor.ends);
	pthread_mutex_unlock(&supervisor.lock);
}

void supervisor_close(void)
{
	if (supervisor.pings)
		pthread_join(supervisor.thread, NULL);
	supervisor.pings = false;
	if (supervisor.fd >= 0)
		close(supervisor.fd);
	supervisor.fd = -1;
}
