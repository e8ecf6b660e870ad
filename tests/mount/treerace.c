/*
 * Directories under puts and deletes that race.
 *
 *	treerace [--seconds N] [--seed N] TABLE
 *
 * In TABLE, which is empty, mkdir makes the row r with its column r/f/q.
 * Processes then put into that column and delete from it by every name it has,
 * through r and through .put/r, make and remove directories beside it, and
 * look. Nobody removes r, r/f or r/f/q, so:
 *
 *	stat of each, a put by each name	never ENOENT
 *	a listing of TABLE, r and r/f		always names it
 *	a directory that mkdir made		is there until its maker's
 *						rmdir, which succeeds
 *	rename over a file			readers never see ENOENT
 *	r/f:q, which is there or not		ENOENT at most
 *	a directory that mkdir made in the	is there until its maker's
 *	row s, whose only cell comes and	rmdir, with its path
 *	goes by lines
 *
 * In the end the three are removed with rmdir. Prints what failed and how
 * often; the exit code is 1 if anything did.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What processes share: who fails says so here. */
struct shared {
	_Atomic bool stop;
	_Atomic uint64_t acts, failures;
};

static struct shared *shared;
static unsigned seed;

static void failed(const char *what, const char *path)
{
	/* Some lines are enough to see what it is. */
	if (atomic_fetch_add(&shared->failures, 1) < 10)
		fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
}

/* Fails unless @r is not negative or errno is @allowed. */
static bool check(int r, int allowed, const char *what, const char *path)
{
	atomic_fetch_add(&shared->acts, 1);
	if (r >= 0)
		return true;
	if (errno != allowed)
		failed(what, path);
	return false;
}

static void put(const char *path, int allowed)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (!check(fd, allowed, "open", path))
		return;
	check((int)write(fd, "x\n", 2), 0, "write", path);
	check(close(fd), 0, "close", path);
}

static void put_and_remove(const char *path)
{
	put(path, 0);
	check(unlink(path), ENOENT, "unlink", path);
}

/* Puts by one name and deletes by another. */
static void by_alias(unsigned i)
{
	put_and_remove("r/f:q");
}

static void by_latest(unsigned i)
{
	put_and_remove("r/f/q/latest");
}

static void by_version(unsigned i)
{
	char path[64];

	/* In a year of no ttl. */
	snprintf(path, sizeof(path), "r/f/q/410244480000%u", 1 + i % 3);
	put_and_remove(path);
}

static void by_put(unsigned i)
{
	put_and_remove(i % 2 ? ".put/r/f:q" : ".put/r/f/q/latest");
}

static void by_replace(unsigned i)
{
	put("r/.new.tmp", 0);
	check(rename("r/.new.tmp", "r/f:kept"), 0, "rename", "r/f:kept");
}

static void by_replace_read(unsigned i)
{
	struct stat st;
	int fd = open("r/f:kept", O_RDONLY);

	check(fd, 0, "open for reading", "r/f:kept");
	if (fd >= 0)
		close(fd);
	check(stat("r/f:kept", &st), 0, "stat", "r/f:kept");
}

/* Absent now and then, and nothing else: no ESTALE. */
static void by_alias_read(unsigned i)
{
	struct stat st;
	int fd = open("r/f:q", O_RDONLY);

	if (check(fd, ENOENT, "open for reading", "r/f:q"))
		close(fd);
	check(stat("r/f:q", &st), ENOENT, "stat", "r/f:q");
	fd = i % 8 ? 0 : open("r/f:q", O_RDWR | O_CREAT, 0644);
	if (check(fd, 0, "open to make", "r/f:q") && fd)
		check(close(fd), 0, "close", "r/f:q");
}

static void by_stat(unsigned i)
{
	static const char *const dirs[] = {"r", "r/f", "r/f/q"};
	struct stat st;

	for (int k = 0; k < 3; k++)
		check(stat(dirs[k], &st), 0, "stat", dirs[k]);
}

static void find_in(const char *dir, const char *name)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool found = false;

	if (!check(d ? 0 : -1, 0, "opendir", dir))
		return;
	errno = 0;
	while ((e = readdir(d)))
		found |= !strcmp(e->d_name, name);
	closedir(d);
	if (!found) {
		if (!errno)
			errno = ENOENT;
		failed("listing", dir);
	}
}

static void by_listing(unsigned i)
{
	find_in(".", "r");
	find_in("r", "f");
	find_in("r/f", "q");
}

/* A column of its own in the row of all; then a row of its own. */
static void by_mkdir(unsigned i)
{
	static const char *const dirs[] = {"r/g", "r/g/own", "own", "own/f",
					   "own/f/q"};

	for (int k = 0; k < 5; k++)
		check(mkdir(dirs[k], 0755), 0, "mkdir", dirs[k]);
	put(i % 2 ? "r/g:own" : "r/g/own/4102444800000", 0);
	put(i % 3 ? "own/f:q" : ".put/own/f/q/latest", 0);
	check(unlink(i % 2 ? "r/g/own/latest" : "r/g:own"), 0, "unlink",
	      "r/g/own");
	check(unlink(i % 5 ? "own/f:q" : ".put/own/f:q"), 0, "unlink",
	      "own/f/q");
	for (int k = 4; k >= 0; k--) {
		find_in(k == 2	 ? "."
			: k == 1 ? "r/g"
			: k == 0 ? "r"
				 : "own",
			k == 4			? "f"
			: strrchr(dirs[k], '/') ? strrchr(dirs[k], '/') + 1
						: dirs[k]);
		check(rmdir(dirs[k]), 0, "rmdir", dirs[k]);
	}
}

static void line(const char *text)
{
	int fd = open(".cells", O_WRONLY);

	if (!check(fd, 0, "open", ".cells"))
		return;
	check((int)write(fd, text, strlen(text)), 0, "write", ".cells");
	check(close(fd), 0, "close", ".cells");
}

static void by_line(unsigned i)
{
	line("s\tf:q\t\tx\n");
	line(i % 2 ? "s\tf:q\t\t\tdelete-column\n" : "s\t\t\t\tdelete-row\n");
}

static void by_mkdir_in_lines(unsigned i)
{
	struct stat st;

	if (!check(mkdir("s/g", 0755), ENOENT, "mkdir", "s/g"))
		return;
	for (unsigned k = 0; k < i % 16; k++)
		check(stat("s/g", &st), 0, "stat", "s/g");
	find_in(".", "s");
	find_in("s", "g");
	check(rmdir("s/g"), 0, "rmdir", "s/g");
	(void)rmdir("s");
}

static void (*const acts[])(unsigned) = {
	by_alias,	   by_latest,	  by_version,	   by_put,
	by_stat,	   by_replace,	  by_replace_read, by_listing,
	by_mkdir,	   by_alias_read, by_alias_read,   by_line,
	by_mkdir_in_lines,
};
#define ACTS (sizeof(acts) / sizeof(acts[0]))

static pid_t start(unsigned n)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (unsigned i = seed + n; !shared->stop; i++)
		acts[n](i);
	exit(0);
}

static void make(const char *const *dirs, size_t n)
{
	for (size_t k = 0; k < n; k++)
		check(mkdir(dirs[k], 0755), 0, "mkdir", dirs[k]);
}

static void end(void)
{
	static const char *const dirs[] = {"r/f/kept", "r/f/q", "r/f", "r"};

	(void)unlink("r/f:kept");
	(void)unlink("r/f:q");
	(void)rmdir("r/g");
	(void)rmdir("s");
	for (int k = 0; k < 4; k++)
		check(rmdir(dirs[k]), 0, "rmdir", dirs[k]);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seconds", required_argument, NULL, 'n'},
		{"seed", required_argument, NULL, 's'},
		{0},
	};
	static const char *const dirs[] = {"r", "r/f", "r/f/q"};
	struct timespec nap = {.tv_sec = 1};
	pid_t pids[ACTS];
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (o == '?')
			return 2;
		if (o == 'n')
			nap.tv_sec = atoi(optarg);
		else
			seed = (unsigned)atoi(optarg);
	}
	if (optind + 1 != argc || chdir(argv[optind])) {
		fprintf(stderr, "treerace [--seconds N] [--seed N] TABLE\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	make(dirs, 3);
	put("r/f:kept", 0);
	for (unsigned n = 0; n < ACTS; n++)
		pids[n] = start(n);
	nanosleep(&nap, NULL);
	shared->stop = true;
	for (unsigned n = 0; n < ACTS; n++)
		waitpid(pids[n], NULL, 0);
	end();
	printf("%llu calls, %llu failed\n", (unsigned long long)shared->acts,
	       (unsigned long long)shared->failures);
	return shared->failures ? 1 : 0;
}
