/*
 * The clock by which times between requests are measured: nobody sets it.
 */
#ifndef CELLFS_FS_KERNEL_CLOCK_H
#define CELLFS_FS_KERNEL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline int64_t monotonic_ms(void)
{
	return (int64_t)(monotonic_ns() / 1000000);
}

#endif
