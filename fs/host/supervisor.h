/*
 * What the daemon says to the program that supervises it, such as systemd.
 *
 * A supervisor gives a datagram socket in $NOTIFY_SOCKET (a path, or a name that
 * begins with '@' and is abstract) and gets lines as sd_notify(3) has them:
 *
 *	READY=1		the store is mounted
 *	WATCHDOG=1	and it answers: every half of $WATCHDOG_USEC
 *	STOPPING=1	the mount ends; the store is being closed
 *
 * A ping proves that the mount serves. A thread asks the kernel for the
 * filesystem's statfs(2), which a thread of the session answers out of the store,
 * and pings when that has come back. Where the session's threads are stuck, so is
 * the ping, and the supervisor ends the daemon and starts it anew.
 *
 * The protocol is one sendto(2), so no library is linked for it. The socket is
 * opened when the program begins, and it is not inherited by others.
 */
#ifndef CELLFS_FS_HOST_SUPERVISOR_H
#define CELLFS_FS_HOST_SUPERVISOR_H

/* Opens the socket, if there is a supervisor; before any thread is started. */
void supervisor_open(void);
/* Says that @mountpoint, an absolute path, is served; begins to ping. */
void supervisor_ready(const char *mountpoint);
/* Says that the mount ends; no ping follows. */
void supervisor_stopping(void);
/* Ends the thread, when nothing is mounted any more, and closes the socket. */
void supervisor_close(void);

#endif
