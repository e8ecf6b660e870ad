/*
 * What the daemon gives up before it serves anybody.
 *
 * The daemon reads files that may be damaged and requests that may be hostile.
 * Should one of them get the better of it, little is to be had: the process
 *
 *	gains no privileges (no_new_privs), and as root keeps no capability but
 *		those to use a store that is another user's
 *	leaves no core, and nobody reads its memory (not dumpable)
 *	opens files beneath the store and a few of the system's, or where the store
 *		is a cluster reads what its user may and writes none (Landlock)
 *	asks the kernel for what a mount needs: no programs, no processes, and no
 *		sockets but for a cluster or for syslog (seccomp)
 *
 * What a kernel lacks is left out, unless it is required. In a build with a
 * sanitizer, which needs more than that, the last three are.
 *
 * It holds for the calling thread and all that it starts, so it is put on before
 * there are others. Mounts are made and ended by a process that was forked
 * before: mounter.h.
 */
#ifndef CELLFS_FS_HOST_SANDBOX_H
#define CELLFS_FS_HOST_SANDBOX_H

#include <stdbool.h>

#include "store/value/bytes.h"
#include "store/value/sanitizer.h"

#define SANDBOX_IS_PARTIAL \
	(SANITIZED_ADDRESS || SANITIZED_THREAD || SANITIZED_MEMORY)

struct sandbox {
	const char *store; /* a directory; NULL: a cluster, by sockets */
	bool ring;	   /* requests come over io_uring */
	bool syslog;	   /* messages go to syslog(3) */
	/* What is on. */
	bool no_new_privs, undumpable, no_capabilities;
	int landlock;	  /* the version of its interface; 0 = off */
	unsigned seccomp; /* calls that are allowed; 0 = off */
};

/*
 * Becomes that user, for whom the process may then be @open_to_it: to a debugger, and
 * to have a core. 0; -EINVAL, -EPERM in words.
 */
int sandbox_become(const char *user, bool open_to_it);
/* 0, or with @required an error in words if it is not on in all parts. */
int sandbox_enter(struct sandbox *s, bool required);
/* Appends what is on, a line each. 0 or -ENOMEM. */
int sandbox_format(const struct sandbox *s, struct buf *out);

#endif
