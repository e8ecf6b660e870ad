/*
 * The thread that a request is of, by what /proc tells of its signals.
 */
#ifndef CELLFS_FS_KERNEL_CALLER_H
#define CELLFS_FS_KERNEL_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

/* Has the thread a pending signal that it neither blocks nor ignores? */
bool caller_has_signal(pid_t thread);
/*
 * Does a signal end the thread as soon as its request is answered? False for one that
 * has ended and whose files the kernel closes, and for one that /proc does not show.
 */
bool caller_is_killed(pid_t thread);

#endif
