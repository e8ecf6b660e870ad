/*
 * Who mounts and unmounts.
 *
 * A daemon that has given up its privileges (sandbox.h) can neither mount nor
 * unmount, and may not start fusermount3, which has them. So a process is forked
 * before that, which does nothing but wait: it mounts when it is asked to and
 * hands over the device, and it unmounts when it is asked to. When the daemon dies
 * it sees to it that no client waits for ever.
 *
 *	daemon				mounter
 *	mounter_start()  ── fork ──▶	waits
 *	(gives up its privileges)
 *	mounter_mount()	 ──────────▶	mounts
 *			 ◀── device ──	closes it, so that the kernel sees the
 *			 		daemon's death
 *	mounter_end()	 ──────────▶	unmounts, and ends
 *	(or it dies)	 ── end ───▶	ends the connection; ends
 *
 * It ignores signals that end a daemon, since it is still needed then.
 */
#ifndef CELLFS_FS_MOUNTER_H
#define CELLFS_FS_MOUNTER_H

#include <stdbool.h>
#include <sys/types.h>

struct fuse_args;

struct mounter {
	int socket; /* -1 = there is none */
	pid_t pid;
};

/*
 * @user, @group: whose the mount is, 0 = the caller's. @quiet: the process leaves the
 * caller's output when it has mounted. A process with other threads cannot call this.
 */
int mounter_start(struct mounter *m, const struct fuse_args *args,
		  const char *mountpoint, uid_t user, gid_t group, bool quiet);
/* The device of the mount, or -EIO: the process has said why. */
int mounter_mount(struct mounter *m);
/* With @unmount it is unmounted first. Waits for the process. */
void mounter_end(struct mounter *m, bool unmount);

#endif
