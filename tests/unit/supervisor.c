/*
 * What a supervisor hears. statfs(2) is the test's own: it says what is mounted,
 * and when it returns.
 */
#include <semaphore.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/host/supervisor.h"
#include "store/os/clock.h"

#define FUSE_MAGIC 0x65735546

static sem_t asked, answer;
static long magic;
static int listening;

static int answered(const char *path, long *type)
{
	assert_string_equal(path, "/mnt");
	sem_post(&asked);
	sem_wait(&answer);
	*type = magic;
	return 0;
}

/* The name depends on the C library. */
int __wrap_statfs(const char *path, struct statfs *st);
int __wrap_statfs(const char *path, struct statfs *st)
{
	long type;
	int r = answered(path, &type);

	st->f_type = (__typeof__(st->f_type))type;
	return r;
}

int __wrap_statfs64(const char *path, struct statfs *st);
int __wrap_statfs64(const char *path, struct statfs *st)
{
	return __wrap_statfs(path, st);
}

/* How long the supervisor's thread means to wait for the next ping. */
static _Atomic uint64_t meant_ns;

bool __real_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns);
bool __wrap_clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
			    uint64_t until_ns)
{
	uint64_t now = monotonic_ns();

	meant_ns = until_ns > now ? until_ns - now : 0;
	return __real_clock_cond_wait(cond, lock, until_ns);
}

/* Of several digits, as any but the first processes of a machine have. */
pid_t __real_getpid(void);
pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
	return 4711;
}

/* Listens at an abstract name, and tells it as systemd does. */
static void supervise(const char *usec, bool mine)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char pid[20];
	int len;

	listening = socket(AF_UNIX, SOCK_DGRAM, 0);
	assert_true(listening >= 0);
	len = snprintf(at.sun_path, sizeof(at.sun_path), "@cellfs-test-%d",
		       (int)__real_getpid());
	setenv("NOTIFY_SOCKET", at.sun_path, 1);
	at.sun_path[0] = '\0';
	assert_int_equal(
		bind(listening, (struct sockaddr *)&at,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				 (size_t)len)),
		0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid() + !mine);
	setenv("WATCHDOG_PID", pid, 1);
	setenv("WATCHDOG_USEC", usec, 1);
	sem_init(&asked, 0, 0);
	sem_init(&answer, 0, 0);
	magic = FUSE_MAGIC;
	supervisor_open();
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
}

static void assert_said(const char *want)
{
	char said[64];
	ssize_t n = recv(listening, said, sizeof(said), 0);

	assert_int_equal(n, strlen(want));
	assert_memory_equal(said, want, strlen(want));
}

static void assert_silent(void)
{
	char said[64];

	assert_int_equal(recv(listening, said, sizeof(said), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

TEST(a_ping_says_that_the_mount_has_answered)
{
	supervise("2000", true);
	supervisor_ready("/mnt");
	assert_said("READY=1");
	for (int i = 0; i < 3; i++) {
		sem_wait(&asked);
		/* Whoever serves it is stuck. */
		assert_silent();
		sem_post(&answer);
		assert_said("WATCHDOG=1");
	}
	sem_wait(&asked);
	supervisor_stopping();
	assert_said("STOPPING=1");
	magic = 0;
	sem_post(&answer);
	supervisor_close();
	assert_silent();
	close(listening);
}

TEST(there_are_two_pings_in_a_period)
{
	const uint64_t half = 3600 * NS_PER_S / 2;

	meant_ns = 0;
	supervise("3600000000", true);
	supervisor_ready("/mnt");
	assert_said("READY=1");
	sem_post(&answer);
	assert_said("WATCHDOG=1");
	while (!meant_ns)
		;
	supervisor_stopping();
	supervisor_close();
	assert_said("STOPPING=1");
	assert_silent();
	close(listening);
	assert_in_range(meant_ns, half / 2, half);
}

TEST(a_directory_without_the_mount_is_no_answer)
{
	supervise("2000", true);
	magic = 0xEF53;
	supervisor_ready("/mnt");
	assert_said("READY=1");
	sem_wait(&asked);
	sem_post(&answer);
	sem_wait(&asked);
	assert_silent();
	supervisor_stopping();
	sem_post(&answer);
	supervisor_close();
	assert_said("STOPPING=1");
	assert_silent();
	close(listening);
}

TEST(pings_meant_for_another_process_are_not_sent)
{
	supervise("2000", false);
	supervisor_ready("/mnt");
	supervisor_stopping();
	supervisor_close();
	assert_said("READY=1");
	assert_said("STOPPING=1");
	assert_silent();
	assert_int_equal(sem_trywait(&asked), -1);
	close(listening);
}

TEST(without_a_supervisor_nothing_is_said)
{
	unsetenv("NOTIFY_SOCKET");
	supervisor_open();
	supervisor_ready("/mnt");
	supervisor_stopping();
	supervisor_close();
	setenv("NOTIFY_SOCKET", "relative", 1);
	supervisor_open();
	supervisor_ready("/mnt");
	supervisor_stopping();
	supervisor_close();
}
