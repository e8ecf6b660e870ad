#include "store/thread.h"

#include <stdatomic.h>
#include <sys/resource.h>
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
