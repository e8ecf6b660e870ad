/*
 * A command of cellctl: a row of a table (commands.c).
 *
 * Its words, one screen of help, which options it takes, what must be open, and
 * two functions: parse reads the words into the request, run does it. The store
 * is opened between them, in one place: from its directory or through a mount.
 */
#ifndef CELLFS_TOOLS_LINE_COMMAND_H
#define CELLFS_TOOLS_LINE_COMMAND_H

#include <stdint.h>

struct request;

/* What is opened for a command: the store, and its table. */
enum {
	NEEDS_STORE = 1,
	NEEDS_TABLE = 2 | NEEDS_STORE,
	WRITES = 4,
	MAKES = 8 | WRITES, /* makes the store if it is absent */
	AT_REST = 16,	    /* not mounted */
};

struct command {
	const char *name, *alias; /* NULL = none */
	const char *args;	  /* the words after the name, for usage */
	const char *line;	  /* summary for help; NULL: not listed */
	const char *help;	  /* sentences */
	const char *example;	  /* without "cellctl" */
	uint64_t options;	  /* O_ bits */
	int words_min, words_max; /* STORE counts; max 0 = any number */
	unsigned needs;
	int (*parse)(struct request *rq); /* may be NULL */
	int (*run)(struct request *rq);
};

/* By its name or alias; NULL = there is none. @commands ends with one unnamed. */
const struct command *command_find(const struct command *commands,
				   const char *name);

#endif
