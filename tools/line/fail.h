/*
 * Exit codes of cellctl, and messages for failures: what, where and what to do.
 *
 * Exit codes: 0 done; 1 nothing found, a check did not hold, or faults found; 2
 * incorrect usage; 3 the store refused or failed.
 */
#ifndef CELLFS_TOOLS_LINE_FAIL_H
#define CELLFS_TOOLS_LINE_FAIL_H

#include "fs/text/nearest.h"
#include "tools/line/command.h"
#include "tools/line/request.h"

enum {
	EXIT_DONE = 0,
	EXIT_NONE = 1,
	EXIT_USAGE = 2,
	EXIT_STORE = 3
};

/* Sets the running command, which messages name. */
void fail_begin(const struct command *c);
const char *fail_command(void);
/* Prints the reason of the last failure; returns EXIT_STORE. */
int fail_store(const char *what);
int fail_memory(void);
/*
 * scan_next() that goes on behind what is damaged: says so each time, for @what,
 * and sets *code to EXIT_STORE. Other failures are printed too.
 */
int next_past_damage(struct scan *sc, const char *what, struct cell *c,
		     int *code);
/* fail_store() for a table that could not be opened or made, with advice. */
int fail_table(const struct request *rq, const char *table, int err);
/* The same without a request: @path names the store. */
int fail_absent_table(struct store *store, const char *path, const char *table,
		      int err);
/* 0 if the open table has the family; else EXIT_STORE, with a suggestion. */
int need_family(const struct request *rq, struct bytes family);
/* The same of all columns that a read names. */
int need_families(const struct request *rq);
/* Prints a sentence (NULL: the usage) and how to get help; EXIT_USAGE. */
int fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, followed by a suggestion: the nearest known word. */
int fail_nearest(const struct nearest *near, const char *before,
		 const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
