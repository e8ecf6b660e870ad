#include "store/thread.h"

#include <stdatomic.h>

_Thread_local unsigned thread_known;

unsigned thread_enter(void)
{
	static _Atomic unsigned given;

	thread_known = atomic_fetch_add(&given, 1) + 1;
	return thread_known - 1;
}
