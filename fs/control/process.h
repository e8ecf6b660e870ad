/*
 * What the kernel says of this process: memory, time, open files.
 *
 * Read from /proc/self at each call. What cannot be read is 0.
 */
#ifndef CELLFS_FS_CONTROL_PROCESS_H
#define CELLFS_FS_CONTROL_PROCESS_H

#include <stdint.h>

struct process_figures {
	uint64_t resident_bytes, virtual_bytes;
	uint64_t cpu_ns;   /* user and system time of all threads */
	uint64_t start_ns; /* since 1970 */
	uint64_t open_fds, max_fds;
};

void process_figures(struct process_figures *out);

#endif
