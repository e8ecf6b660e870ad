/*
 * Exit codes of cellctl, and failures in words: what, where and what to do.
 *
 * Exit codes: 0 done; 1 nothing found, a check did not hold, faults found; 2
 * wrong usage; 3 the store could not do it.
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

/* The command that runs, which messages name. */
void fail_begin(const struct command *c);
const char *fail_command(void);
/* Says the sentence of the last failure; returns EXIT_STORE. */
int fail_store(const char *what);
int fail_memory(void);
/*
 * fail_store() for a table that could not be opened or made, with what to do.
 */
int fail_table(const struct request *rq, const char *table, int err);
/* The same where no request has the store, which @path named. */
int fail_absent_table(struct store *store, const char *path, const char *table,
		      int err);
/* 0 when the open table has the family; else EXIT_STORE, with what is near. */
int need_family(const struct request *rq, struct bytes family);
/* A sentence and where the help is; EXIT_USAGE. NULL = the usage. */
int fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, with the word that was meant behind it. */
int fail_nearest(const struct nearest *near, const char *before,
		 const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
