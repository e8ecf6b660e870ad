#include "store/os/patience.h"

#include <stdio.h>

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
