#include "fs/host/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/value/why.h"

char *mountpoint_absolute(const char *path)
{
	char *copy, *slash, *parent = NULL, *out = NULL;
	size_t len;

	copy = strdup(path);
	if (!copy)
		return NULL;
	for (len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = '\0';
	slash = strrchr(copy, '/');
	if (!strcmp(copy, "/") || !strcmp(slash ? slash + 1 : copy, ".") ||
	    !strcmp(slash ? slash + 1 : copy, "..")) {
		out = realpath(copy, NULL);
	} else if (!slash) {
		parent = realpath(".", NULL);
		slash = copy - 1;
	} else if (slash == copy) {
		parent = strdup("");
	} else {
		*slash = '\0';
		parent = realpath(copy, NULL);
	}
	if (parent && asprintf(&out, "%s/%s", strcmp(parent, "/") ? parent : "",
			       slash + 1) < 0)
		out = NULL;
	free(parent);
	free(copy);
	return out;
}

/* Blanks and backslashes are octal escapes in mountinfo. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' &&
		    s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

struct mount_line {
	uint64_t id;
	char *device, *root, *mountpoint, *source;
};

/*
 * Parses "36 35 98:0 /root /mnt opts - type source opts"; false if it is not a
 * mount of cellfs. The fields of @out point into @line.
 */
static bool parse_line(char *line, struct mount_line *out)
{
	char **const fields[] = {&out->device, &out->root, &out->mountpoint};
	char *at = line, *type = strstr(line, " - fuse.cellfs ");

	if (!type)
		return false;
	out->source = type + strlen(" - fuse.cellfs ");
	out->id = strtoull(line, NULL, 10);
	at = strchr(at, ' ');
	for (int i = 0; i < 3 && at; i++) {
		at = strchr(at + 1, ' ');
		if (at)
			*fields[i] = at + 1;
	}
	if (!at || at >= type)
		return false;
	for (int i = 0; i < 3; i++) {
		(*fields[i])[strcspn(*fields[i], " ")] = '\0';
		unescape(*fields[i]);
	}
	out->source[strcspn(out->source, " ")] = '\0';
	unescape(out->source);
	return true;
}

/* The mounts of cellfs, by /proc/self/mountinfo. */
struct mounts {
	FILE *file;
	char *line;
	size_t cap;
	struct mount_line at; /* the one that mounts_next() came to */
};

static void mounts_open(struct mounts *m)
{
	*m = (struct mounts){.file = fopen("/proc/self/mountinfo", "re")};
}

static bool mounts_next(struct mounts *m)
{
	while (m->file && getline(&m->line, &m->cap, m->file) > 0)
		if (parse_line(m->line, &m->at))
			return true;
	return false;
}

static void mounts_close(struct mounts *m)
{
	if (m->file)
		fclose(m->file);
	free(m->line);
}

/*
 * Is the daemon dead? The kernel may have attributes cached, so open() is used.
 */
static bool is_stale(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool stale = fd < 0 && (errno == ENOTCONN || errno == ECONNABORTED);

	if (fd >= 0)
		close(fd);
	return stale;
}

/* Looks at a path; false with errno. As stat(2), and with the number of its mount. */
static bool look_at(const char *path, struct statx *out)
{
	return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT,
		     STATX_BASIC_STATS | STATX_MNT_ID, out) == 0;
}

/* Is @path in that mount, or another of the same filesystem? */
static bool is_inside(const struct mount_line *m, const struct statx *path)
{
	unsigned major, minor;

	return sscanf(m->device, "%u:%u", &major, &minor) == 2 &&
	       path->stx_dev_major == major && path->stx_dev_minor == minor;
}

/* Is @path in just that mount, of the whole? Older kernels do not say. */
static bool is_in(const struct mount_line *m, const struct statx *path)
{
	return path->stx_mask & STATX_MNT_ID && path->stx_mnt_id == m->id &&
	       strcmp(m->root, "/") == 0;
}

/* Is @path in that mount, or the store that is mounted there? */
static bool is_mount_of(const struct mount_line *m, const struct statx *path)
{
	struct statx st;

	/* A bind mount of a directory of the mount has no .cellfs. */
	if (strcmp(m->root, "/") != 0)
		return false;
	if (is_inside(m, path))
		return true;
	/* A dead daemon does not hold its store any more. */
	return look_at(m->source, &st) &&
	       st.stx_dev_major == path->stx_dev_major &&
	       st.stx_dev_minor == path->stx_dev_minor &&
	       st.stx_ino == path->stx_ino && !is_stale(m->mountpoint);
}

/*
 * Finds the first mount of cellfs that @test accepts: 1 and *out, the
 * mountpoint, which the caller frees; 0; -ENOMEM.
 */
static int find_line(bool (*test)(const struct mount_line *,
				  const struct statx *),
		     const struct statx *path, char **out)
{
	struct mounts m;
	int r = 0;

	mounts_open(&m);
	while (r == 0 && mounts_next(&m)) {
		if (!test(&m.at, path))
			continue;
		*out = strdup(m.at.mountpoint);
		r = *out ? 1 : why(-ENOMEM, "out of memory");
	}
	mounts_close(&m);
	return r;
}

static int say_dead(const char *path)
{
	return why(-ENOTCONN,
		   "%s: the filesystem that was mounted there has died; "
		   "unmount it with \"fusermount3 -u %s\" and name the store",
		   path, why_word(path));
}

int mountpoint_find(const char *path, char **out)
{
	struct statx st;
	int r;

	if (!look_at(path, &st))
		return errno == ENOTCONN || errno == ECONNABORTED
			       ? say_dead(path)
			       : 0;
	/* Another mount of the store may be for writing where this one is not. */
	r = find_line(is_in, &st, out);
	if (r == 0)
		r = find_line(is_mount_of, &st, out);
	if (r > 0 && is_stale(*out)) {
		r = say_dead(*out);
		free(*out);
		*out = NULL;
	}
	return r;
}

int mountpoint_store(const char *path, char **out)
{
	const char *found = NULL;
	struct mounts m;
	struct statx st;

	mounts_open(&m);
	while (!found && look_at(path, &st) && mounts_next(&m))
		if (is_inside(&m.at, &st))
			found = m.at.source;
	*out = strdup(found ? found : path);
	mounts_close(&m);
	return *out ? 0 : why(-ENOMEM, "out of memory");
}

int mountpoint_each(int (*each)(void *arg, const char *store,
				const char *mountpoint),
		    void *arg)
{
	struct mounts m;
	int r = 0;

	mounts_open(&m);
	if (!m.file)
		return why(-errno, "the list of mounts: %m");
	while (r == 0 && mounts_next(&m))
		if (!strcmp(m.at.root, "/"))
			r = each(arg, m.at.source, m.at.mountpoint);
	mounts_close(&m);
	return r;
}

bool mountpoint_is_dead(const char *path)
{
	const struct timespec step = {.tv_nsec = 100000000};
	struct statfs st;
	int looks = 10;

	/* umount -f ends the connection before it unmounts. */
	while (looks && statfs(path, &st) < 0 && errno == ENOTCONN && --looks)
		nanosleep(&step, NULL);
	return !looks;
}

/* Is it, by /proc/self/mountinfo, a mount of type fuse.cellfs? */
static bool is_ours(const char *path)
{
	char *absolute = mountpoint_absolute(path);
	struct mounts m;
	bool ours = false;

	mounts_open(&m);
	while (absolute && !ours && mounts_next(&m))
		ours = !strcmp(m.at.mountpoint, absolute);
	mounts_close(&m);
	free(absolute);
	return ours;
}

/* An ordinary user needs the setuid helper to unmount. */
static int run_helper(const char *path)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "--", path,
		       (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

/* Unmounts, even if the mount is busy. 0 or a negative errno. */
static int detach(const char *path)
{
	if (geteuid() == 0)
		return umount2(path, MNT_DETACH) == 0 ? 0 : -errno;
	return run_helper(path);
}

static int heal(const char *path)
{
	char *absolute = mountpoint_absolute(path);
	int r = -ENOTCONN;

	if (absolute && is_ours(absolute))
		r = detach(absolute);
	if (r < 0)
		why(r,
		    "%s: the filesystem that was mounted there has died; run "
		    "\"fusermount3 -u -z %s\" (or umount -l as root), then try "
		    "again",
		    path, why_word(path));
	free(absolute);
	return r;
}

int mountpoint_prepare(const char *path)
{
	struct stat st;
	int r;

	if (is_stale(path)) {
		r = heal(path);
		if (r < 0)
			return r;
	}
	if (stat(path, &st) < 0)
		return errno == ENOENT
			       ? why(-ENOENT,
				     "the mountpoint %s does not exist; make "
				     "it with \"mkdir %s\"",
				     path, why_word(path))
			       : why(-errno, "the mountpoint %s: %s", path,
				     strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return why(-ENOTDIR, "the mountpoint %s is not a directory",
			   path);
	if (is_ours(path))
		return why(-EBUSY,
			   "a store is mounted on %s already; unmount it with "
			   "\"fusermount3 -u %s\"",
			   path, why_word(path));
	return 0;
}

/* Is @inner the directory @outer, or below it? Both are absolute. */
static bool lies_in(const char *inner, const char *outer)
{
	struct stat out_st, st;
	char path[PATH_MAX];
	char *slash;

	if (stat(outer, &out_st) < 0)
		return false;
	if (snprintf(path, sizeof(path), "%s", inner) >= (int)sizeof(path))
		return false;
	/* By identity, not by name: bind mounts and links have two names. */
	for (;;) {
		if (stat(path[0] ? path : "/", &st) == 0 &&
		    st.st_dev == out_st.st_dev && st.st_ino == out_st.st_ino)
			return true;
		slash = strrchr(path, '/');
		if (!slash || !path[0])
			return false;
		*slash = '\0';
	}
}

/*
 * Finds the mount of cellfs that contains @path, or would if @path existed.
 * @path is absolute. Results as find_line().
 */
static int find_around(const char *path, char **out)
{
	char at[PATH_MAX];
	struct statx st;
	char *slash;

	if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
		return why(-ENAMETOOLONG, "%s: the path is too long", path);
	while (!look_at(at, &st)) {
		slash = strrchr(at, '/');
		if (!slash || slash == at)
			return 0;
		*slash = '\0';
	}
	return find_line(is_inside, &st, out);
}

int mountpoint_check_outside(const char *what, const char *path)
{
	char *mountpoint = NULL, *absolute = mountpoint_absolute(path);
	int r = absolute ? find_around(absolute, &mountpoint) : 0;

	free(absolute);
	if (r > 0)
		r = why(-EINVAL,
			"the %s %s is inside %s, where a store is mounted; "
			"choose a directory outside",
			what, path, mountpoint);
	free(mountpoint);
	return r;
}

bool mountpoint_is_inside(const char *path, const char *dir)
{
	char *inner = mountpoint_absolute(path), *outer = realpath(dir, NULL);
	bool inside = inner && outer && lies_in(inner, outer);

	free(inner);
	free(outer);
	return inside;
}

int mountpoint_check_apart(const char *store, const char *path)
{
	char *s = realpath(store, NULL), *m = realpath(path, NULL);
	int r = 0;

	if (!s)
		s = mountpoint_absolute(store);
	if (!s || !m)
		r = why(errno ? -errno : -EINVAL, "%s: %s", s ? path : store,
			strerror(errno));
	else if (lies_in(s, m))
		r = why(-EINVAL,
			"the store %s is inside the mountpoint %s: the daemon "
			"would wait for itself; choose another mountpoint",
			s, m);
	else if (lies_in(m, s))
		r = why(-EINVAL,
			"the mountpoint %s is inside the store %s, which "
			"belongs to the daemon; choose another mountpoint",
			m, s);
	if (r == 0)
		r = mountpoint_check_outside("store", s);
	if (r == 0)
		r = mountpoint_check_outside("mountpoint", m);
	free(s);
	free(m);
	return r;
}
