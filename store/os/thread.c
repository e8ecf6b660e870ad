#include "store/os/thread.h"

#include <linux/membarrier.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local unsigned thread_known;

unsigned thread_enter(void)
{
	static _Atomic unsigned given;

	thread_known = atomic_fetch_add(&given, 1) + 1;
	return thread_known - 1;
}

int thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
	static const int own[] = {SIGBUS, SIGSEGV, SIGFPE,
				  SIGILL, SIGTRAP, SIGABRT};
	sigset_t blocked, before;
	int r;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		sigdelset(&blocked, own[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	r = pthread_create(out, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

void thread_give_way(void)
{
	/* In Linux the nice value belongs to a thread, unlike in POSIX. */
	id_t self = (id_t)gettid();
	int nice = getpriority(PRIO_PROCESS, self);

	setpriority(PRIO_PROCESS, self, nice + THREAD_GIVES_WAY);
}

#if SANITIZED_THREAD
bool thread_heavy_init(void)
{
	return true;
}

bool thread_heavy(void)
{
	return true;
}
#else
static bool membarrier(int cmd)
{
	return syscall(SYS_membarrier, cmd, 0, 0) == 0;
}

bool thread_heavy_init(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool thread_heavy(void)
{
	/* The child of a fork() may need to register again. */
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
	       (thread_heavy_init() &&
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
#endif
