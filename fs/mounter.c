#include "fs/mounter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/host/descriptors.h"
#include "fs/kernel/fuse.h"
#include "store/value/why.h"

enum {
	ASK_MOUNT = 'm',
	ASK_UNMOUNT = 'u',
	ASK_END = 'e',
};

/* Room for one descriptor beside a byte. */
union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static ssize_t send_byte(int socket, char byte, int fd)
{
	union control c = {{0}};
	struct iovec v = {&byte, 1};
	struct msghdr msg = {.msg_iov = &v, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = c.room;
		msg.msg_controllen = sizeof(c.room);
		c.head.cmsg_level = SOL_SOCKET;
		c.head.cmsg_type = SCM_RIGHTS;
		c.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&c.head), &fd, sizeof(int));
	}
	do
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n;
}

/* 1 and the byte, 0 at the end; *fd is -1 when none came. */
static ssize_t receive_byte(int socket, char *byte, int *fd)
{
	union control c = {{0}};
	struct iovec v = {byte, 1};
	struct msghdr msg = {.msg_iov = &v,
			     .msg_iovlen = 1,
			     .msg_control = c.room,
			     .msg_controllen = sizeof(c.room)};
	struct cmsghdr *head;
	ssize_t n;

	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*fd = -1;
	head = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(int));
	return n;
}

/* The mount's process. */
struct process {
	int socket;
	const struct fuse_args *args;
	const char *mountpoint;
	uid_t user;
	gid_t group;
	bool quiet;
	struct fuse_session *session;
	int abort; /* open_abort(); -1 = not to be had */
};

/* A mount's number, which the daemon is not asked for; 0 if there is none. */
static unsigned device_of(const char *mountpoint)
{
	struct statx st;

	return statx(AT_FDCWD, mountpoint,
		     AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW, 0, &st) == 0 &&
			       !st.stx_dev_major
		       ? st.stx_dev_minor
		       : 0;
}

/*
 * A mount of fusectl, with a directory for each connection, that has no place and so
 * keeps nothing from being unmounted. It takes root, and Linux 5.2; else -1.
 */
static int mount_connections(void)
{
	int mount = -1, fs = fsopen("fusectl", FSOPEN_CLOEXEC);

	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return mount;
}

/*
 * The daemon died. Its thread for notices lives on as long as it waits in the kernel
 * for a directory that a client has locked (invalidate.c), and has the device: no
 * request that nobody had read yet would be ended, that client's perhaps among them.
 * Over io_uring none would be. So the connection is ended here, and stays mounted: by
 * the file that fusectl has for that, which is the user's, where systems mount it.
 * The mount itself is not opened, or who unmounts it now would be told that it is busy.
 *
 * The file is opened when it is mounted: later its number may be another mount's, as
 * that of who starts again where the daemon has died.
 */
static int open_abort(unsigned device)
{
	int fd, connections;
	char path[64];

	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort",
		 device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	connections = fd < 0 ? mount_connections() : -1;
	if (connections >= 0) {
		snprintf(path, sizeof(path), "%u/abort", device);
		fd = openat(connections, path, O_WRONLY | O_CLOEXEC);
		close(connections);
	}
	return fd;
}

static void mount_asked(struct process *p)
{
	static const struct fuse_lowlevel_ops none;
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int fd = -1;

	for (int i = 0; i < p->args->argc; i++)
		if (fuse_opt_add_arg(&args, p->args->argv[i]))
			_exit(1);
	/* The kernel takes the real user for whose the mount is. */
	if (p->user && (setresgid(p->group, 0, 0) || setresuid(p->user, 0, 0)))
		_exit(1);
	p->session = fuse_session_new(&args, &none, sizeof(none), NULL);
	if (p->session && !fuse_session_mount(p->session, p->mountpoint))
		fd = fuse_session_fd(p->session);
	if (fd >= 0)
		p->abort = open_abort(device_of(p->mountpoint));
	send_byte(p->socket, ASK_MOUNT, fd);
	if (fd >= 0)
		close(fd);
	if (p->quiet)
		descriptors_silence();
	fuse_opt_free_args(&args);
}

static void run(struct process *p)
{
	char asked = 0;
	int fd;

	prctl(PR_SET_NAME, "cellfs-mounter");
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while (receive_byte(p->socket, &asked, &fd) > 0) {
		if (asked == ASK_MOUNT)
			mount_asked(p);
		else if (asked == ASK_UNMOUNT && p->session)
			fuse_session_unmount(p->session);
	}
	if (asked == ASK_MOUNT && p->abort >= 0)
		(void)!write(p->abort, "1", 1);
	_exit(0);
}

int mounter_start(struct mounter *m, const struct fuse_args *args,
		  const char *mountpoint, uid_t user, gid_t group, bool quiet)
{
	int ends[2];

	*m = (struct mounter){.socket = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return why(-errno, "socketpair: %m");
	m->pid = fork();
	if (m->pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return why(-errno, "fork: %m");
	}
	if (m->pid == 0) {
		struct process p = {.socket = ends[1],
				    .args = args,
				    .mountpoint = mountpoint,
				    .user = user,
				    .group = group,
				    .quiet = quiet,
				    .abort = -1};

		descriptors_close(ends[1]);
		run(&p);
	}
	close(ends[1]);
	m->socket = ends[0];
	return 0;
}

int mounter_mount(struct mounter *m)
{
	char byte;
	int fd = -1;

	if (send_byte(m->socket, ASK_MOUNT, -1) < 0 ||
	    receive_byte(m->socket, &byte, &fd) <= 0 || fd < 0)
		return -EIO;
	return fd;
}

void mounter_end(struct mounter *m, bool unmount)
{
	if (m->socket < 0)
		return;
	send_byte(m->socket, unmount ? ASK_UNMOUNT : ASK_END, -1);
	close(m->socket);
	m->socket = -1;
	while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
