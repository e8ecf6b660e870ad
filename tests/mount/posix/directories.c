/*
 * Directories: made, removed, listed, and renamed with what is in them.
 */
#include "posix.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void made_once(void)
{
	put("f:q", "one");
	FAILS(EEXIST, mkdir("f", 0755));
	FAILS(EEXIST, mkdir("f/q", 0755));
	FAILS(EEXIST, mkdir("../../posix", 0755));
	FAILS(EEXIST, mkdir(".", 0755));
	FAILS(EEXIST, mkdir("..", 0755));
	FAILS(EEXIST, mkdir("../.schema", 0755));
	FAILS(EEXIST, mkdir("f:q", 0755));
	FAILS(ENOENT, mkdir("g/q", 0755));
}

static void removed_when_empty(void)
{
	put("f/q/5", "one");
	FAILS(ENOTEMPTY, rmdir("f/q"));
	FAILS(ENOTEMPTY, rmdir("f"));
	FAILS(ENOTEMPTY, rmdir("../../posix"));
	FAILS(ENOTDIR, rmdir("f/q/5"));
	FAILS(ENOTDIR, rmdir("f:q"));
	FAILS(ENOTDIR, rmdir("../.schema"));
	FAILS(EISDIR, unlink("f"));
	FAILS(EISDIR, unlink("f/q"));
	FAILS(EINVAL, rmdir("f/."));
	FAILS(ENOTEMPTY, rmdir("f/.."));
	FAILS(EBUSY, rmdir(mountpoint_path));
	WORKS(unlink("f/q/5"));
	WORKS(rmdir("f/q"));
	FAILS(ENOENT, rmdir("f/q"));
	WORKS(rmdir("f"));
}

static void removed_while_open_dir(const char *dir)
{
	struct stat st;
	int fd = must_open(dir, O_RDONLY | O_DIRECTORY);
	DIR *d;

	WORKS(rmdir(dir));
	FAILS(ENOENT, openat(fd, "5", O_WRONLY | O_CREAT, 0644));
	FAILS(ENOENT, openat(fd, "a.tmp", O_WRONLY | O_CREAT, 0644));
	FAILS(ENOENT, mkdirat(fd, "x", 0755));
	WANT(fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_nlink == 0);
	WORKS(fchmod(fd, 0755));
	d = fdopendir(fd);
	WANT(d != NULL);
	while (d && readdir(d))
		;
	if (d)
		WORKS(closedir(d));
	WORKS(mkdir(dir, 0755));
	WORKS(rmdir(dir));
}

static void removed_while_open_dirs(void)
{
	removed_while_open_dir("f/q");
	WORKS(mkdir("f/.d", 0755));
	removed_while_open_dir("f/.d");
}

static unsigned count(DIR *d, const char *name)
{
	unsigned n = 0;
	const struct dirent *e;

	while ((e = readdir(d)))
		n += !name || !strcmp(e->d_name, name);
	return n;
}

static void listed_once(void)
{
	char path[20];
	DIR *d;
	long at;

	for (int i = 1; i <= 300; i++) {
		snprintf(path, sizeof(path), "f:%d", i);
		put(path, "x");
	}
	d = opendir("f");
	WANT(d != NULL);
	if (!d)
		return;
	WANT(count(d, NULL) == 303);
	WANT(count(d, NULL) == 0);
	rewinddir(d);
	WANT(count(d, ".") == 1);
	rewinddir(d);
	WANT(count(d, "..") == 1);
	rewinddir(d);
	WANT(count(d, "300") == 1);
	rewinddir(d);
	for (int i = 0; i < 100; i++)
		WANT(readdir(d) != NULL);
	at = telldir(d);
	WANT(count(d, NULL) == 203);
	seekdir(d, at);
	WANT(count(d, NULL) == 203);
	rewinddir(d);
	WORKS(unlink("f:300"));
	WORKS(rmdir("f/300"));
	rewinddir(d);
	WANT(count(d, "300") == 0);
	WORKS(closedir(d));
}

/* Each name once at most, and all that stay: the rest may be there or not. */
static void removed_while_listed(void)
{
	char path[300];
	unsigned stay = 0;
	const struct dirent *e;
	DIR *d;

	for (int i = 1; i <= 400; i++) {
		snprintf(path, sizeof(path), "f/q/%d.tmp", i);
		put(path, "x");
	}
	d = opendir("f/q");
	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "f/q/%s", e->d_name);
		if (e->d_name[0] == '1')
			WORKS(unlink(path));
		else if (e->d_name[0] != '.')
			stay++;
	}
	if (d)
		WORKS(closedir(d));
	WANT(stay == 400 - 111);
}

static void kinds_listed(void)
{
	DIR *d;
	const struct dirent *e;

	put("f/q/5", "x");
	d = opendir("f/q");
	while (d && (e = readdir(d)))
		WANT(e->d_type == (e->d_name[0] == '.' ? DT_DIR : DT_REG));
	if (d)
		WORKS(closedir(d));
	d = opendir(".");
	while (d && (e = readdir(d)))
		WANT(e->d_type == DT_DIR);
	if (d)
		WORKS(closedir(d));
}

static void numbers_agree(void)
{
	struct stat a, b;
	const struct dirent *e;
	DIR *d;

	put("f/q/5", "x");
	WORKS(stat("f/q/5", &a));
	d = opendir("f/q");
	while (d && (e = readdir(d)))
		if (e->d_name[0] == '5')
			WANT(e->d_ino == a.st_ino);
	if (d)
		WORKS(closedir(d));
	WORKS(stat("f", &a));
	WORKS(stat("f/q/..", &b));
	WANT(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
}

const struct posix_case directory_cases[] = {
	{"mkdir makes what is not there", made_once, false},
	{"rmdir removes what is empty", removed_when_empty, false},
	{"nothing is made in a directory that was removed",
	 removed_while_open_dirs, false},
	{"each name is listed once, from any place on", listed_once, false},
	{"names that stay are listed while others go", removed_while_listed,
	 false},
	{"a listing says the kind", kinds_listed, false},
	{"a listing and stat say the same number", numbers_agree, false},
	{0},
};

static void onto_itself(void)
{
	put(home, "one");
	WORKS(rename(home, home));
	WORKS(rename("f", "f"));
	WANT(holds(home, "one"));
}

static void replaces(void)
{
	int fd;
	char back[4];

	put("new.tmp", "new");
	put(home, "old");
	fd = must_open(home, O_RDONLY);
	WORKS(rename("new.tmp", home));
	WANT(holds(home, "new"));
	FAILS(ENOENT, open("new.tmp", O_RDONLY));
	FAILS(ENOENT, rename("new.tmp", home));
	WANT(read(fd, back, 4) == 3);
	WORKS(close(fd));
}

static void kinds_differ(void)
{
	put("f/q/5", "five");
	put("a.tmp", "scratch");
	WORKS(mkdir("g", 0755));
	FAILS(EISDIR, rename("f/q/5", "g"));
	FAILS(EISDIR, rename("a.tmp", "f"));
	FAILS(ENOTDIR, rename("g", "f/q/5"));
	FAILS(ENOTDIR, rename("g", "a.tmp"));
	FAILS(EINVAL, rename("f", "f/q/x"));
	FAILS(EINVAL, rename("f", "f/x"));
	FAILS(ENOTEMPTY, rename("f/q", "f"));
	FAILS(EBUSY, rename(".", "h"));
	FAILS(EBUSY, rename("..", "h"));
	FAILS(ENOTDIR, rename("f/q/5/", "f/q/6"));
	WANT(holds("f/q/5", "five") && holds("a.tmp", "scratch"));
}

static void with_flags(void)
{
	put("f/q/5", "five");
	put("f/q/6", "six");
	FAILS(EEXIST, renameat2(AT_FDCWD, "f/q/5", AT_FDCWD, "f/q/6",
				RENAME_NOREPLACE));
	FAILS(EINVAL,
	      renameat2(AT_FDCWD, "f/q/5", AT_FDCWD, "f/q/6", RENAME_EXCHANGE));
	FAILS(EINVAL, renameat2(AT_FDCWD, "f/q/5", AT_FDCWD, "f/q/6",
				RENAME_EXCHANGE | RENAME_NOREPLACE));
	FAILS(EINVAL, renameat2(AT_FDCWD, "f/q/5", AT_FDCWD, "f/q/7", 64));
	WANT(holds("f/q/5", "five") && holds("f/q/6", "six"));
	WORKS(renameat2(AT_FDCWD, "f/q/5", AT_FDCWD, "f/q/7",
			RENAME_NOREPLACE));
	WANT(holds("f/q/7", "five"));
}

static void other_row(void)
{
	put("f/q/5", "five");
	WORKS(mkdir("../otherrow", 0755));
	FAILS(EXDEV, rename("f/q/5", "../otherrow/f:q"));
	FAILS(EXDEV, rename("f", "../otherrow/f"));
	WANT(holds("f/q/5", "five"));
	WORKS(rmdir("../otherrow"));
}

static void open_and_renamed(void)
{
	int fd;

	put("a.tmp", "one");
	fd = must_open("a.tmp", O_RDWR | O_APPEND);
	WORKS(rename("a.tmp", "b.tmp"));
	WANT(write(fd, "two", 3) == 3);
	WORKS(close(fd));
	WANT(holds("b.tmp", "onetwo"));
	FAILS(ENOENT, open("a.tmp", O_RDONLY));
}

/* Whoever found the old file before it lost its name opens that one. */
static void found_before(bool removed)
{
	char path[64], text[8];
	struct stat st;
	int found, fd;

	put("a.tmp", "old");
	found = must_open("a.tmp", O_PATH);
	if (removed)
		WORKS(unlink("a.tmp"));
	put("b.tmp", "new");
	WORKS(rename("b.tmp", "a.tmp"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	for (int i = 0; i < 2; i++) {
		WORKS(fstat(found, &st));
		WANT(st.st_size == 3 && st.st_nlink == 0);
		WORKS(fd = open(path, O_RDWR));
		WANT(read(fd, text, sizeof(text)) == 3 && text[0] == 'o');
		WANT(pwrite(fd, "x", 1, 1) == 1);
		WORKS(close(fd));
	}
	WORKS(close(found));
	WANT(holds("a.tmp", "new"));
	WORKS(unlink("a.tmp"));
}

static void found_before_replaced(void)
{
	found_before(false);
}

static void found_before_removed(void)
{
	found_before(true);
}

static ino_t number_of(const char *path)
{
	struct stat st = {0};

	WORKS(stat(path, &st));
	return st.st_ino;
}

/* mv(1), cp(1) and rsync(1) take files of one number for the same file. */
static void keeps_number(void)
{
	ino_t dir, file, moved;

	WORKS(mkdir(".a", 0755));
	put(".a/x", "one");
	dir = number_of(".a");
	file = number_of(".a/x");
	WORKS(rename(".a", ".b"));
	WANT(number_of(".b") == dir && number_of(".b/x") == file);
	WORKS(mkdir(".a", 0755));
	put(".a/x", "two");
	WANT(number_of(".a") != dir && number_of(".a/x") != file);
	WORKS(rename(".b/x", "y.tmp"));
	WANT(number_of("y.tmp") == file);
	/* A version that is put again has the number that it had. */
	put("f/q/5", "five");
	file = number_of("f/q/5");
	WORKS(rename("f/q/5", "5.bak"));
	moved = number_of("5.bak");
	put("f/q/5", "anew");
	WANT(number_of("f/q/5") == file && moved != file);
	WORKS(rename("5.bak", "6.bak"));
	WANT(number_of("6.bak") == moved);
	put("5.bak", "another");
	WANT(number_of("5.bak") != moved);
}

const struct posix_case rename_cases[] = {
	{"a name renamed onto itself changes nothing", onto_itself, true},
	{"what is renamed takes the other's place", replaces, true},
	{"files and directories do not take each other's place", kinds_differ,
	 false},
	{"NOREPLACE replaces nothing, EXCHANGE is not known", with_flags,
	 false},
	{"another row is another device", other_row, false},
	{"a descriptor goes along", open_and_renamed, false},
	{"who found what is replaced opens that", found_before_replaced, false},
	{"who found what is removed opens that", found_before_removed, false},
	{"what is scratch keeps its number, and no other gets it", keeps_number,
	 false},
	{0},
};
