#include "store/thread.h"

#include <stdatomic.h>

unsigned thread_number(void)
{
	static _Atomic unsigned given;
	static _Thread_local unsigned next; /* own number + 1 */

	if (next == 0)
		next = atomic_fetch_add(&given, 1) + 1;
	return next - 1;
}
