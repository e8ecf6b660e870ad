/*
 * How far a long command has come, for who waits for it; and whether to stop.
 *
 *	backup [#########...........]  45 %  112 of 250 MiB  38 MiB/s  0:04 left
 *	import  1250000 cells  310000/s
 *
 * On a terminal that is one line of standard error, drawn anew at most ten times
 * a second and wiped out at the end or before a message. Elsewhere nothing is
 * said, but with --progress: then it is a line of its own at the beginning, every
 * second and at the end.
 *
 * From progress_begin() on the first SIGINT, SIGTERM or SIGHUP asks the command
 * to stop where that is safe; the second one ends it as if there were no such
 * care. A signal that was ignored before stays so. Once stopped a command says what
 * is done and how to go on (progress_say_stopped()), and the program ends by the
 * signal.
 *
 * A command on a mounted store may wait for that when the signal comes. What does
 * not see within a moment that it is to stop, or has a second signal, is ended by a
 * thread that says so: what the mounted store was asked it goes on with.
 *
 * One thread calls all of it; the thread of progress_run() calls nothing here.
 */
#ifndef CELLFS_TOOLS_PROGRESS_PROGRESS_H
#define CELLFS_TOOLS_PROGRESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Lines also where standard error is no terminal (--progress). */
void progress_force(void);
/*
 * Begins anew from 0 of @total (0 = not known), of @what; @unit is counted, and
 * "MiB" means that bytes are given. Both are kept as pointers.
 */
void progress_begin(const char *what, const char *unit, uint64_t total);
/* The same of cells that are lines of the standard output: none between them. */
void progress_begin_output(const char *what, uint64_t total);
/* So much more is done; or so much in all, of so much. False: stop. */
bool progress_add(uint64_t more);
bool progress_at(uint64_t done, uint64_t total);
/* The same for who calls back, and: so much less than was thought is to be done. */
bool progress_went(void *arg, uint64_t more);
void progress_spared(void *arg, uint64_t bytes);
/* The line goes until it is drawn anew: something else is said. */
void progress_wipe(void);
/* It has ended: the line goes, and no other one comes. */
void progress_clear(void);
/* What was done until now, in the unit, bytes as bytes. */
uint64_t progress_done(void);
/* Was it asked to stop? The signal, or 0. */
int progress_stopped(void);
/* The command has opened the store that is mounted there. */
void progress_mounted(const char *mountpoint);
/* Ends the program by that signal. */
void progress_end(int sig);
/* Says that it has stopped, and @fmt. */
void progress_say_stopped(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* The bytes of the table files in a store's directory; 0 where none is. */
uint64_t progress_files(const char *dir);
/*
 * Runs a call that takes long and tells nothing, in a thread of its own, and has
 * its result and store_why(). How far it is, of @total bytes (0 = not known), show
 * the table files that come in directory @dir (NULL = nothing shows). Asked to
 * stop, it says @advice and ends the program at once: the call must bear that, as
 * it bears a kill.
 */
int progress_run(const char *what, const char *dir, uint64_t total,
		 int (*call)(void *arg), void *arg, const char *advice);

#endif
