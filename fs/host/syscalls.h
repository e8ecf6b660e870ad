/*
 * The calls of the kernel that a mount needs, and no others.
 *
 * A filter of seccomp, as a program of BPF that is made from one table: what is
 * in it is allowed, all else fails with EPERM. A few are allowed with some
 * arguments only: threads but no processes; new sockets for a cluster, or one of the
 * machine for syslog(3), and else none. clone3() hides its flags from a filter and
 * fails with ENOSYS, after which the C library uses clone().
 */
#ifndef CELLFS_FS_HOST_SYSCALLS_H
#define CELLFS_FS_HOST_SYSCALLS_H

/* What only some mounts need. */
enum {
	SYSCALLS_NETWORK = 1, /* to reach a cluster */
	SYSCALLS_SYSLOG = 2,  /* a socket for messages */
	SYSCALLS_RING = 4,    /* io_uring, past which nothing is filtered */
};

/*
 * Restricts the process to what each mount needs, and what is named @beside. The
 * number of calls that are allowed, 0 when the kernel has no filters, or the machine
 * is one that is not known here.
 */
unsigned syscalls_restrict(unsigned beside);

#endif
