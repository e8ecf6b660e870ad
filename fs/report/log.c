#include "fs/report/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/report/line.h"
#include "store/value/why.h"

#define TEXT_MAX 1200

/* Set before other threads start. */
static bool in_background;
static int file = -1;

bool log_is_file(const char *path)
{
	return path && strcmp(path, "syslog") != 0 &&
	       strcmp(path, "journald") != 0;
}

int log_open(const char *path)
{
	if (!log_is_file(path)) {
		openlog("cellfs", LOG_PID, LOG_DAEMON);
		return 0;
	}
	file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
		    0600);
	return file < 0 ? why(-errno, "the log %s cannot be opened: %s", path,
			      strerror(errno))
			: 0;
}

void log_background(void)
{
	in_background = true;
}

static void to_file(int level, const char *text)
{
	static const char *const levels[] = {"emerg", "alert",	 "crit",
					     "err",   "warning", "notice",
					     "info",  "debug"};
	char line[TEXT_MAX + 100], when[32];
	time_t now = time(NULL);
	struct tm tm;
	ssize_t n;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S%z", &tm);
	n = snprintf(line, sizeof(line), "%s cellfs[%d] %s: %s\n", when,
		     (int)getpid(), levels[level], text);
	/* There is no way to report a failure of the log. */
	if (write(file, line, (size_t)n) < n)
		return;
}

static void to_log(int level, const char *text)
{
	if (file >= 0)
		to_file(level, text);
	else
		syslog(LOG_DAEMON | level, "%s", text);
}

static void make_line(char *s)
{
	size_t len = strlen(s);

	while (len && s[len - 1] == '\n')
		s[--len] = '\0';
	line_clean(s);
}

static void say(bool to_person, bool and_log, int level, const char *fmt,
		va_list ap) __attribute__((format(printf, 4, 0)));

static void say(bool to_person, bool and_log, int level, const char *fmt,
		va_list ap)
{
	char text[TEXT_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	make_line(text);
	if (to_person && !in_background)
		fprintf(stderr, "cellfs: %s\n", text);
	if (and_log || in_background)
		to_log(level, text);
}

void log_verror(int level, const char *fmt, va_list ap)
{
	say(true, false, level, fmt, ap);
}

void log_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(true, false, LOG_ERR, fmt, ap);
	va_end(ap);
}

void log_notice(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(false, true, LOG_NOTICE, fmt, ap);
	va_end(ap);
}

void log_tell(int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(true, true, level, fmt, ap);
	va_end(ap);
}
