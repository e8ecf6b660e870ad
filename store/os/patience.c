#include "store/os/patience.h"

#include <stdio.h>

#include "store/value/why.h"

_Thread_local struct patience patience;
static _Thread_local char reason[WHY_MAX];

void patience_lose(uint64_t ns)
{
	patience.lost_ns += ns;
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
