#include "store/os/os_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/os/os.h"

/* How often to retry when the file is replaced between open and lock. */
#define TRIES 100

/* 1, 0 if another process has the lock, or a negative errno. */
static int lock_fd(int fd, bool shared)
{
	int r;

	do
		r = flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
	while (r && errno == EINTR);
	if (r == 0)
		return 1;
	return errno == EWOULDBLOCK ? 0 : -errno;
}

/* Does the error mean that the filesystem cannot lock directories? */
static bool is_unknown(int err)
{
	return err == -EBADF || err == -EINVAL || err == -EOPNOTSUPP ||
	       err == -ENOSYS;
}

static bool same(int fd, const struct stat *named)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == named->st_dev &&
	       st.st_ino == named->st_ino;
}

/* The kernel does not tell who holds a flock(), so the file has the pid. */
static int read_pid(int fd)
{
	char text[16] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;

	/* A process that has ended holds no lock. */
	if (pid <= 0 || pid > INT32_MAX ||
	    (kill((pid_t)pid, 0) && errno == ESRCH))
		return 0;
	return (int)pid;
}

/* The lock holds without the pid, so that a full disk is no failure. */
static void write_pid(int fd)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (pwrite(fd, text, (size_t)n, 0) == n)
		(void)!ftruncate(fd, n);
}

void dir_give(int fd, const struct stat *st, uid_t owner)
{
	bool is_new = S_ISREG(st->st_mode) && !st->st_size && st->st_nlink == 1;

	if (is_new && !geteuid() && !st->st_uid && owner)
		(void)!fchown(fd, owner, (gid_t)-1);
}

static int open_file(int dir, bool shared)
{
	int how = shared ? O_RDONLY : O_RDWR | O_CREAT;
	struct stat st, above;
	int fd, err;

	do
		fd = openat(dir, OS_LOCK_NAME,
			    how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
				    O_NOCTTY,
			    0600);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = errno;
	else if (!S_ISREG(st.st_mode))
		err = EINVAL;
	else
		err = st.st_nlink > 1 ? EMLINK : 0;
	/* A umask may have taken more. */
	if (!err && !shared && (st.st_mode & 07777) != 0600 && fchmod(fd, 0600))
		err = errno;
	if (!err && !shared && !fstat(dir, &above))
		dir_give(fd, &st, above.st_uid);
	if (!err)
		return fd;
	close(fd);
	return -err;
}

/* A reader can do without the file, and on a full disk so can a writer. */
static bool may_be_without(int err, bool shared)
{
	if (shared)
		return err == -ENOENT || err == -EACCES || err == -EROFS;
	return err == -ENOSPC || err == -EDQUOT;
}

/* As dir_lock_take(); @alone: the directory itself could not be locked. */
static int take_file(struct dir_lock *l, bool alone, int *pid)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = open_file(l->dir, l->shared), r;
		struct stat st;

		if (fd < 0)
			return !alone && may_be_without(fd, l->shared) ? 1 : fd;
		r = lock_fd(fd, l->shared);
		if (r > 0 &&
		    fstatat(l->dir, OS_LOCK_NAME, &st, AT_SYMLINK_NOFOLLOW) ==
			    0 &&
		    same(fd, &st)) {
			l->file = fd;
			return 1;
		}
		if (r == 0)
			*pid = read_pid(fd);
		close(fd);
		if (r <= 0)
			return r;
	}
	return -ESTALE;
}

static int holder(int dir)
{
	int fd = open_file(dir, true), pid;

	if (fd < 0)
		return 0;
	pid = read_pid(fd);
	close(fd);
	return pid;
}

int dir_lock_take(int dir, const char *path, bool shared, struct dir_lock *out,
		  int *pid)
{
	struct dir_lock l = {
		.held = true, .shared = shared, .dir = dir, .file = -1};
	int r = lock_fd(dir, shared);
	bool alone = is_unknown(r);
	struct stat st;

	*pid = 0;
	if (r < 0 && !alone)
		return r;
	if (r == 0) {
		*pid = holder(dir);
		return 0;
	}
	if (stat(path, &st) || !same(dir, &st))
		r = -ESTALE;
	else
		r = take_file(&l, alone, pid);
	if (r <= 0) {
		dir_lock_end(&l);
		return r;
	}
	if (l.file >= 0 && !shared)
		write_pid(l.file);
	*out = l;
	return 1;
}

void dir_lock_end(struct dir_lock *l)
{
	if (!l->held)
		return;
	/* Unlocked by name: a child may still have the descriptors. */
	if (l->file >= 0) {
		if (!l->shared)
			(void)!ftruncate(l->file, 0);
		flock(l->file, LOCK_UN);
		close(l->file);
	}
	flock(l->dir, LOCK_UN);
	l->held = false;
}
