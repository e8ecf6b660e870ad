/*
 * Times: which call changes which.
 */
#include "posix.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct stat seen(const char *path)
{
	struct stat st = {0};

	WORKS(stat(path, &st));
	return st;
}

static bool before(struct timespec a, struct timespec b)
{
	return a.tv_sec < b.tv_sec ||
	       (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

static bool same(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The clock has gone on by more than a timestamp's millisecond. */
static void a_moment(void)
{
	nanosleep(&(struct timespec){0, 5000000}, NULL);
}

static void of_a_version(void)
{
	struct stat st;

	put("f/q/1637056832082", "x");
	st = seen("f/q/1637056832082");
	WANT(st.st_mtim.tv_sec == 1637056832);
	WANT(st.st_mtim.tv_nsec == 82000000);
	WORKS(utimensat(AT_FDCWD, "f/q/1637056832082", NULL, 0));
	WORKS(chmod("f/q/1637056832082", 0600));
	st = seen("f/q/1637056832082");
	WANT(st.st_mtim.tv_sec == 1637056832);
	WANT((st.st_mode & 07777) == 0644);
}

static void written(void)
{
	struct timespec now;
	struct stat st, later;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_sec--;
	put("f:q", "x");
	st = seen("f:q");
	WANT(before(now, st.st_mtim) && before(now, st.st_ctim));
	a_moment();
	put("f:q", "y");
	later = seen("f:q");
	WANT(before(st.st_mtim, later.st_mtim));
	WANT(before(st.st_ctim, later.st_ctim));
	a_moment();
	WORKS(truncate("f:q", 5));
	WANT(before(later.st_mtim, seen("f:q").st_mtim));
}

static void looked_at(void)
{
	struct stat st, later;
	char back[4];
	int fd;

	put(home, "x");
	st = seen(home);
	a_moment();
	WANT(holds(home, "x"));
	fd = must_open(home, O_RDWR);
	WANT(read(fd, back, 4) == 1);
	WANT(write(fd, "", 0) == 0);
	WORKS(close(fd));
	WORKS(access(home, R_OK));
	FAILS(EEXIST, open(home, O_CREAT | O_EXCL | O_WRONLY, 0644));
	FAILS(ENOTDIR, rmdir(home));
	later = seen(home);
	WANT(same(st.st_mtim, later.st_mtim));
	WANT(same(st.st_ctim, later.st_ctim));
}

static void of_scratch(void)
{
	struct timespec to[2] = {{0, UTIME_OMIT}, {100, 123456789}};
	struct stat st, later;
	int fd;

	put("a.tmp", "x");
	WORKS(utimensat(AT_FDCWD, "a.tmp", to, 0));
	st = seen("a.tmp");
	WANT(same(st.st_mtim, to[1]));
	WORKS(chmod("a.tmp", 0600));
	st = seen("a.tmp");
	WANT((st.st_mode & 07777) == 0600 && same(st.st_mtim, to[1]));
	to[1].tv_nsec = UTIME_OMIT;
	WORKS(utimensat(AT_FDCWD, "a.tmp", to, 0));
	WANT(seen("a.tmp").st_mtim.tv_sec == 100);
	to[1].tv_nsec = UTIME_NOW;
	WORKS(utimensat(AT_FDCWD, "a.tmp", to, 0));
	WANT(seen("a.tmp").st_mtim.tv_sec > 1000);
	to[1].tv_nsec = 1000000000;
	FAILS(EINVAL, utimensat(AT_FDCWD, "a.tmp", to, 0));
	st = seen("a.tmp");
	a_moment();
	fd = must_open("a.tmp", O_WRONLY);
	WANT(write(fd, "yz", 2) == 2);
	WORKS(close(fd));
	later = seen("a.tmp");
	WANT(before(st.st_mtim, later.st_mtim));
	a_moment();
	WORKS(truncate("a.tmp", 1));
	WANT(before(later.st_mtim, seen("a.tmp").st_mtim));
}

/* The directory that is newer now than it was in *st, which is set to it. */
static bool moved_on(const char *dir, struct stat *st)
{
	struct stat was = *st;

	*st = seen(dir);
	a_moment();
	return before(was.st_mtim, st->st_mtim) &&
	       before(was.st_ctim, st->st_ctim);
}

/* What must make a directory newer: of a column that is its newest version too. */
static void of_a_directory(void)
{
	struct stat st = seen("f/q");

	a_moment();
	put("f/q/latest", "x");
	WANT(moved_on("f/q", &st));
	put("f/q/a.tmp", "x");
	WANT(moved_on("f/q", &st));
	WORKS(rename("f/q/a.tmp", "f/q/b.tmp"));
	WANT(moved_on("f/q", &st));
	WORKS(rename("f/q/b.tmp", "f/q/6"));
	WANT(moved_on("f/q", &st));
	WORKS(rename("f/q/6", "f/q/7"));
	WANT(moved_on("f/q", &st));
	WORKS(unlink("f/q/7"));
	WANT(moved_on("f/q", &st));
	st = seen("f");
	WORKS(mkdir("f/p", 0755));
	WANT(moved_on("f", &st));
	WORKS(rmdir("f/p"));
	WANT(moved_on("f", &st));
	put("f/a.tmp", "x");
	WANT(moved_on("f", &st));
	WORKS(unlink("f/a.tmp"));
	WANT(moved_on("f", &st));
}

static void of_a_scratch_directory(void)
{
	const struct timespec to[2] = {{100, 0}, {100, 0}};
	struct stat st;

	WORKS(mkdir(".d", 0755));
	st = seen(".d");
	a_moment();
	put(".d/a", "x");
	WANT(moved_on(".d", &st));
	WORKS(rename(".d/a", ".d/b"));
	WANT(moved_on(".d", &st));
	WORKS(rename(".d/b", "b.tmp"));
	WANT(moved_on(".d", &st));
	WORKS(rename("b.tmp", ".d/b"));
	WANT(moved_on(".d", &st));
	WORKS(unlink(".d/b"));
	WANT(moved_on(".d", &st));
	WORKS(mkdir(".d/d", 0755));
	WANT(moved_on(".d", &st));
	put(".d/d/a", "x");
	WANT(!moved_on(".d", &st));
	WORKS(utimensat(AT_FDCWD, ".d", to, 0));
	WANT(seen(".d").st_mtim.tv_sec == 100);
}

/* What fails, and what looks only. */
static void of_an_unchanged_directory(void)
{
	struct stat st;

	put("f/q/5", "x");
	st = seen("f/q");
	a_moment();
	FAILS(EEXIST, mkdir("f/q/5", 0755));
	FAILS(ENOENT, unlink("f/q/7"));
	FAILS(ENOENT, rename("f/q/7", "f/q/8"));
	WANT(holds("f/q/5", "x"));
	WANT(same(st.st_mtim, seen("f/q").st_mtim));
	WANT(same(st.st_ctim, seen("f/q").st_ctim));
}

const struct posix_case time_cases[] = {
	{"a version's time is its name, whatever is asked", of_a_version,
	 false},
	{"a write makes newer, and so does truncate", written, false},
	{"who looks only changes no time", looked_at, true},
	{"a scratch file keeps its time and mode", of_scratch, false},
	{"a directory is newer when a name comes or goes", of_a_directory,
	 false},
	{"a scratch directory too, until it is given a time",
	 of_a_scratch_directory, false},
	{"a call that fails makes no directory newer",
	 of_an_unchanged_directory, false},
	{0},
};
