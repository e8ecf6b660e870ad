/*
 * The thread that a request is of, by what /proc tells of its signals.
 */
#ifndef CELLFS_FS_KERNEL_CALLER_H
#define CELLFS_FS_KERNEL_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

/* Has it a signal that it neither blocks nor ignores? */
bool caller_has_signal(pid_t thread);
/*
 * Does a signal end it, as soon as its request is answered? Not one that has ended,
 * whose last requests close its files. Not known of one that /proc does not show: false.
 */
bool caller_is_killed(pid_t thread);

#endif
