/*
 * A socket that listens, where an option says:
 *
 *	PORT		127.0.0.1:PORT, for this machine only
 *	ADDR:PORT	an address in numbers; [ADDR]:PORT of IPv6
 *	unix:PATH	a socket in the filesystem, for its owner and its group,
 *			which is the directory's where that has the bit setgid
 *
 * An address that others can reach is thus one that somebody wrote. A socket in
 * the filesystem that nobody listens at any more is taken over: the sandbox does
 * not let the daemon remove its own. Of two who take one over at a time one has it.
 *
 * It is made before the daemon gives its rights up: mount.c.
 */
#ifndef CELLFS_FS_HOST_LISTENER_H
#define CELLFS_FS_HOST_LISTENER_H

/* @option names it in sentences. 0 and *fd, or a negative errno in words. */
int listener_open(const char *option, const char *where, int *fd);

#endif
