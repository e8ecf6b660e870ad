/*
 * How far a long command has come, for who waits for it; and whether to stop.
 *
 *	backup [#########...........]  45 %  112 of 250 MiB  38 MiB/s  0:04 left
 *	import  1250000 cells  310000/s
 *
 * On a terminal that is one line of standard error, drawn anew at most ten times
 * a second and wiped out at the end or before a message. Elsewhere nothing is
 * said, but with --progress: then it is a line of its own every second.
 *
 * From progress_begin() on the first SIGINT, SIGTERM or SIGHUP asks the command
 * to stop where that is safe; the second one ends it as if there were no such
 * care. A signal that was ignored before stays so. Who calls the functions tells
 * no less than once a part of a second's work, so no thread is needed.
 *
 * One command runs at a time, by one thread.
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
/* So much more is done; or so much in all, of so much. False: stop. */
bool progress_add(uint64_t more);
bool progress_at(uint64_t done, uint64_t total);
/* Takes the line away: a message follows, or this was all. */
void progress_clear(void);
/* What was done until now, in the unit, bytes as bytes. */
uint64_t progress_done(void);
/* Was it asked to stop? The signal, or 0. */
int progress_stopped(void);

#endif
