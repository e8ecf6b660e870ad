/*
 * The log: messages of the daemon for reading later.
 *
 * Levels are those of syslog(3). Where a message is written:
 *
 *			foreground		background
 *	log_error()	stderr			the log
 *	log_notice()	the log			the log
 *	log_tell()	stderr and the log	the log
 *
 * The log is syslog(3), or with -o log=FILE that file, to which a line is
 * appended for each message:
 *
 *	2026-11-22T10:00:00+0000 cellfs[4711] notice: mounted /srv/store on /mnt
 *
 * Any thread may call these. Lines are not mixed.
 */
#ifndef CELLFS_FS_REPORT_LOG_H
#define CELLFS_FS_REPORT_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <syslog.h>

/*
 * Is it a file's name? NULL, "syslog" and "journald" are syslog(3), which journald
 * takes where it runs.
 */
bool log_is_file(const char *path);
/* Opens the log @path. 0, or -errno with why(). */
int log_open(const char *path);
/* From now on nobody reads stderr. */
void log_background(void);

/* A failure: to stderr in the foreground, else to the log. */
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verror(int level, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* An ordinary event: LOG_NOTICE. */
void log_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* An event that a person must learn of, now or later. */
void log_tell(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
