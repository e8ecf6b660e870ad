/*
 * What the commands of cellctl share: their table, the open store, failures.
 *
 * A command is a row of a table: its words, one screen of help, which options
 * it takes, what must be open, and two functions: parse reads the words into
 * the request, run does it. The store is opened between them, in one place,
 * and need not be on this machine.
 *
 * Exit codes: 0 done; 1 nothing found, a check did not hold, faults found; 2
 * wrong usage; 3 the store could not do it. The message says what, where and
 * what to do.
 */
#ifndef CELLFS_TOOLS_CELLCTL_H
#define CELLFS_TOOLS_CELLCTL_H

#include "tools/args.h"
#include "fs/nearest.h"

enum {
	EXIT_DONE = 0,
	EXIT_NONE = 1,
	EXIT_USAGE = 2,
	EXIT_STORE = 3
};

/* What main() opens for a command: the store, and its table. */
enum {
	NEEDS_STORE = 1,
	NEEDS_TABLE = 2 | NEEDS_STORE,
	WRITES = 4,
	MAKES = 8 | WRITES, /* the store, when it is absent */
	AT_REST = 16,	    /* not mounted */
};

struct command {
	const char *name, *alias; /* NULL = it has one name only */
	const char *args;	  /* the words after the name, for usage */
	const char *line;	  /* some words for the list of commands */
	const char *help;	  /* sentences */
	const char *example;	  /* without "cellctl" */
	unsigned options;	  /* O_ bits */
	int words_min, words_max; /* STORE counts; max 0 = any number */
	unsigned needs;
	int (*parse)(struct request *rq); /* or NULL */
	int (*run)(struct request *rq);
	/* Or: a command that does all of it. argv[0] is its name. */
	int (*main)(int argc, char **argv);
};

extern const struct command cellctl_commands[]; /* ends with name NULL */

/* Says the sentence of the last failure; returns EXIT_STORE. */
int fail_store(const char *what);
int fail_memory(void);
/*
 * fail_store() for a table that could not be opened or made, with what to do.
 */
int fail_table(const struct request *rq, const char *table, int err);
/* 0 when the open table has the family; else EXIT_STORE, with what is near. */
int need_family(const struct request *rq, struct bytes family);
/* A sentence and where the help is; EXIT_USAGE. NULL = the usage. */
int fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, with the word that was meant behind it. */
int fail_nearest(const struct nearest *near, const char *before,
		 const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * The one place where a store is opened: @path is its directory, or one in a
 * mount; what is mounted is used through the mount. Both print their failure.
 * The table is opened in *store too.
 */
int open_store(const char *path, bool create, bool read_only,
	       struct store **store);
int open_table(const char *path, const char *table, bool read_only,
	       struct store **store, struct table **t);
/* Says so, and EXIT_STORE, when what @path means is mounted. */
int need_rest(const char *path);
/* Closes; an error of closing makes an exit code of 0 EXIT_STORE. */
int close_store(struct store *store, struct table *t, int code);

int cmd_bench(int argc, char **argv);

#endif
