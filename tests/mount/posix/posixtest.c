/*
 * Runs the cases of posix.h over a mount:
 *
 *	posixtest MOUNTPOINT [GROUP]...
 *
 * As root it also runs those in which other users ask; the mount is to have
 * allow_other for them.
 */
#include "posix.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *mountpoint_path, *home;
static const char *now_running;
static unsigned failures, cases;

static const struct {
	const char *name;
	const struct posix_case *cases;
} groups[] = {
	{"paths", path_cases},	  {"open", open_cases},
	{"files", file_cases},	  {"directories", directory_cases},
	{"rename", rename_cases}, {"times", time_cases},
	{"users", user_cases},
};

static const char *const homes[] = {"f/q/5", "f/q/latest", "f:q", "q.tmp"};

static void say(const char *file, int line, const char *what)
{
	failures++;
	printf("FAILED %s%s%s: %s:%d: %s: ", now_running, home ? ", of " : "",
	       home ? home : "", strrchr(file, '/') + 1, line, what);
}

void note_works(const char *file, int line, const char *what, long r)
{
	int err = errno;

	if (r != -1)
		return;
	say(file, line, what);
	printf("%s\n", strerror(err));
}

void note_fails(const char *file, int line, const char *what, int want, long r)
{
	int err = errno;

	if (r == -1 && err == want)
		return;
	say(file, line, what);
	printf("%s, not ", r == -1 ? strerror(err) : "it worked");
	printf("%s\n", strerror(want));
}

void note_want(const char *file, int line, const char *what, bool so)
{
	if (so)
		return;
	say(file, line, what);
	printf("it is not so\n");
}

int must_open(const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0) {
		printf("FAILED %s: open %s: %s\n", now_running, path,
		       strerror(errno));
		exit(1);
	}
	return fd;
}

void put(const char *path, const char *text)
{
	int fd = must_open(path, O_WRONLY | O_CREAT | O_TRUNC);

	WANT(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	WORKS(close(fd));
}

bool holds(const char *path, const char *text)
{
	char back[8192];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, back, sizeof(back));
	close(fd);
	return n == (ssize_t)strlen(text) && memcmp(back, text, (size_t)n) == 0;
}

const char *long_name(size_t len)
{
	static char name[16384];

	memset(name, 'n', len);
	name[len] = '\0';
	return name;
}

static int clear_one(const char *path, const struct stat *st, int kind,
		     struct FTW *at)
{
	return remove(path);
}

void clear(const char *path)
{
	WORKS(nftw(path, clear_one, 16, FTW_DEPTH | FTW_PHYS));
}

/* A row of its own for each, numbered, so that what is left shows its case. */
static void run_one(const struct posix_case *c, const char *where)
{
	char row[32];

	home = where;
	now_running = c->sentence;
	snprintf(row, sizeof(row), "case%03u", ++cases);
	if (chdir(mountpoint_path) || chdir("posix") || mkdir(row, 0755) ||
	    chdir(row) || mkdir("f", 0755) || mkdir("f/q", 0755)) {
		printf("FAILED %s: no row: %s\n", c->sentence, strerror(errno));
		exit(1);
	}
	c->run();
	WORKS(chdir(mountpoint_path));
	WORKS(chdir("posix"));
	clear(row);
}

static void run_group(const struct posix_case *c)
{
	for (; c->sentence; c++) {
		if (!c->homes)
			run_one(c, NULL);
		for (size_t i = 0; c->homes && i < 4; i++)
			run_one(c, homes[i]);
	}
}

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!strcmp(name, argv[i]))
			return true;
	return argc == 2;
}

/* By another process: to who makes a table its .schema is not there at first. */
static void make_table(void)
{
	int status = 1;

	if (chdir(mountpoint_path) == 0 && fork() == 0)
		_exit(mkdir("posix", 0755) && errno != EEXIST);
	if (wait(&status) < 0 || status) {
		printf("FAILED no table in %s\n", mountpoint_path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: posixtest MOUNTPOINT [GROUP]...\n");
		return 2;
	}
	mountpoint_path = argv[1];
	umask(022);
	/* A child that ends says nothing a second time. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	make_table();
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (is_wanted(groups[i].name, argc, argv))
			run_group(groups[i].cases);
	WORKS(chdir(mountpoint_path));
	WORKS(rmdir("posix"));
	printf("%u cases, %u failures\n", cases, failures);
	return cases == 0 || failures != 0;
}
