#include "store/os/patience.h"

#include <errno.h>
#include <stdio.h>

#include "store/os/clock.h"
#include "store/os/os.h"
#include "store/value/why.h"

_Thread_local struct patience patience;
static _Thread_local char reason[WHY_MAX];

uint64_t patience_until(uint64_t now, uint64_t most)
{
	patience.until_ns = now + patience_left(most);
	return patience.until_ns;
}

void patience_lose(uint64_t ns, uint64_t now)
{
	if (now >= patience.until_ns ||
	    __builtin_add_overflow(patience.lost_ns, ns, &patience.lost_ns))
		patience.lost_ns = UINT64_MAX;
	snprintf(reason, sizeof(reason), "%s", store_why());
}

uint64_t patience_left(uint64_t most)
{
	return patience.lost_ns < most ? most - patience.lost_ns : 0;
}

const char *patience_reason(void)
{
	return patience.lost_ns ? reason : "";
}

int patience_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
		  uint64_t until_ns)
{
	uint64_t look = until_ns;

	do {
		if (patience.is_gone)
			look = monotonic_ns() + PATIENCE_LOOK_MS * NS_PER_MS;
		if (clock_cond_wait(cond, lock,
				    look < until_ns ? look : until_ns))
			return 1;
		if (patience_is_over())
			return -EINTR;
	} while (look < until_ns);
	return 0;
}

int patience_lock(pthread_mutex_t *lock)
{
	if (!patience.is_gone)
		return pthread_mutex_lock(lock);
	while (pthread_mutex_trylock(lock)) {
		int64_t ms = os_now_ms(os_posix()) + PATIENCE_LOOK_MS;
		const struct timespec look = {
			.tv_sec = ms / 1000,
			.tv_nsec = (long)(ms % 1000 * (int64_t)NS_PER_MS),
		};

		if (!pthread_mutex_timedlock(lock, &look))
			return 0;
		if (patience_is_over())
			return why(-EINTR, "who asked was killed");
	}
	return 0;
}
