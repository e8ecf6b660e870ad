/*
 * The log: what the daemon says to people who are not looking.
 *
 * Levels are those of syslog(3). Where a sentence goes:
 *
 *			foreground		background
 *	log_error()	stderr			the log
 *	log_notice()	the log			the log
 *	log_tell()	stderr and the log	the log
 *
 * The log is the system's, by syslog(3), or with -o log=FILE that file, to
 * which a line is appended for each sentence:
 *
 *	2026-11-22T10:00:00+0000 cellfs[4711] notice: mounted /srv/store on /mnt
 *
 * Any thread may say something. A line is written whole.
 */
#ifndef CELLFS_FS_REPORT_LOG_H
#define CELLFS_FS_REPORT_LOG_H

#include <stdarg.h>
#include <syslog.h>

/* The log is the file @path; NULL: syslog. 0, or -errno with why(). */
int log_open(const char *path);
/* Nobody looks at stderr any more. */
void log_background(void);

/* What went wrong: to who looks, else to the log. */
void log_error(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void log_verror(int level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* What is as it should be: LOG_NOTICE. */
void log_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What a person must hear of, now or later. */
void log_tell(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
