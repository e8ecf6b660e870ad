/*
 * Paths that lead nowhere, asked with every call that takes a path: which error,
 * and that it is the same for all.
 */
#include "posix.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int of_open(const char *p)
{
	return open(p, O_RDONLY);
}

static int of_create(const char *p)
{
	return open(p, O_WRONLY | O_CREAT, 0644);
}

static int of_stat(const char *p)
{
	struct stat st;

	return stat(p, &st);
}

static int of_statvfs(const char *p)
{
	struct statvfs st;

	return statvfs(p, &st);
}

static int of_access(const char *p)
{
	return access(p, F_OK);
}

static int of_chmod(const char *p)
{
	return chmod(p, 0644);
}

static int of_chown(const char *p)
{
	return chown(p, (uid_t)-1, (gid_t)-1);
}

static int of_truncate(const char *p)
{
	return truncate(p, 0);
}

static int of_utimensat(const char *p)
{
	return utimensat(AT_FDCWD, p, NULL, 0);
}

static int of_readlink(const char *p)
{
	char to[8];

	return (int)readlink(p, to, sizeof(to));
}

static int of_opendir(const char *p)
{
	DIR *d = opendir(p);

	return d ? closedir(d) : -1;
}

static int of_mkdir(const char *p)
{
	return mkdir(p, 0755);
}

static int of_mknod(const char *p)
{
	return mknod(p, S_IFREG | 0644, 0);
}

static int of_mkfifo(const char *p)
{
	return mkfifo(p, 0644);
}

static int of_symlink(const char *p)
{
	return symlink("f", p);
}

static int of_link_from(const char *p)
{
	return link(p, "other.tmp");
}

static int of_link_to(const char *p)
{
	return link("f/q/5", p);
}

static int of_rename_from(const char *p)
{
	return rename(p, "other.tmp");
}

static int of_rename_to(const char *p)
{
	return rename("f/q/5", p);
}

static int of_getxattr(const char *p)
{
	char value[8];

	return (int)getxattr(p, "user.a", value, sizeof(value));
}

/* What a call does to a path that is not there; some make it. */
static const struct {
	const char *name;
	int (*call)(const char *path);
	bool makes;
} calls[] = {
	{"open", of_open, false},
	{"creat", of_create, true},
	{"stat", of_stat, false},
	{"statvfs", of_statvfs, false},
	{"access", of_access, false},
	{"chmod", of_chmod, false},
	{"chown", of_chown, false},
	{"truncate", of_truncate, false},
	{"utimensat", of_utimensat, false},
	{"readlink", of_readlink, false},
	{"opendir", of_opendir, false},
	{"chdir", chdir, false},
	{"mkdir", of_mkdir, true},
	{"rmdir", rmdir, false},
	{"unlink", unlink, false},
	{"mknod", of_mknod, true},
	{"mkfifo", of_mkfifo, true},
	{"symlink", of_symlink, true},
	{"link from", of_link_from, false},
	{"link to", of_link_to, true},
	{"rename from", of_rename_from, false},
	{"rename to", of_rename_to, true},
	{"getxattr", of_getxattr, false},
};

/* Every call, or those that make nothing, gives this error of the path. */
static void all_say(int want, const char *path, bool makers_too)
{
	char what[300];

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].makes && !makers_too)
			continue;
		snprintf(what, sizeof(what), "%s %.200s", calls[i].name, path);
		errno = 0;
		note_fails(__FILE__, __LINE__, what, want, calls[i].call(path));
	}
}

static void file_as_directory(void)
{
	static const char *const files[] = {
		"f:q", "f/q/5", "f/q/latest", "f/q/@-1", "../.schema", "a.tmp"};
	char path[64];

	put("f/q/4", "an older one");
	put("f/q/5", "a newer one");
	put("a.tmp", "scratch");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/x", files[i]);
		all_say(ENOTDIR, path, true);
		snprintf(path, sizeof(path), "%s/x/y", files[i]);
		all_say(ENOTDIR, path, true);
	}
	WANT(holds("f/q/5", "a newer one"));
}

static void nothing_there(void)
{
	put("f/q/5", "five");
	all_say(ENOENT, "", true);
	all_say(ENOENT, "none/x", true);
	all_say(ENOENT, "f/none/5", true);
	all_say(ENOENT, "../none/f/q/5", true);
	all_say(ENOENT, "../../none/R/f", true);
	all_say(ENOENT, "f/none", false);
	all_say(ENOENT, "f:none", false);
	all_say(ENOENT, "f/q/6", false);
	all_say(ENOENT, "none.tmp", false);
	WANT(holds("f/q/5", "five"));
}

/* At each level, since each has its own way to make a name. */
static void long_component(void)
{
	static const char *const levels[] = {"../../", "../", "", "f/", "f/q/"};
	char path[600];

	put("f/q/5", "five");
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s%s", levels[i], long_name(256));
		all_say(ENAMETOOLONG, path, true);
		snprintf(path, sizeof(path), "%s%s/x", levels[i],
			 long_name(256));
		all_say(ENAMETOOLONG, path, true);
		/* A family's name has at most 127. */
		snprintf(path, sizeof(path), "%s%s", levels[i],
			 long_name(i == 2 ? 127 : 255));
		all_say(ENOENT, path, false);
	}
}

static void longest_component(void)
{
	static const char *const levels[] = {"../../", "../", "", "f/"};
	char path[600];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", levels[i],
			 long_name(i == 2 ? 127 : 255));
		WORKS(mkdir(path, 0755));
		FAILS(EEXIST, mkdir(path, 0755));
		WORKS(access(path, F_OK));
		WORKS(rmdir(path));
	}
	FAILS(ENAMETOOLONG, mkdir(long_name(128), 0755));
	snprintf(path, sizeof(path), "f:%s", long_name(253));
	put(path, "a column's name that is as long as can be");
	WORKS(access(path, F_OK));
	WORKS(unlink(path));
	snprintf(path, sizeof(path), "f/q/%s.tmp", long_name(251));
	put(path, "scratch");
	WORKS(unlink(path));
}

static void long_path(void)
{
	char path[PATH_MAX + 8];
	size_t len = 0;

	put("f/q/5", "five");
	while (len < PATH_MAX - 6) {
		memcpy(path + len, "./", 2);
		len += 2;
	}
	memcpy(path + len, "f/q/5", 6);
	WANT(strlen(path) == PATH_MAX - 1);
	WANT(holds(path, "five"));
	memcpy(path + len, "./f/q/5", 8);
	all_say(ENAMETOOLONG, path, true);
}

static void trailing_slash(void)
{
	static const char *const files[] = {"f:q/", "f/q/5/", "f/q/latest/",
					    "../.schema/"};
	struct stat st;

	put("f/q/5", "five");
	for (size_t i = 0; i < 4; i++) {
		FAILS(ENOTDIR, stat(files[i], &st));
		FAILS(ENOTDIR, open(files[i], O_RDONLY));
		FAILS(ENOTDIR, unlink(files[i]));
		FAILS(ENOTDIR, truncate(files[i], 0));
	}
	FAILS(EISDIR, open("f:new/", O_WRONLY | O_CREAT, 0644));
	WORKS(mkdir("g/", 0755));
	WORKS(stat("g//", &st));
	WORKS(rmdir("g/"));
	WANT(holds("f/q/5", "five"));
}

/* Controls are no names for data, whatever is asked. */
static void unknown_control(void)
{
	all_say(ENOENT, ".none/x", true);
	all_say(ENOENT, "../.none", false);
	all_say(ENOENT, "../../.none", false);
}

static void limits_said(void)
{
	struct statvfs st;

	WORKS(statvfs("f/q", &st));
	WANT(st.f_namemax == 255);
	WANT(pathconf("f/q", _PC_NAME_MAX) == 255);
	WANT(pathconf("f/q", _PC_PATH_MAX) == PATH_MAX);
}

const struct posix_case path_cases[] = {
	{"what goes on behind a file is ENOTDIR", file_as_directory, false},
	{"what is not there is ENOENT", nothing_there, false},
	{"256 bytes are too long for a name", long_component, false},
	{"255 bytes are a name", longest_component, false},
	{"4,095 bytes are a path, and no more", long_path, false},
	{"a slash behind a name wants a directory", trailing_slash, false},
	{"an unknown control name is not there", unknown_control, false},
	{"pathconf and statvfs say the limits", limits_said, false},
	{0},
};
