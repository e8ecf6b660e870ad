/*
 * The calls of the kernel that a mount needs, and no others.
 *
 * A filter of seccomp, as a program of BPF that is made from one table: what is
 * in it is allowed, all else fails with EPERM. A few are allowed with some
 * arguments only: threads but no processes, sockets of the machine but none of
 * the network unless there is a cluster. clone3() hides its flags from a filter
 * and fails with ENOSYS, after which the C library uses clone().
 */
#ifndef CELLFS_FS_HOST_SYSCALLS_H
#define CELLFS_FS_HOST_SYSCALLS_H

#include <stdbool.h>

/*
 * Restricts the process; with @network it may reach a cluster, with @ring use
 * io_uring, past which what it asks is not filtered. The number of calls that are
 * allowed, 0 when the kernel has no filters, or the machine is one that is not
 * known here.
 */
unsigned syscalls_restrict(bool network, bool ring);

#endif
