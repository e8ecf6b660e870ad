/*
 * Who may do what: the kernel decides by the table's owner and mode, which hold for
 * all beneath. Run by root over a mount with allow_other; else they are passed over, but for the last.
 */
#include "posix.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWNER 1001
#define MEMBER 1002
#define STRANGER 1003
#define GROUP 2001

/* What fails in as() is counted there: by the child's exit code. */
static bool as(uid_t uid, gid_t gid, bool (*act)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (setgroups(0, NULL) || setgid(gid) || setuid(uid))
			_exit(2);
		_exit(!act());
	}
	WANT(waitpid(pid, &status, 0) == pid);
	return status == 0;
}

static bool refused(long r, int err)
{
	return r == -1 && errno == err;
}

/* A table with this mode, OWNER's and GROUP's, in which the row R has a cell. */
static void table_of(unsigned mode)
{
	static int tables;
	char name[40];

	snprintf(name, sizeof(name), "../../users%d", ++tables);
	WORKS(mkdir(name, 0755));
	WORKS(chdir(name));
	WORKS(mkdir("R", 0755));
	put("R/f:q", "kept");
	WORKS(chown(".", OWNER, GROUP));
	WORKS(chmod(".", mode));
}

static void drop_table(void)
{
	WORKS(chmod(".", 0755));
	clear("R");
	WORKS(rmdir(realpath(".", (char[PATH_MAX]){0})));
}

static bool may_all(void)
{
	int fd = open("R/f:q", O_RDWR);

	return fd >= 0 && !close(fd) && !mkdir("S", 0755) && !rmdir("S") &&
	       !access("R", R_OK | W_OK | X_OK);
}

static bool may_look(void)
{
	int fd = open("R/f:q", O_RDONLY);

	return fd >= 0 && !close(fd) &&
	       refused(open("R/f:q", O_WRONLY), EACCES) &&
	       refused(open("R/f:p", O_WRONLY | O_CREAT, 0644), EACCES) &&
	       refused(open("R/a.tmp", O_WRONLY | O_CREAT, 0644), EACCES) &&
	       refused(truncate("R/f:q", 0), EACCES) &&
	       refused(unlink("R/f:q"), EACCES) &&
	       refused(mkdir("S", 0755), EACCES) &&
	       refused(rmdir("R"), EACCES) &&
	       refused(rename("R/f:q", "R/f:p"), EACCES) &&
	       refused(access("R/f:q", W_OK), EACCES);
}

static bool may_nothing(void)
{
	struct stat st;

	return refused(stat("R/f:q", &st), EACCES) &&
	       refused(open("R", O_RDONLY), EACCES) &&
	       refused(open(".schema", O_RDONLY), EACCES) &&
	       refused(chdir("R"), EACCES);
}

/* What a write of this text says; 0 when it was taken. */
static int says(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	int err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	return close(fd) < 0 && !err ? errno : err;
}

static bool not_the_owners(void)
{
	return refused(chmod(".", 0777), EPERM) &&
	       refused(chown(".", MEMBER, (gid_t)-1), EPERM) &&
	       refused(chown(".", (uid_t)-1, GROUP), EPERM) &&
	       refused(chmod("R", 0777), EPERM) &&
	       says(".schema", "mode 0711\nfamily f\n") == EPERM &&
	       says(".schema", "uid 1002\nfamily f\n") == EPERM &&
	       says(".schema", "gid 99\nfamily f\n") == EPERM &&
	       truncate(".schema", 0) < 0 && !says(".schema", "family f\n");
}

static bool renames_schema(void)
{
	put("schema.tmp", "uid 1003\nfamily f\n");
	return refused(rename("schema.tmp", ".schema"), EPERM) &&
	       !unlink("schema.tmp");
}

static bool the_owners(void)
{
	return says(".schema", "uid 1003\nfamily f\n") == EPERM &&
	       !says(".schema", "mode 0770\nuid 1001\nfamily f\n") &&
	       !chmod(".", 0711) && !chmod(".", 0750) &&
	       refused(chown(".", STRANGER, (gid_t)-1), EPERM) &&
	       refused(chown(".", (uid_t)-1, 98), EPERM);
}

static void by_mode(void)
{
	if (geteuid() != 0)
		return;
	table_of(0750);
	WANT(as(OWNER, 99, may_all));
	WANT(as(MEMBER, GROUP, may_look));
	WANT(as(STRANGER, 99, may_nothing));
	WORKS(chmod(".", 0770));
	WANT(as(MEMBER, GROUP, may_all));
	WORKS(chmod(".", 0755));
	WANT(as(STRANGER, 99, may_look));
	/* The owner's bits count for the owner, whatever others may. */
	WORKS(chmod(".", 0077));
	WANT(as(OWNER, GROUP, may_nothing));
	WANT(as(MEMBER, GROUP, may_all));
	WANT(holds("R/f:q", "kept"));
	drop_table();
}

static void by_owner(void)
{
	if (geteuid() != 0)
		return;
	table_of(0777);
	WANT(as(STRANGER, 99, not_the_owners));
	WANT(as(STRANGER, 99, renames_schema));
	WANT(as(MEMBER, GROUP, not_the_owners));
	WANT(as(OWNER, 99, the_owners));
	WORKS(says(".schema", "uid 1003\nfamily f\n"));
	drop_table();
}

static bool takes_no_other_s_file(void)
{
	put("R/b.tmp", "mine");
	return !chmod("R/b.tmp", 0600) && !rename("R/b.tmp", "R/f:mine") &&
	       refused(open("R/a.tmp", O_RDONLY), EACCES) &&
	       refused(rename("R/a.tmp", "R/f:a"), EACCES) &&
	       refused(rename("R/a.tmp", "R/f/q/7"), EACCES) &&
	       refused(rename("R/a.tmp", ".schema"), EACCES) &&
	       refused(rename(".stage/S", "S"), EACCES) &&
	       refused(rename(".stage/D", "D"), EACCES);
}

static bool takes_what_its_group_reads(void)
{
	return !rename("R/a.tmp", "R/f:a");
}

/* What comes back as it was is not read by who moves it. */
static bool moves_and_moves_back(void)
{
	return !rename("R/f/q/7", "R/f/q/7~") &&
	       refused(rename("R/f/q/7~", "R/f/q/8"), EACCES) &&
	       !rename("R/f/q/7~", "R/f/q/7");
}

/* Who may rename a file need not be who may read it; of a cell all are. */
static void by_file(void)
{
	if (geteuid() != 0)
		return;
	table_of(0777);
	put("R/a.tmp", "a secret");
	WORKS(chown("R/a.tmp", OWNER, GROUP));
	WORKS(chmod("R/a.tmp", 0600));
	WORKS(mkdir(".stage/S", 0777));
	WORKS(chmod(".stage/S", 0777));
	put(".stage/S/f:q", "another");
	WORKS(chmod(".stage/S/f:q", 0600));
	WORKS(mkdir(".stage/D", 0777));
	WORKS(chmod(".stage/D", 0777));
	WORKS(mkdir(".stage/D/f", 0777));
	WORKS(mkdir(".stage/D/f/q", 0777));
	put(".stage/D/f/q/7", "beneath");
	WORKS(chmod(".stage/D/f", 0700));
	WANT(as(STRANGER, 99, takes_no_other_s_file));
	WANT(as(MEMBER, GROUP, takes_no_other_s_file));
	WORKS(chmod("R/a.tmp", 0640));
	WANT(as(STRANGER, 99, takes_no_other_s_file));
	WANT(as(MEMBER, GROUP, takes_what_its_group_reads));
	WANT(holds("R/f:a", "a secret"));
	WORKS(rename(".stage/S", "S"));
	WANT(holds("S/f:q", "another"));
	clear("S");
	WORKS(rename(".stage/D", "D"));
	WANT(holds("D/f:q", "beneath"));
	clear("D");
	put("R/f/q/7", "seven");
	WORKS(chmod(".", 0773));
	WANT(as(STRANGER, 99, moves_and_moves_back));
	WANT(holds("R/f/q/7", "seven"));
	drop_table();
}

static bool puts_only(void)
{
	int fd = open("R/f:new", O_WRONLY | O_CREAT, 0644);

	return fd >= 0 && write(fd, "x", 1) == 1 && !close(fd) &&
	       refused(unlink("R/f:new"), EPERM) &&
	       refused(unlink("R/f:q"), EPERM) &&
	       refused(rename("R/f:q", "R/f:p"), EPERM) &&
	       refused(rmdir("R/f"), EPERM) && refused(rmdir("R"), EPERM) &&
	       says(".cells", "R\tf:q\t\t\tdelete-column\n") == EPERM &&
	       says("R/.cells", "R\t\t\t\tdelete-row\n") == EPERM &&
	       says(".schema", "drop family f\n") == EPERM &&
	       says(".schema", "family f\nttl 1ms\n") == EPERM &&
	       !says(".cells", "R\tf:new\t\ty\n") && holds("R/f:new", "y");
}

static bool removes(void)
{
	return !says(".schema", "family f\nversions 5\n") &&
	       !says(".cells", "R\tf:new\t\t\tdelete-column\n") &&
	       !unlink("R/f:q");
}

static void sticky(void)
{
	struct stat st;

	if (geteuid() != 0)
		return;
	table_of(01777);
	WANT(stat(".", &st) == 0 && (st.st_mode & 07777) == 01777);
	WANT(stat("R/f", &st) == 0 && (st.st_mode & 07777) == 01777);
	WANT(stat("R/f:q", &st) == 0 && (st.st_mode & 07777) == 0666);
	WANT(as(STRANGER, 99, puts_only));
	WANT(as(OWNER, 99, removes));
	drop_table();
}

static void by_umask(void)
{
	struct stat st;

	WORKS(mkdir("../../masked", 0777));
	WANT(stat("../../masked", &st) == 0 && (st.st_mode & 0777) == 0755);
	WORKS(rmdir("../../masked"));
	umask(077);
	put("a.tmp", "x");
	umask(022);
	WANT(stat("a.tmp", &st) == 0 && (st.st_mode & 0777) == 0600);
}

/* What it is made with, and the group of the directory it is made in. */
static bool is_made_in(const char *dir, const char *name, bool as_dir)
{
	char path[80];
	struct stat st, above;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (as_dir)
		WORKS(mkdir(path, 0755));
	else
		put(path, "x");
	return stat(dir, &above) == 0 && stat(path, &st) == 0 &&
	       st.st_gid == above.st_gid &&
	       (st.st_mode & 07777) == (as_dir ? 02755 : 0644);
}

static void setgid_directory(void)
{
	if (geteuid() != 0)
		return;
	table_of(02755);
	WANT(is_made_in(".", "a.tmp", false));
	WANT(is_made_in("R", ".d", true));
	WANT(is_made_in("R/.d", "a", false));
	WORKS(chown("R/.d", 0, MEMBER));
	WORKS(chmod("R/.d", 02755));
	WANT(is_made_in("R/.d", "d", true));
	WANT(is_made_in("R/.d/d", "a", false));
	clear("a.tmp");
	drop_table();
}

const struct posix_case user_cases[] = {
	{"owner, group and others may what the table's mode says", by_mode,
	 false},
	{"only the owner changes mode, and nobody the owner", by_owner, false},
	{"who may not read a scratch file makes no cell of it", by_file, false},
	{"in a sticky table who may write does not delete", sticky, false},
	{"umask holds for tables and scratch files", by_umask, false},
	{"a setgid directory hands on its group", setgid_directory, false},
	{0},
};
