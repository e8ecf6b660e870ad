#include "store/thread.h"

#include <linux/membarrier.h>
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

void thread_give_way(void)
{
	/* In Linux this is of a thread, whatever POSIX says of processes. */
	id_t self = (id_t)gettid();
	int nice = getpriority(PRIO_PROCESS, self);

	setpriority(PRIO_PROCESS, self, nice + THREAD_GIVES_WAY);
}

#ifdef __SANITIZE_THREAD__
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
	/* The child of a fork() may have to register anew. */
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
	       (thread_heavy_init() &&
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
#endif
