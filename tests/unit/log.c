/* Who is told what: stderr in the foreground, the log for later. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/unit.h"
#include "fs/report/log.h"
#include "store/value/why.h"

static char folder[] = "/tmp/cellfs-log-XXXXXX";
static char log_path[64], errors_path[64];

/* What syslog(3) was given; with _FORTIFY_SOURCE it has another name. */
static char identity[32], sent[200];
static int sent_as;

void __wrap_openlog(const char *name, int option, int facility);
void __wrap_openlog(const char *name, int option, int facility)
{
	snprintf(identity, sizeof(identity), "%s %d %d", name, option,
		 facility);
}

void __wrap_syslog(int priority, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void __wrap_syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	sent_as = priority;
	va_start(ap, fmt);
	vsnprintf(sent, sizeof(sent), fmt, ap);
	va_end(ap);
}

void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void __wrap___syslog_chk(int priority, int flag, const char *fmt, ...)
{
	va_list ap;

	sent_as = priority;
	va_start(ap, fmt);
	vsnprintf(sent, sizeof(sent), fmt, ap);
	va_end(ap);
}

static int set_up(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	snprintf(errors_path, sizeof(errors_path), "%s/stderr", folder);
	return 0;
}

static int tear_down(void **state)
{
	unlink(log_path);
	unlink(errors_path);
	return rmdir(folder);
}

ALL_TESTS_IN(set_up, tear_down);

/* What a file has, which is empty then. */
static const char *taken(const char *path, char text[4000])
{
	FILE *f = fopen(path, "r+");

	assert_non_null(f);
	text[fread(text, 1, 3999, f)] = '\0';
	assert_int_equal(ftruncate(fileno(f), 0), 0);
	fclose(f);
	return text;
}

/* The line of the log has a time and the number of the process before. */
static void assert_logged(const char *words)
{
	char text[4000], want[2000];

	taken(log_path, text);
	if (!*words) {
		assert_string_equal(text, "");
		return;
	}
	assert_int_equal(strcspn(text, " "),
			 strlen("2026-11-22T10:00:00+0000"));
	snprintf(want, sizeof(want), " cellfs[%d] %s\n", (int)getpid(), words);
	assert_string_equal(strchr(text, ' '), want);
}

static void verror(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void verror(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_verror(LOG_CRIT, fmt, ap);
	va_end(ap);
}

/* What stderr has of what @say says. */
static const char *said(void (*say)(void), char text[4000])
{
	int before = dup(STDERR_FILENO);

	assert_true(before >= 0);
	fflush(stderr);
	assert_non_null(freopen(errors_path, "w", stderr));
	say();
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	return taken(errors_path, text);
}

static void say_error(void)
{
	log_error("no %s", "room");
}

static void say_verror(void)
{
	verror("no %d", 5);
}

static void say_notice(void)
{
	log_notice("mounted %s", "here");
}

static void say_tell(void)
{
	log_tell(LOG_WARNING, "kept %s", "as that");
}

static void say_forged(void)
{
	log_tell(LOG_ERR, "a\nb\x1f\x7f\x20~\n\n");
}

static void say_nothing(void)
{
	log_tell(LOG_ERR, "%s", "\n");
}

/* First of all, as a file that was opened stays the log. */
TEST(without_a_file_the_log_is_syslog)
{
	char want[32];

	assert_int_equal(log_open(NULL), 0);
	snprintf(want, sizeof(want), "cellfs %d %d", LOG_PID, LOG_DAEMON);
	assert_string_equal(identity, want);
	log_notice("mounted %s%%", "here");
	assert_string_equal(sent, "mounted here%");
	assert_int_equal(sent_as, LOG_DAEMON | LOG_NOTICE);
	assert_int_equal(log_open(log_path), 0);
	sent[0] = '\0';
	log_notice("x");
	assert_string_equal(sent, "");
	assert_logged("notice: x");
}

TEST(in_the_foreground_a_person_reads_stderr)
{
	char text[4000];

	assert_string_equal(said(say_error, text), "cellfs: no room\n");
	assert_logged("");
	assert_string_equal(said(say_verror, text), "cellfs: no 5\n");
	assert_logged("");
	assert_string_equal(said(say_notice, text), "");
	assert_logged("notice: mounted here");
	assert_string_equal(said(say_tell, text), "cellfs: kept as that\n");
	assert_logged("warning: kept as that");
}

TEST(a_message_is_one_line)
{
	char text[4000];

	assert_string_equal(said(say_forged, text), "cellfs: a?b?? ~\n");
	assert_logged("err: a?b?? ~");
	assert_string_equal(said(say_nothing, text), "cellfs: \n");
	assert_logged("err: ");
}

static void say_much(void)
{
	log_tell(LOG_ERR, "%05000d", 0);
}

TEST(a_long_message_is_cut)
{
	char text[4000], want[1300];

	memset(want, '0', 1199);
	want[1199] = '\0';
	said(say_much, text);
	assert_int_equal(strlen(text), strlen("cellfs: ") + 1199 + 1);
	memmove(want + strlen("err: "), want, 1200);
	memcpy(want, "err: ", strlen("err: "));
	assert_logged(want);
}

TEST(the_log_is_its_owners_and_no_childs)
{
	struct stat st;
	char link[32], to[64];
	bool found = false;
	ssize_t n;

	assert_int_equal(stat(log_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	for (int fd = 0; fd < 64; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (strcmp(to, log_path) != 0)
			continue;
		found = true;
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(fd, F_GETFL) & O_APPEND);
	}
	assert_true(found);
}

TEST(a_line_says_when_it_was)
{
	time_t before = time(NULL), after;
	char text[4000], at[32];
	bool same = false;
	struct tm tm;

	taken(log_path, text);
	log_notice("x");
	after = time(NULL);
	taken(log_path, text);
	for (time_t t = before; t <= after; t++) {
		localtime_r(&t, &tm);
		strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S%z ", &tm);
		same |= strncmp(text, at, strlen(at)) == 0;
	}
	assert_true(same);
}

TEST(in_the_background_all_is_in_the_log)
{
	char text[4000];

	log_background();
	assert_string_equal(said(say_error, text), "");
	assert_logged("err: no room");
	assert_string_equal(said(say_verror, text), "");
	assert_logged("crit: no 5");
	assert_string_equal(said(say_notice, text), "");
	assert_logged("notice: mounted here");
	assert_string_equal(said(say_tell, text), "");
	assert_logged("warning: kept as that");
}

TEST(a_log_that_is_no_file_is_syslog)
{
	assert_false(log_is_file(NULL));
	assert_false(log_is_file("syslog"));
	assert_false(log_is_file("journald"));
	assert_true(log_is_file("/var/log/cellfs"));
	assert_true(log_is_file("syslog.1"));
	assert_int_equal(log_open("/nowhere/log"), -ENOENT);
	assert_string_equal(store_why(), "the log /nowhere/log cannot be "
					 "opened: No such file or directory");
}
