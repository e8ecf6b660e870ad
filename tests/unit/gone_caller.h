/* A caller of a request who is gone (patience.h): each number but 0 is. */
#ifndef CELLFS_TESTS_UNIT_GONE_CALLER_H
#define CELLFS_TESTS_UNIT_GONE_CALLER_H

#include "store/os/patience.h"

static inline bool is_gone(int32_t who)
{
	return who != 0;
}

#endif
